"""What the pages of the docs hold: blocks, and commands within their text."""

import re

PROGRAM = re.compile(r"(\$ )?([A-Z_]+=\S+ )*(build(-\w+)?/(bin|tests|bench)/\S+|patches/likwid/\S+\.sh|tests/\S+\.(py|sh)|\./bootstrap\.sh|"
                     r"(gputopo|lstopo|likwid-topology|hwloc-\w+|export(?= \w+=)|cmake|ctest|apt-get|systemctl)(?= |$))")
# A command of gputopo's without its name; as such it is a form.
SHORT = re.compile(r"(discover|show|verify|bench|export|compare|models|analyze) (-|[A-Z])")
# A word in capitals, an option in brackets or an ellipsis: how a command is written, not a command.
FORM = re.compile(r"(?<![\w.])[A-Z][A-Z]*\b(?!=)|\.\.\.|\[")


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        return re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M)
    return [block.replace("\\-", "-") for block in re.findall(r"^\.EX\n(.*?)^\.EE", text, re.S | re.M)]


def is_commands(block):
    """Whether a block is made of commands, which may begin with what another program writes into a pipe."""
    first = next((line for line in block.splitlines() if line), "")
    return any(PROGRAM.match(part) for part in first.split(" | "))


def commands_of(block):
    """The commands of a block, without what explains them; none where the block is something else."""
    if not is_commands(block):
        return []
    lines = [line for line in block.splitlines() if line]
    if lines[0].startswith("$ "):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [re.sub(r"( +# | {2,}).*", "", line) for line in lines]


def commands_in_text(page):
    """Commands between backquotes that are more than a program's name, each once."""
    text = re.sub(r"^```\w*\n.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M) if page.suffix == ".md" else ""
    spans = dict.fromkeys(span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", text))
    found = [span for span in spans if PROGRAM.match(span) and (" " in span or "/" in span)]
    return found + [f"gputopo {span} ..." for span in spans if SHORT.match(span)]


def same_wherever_it_stands(command):
    """What names a command that prints the same on every page and leaves nothing there for the next one, else None."""
    bare = command.removeprefix("build/bin/")
    alone = re.fullmatch(r"gputopo (discover|bench)( [\w:,-]+)*", bare) and not re.search(r" (-o|--output|--save)\b", bare)
    return bare if alone else None


def page_of_each(pages):
    """Of commands that print the same wherever they stand: the page that runs them, one with a block of them if there is."""
    found = {}
    for commands in (lambda page: [c for block in blocks_of(page) for c in commands_of(block)], commands_in_text):
        for page in pages:
            for name in filter(None, map(same_wherever_it_stands, commands(page))):
                found.setdefault(name, page)
    return found
