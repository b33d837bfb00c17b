#!/usr/bin/env python3
"""remedies.py SOURCE-DIR: an error says one thing to do. Of the texts of the sources those that offer a second one after
the first ('; use this, or choose that') are named."""
import pathlib
import re
import sys

VERBS = ("add|ask|build|change|check|choose|correct|end|export|free|give|install|list|load|measure|modprobe|move|name|pass|pause|put|"
         "reboot|reinstall|remove|replace|run|set|start|stop|switch|take|unset|update|upgrade|use|wait|write")
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SECOND = re.compile(rf"\b(?:{VERBS})\b[^;]*?,? or (?:else )?(?:{VERBS})\b ")


def texts(path):
    """Texts of a C++ file, those that stand one after another as one, with the line that they begin in."""
    source = re.sub(r'R"(\w*)\((.*?)\)\1"', lambda m: "\n" * m[0].count("\n"), path.read_text(), flags=re.S)
    source = re.sub(r"^\s*#.*$|(?<![\":])//.*$", "", source, flags=re.M)
    at = 0
    while match := TEXT.search(source, at):
        line, text, at = source.count("\n", 0, match.start()) + 1, match[1], match.end()
        while follows := re.compile(r'\s*"((?:[^"\\\n]|\\.)*)"').match(source, at):
            text, at = text + follows[1], follows.end()
        yield line, text


def two_remedies(text):
    return SECOND.search(text.split("; ")[-1]) is not None


assert two_remedies("no driver: x can't be loaded; install the driver, or use --device sim:h200")
assert two_remedies("remove it or choose another file")
assert not two_remedies("is not a size; write bytes as a number, or a text such as 60 MiB")
found = [f"{path.relative_to(sys.argv[1])}:{line}: {text}"
         for folder in ("probes", "plugin", "hwloc_export")
         for path in sorted(pathlib.Path(sys.argv[1], folder).rglob("*.cpp"))
         for line, text in texts(path) if two_remedies(text)]
print("\n".join(found))
sys.exit(1 if found else 0)
