#!/usr/bin/env python3
"""Folders include each other in one direction only: include_directions_test.py SOURCE_FOLDER

A folder is a part with an inside. Where two folders include each other, straight or by way of others, neither can be
read, tested or replaced without the other.
"""
import collections
import pathlib
import re
import sys

ROOTS = ("probes", "plugin", "hwloc_export")
QUOTED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".inc"}


def edges(source):
    """folder -> {folder that it includes: "FILE includes FILE"}; folders as written in an include."""
    found = collections.defaultdict(dict)
    for root in ROOTS:
        for file in sorted((source / root).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            base = source / root if root != "hwloc_export" else source
            folder = file.parent.relative_to(base).as_posix()
            for header in QUOTED.findall(file.read_text()):
                other = pathlib.PurePosixPath(header).parent.as_posix()
                if other not in (".", folder):
                    found[folder].setdefault(other, f"{file.relative_to(source)} includes {header}")
    return found


def cycle(found):
    """One cycle of folders, or nothing."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder):] + [folder]
        if folder in done:
            return None
        path.append(folder)
        for other in sorted(found.get(folder, ())):
            if ring := visit(other):
                return ring
        path.pop()
        done.add(folder)
        return None

    return next((ring for folder in sorted(found) if (ring := visit(folder))), None)


def main(source):
    back = {"a": {"b": ""}, "b": {"c": ""}, "c": {"b": ""}}
    assert cycle(back) == ["b", "c", "b"] and cycle({"a": {"b": ""}, "b": {}}) is None
    found = edges(source)
    assert len(found) > 10, f"only {len(found)} folders of {source} include anything"
    if ring := cycle(found):
        sys.exit("\n".join(found[a][b] for a, b in zip(ring, ring[1:])))
    print(f"{len(found)} folders, no cycle")


main(pathlib.Path(sys.argv[1]).resolve())
