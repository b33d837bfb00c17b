"""Runs every command of a page of the docs: commands.py PAGE SOURCE BUILD [--device].

Those that need a GPU run with --device, and the others without. What a page shows as output is held against what the
command prints; a block that is neither commands nor such output is an error. Exits with 77 where there is nothing to run on
this machine.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from pages import FORM, blocks_of, commands_in_text, commands_of, page_of_each, same_wherever_it_stands

# What another test runs, because it is about building the project, would take hours or needs what isn't there: its name.
ELSEWHERE = [
    (r"^\./bootstrap\.sh", "Bootstrap.InstallsOnlyWhatIsMissing"),
    (r"^apt-get install|^cmake --preset package|^systemctl ", "packages.installed_used_and_purged"),
    (r"^cmake --install ", "Install.EverythingLiesBelowThePrefixAndIsFound"),
    (r"^hwloc-info --get-attr|^tests/clients/compare\.py ", "clients.compare"),
    (r"^tests/soak/soak\.py", "Soak.SeesWhatItIsThereToSee"),
    (r"^tests/fuzz/run\.py", "FuzzCorpus.*"),
    (r"^build/tests/hostile_inputs ", "hostile.whole"),
    (r"^tests/device/stream_counts\.py", "RealGpu.*"),
    (r"^tests/docs/commands\.py", "docs.commands.README.md"),
    (r"^patches/likwid/master/format_patch\.sh", "likwid.apply"),
    (r"/capacity_calibration ", "CapacityCalibration.*"),
]

NEEDS_GPU = r"--save|--all-gpus|gputopo verify|cuda:|os=cuda0|--verify"

# Folders that an administrator owns, and counts that would take hours.
REWRITES = [
    (r"/opt/gputopo", "$PWD/opt"),
    (r"/var/lib/prometheus/node-exporter", "$PWD"),
    (r"--count \d+", "--count 1"),
    (r"--processes \d+", "--processes 1"),
    (r"hwloc_load_bench$", "hwloc_load_bench 1"),
    (r"FOLDER", "."),
    (r"sim:seed-", "sim:./seed-"),
]
# In the text a small model stands in for the machine's GPU: its experiments are those of the others.
SMALL = (r"^(gputopo discover (?!.*--device))", r"\1--device sim:gt200 ")

# Blocks that show output: the page, how the block begins, what prints it, the lines before that aren't compared.
SHOWN = [
    ("README.md", "NVIDIA H200 (real GPU", "build/bin/gputopo show tests/fixtures/h200/topology.json", 1),
    ("README.md", "GPU 0: NVIDIA H200 (simulated)", "GPUTOPO_SIMULATE=h200 build/bin/likwid-topology -g", 0),
    ("docs/likwid.md", "GPU 0: NVIDIA H200 (simulated)", "GPUTOPO_SIMULATE=h200 build/bin/likwid-topology -g", 0),
    ("docs/likwid.md", "****", "GPUTOPO_SIMULATE=h200 build/bin/likwid-topology", 0),
    ("docs/hwloc.md", 'CoProc(CUDA) "cuda0"', "GPUTOPO_SIMULATE=h200 lstopo --of console -", 0),
]
# The same on a GPU, where numbers may be others.
SHOWN_ON_GPU = {"gputopo verify --device cuda:0"}

ALLOWED_EXITS = (0, 3)  # 3: done, but something is inconclusive or differs
REPORTS_BY_EXIT = r"doctor|random_models|hwloc_load_bench"  # 1: what it looked at isn't all well


class Scratch:
    """A folder that looks like the source tree, with the files that the docs' commands read."""

    def __init__(self, folder, source, build):
        self.folder = pathlib.Path(folder)
        self.build = build
        self.source = source
        self.exports = ""
        self.run_by = {}
        for name in ("docs", "tests", "patches", "CMakePresets.json"):
            (self.folder / name).symlink_to(source / name)
        (self.folder / "build").symlink_to(build)
        own = subprocess.run(["pkg-config", "--variable=libdir", "hwloc"], capture_output=True, text=True, check=False).stdout.strip()
        self.variables = {
            "PATH": f"{build}/bin:{os.environ['PATH']}",
            "HOME": folder,
            "GPUTOPO_STORE": f"{folder}/store",
            "HWLOC_PLUGINS_PATH": f"{build}/lib/hwloc:{own}/hwloc",
            "LC_ALL": "C.UTF-8",
        }

    def provide(self, page):
        program = self.folder / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        example = next((b for b in blocks_of(page) if b.startswith('{\n  "schema": "gputopo-model/1"')), None)
        if example is not None:
            (self.folder / "my.json").write_text(example)
        self.run("gputopo discover --device sim:gt200 --quiet --format json -o other.json")
        for node in ("node1", "node2", "node3"):
            (self.folder / f"{node}.json").write_bytes((self.folder / "other.json").read_bytes())
            (self.folder / node).mkdir()
            (self.folder / node / "GPU.json").write_bytes((self.folder / "other.json").read_bytes())

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


class Tests:
    """What CMake built and CTest would run."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.listed = None
        self.cmake = None

    def names(self):
        if self.listed is None:
            text = self.scratch.run("ctest --test-dir build --show-only=json-v1")
            self.listed = [test["name"] for test in json.loads(text)["tests"]]
        return self.listed

    def has(self, pattern):
        """Whether a test of that name is there, or where they stand for an executable's cases, a source declares one."""
        if pattern.endswith(".*"):
            suite = pattern[:-2]
            return any(re.search(rf"TEST\w*\({suite}\b|{suite}\b", path.read_text())
                       for path in (self.scratch.source / "tests").rglob("*.cpp"))
        return pattern in self.names() or pattern.startswith("packages.")

    def declared(self, target):
        """Whether CMake is told of it, also where this build leaves it out."""
        if self.cmake is None:
            names = subprocess.run(["git", "ls-files", "*CMakeLists.txt", "*.cmake"], cwd=self.scratch.source, capture_output=True, text=True,
                                   check=True).stdout.split()
            self.cmake = "\n".join((self.scratch.source / name).read_text() for name in names)
        made_by = "add_(executable|custom_target)|gputopo_(test|fuzzer|component|library)"
        return re.search(rf"({made_by})\(\s*{re.escape(target)}\b", self.cmake) is not None


def without_numbers(text):
    return re.sub(r"[\d.]+( [KMG]iB)?", "N", re.sub(r" +", " ", text))


def check_shown(scratch, page, name):
    """Holds every block that isn't commands against what prints it."""
    shown_here = [row for row in SHOWN if row[0] == name]
    for block in blocks_of(page):
        if commands_of(block) or block.startswith("{"):
            continue  # JSON is held by docs/schema and tests/docs/members.py
        row = next((row for row in shown_here if block.startswith(row[1])), None)
        if row is None:
            raise SystemExit(f"{name}: nothing says what prints this block:\n{block}")
        shown_here.remove(row)
        _, _, command, skipped = row
        if "likwid" in command and not os.path.exists(scratch.folder / "build/bin/likwid-topology"):
            continue
        lines = block.splitlines()[skipped:]
        printed = scratch.run(command).expandtabs()
        if not any("\n".join(" " * indent + line for line in lines) in printed for indent in (0, 2, 4)):
            raise SystemExit(f"{name}: '{command}' doesn't print what the page shows:\n{block}\nbut\n{printed}")
    for row in shown_here:
        raise SystemExit(f"{name} shows nothing that begins with '{row[1]}' any more")


def options_of(scratch, words):
    known = scratch.run("gputopo --help")
    if words and re.search(rf"^  {re.escape(words[0])} ", known, re.M):
        known += scratch.run(f"gputopo {words[0]} --help")
    elif words and not words[0].startswith("-"):
        raise SystemExit(f"gputopo has no command '{words[0]}'")
    return known


def check_form(scratch, command):
    """Of a command with a blank to fill in: that gputopo has such a command and such options."""
    if command.startswith(("gputopo ", "build/bin/gputopo ")):
        words = command.split()[1:]
        known = options_of(scratch, words)
        for option in re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", " ".join(words[1:])):
            if not re.search(rf"(?<![\w-]){option}\b", known):
                raise SystemExit(f"'{command}': no such option: {option}")


def check_build(scratch, tests, command):
    """Of commands that build and test: that their presets, targets and tests are there."""
    presets = (scratch.source / "CMakePresets.json").read_text()
    for kind, name in re.findall(r"--(preset|target) (\S+)", command):
        found = f'"{name}"' in presets if kind == "preset" else tests.declared(name)
        if not found:
            raise SystemExit(f"'{command}': no such {kind}: {name}")
    for pattern in re.findall(r"^ctest .*-R (\S+)", command):
        if not any(re.search(pattern, name) for name in tests.names()) and not tests.has(f"{pattern.split('.')[0]}.*"):
            raise SystemExit(f"'{command}' runs no test")


def check_googletest(scratch, tests, command):
    """Of an executable that is named or whose every test is run anyway: that it is there and what is chosen of it exists."""
    program = re.search(r"/tests/(\w+)", command)[1]
    path = f"build/tests/{program}"
    if not (scratch.folder / path).exists():
        if not tests.declared(program):
            raise SystemExit(f"'{command}': no such program")
        return
    if not program.endswith("_test"):
        return
    chosen = re.search(r"--gtest_filter=(\S+)", command)
    listed = scratch.run(f"{path} --gtest_list_tests {chosen[0] if chosen else ''}")
    for part in chosen[1].strip("'").split(":") if chosen else []:
        if "  " not in scratch.run(f"{path} --gtest_list_tests --gtest_filter='{part}'"):
            raise SystemExit(f"'{command}': no test is named {part}")
    if "  " not in listed:
        raise SystemExit(f"'{command}' runs no test")


def treat(scratch, tests, name, command, on_device, in_text):
    """Runs a command where it belongs, or makes sure of what runs it."""
    elsewhere = next((test for pattern, test in ELSEWHERE if re.search(pattern, command)), None)
    written = command
    for pattern, by in REWRITES:
        written = re.sub(pattern, by, written)
    if command.startswith("export "):
        scratch.run(command)
    elif elsewhere is not None:
        if not on_device and not tests.has(elsewhere):
            raise SystemExit(f"'{command}' should be run by {elsewhere}, which isn't there")
        print(f"{command}: run by {elsewhere}")
    elif in_text and FORM.search(written):
        if not on_device:
            check_form(scratch, written)
    elif re.match(r"(cmake|ctest) ", command):
        if not on_device:
            check_build(scratch, tests, command)
    elif re.match(r"(\w+=\S+ )?build(-\w+)?/tests/\w+(_test\b.*)?$", command):
        if not on_device:
            check_googletest(scratch, tests, command)
    elif in_text and re.fullmatch(r"(build/bin/)?gputopo \w+", command):
        if not on_device:
            options_of(scratch, command.split()[1:])  # a name, not a command
    elif bool(re.search(NEEDS_GPU, command)) == on_device:
        run_as = re.sub(*SMALL, command) if in_text and not on_device else command
        other = scratch.run_by.get(same_wherever_it_stands(command), name)
        if other != name and not on_device and not scratch.exports:
            print(f"{command}: run by docs.commands.{other}")
            return None
        print(f"$ {run_as}", flush=True)
        printed = scratch.run(run_as)
        return printed
    return None


def has_gpu(scratch):
    return any(not device["simulated"] for device in json.loads(scratch.run("gputopo devices --format json")))


def main(name, source, build, on_device):
    page = source / name
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(folder, source, build)
        if on_device and not has_gpu(scratch):
            print("skipped: there is no GPU")
            return 77
        scratch.provide(page)
        tests = Tests(scratch)
        pages = [source / "README.md", *sorted((source / "docs").glob("*.md")), *sorted((source / "docs/man").iterdir())]
        scratch.run_by = {command: str(page.relative_to(source)) for command, page in page_of_each(pages).items()}
        if not on_device:
            scratch.variables["GPUTOPO_SIMULATE"] = "h200"
            check_shown(scratch, page, name)
        for block in blocks_of(page):
            for command in commands_of(block):
                printed = treat(scratch, tests, name, command, on_device, False)
                shown = [line for line in block.splitlines() if not line.startswith("$ ")]
                if printed is not None and command in SHOWN_ON_GPU:
                    lines = {without_numbers(line) for line in printed.splitlines()}
                    if any(without_numbers(line) not in lines for line in shown):
                        raise SystemExit(f"{name}: '{command}' doesn't print what the page shows:\n{block}\nbut\n{printed}")
        for command in commands_in_text(page):
            treat(scratch, tests, name, command, on_device, True)
    return 0


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--device"]
    sys.exit(main(arguments[0], pathlib.Path(arguments[1]).resolve(), pathlib.Path(arguments[2]).resolve(),
                  "--device" in sys.argv))
