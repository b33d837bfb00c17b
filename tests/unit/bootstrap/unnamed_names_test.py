#!/usr/bin/env python3
"""Names in unnamed namespaces differ between the files of a library, and of a test program: unnamed_names_test.py SOURCE_FOLDER

bootstrap.sh compiles these files together. Two equal names are then an error at best; two overloads are worse, since
a call may come to mean the other file's. Nor is there one that a header has, too, for another file of the folder: there
it would hide the header's.
"""
import collections
import pathlib
import re
import sys

ALONE = {"crosscheck"}  # one file apart
FUNCTION = re.compile(r"^(?! |using|return|namespace|TEST|class|struct|enum|#)[\w:<>,&*\[\] ]+[ &*](\w+)\([^;]*$")
TEST_PROGRAM = re.compile(r"gputopo_(?:test|sim_support|unit_tests)\((\w*)\s*SOURCES\s+([^)]*?)\s*(?:LINKS|LABEL|\))")
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+) ")
CONSTANTS = re.compile(r"^(?:constexpr|const) [\w:<>,&* ]*?[ &*](\w+)(?: =|\{|\[)(.*)")
OF_HEADERS = re.compile(r"^inline constexpr [\w:<>,&* ]*?[ &*](\w+)(?: =|\{|\[)", re.MULTILINE)
MORE_CONSTANTS = re.compile(r", (\w+) = ")


def unnamed(text):
    """The names that are defined at the top of the file's unnamed namespaces."""
    inside, names = False, set()
    for line in text.splitlines():
        if line == "namespace {":
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside:
            match = FUNCTION.match(line) or TYPE.match(line) or CONSTANTS.match(line)
            if match and match[1] != "PrintTo":  # an overload for GoogleTest by design
                names.add(match[1])
            if match and match.re is CONSTANTS:
                names.update(MORE_CONSTANTS.findall(match[2]))
    return names


def groups(root):
    """Files that are compiled together: by a name for them."""
    together = collections.defaultdict(list)
    for top in ("probes", "plugin", "hwloc_export"):
        for path in sorted(pathlib.Path(root, top).rglob("*.cpp")):
            if path.parent.name not in ALONE:
                library = next(folder for folder in path.parents if (folder / "CMakeLists.txt").exists())
                together[library.relative_to(root)].append(path)
    for cmake in pathlib.Path(root, "tests").rglob("CMakeLists.txt"):
        for name, sources in TEST_PROGRAM.findall(cmake.read_text()):
            program = name or "unit_test"  # of every module's part
            together[program] += [cmake.parent / source for source in sources.split() if (cmake.parent / source).exists()]
    return together


def hidden(paths, names, of_headers):
    """What a file's unnamed namespace hides from another one that is compiled with it."""
    words = {path.name: set(re.findall(r"\w+", path.read_text())) for path in paths}
    for name in sorted(names.keys() & of_headers):
        users = [file for file in words if name in words[file] and file not in names[name]]
        if users:
            yield f"{name} in {', '.join(names[name])} hides a header's from {', '.join(users)}"


def main(root):
    found, twice = 0, []
    headers = [path for top in ("probes", "plugin", "hwloc_export") for path in pathlib.Path(root, top).rglob("*.hpp")]
    of_headers = {name for path in headers for name in OF_HEADERS.findall(path.read_text())}
    for group, paths in groups(root).items():
        names = collections.defaultdict(list)
        for path in paths:
            for name in unnamed(path.read_text()):
                found += 1
                names[name].append(path.name)
        twice += [f"{group}: {name} in {', '.join(files)}" for name, files in sorted(names.items()) if len(files) > 1]
        twice += [f"{group}: {what}" for what in hidden(paths, names, of_headers)]
    print("\n".join(twice) or f"{found} names, each in one file of its group")
    return 1 if twice or found < 400 or len(of_headers) < 100 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
