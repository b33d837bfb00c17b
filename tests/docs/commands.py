"""Runs every command of a page of the docs: commands.py PAGE SOURCE BUILD [--device].

Those that need a GPU run with --device, and the others without. What a page shows as output is held against what the
command prints. Exits with 77 where there is nothing to run on this machine.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = re.compile(r"(\$ )?([A-Z_]+=\S+ )*(build/(bin|tests)/\S+|patches/likwid/apply\.sh|\./bootstrap\.sh|"
                     r"(gputopo|lstopo|likwid-topology|hwloc-\w+|export|cmake|ctest) ?)")

# What another test runs, because it is about building the project or would take hours.
ELSEWHERE = [
    (r"^\./bootstrap\.sh", "runs this test; tests/unit/bootstrap runs it against stand-ins"),
    (r"^(cmake|ctest) ", "builds this test and runs it"),
    (r"^apt-get install", "tests/packaging installs the packages"),
    (r"^hwloc-info --get-attr", "needs an hwloc newer than Debian 12's 2.9"),
]

NEEDS_GPU = r"--save|--all-gpus|gputopo verify|cuda:|os=cuda0"

# Folders that an administrator owns, and counts that would take hours.
REWRITES = [
    (r"/opt/gputopo", "$PWD/opt"),
    (r"/var/lib/prometheus/node-exporter", "$PWD"),
    (r"--count \d+", "--count 1"),
    (r"--processes \d+", "--processes 1"),
    (r"FOLDER", "."),
    (r"sim:seed-", "sim:./seed-"),
]

# Blocks that show output: the page, how the block begins, what prints it, the lines before that aren't compared.
SHOWN = [
    ("README.md", "NVIDIA H200 (real GPU", "build/bin/gputopo show tests/fixtures/h200/topology.json", 1),
    ("README.md", "GPU 0: NVIDIA H200 (simulated)", "GPUTOPO_SIMULATE=h200 build/bin/likwid-topology -g", 0),
    ("docs/likwid.md", "GPU 0: NVIDIA H200 (simulated)", "GPUTOPO_SIMULATE=h200 build/bin/likwid-topology -g", 0),
]

ALLOWED_EXITS = (0, 3)  # 3: done, but something is inconclusive or differs
REPORTS_BY_EXIT = r"doctor|random_models"  # 1: what it looked at isn't all well


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        return re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M)
    return [block.replace("\\-", "-") for block in re.findall(r"^\.EX\n(.*?)^\.EE", text, re.S | re.M)]


def commands_of(block):
    """The commands of a block, without what explains them; none where the block is something else."""
    lines = [line for line in block.splitlines() if line]
    if not lines or not PROGRAM.match(lines[0]):
        return []
    if lines[0].startswith("$ "):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [re.sub(r"( +# | {2,}).*", "", line) for line in lines]


class Scratch:
    """A folder that looks like the source tree, with the files that the docs' commands read."""

    def __init__(self, folder, source, build):
        self.folder = pathlib.Path(folder)
        self.exports = ""
        for name in ("docs", "tests", "patches"):
            (self.folder / name).symlink_to(source / name)
        (self.folder / "build").symlink_to(build)
        self.variables = {
            "PATH": f"{build}/bin:{os.environ['PATH']}",
            "HOME": folder,
            "GPUTOPO_STORE": f"{folder}/store",
            "HWLOC_PLUGINS_PATH": f"{build}/lib/hwloc",
            "LC_ALL": "C.UTF-8",
        }

    def provide(self, page):
        program = self.folder / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        example = next((b for b in blocks_of(page) if b.startswith('{\n  "schema": "gputopo-model/1"')), None)
        if example is not None:
            (self.folder / "my.json").write_text(example)
        self.run("gputopo discover --device sim:fermi --quiet --format json -o other.json")
        for number in (1, 2, 3):
            (self.folder / f"node{number}.json").write_bytes((self.folder / "other.json").read_bytes())

    def run(self, command):
        for pattern, by in REWRITES:
            command = re.sub(pattern, by, command)
        if command.startswith("export "):
            self.exports += command + "\n"
        done = subprocess.run(["bash", "-c", self.exports + command], cwd=self.folder, env=self.variables,
                              capture_output=True, encoding="utf-8", errors="replace", timeout=300)
        reports = done.returncode == 1 and re.search(REPORTS_BY_EXIT, command) and done.stdout
        if done.returncode not in ALLOWED_EXITS and not reports:
            raise SystemExit(f"'{command}' ended with {done.returncode}: {done.stderr}")
        return done.stdout


def has_gpu(scratch):
    return any(not device["simulated"] for device in json.loads(scratch.run("gputopo devices --format json")))


def check_shown(scratch, page, name):
    for shown_on, begins, command, skipped in SHOWN:
        if shown_on != name:
            continue
        shown = next((b for b in blocks_of(page) if b.startswith(begins)), None)
        if shown is None:
            raise SystemExit(f"{name} shows nothing that begins with '{begins}' any more")
        if "likwid" in command and not os.path.exists(scratch.folder / "build/bin/likwid-topology"):
            continue
        expected = "\n".join(shown.splitlines()[skipped:])
        printed = scratch.run(command)
        if expected not in printed:
            raise SystemExit(f"{name}: '{command}' doesn't print what the page shows:\n{expected}\nbut\n{printed}")


def main(name, source, build, on_device):
    page = source / name
    commands = [command for block in blocks_of(page) for command in commands_of(block)]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(folder, source, build)
        if on_device and not has_gpu(scratch):
            print("skipped: there is no GPU")
            return 77
        scratch.provide(page)
        if not on_device:
            scratch.variables["GPUTOPO_SIMULATE"] = "h200"
            check_shown(scratch, page, name)
        for command in commands:
            elsewhere = [why for pattern, why in ELSEWHERE if re.search(pattern, command)]
            if elsewhere:
                print(f"{command}: {elsewhere[0]}")
            elif command.startswith("export ") or bool(re.search(NEEDS_GPU, command)) == on_device:
                print(f"$ {command}", flush=True)
                scratch.run(command)
    return 0


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--device"]
    sys.exit(main(arguments[0], pathlib.Path(arguments[1]).resolve(), pathlib.Path(arguments[2]).resolve(),
                  "--device" in sys.argv))
