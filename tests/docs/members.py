#!/usr/bin/env python3
"""members.py SOURCE-DIR BUILD-DIR: docs/formats.md and the manual name every member of the topology's schema, the
manual every option of every command (the completions ask the command itself)."""
import json
import pathlib
import re
import subprocess
import sys

source, build = (pathlib.Path(folder) for folder in sys.argv[1:3])


def members(schema):
    """Names of properties, however deep."""
    if isinstance(schema, list):
        return set().union(*map(members, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", {})).union(*map(members, schema.values()))


def words(path, word):
    text = (source / path).read_text().replace("\\-", "-").replace("\\fR", " ")
    return set(re.findall(word, text))


def options(command):
    text = subprocess.run([build / "bin/gputopo", *command, "--help"], check=True, capture_output=True, text=True).stdout
    return {o for line in re.findall(r"^  +(-[^ ]+)", text, re.M) for o in line.split(",")}


def commands():
    text = subprocess.run([build / "bin/gputopo", "--help"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^  ([a-z]+) ", text.split("Subcommands:")[1], re.M)


missing = []
names = members(json.loads((source / "docs/schema/topology-1.json").read_text()))
for page in ("docs/formats.md", "docs/man/gputopo-formats.5"):
    missing += [f"{page} doesn't name the member '{name}'" for name in sorted(names - words(page, r"\w+"))]
found = commands()
known = set().union(*(options([command]) for command in found))
page = "docs/man/gputopo.1"
missing += [f"{page} doesn't name '{o}'" for o in sorted(known - words(page, r"--?[a-z][a-z0-9-]*"))]
print("\n".join(missing))
# The test would pass as well if it understood nothing of what it reads.
assert len(names) > 60 and {"warp_instances", "interval_kind"} <= names, names
assert len(found) >= 10 and {"--device", "--hwloc-xml", "-o", "--tolerance"} <= known, (found, known)
sys.exit(1 if missing else 0)
