#!/usr/bin/env python3
"""Runs every fuzzer at once until each had a core for a given time, and
LIKWID's JSON reader under every Lua that is here.

  cmake --preset fuzz && cmake --build build-fuzz --target fuzzers
  tests/fuzz/run.py build-fuzz/fuzz --seconds 600 --out found

FOLDER holds NAME_fuzz executables (carry them with this tree to another machine if need be) and may hold lua5.3 and
lua5.4. The cores are shared out evenly: several processes of one fuzzer exchange what they find. A process runs until it has
used SECONDS of a core, so that a busy machine gives each as much. An input that crashes, takes over 5 s of a core, over
256 MiB at once or 2 GiB in all is kept in OUT and makes the exit status 1.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

Running = collections.namedtuple("Running", "name process log stop")

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SEEDS = {
    "trace_parser": [HERE / "corpus/trace_parser"],
    "model": [ROOT / "probes/models"],
    "recording": [HERE / "corpus/recording"],
    "evidence": [HERE / "corpus/evidence"],
    "hwloc_xml": [HERE / "corpus/hwloc_xml"],
    "store": [HERE / "store/corpus"],
}
LONGEST = {"store": 65536, "model": 32768, "recording": 8192, "evidence": 8192, "hwloc_xml": 4096, "trace_parser": 4096}
LUAS = ("lua5.3", "lua5.4")
# libstdc++ keeps memory for exceptions, hwloc for its components: neither grows.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=0", "UBSAN_OPTIONS": "print_stacktrace=1"}


def fuzzer(name, binary, out, number):
    corpus = out / name / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    command = [binary, "-timeout=120", "-rss_limit_mb=2048", "-malloc_limit_mb=256",
               f"-max_len={LONGEST[name]}", "-print_final_stats=1", "-reload=5", f"-seed={number + 1}",
               f"-artifact_prefix={out / name}/", corpus, *SEEDS[name]]
    running = start(name, command, out / name / f"log-{number}.txt", SANITIZERS)
    return running._replace(stop=lambda: running.process.send_signal(signal.SIGUSR1))  # libFuzzer ends in good order


def lua(interpreter, out, number):
    name = os.path.basename(interpreter)
    folder = out / f"likwid_{name}"
    folder.mkdir(parents=True, exist_ok=True)
    enough = folder / f"enough-{number}"
    enough.unlink(missing_ok=True)
    setting = f"ROOT='{ROOT}' STOP='{enough}' SEED={20220726 + number}"
    environment = {"GPUTOPO_COMMAND": str(ROOT / "tests/likwid/fake_gputopo"),
                   "FAKE_GPUTOPO_OUTPUT": str(folder / f"input-{number}.json"),
                   "LD_LIBRARY_PATH": os.path.dirname(interpreter)}
    running = start(folder.name, [interpreter, "-e", setting, ROOT / "tests/likwid/mutation_test.lua"],
                    folder / f"log-{number}.txt", environment)
    return running._replace(stop=enough.touch)


def start(name, command, log, environment):
    with open(log, "wb") as file:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=subprocess.STDOUT, env={**os.environ, **environment})
    return Running(name, process, log, None)


def used_seconds(process):
    """Of a core, by the process and the children that it waited for (proc(5), 14 to 17); None once it has ended."""
    if process.poll() is not None:
        return None
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def wait(running, seconds):
    """Until each has ended, or has used its time and then been stopped; how much each used at the last look."""
    used = {one: 0.0 for one in running}
    stopped = set()
    while left := [one for one in running if one.process.poll() is None]:
        time.sleep(0.5)
        for one in left:
            now = used_seconds(one.process)
            if now is None:
                continue
            used[one] = now
            if now >= seconds and one not in stopped:
                stopped.add(one)
                one.stop()
    return used


def summary(used):
    rows = collections.OrderedDict()
    bad = []
    for (name, process, log, _), seconds in used.items():
        text = log.read_text(encoding="utf-8", errors="replace")
        row = rows.setdefault(
            name, {"processes": 0, "seconds": seconds, "inputs": 0, "coverage": 0, "failed": 0, "mib": 0})
        row["processes"] += 1
        row["seconds"] = min(row["seconds"], seconds)
        row["failed"] += process.returncode != 0
        counted = re.findall(r"number_of_executed_units:\s*(\d+)", text) or re.findall(r"(\d+) rounds", text)
        row["inputs"] += int(counted[-1]) if counted else 0
        row["coverage"] = max([row["coverage"]] + [int(n) for n in re.findall(r"cov: (\d+)", text)])
        row["mib"] = max([row["mib"]] + [int(n) for n in re.findall(r"peak_rss_mb:\s*(\d+)", text)])
        if process.returncode != 0:
            found = re.search(r"(SUMMARY: .*|ERROR: .*|runtime error: .*|fail: .*)", text)
            bad.append(f"- {name}: exit {process.returncode}: {found.group(1) if found else text[-200:].strip()} ({log})")
    lines = ["| fuzzer | processes | seconds of a core, each | inputs | edges reached | MiB at most "
             "| processes that found something |",
             "| --- " * 7 + "|"]
    lines += [f"| {name} | {r['processes']} | {r['seconds']:.0f} | {r['inputs']} | {r['coverage'] or '-'} "
              f"| {r['mib'] or '-'} | {r['failed']} |"
              for name, r in rows.items()]
    return "\n".join(lines + ([""] + bad if bad else [])), len(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="where the fuzzers are")
    parser.add_argument("--seconds", type=int, default=600, help="of a core, for each process (default 600)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: the cores)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("found"), help="corpora, logs and finds")
    parser.add_argument("--only", help="fuzzers, between commas")
    args = parser.parse_args()
    args.folder, args.out = args.folder.resolve(), args.out.resolve()
    work = []
    for name in SEEDS:
        if (args.folder / f"{name}_fuzz").is_file():
            work.append((fuzzer, name, args.folder / f"{name}_fuzz"))
        else:
            print(f"run: no {name}_fuzz in {args.folder}", file=sys.stderr)
    for name in LUAS:
        carried = args.folder / name
        interpreter = str(carried) if carried.is_file() else shutil.which(name)
        if interpreter:
            work.append((lua, name, interpreter))
    if args.only:
        unknown = set(args.only.split(",")) - {name for _, name, _ in work}
        if unknown:
            parser.error(f"no fuzzer '{min(unknown)}' here; choose of {', '.join(name for _, name, _ in work)}")
        work = [item for item in work if item[1] in args.only.split(",")]
    running = []
    for number in range(max(args.jobs, len(work))):
        kind, name, program = work[number % len(work)]
        if kind is fuzzer:
            running.append(fuzzer(name, program, args.out, number))
        elif number < len(work):  # one of each Lua: they exchange nothing
            running.append(lua(program, args.out, number))
    begin = time.monotonic()
    text, bad = summary(wait(running, args.seconds))
    print(f"{time.monotonic() - begin:.0f} s\n\n{text}")
    (args.out / "summary.md").write_text(text + "\n", encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
