"""Says which parts a test run covered: summary.py PARTS JUNIT.xml...

Prints one line, 'tested: ...; not tested here: PART because ...', and a line for every other test that was skipped.
Exits with 3 where a part is missing that must not be.
"""

import fnmatch
import re
import sys
import xml.etree.ElementTree as xml

NO_REASON = "no reason given"


def read_parts(path):
    with open(path, encoding="utf-8") as file:
        rows = [[cell.strip() for cell in line.split("|")] for line in file if line.strip() and line[0] != "#"]
    return [(row[0], row[1].split(), row[2], len(row) > 3) for row in rows]


def cases_of_googletest(output):
    """Name -> reason for being skipped, None where it passed. A failed case isn't in it."""
    cases = {}
    said = None
    previous = ""
    for line in output.splitlines():
        ended = re.match(r"\[ +(OK|SKIPPED) +\] (\S+) \(\d+ ms\)", line)
        if line.startswith("[ RUN "):
            said = None
        elif ended:
            cases[ended[2]] = None if ended[1] == "OK" else said or NO_REASON
        elif previous.endswith(": Skipped"):
            said = line.strip()
        previous = line
    return cases


def cases(path):
    """Every test of one run. A test of GoogleTest counts by its cases, another by its name."""
    found = {}
    for case in xml.parse(path).iter("testcase"):
        output = case.findtext("system-out") or ""
        inner = cases_of_googletest(output)
        if inner:
            found.update(inner)
        elif case.get("status") == "run":
            found[case.get("name")] = None
        elif case.find("skipped") is not None and case.get("status") != "fail":
            lines = output.strip().splitlines()
            found[case.get("name")] = lines[-1].removeprefix("skipped: ") if lines else NO_REASON
    return found


def both(runs):
    """A test that passed in one of the runs is tested."""
    merged = {}
    for run in runs:
        for name, reason in run.items():
            if merged.get(name, "") is not None:
                merged[name] = reason
    return merged


def why_missing(patterns, otherwise, tests):
    """None where the part is there."""
    for pattern in patterns:
        reasons = [reason for name, reason in tests.items() if fnmatch.fnmatchcase(name, pattern)]
        if not reasons:
            return otherwise
        skipped = [reason for reason in reasons if reason is not None]
        if skipped:
            return skipped[0]
    return None


def main(parts_file, *junit_files):
    tests = both(cases(path) for path in junit_files)
    parts = read_parts(parts_file)
    reasons = {name: why_missing(patterns, otherwise, tests) for name, patterns, otherwise, _ in parts}
    there = [name for name, reason in reasons.items() if reason is None]
    line = "tested: " + (", ".join(there) or "nothing that has to be")
    missing = [f"{name} because {reason}" for name, reason in reasons.items() if reason is not None]
    claimed = [pattern for _, patterns, _, _ in parts for pattern in patterns]
    for name, reason in sorted(tests.items()):
        if reason is not None and not any(fnmatch.fnmatchcase(name, pattern) for pattern in claimed):
            print(f"skipped: {name}: {reason}")
    print(f"{line}; not tested here: {', '.join(missing) or 'nothing'}")
    return 3 if any(reasons[name] is not None and not may for name, _, _, may in parts) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
