#!/usr/bin/env python3
"""compare.py BUILD-DIR [--hwloc PREFIX]... [--likwid PREFIX]... [--all]

Runs the programs that load hwloc, and likwid-topology, without and with what BUILD-DIR holds for them, and compares what they
print: without data of a GPU nothing may differ, and with a simulated H200 nothing but what speaks of GPUs. Says which programs
it couldn't have; with --all that is a failure. PREFIX: further versions, built from source with --enable-plugins; one of
another ABI than the plugin's has to ignore it. A LIKWID built with NVIDIA_INTERFACE=true lists GPUs itself, here two of a
stand-in for their driver: of those nothing may be said twice. Exit status 1 where something differs."""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--hwloc", type=pathlib.Path, action="append", default=[])
parser.add_argument("--likwid", type=pathlib.Path, action="append", default=[])
parser.add_argument("--all", action="store_true")
arguments = parser.parse_args()
build = arguments.build.resolve()
missing, different = [], []


def steady(text):
    """Without what differs from one run to the next; LIKWID 5.5 never sets the registers that it prints."""
    text = re.sub(r"UpTime=\S+|CPU clock:[\s,]+\S+ GHz|memory:[\s,]+[\d.]+ MB|memory: [\d.]+|regs per block:[\s,]+-?\d+", "", text)
    return re.sub(r"<info name=\"(ProcessName|MemoryFree|hwlocVersion)\"[^>]*>|pid[ =]\d+|\[[^\[\]:]*:\d+\]|total=\S+", "", text)


def run(command, variables):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": "/nonexistent", "GPUTOPO_STORE": "/nonexistent",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **variables}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    return f"{done.stdout}status {done.returncode}\n"


def compare(name, stock, ours):
    """Whether both print the same; says where they don't."""
    lines = list(difflib.unified_diff(steady(stock).splitlines(), steady(ours).splitlines(), "without", "with", "", "", 1))
    if lines:
        different.append(name)
        print(f"{name}: DIFFERS", *lines[2:14], sep="\n  ")
    return not lines


def version_of(*command):
    return re.search(r"\d+\.\d+[.\w]*", run(command, {}))[0]


def in_any_order(text):
    """Of processes that run side by side."""
    return "\n".join(sorted(text.splitlines()))


def has(program, name, package):
    found = shutil.which(program)
    if found is None:
        missing.append(f"{name}: {program} isn't installed (package {package})")
    return found


# Programs: (name, the command that says its version, package, what is run).
hosts = [
    ("Open MPI", ["mpirun", "--version"], "openmpi-bin",
     ["mpirun", "-n", "2", "--oversubscribe", "--report-bindings", "sh", "-c", "grep Cpus_allowed: /proc/self/status"]),
    ("MPICH", ["mpiexec.mpich", "--version"], "mpich",
     ["mpiexec.mpich", "-n", "2", "-bind-to", "core", "sh", "-c", "grep Cpus_allowed: /proc/self/status"]),
    ("slurmd", ["slurmd", "-V"], "slurmd", ["slurmd", "-C"]),
]


def plugin_path(own):
    return {"HWLOC_PLUGINS_PATH": f"{build}/lib/hwloc:{own}"}


def hwloc_tools(name, prefix, own, fits):
    """lstopo and its companions of one version of hwloc. `fits`: the plugin is of its ABI."""
    tool = shutil.which("lstopo-no-graphics", path=str(prefix / "bin"))
    if tool is None:
        missing.append(f"{name}: no lstopo-no-graphics in {prefix}/bin")
        return
    folder = pathlib.Path(tool).parent
    stock = {"HWLOC_PLUGINS_PATH": str(own)}
    with_plugin = plugin_path(own)
    simulated = {**with_plugin, "GPUTOPO_SIMULATE": "h200"}
    fine = True
    for arguments_ in (["--of", "console", "-v", "-"], ["--of", "xml", "-"], ["--no-io", "--of", "console", "-v", "-"]):
        without = run([tool, *arguments_], stock)
        same = run([tool, *arguments_], with_plugin)
        if not fits:  # hwloc 3.0's loader prints a line for a plugin of the other ABI
            same = re.sub(r"^hwloc: Plugin symbol ABI 7 instead of 8\n", "", same, flags=re.M)
        fine = compare(f"{name}, lstopo {' '.join(arguments_)}", without, same) and fine
    drawn = run([tool, "--of", "console", "-"], simulated)
    if fits and "Misc(GPUCache) L2" not in drawn:
        different.append(name)
        fine = print(f"{name}: DIFFERS: lstopo shows no simulated H200\n{drawn[:400]}")
    for command in (["hwloc-calc", "--number-of", "pu", "all"], ["hwloc-bind", "--get"], ["hwloc-info", "--local-memory", "pu:0"]):
        program = shutil.which(command[0], path=str(folder))
        if program:
            fine = compare(f"{name}, {' '.join(command)}", run([program, *command[1:]], stock), run([program, *command[1:]], simulated)) and fine
    version = version_of(tool, "--version")
    # docs/hwloc.md: the shell's ways to one attribute, of versions that have them.
    info = shutil.which("hwloc-info", path=str(folder))
    for since, words in (((2, 11), ["info GPUTopoL2Size", "os=cuda0"]), ((2, 14), ["info SizeBytes", "misc[GPUCache]:0"])):
        if fits and info and tuple(int(number) for number in re.findall(r"\d+", version)[:2]) >= since:
            printed = run([info, "--get-attr", *words], simulated)
            if not re.search(r"^\d{6,}\nstatus 0$", printed, re.M):
                different.append(name)
                fine = print(f"{name}: DIFFERS: hwloc-info --get-attr {words} prints {printed}")
    if fine:
        print(f"{name} ({version}): {'the same but for GPUs' if fits else 'the same; the plugin is of another ABI'}")


def likwid(name, script, patched):
    fine = True
    for options in ([], ["-g"], ["-c", "-g"], ["-O"], ["-G", "-O"], ["-h"]):
        without = run([script, *options], {})
        fine = compare(f"{name}, {' '.join(options)}", without.replace(str(script), ""), run([patched, *options], {}).replace(str(patched), "")) and fine
    if "GPU Cache Topology" not in run([patched], {"GPUTOPO_COMMAND": f"{build}/bin/gputopo", "GPUTOPO_SIMULATE": "h200"}):
        different.append(name)
        fine = print(f"{name}: DIFFERS: shows no simulated H200")
    if fine:
        print(f"{name} ({version_of(script, '-v')}): the same but for GPUs")


def likwid_of_gpus(name, script, patched):
    """With the GPUs of a stand-in for their driver, which a LIKWID with CUDA support lists, and topologies of the same ones."""
    here = pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        for library in ("libcuda.so", "libcudart.so"):
            subprocess.run(["cc", "-std=c99", "-shared", "-fPIC", "-o", f"{folder}/{library}", here / "listed_gpus.c"], check=True)
        text = (here.parent / "likwid/fixtures/h200.json").read_text()
        topologies = pathlib.Path(folder, "topologies.json")
        topologies.write_text(f"[{text}, {text.replace('0000:3b:00.0', '0000:86:00.0')}]")
        known = {"GPUTOPO_COMMAND": str(here.parent / "likwid/fake_gputopo"), "FAKE_GPUTOPO_OUTPUT": str(topologies)}
        if "GPU Topology" not in run([script], {"LD_LIBRARY_PATH": folder}):
            missing.append(f"{name} with CUDA support: it was built without NVIDIA_INTERFACE=true")
            return
        before = len(different)
        for options in ([], ["-g"], ["-G"], ["-c", "-g", "-G"], ["-O"], ["-G", "-O"]):
            what = f"{name} with CUDA support, {' '.join(options)}"
            stock, ours = (steady(run([program, *options], {"LD_LIBRARY_PATH": folder, **known})) for program in (script, patched))
            lines = [line.rstrip(",") for line in stock.splitlines()]
            patched_lines = [line.rstrip(",") for line in ours.splitlines()]
            added = [line[2:] for line in difflib.ndiff(lines, patched_lines) if line.startswith("+ ")]
            if any(line.startswith("- ") for line in difflib.ndiff(lines, patched_lines)):
                different.append(what)
                print(f"{what}: DIFFERS: lines of LIKWID are missing")
            title = re.compile(r"^([A-Z][^:(,]+):(?=[\t,])")
            listed = {m[1] for line in stock[stock.index("GPU Topology"):].splitlines() if (m := title.match(line))}
            twice = {m[1] for line in added if (m := title.match(line))} & listed
            addresses = [line for line in added if re.match(r"PCI address:[\t,]+0000:(86|3b):00\.0", line)]
            if twice or not listed or len(addresses) != 2:
                different.append(what)
                print(f"{what}: DIFFERS: said twice: {sorted(twice)}; {len(addresses)} of 2 GPUs have their caches shown")
        if len(different) == before:
            print(f"{name} with CUDA support: each GPU once, under LIKWID's number")


own = pathlib.Path(subprocess.run(["pkg-config", "--variable=libdir", "hwloc"], check=True, capture_output=True, text=True).stdout.strip(), "hwloc")
for name, version, package, command in hosts:
    if not has(command[0], name, package):
        continue
    without = in_any_order(run(command, {"HWLOC_PLUGINS_PATH": str(own)}))
    # Whoever binds processes sees the same CPUs whether there are GPUs or not.
    same = [compare(f"{name}, {what}", without, in_any_order(run(command, variables))) for what, variables in (
        ("without data", plugin_path(own)), ("with a simulated H200", {**plugin_path(own), "GPUTOPO_SIMULATE": "h200"}))]
    if all(same):
        print(f"{name} ({version_of(*version)}): the same")

hwloc_tools("hwloc", pathlib.Path("/usr"), own, True)
is_of_2 = {prefix: (prefix / "lib/libhwloc.so.15").exists() for prefix in arguments.hwloc}  # as every hwloc 2.4 to 2.14
for prefix, fits in is_of_2.items():
    hwloc_tools(f"hwloc of {prefix}", prefix, prefix / "lib/hwloc", fits)
missing += [f"hwloc {version}: no such --hwloc PREFIX" for version, fits in (("2.14", True), ("3.0", False)) if fits not in is_of_2.values()]

stock = has("likwid-topology", "LIKWID", "likwid")
patched = build / "bin/likwid-topology"
if stock and patched.exists():
    likwid("LIKWID", stock, patched)
for prefix in arguments.likwid:
    copy = build / "tests/clients-likwid-topology"
    copy.unlink(missing_ok=True)
    apply = pathlib.Path(__file__).resolve().parents[2] / "patches/likwid/apply.sh"
    subprocess.run([apply, "--script", prefix / "bin/likwid-topology", "--prefix", build, "--output", copy], check=True)
    likwid(f"LIKWID of {prefix}", prefix / "bin/likwid-topology", copy)
    likwid_of_gpus(f"LIKWID of {prefix}", prefix / "bin/likwid-topology", copy)
if not arguments.likwid:
    missing.append("LIKWID 5.5: no --likwid PREFIX")

for line in missing:
    print("not here:", line)
sys.exit(1 if different or (arguments.all and missing) else 0)
