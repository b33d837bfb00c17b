#!/usr/bin/env python3
"""Names in unnamed namespaces differ between the files of a folder: unnamed_names_test.py SOURCE_FOLDER

bootstrap.sh compiles a folder's files together. Two equal names are then an error at best; two overloads are worse, since
a call may come to mean the other file's.
"""
import collections
import pathlib
import re
import sys

ALONE = {"evidence", "experiments", "crosscheck", "throughput"}  # compiled file by file (UNITY_BUILD OFF), or one file apart
FUNCTION = re.compile(r"^(?! |using|return|namespace|TEST|class|struct|enum|#)[\w:<>,&*\[\] ]+[ &*](\w+)\([^;]*$")
CONSTANT = re.compile(r"^(?:constexpr|const) [\w:<>,&* ]*?[ &*](\w+)(?: =|\{|\[)")


def unnamed(text):
    """The names that are defined at the top of the file's unnamed namespaces."""
    inside, names = False, set()
    for line in text.splitlines():
        if line == "namespace {":
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside:
            match = FUNCTION.match(line) or CONSTANT.match(line)
            if match:
                names.add(match[1])
    return names


def main(root):
    found = 0
    folders = collections.defaultdict(lambda: collections.defaultdict(list))
    for top in ("probes", "plugin", "hwloc_export"):
        for path in sorted(pathlib.Path(root, top).rglob("*.cpp")):
            if path.parent.name in ALONE:
                continue
            for name in unnamed(path.read_text()):
                found += 1
                folders[path.parent][name].append(path.name)
    twice = [f"{folder.relative_to(root)}: {name} in {', '.join(files)}"
             for folder, names in folders.items() for name, files in sorted(names.items()) if len(files) > 1]
    print("\n".join(twice) or f"{found} names, each in one file of its folder")
    return 1 if twice or found < 200 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
