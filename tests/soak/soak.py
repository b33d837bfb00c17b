#!/usr/bin/env python3
"""Discovers a real GPU again and again, in peace and in trouble, and looks whether anything is ever wrong or left behind.

  tests/soak/soak.py build/bin/gputopo --load build/tests/gpu_load --out soak

Five phases: quiet, interrupted (SIGINT or SIGTERM at a random moment), beside a neighbour, with the memory nearly full,
and hot (several loads that draw as much power as they can; whether the clock gave way is read from nvidia-smi, and no
setting of the card is touched). The quiet runs give the reference: of each quantity the answer in the middle. A run is
wrong where it says 'measured' of something that its interval and the reference's can't both hold, or gives a bound that
the reference contradicts; 'inconclusive' is allowed. Writes OUT.json and OUT.md; exits with 1 where anything was wrong,
was left behind, or outlived a signal by over a second.
"""

import argparse
import fcntl
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TIME_UNITS = {"cycles", "ns", "B/s", "B/cycle"}
MAY_END_WITH = (0, 3)  # 3: done, but something is inconclusive
LATEST_END_S = 1.0


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("gputopo", help="the command to try")
    parser.add_argument("--device", default="cuda:0", help="as discover takes it (default cuda:0)")
    parser.add_argument("--load", help="build/tests/gpu_load; without it the loaded phases need commands of their own")
    parser.add_argument("--neighbour", help="command of the neighbour (default: LOAD mem 600)")
    parser.add_argument("--fill", help="command that fills the memory (default: LOAD fill 600 MIB)")
    parser.add_argument("--leave-mib", type=int, default=1536, help="memory left free by the default of --fill")
    parser.add_argument("--heat", help="command that draws power, started several times (default: LOAD alu 600)")
    parser.add_argument("--heaters", type=int, default=3, help="how many of them at once")
    for phase, count in PHASES.items():
        parser.add_argument(f"--{phase}-runs", type=int, default=count, help=f"runs of this phase (default {count})")
    parser.add_argument("--limit", type=float, default=360, help="seconds after which no further run begins")
    parser.add_argument("--time-tolerance", type=float, default=5, help="percent between times' intervals (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments of interruption")
    parser.add_argument("--out", default="soak", help="OUT.json and OUT.md are written (default soak)")
    return parser.parse_args()


PHASES = {"quiet": 100, "interrupted": 50, "neighbour": 20, "full": 20, "hot": 10}


# -- what a topology says ----------------------------------------------------------------------------------------------

def answers_of(topology):
    """{quantity: (status, low, high, unit)} for numbers and {quantity: (status, text)} for the rest, as far as decided."""
    found = {}
    for memory in topology["memories"]:
        name = memory["id"]
        estimates = list(memory["attributes"].items())
        for carve_out in memory.get("carve_outs", []):
            for part in ("shared", "usable", "reserved"):
                estimates.append((f"carve_out_{carve_out['requested_percent']}_{part}", carve_out[part]))
        for attribute, e in estimates:
            if e["value"] is None or e["status"] not in ("measured", "lower_bound", "upper_bound"):
                if e["status"] == "not_supported":
                    found[f"{name}.{attribute}"] = ("not_supported", None, None, e["unit"])
                continue
            low, high = e.get("interval", [e["value"], e["value"]])
            found[f"{name}.{attribute}"] = (e["status"], low, high, e["unit"])
        for about, statement in memory.get("structure", {}).items():
            if statement["status"] == "measured" and statement["value"] is not None:
                found[f"{name}: {about}"] = ("measured", statement["value"])
        if memory.get("sm_groups"):
            found[f"{name}: groups"] = ("measured", json.dumps(sorted(sorted(g) for g in memory["sm_groups"])))
    for pair in topology.get("sharing", []):
        if pair["verdict"] != "inconclusive":
            found[f"{pair['first']} and {pair['second']}"] = ("measured", pair["verdict"])
    for level in ("tpc", "cpc", "gpc", "l2_partition"):
        groups = {}
        for place in topology.get("sm_places", []):
            if level in place:
                groups.setdefault(place[level], []).append(place["sm"])
        if groups:
            found[f"map: {level}"] = ("measured", json.dumps(sorted(sorted(g) for g in groups.values())))
    return found


def objection(quantity, reference, answer, tolerance):
    """Why the two can't both be right; empty where they can."""
    if reference is None:
        return ""
    if len(reference) == 2 or len(answer) == 2:
        if len(reference) != len(answer) or reference[1] != answer[1]:
            return f"{quantity} is {short(answer)}, not {short(reference)}"
        return ""
    status, low, high, unit = answer
    if "not_supported" in (status, reference[0]):
        return "" if status == reference[0] else f"{quantity} is {short(answer)}, not {short(reference)}"
    slack = 1 + tolerance / 100 if unit in TIME_UNITS else 1
    if status == "upper_bound":
        low = float("-inf")
    if status == "lower_bound":
        high = float("inf")
    reference_low = float("-inf") if reference[0] == "upper_bound" else reference[1]
    reference_high = float("inf") if reference[0] == "lower_bound" else reference[2]
    if low <= reference_high * slack and reference_low <= high * slack:
        return ""
    return f"{quantity} is {short(answer)}, not {short(reference)}"


def short(answer):
    if len(answer) == 2:
        return answer[1][:60]
    status, low, high, unit = answer
    if low is None:
        return status
    return f"{status} {low:g}" + ("" if low == high else f" to {high:g}") + (f" {unit}" if unit else "")


def reference_of(runs):
    """Of each quantity the answer in the middle of the runs that decided it; texts by their majority."""
    all_answers = {}
    for answers in runs:
        for quantity, answer in answers.items():
            all_answers.setdefault(quantity, []).append(answer)
    reference = {}
    for quantity, given in all_answers.items():
        kind = statistics.mode(a[0] for a in given)
        given = [a for a in given if a[0] == kind]
        if len(given[0]) == 2:
            reference[quantity] = statistics.mode(given)
        elif given[0][1] is None:
            reference[quantity] = given[0]
        else:
            reference[quantity] = sorted(given, key=lambda a: (a[1] + a[2], a))[len(given) // 2]
    return reference


# -- one run -----------------------------------------------------------------------------------------------------------

class Scratch:
    """A folder of its own for a run's home, temporary files, store and output: what is left there was left behind."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="gputopo-soak-"))
        for name in ("tmp", "home", "store"):
            (self.path / name).mkdir(mode=0o755)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUTOPO_")}
        self.environment.update(HOME=str(self.path / "home"), TMPDIR=str(self.path / "tmp"),
                                GPUTOPO_STORE=str(self.path / "store"))

    def left_behind(self, process):
        """Files that no run ought to leave, processes of its group, a locked store. The driver's own cache isn't ours."""
        left = []
        for path in self.path.rglob("*"):
            inside = path.relative_to(self.path).parts
            expected = inside == ("out.json",) or (inside[0] == "store" and path.suffix == ".json") or ".nv" in inside
            if path.is_file() and not expected:
                left.append(f"file {'/'.join(inside)}")
        for name in list((self.path / "store").glob("*.json")) + list(self.path.glob("out.json")):
            try:
                json.loads(name.read_text(encoding="ascii"))
            except ValueError as error:
                left.append(f"half a file, {name.name}: {error}")
        try:
            os.killpg(process.pid, 0)
            left.append("a process")
        except ProcessLookupError:
            pass
        folder = os.open(self.path / "store", os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            left.append("a lock on the store")
        finally:
            os.close(folder)
        return left

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)


def run_once(args, interrupt_after=None, signal_number=None):
    scratch = Scratch()
    try:
        real = args.device.startswith("cuda:")
        command = [args.gputopo, "discover", "--device", args.device, "--format", "json", "--quiet", "-o",
                   str(scratch.path / "out.json")] + (["--save", "--force"] if real else [])
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=scratch.path, env=scratch.environment, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        run = {}
        if interrupt_after is not None:
            time.sleep(interrupt_after)
            signalled = time.monotonic()
            process.send_signal(signal_number)
        try:
            said = process.communicate(timeout=60)[1].decode("ascii", "replace").strip()
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said = process.communicate()[1].decode("ascii", "replace").strip() + " (ended after 60 s)"
        end = time.monotonic()
        run.update(exit=process.returncode, seconds=round(end - begin, 3), left=scratch.left_behind(process))
        if interrupt_after is not None:
            run.update(signal=signal.Signals(signal_number).name, after_s=round(interrupt_after, 3),
                       ended_after_s=round(end - signalled, 3))
        if said:
            run["said"] = said[:300]
        out = scratch.path / "out.json"
        if out.is_file() and not run["left"]:
            run["topology"] = json.loads(out.read_text(encoding="ascii"))
        return run
    finally:
        scratch.close()


# -- loads and the card ------------------------------------------------------------------------------------------------

class Load:
    """Commands that run beside the runs of a phase, ended with it."""

    def __init__(self, command, count, ready_line):
        self.processes = []
        for _ in range(count if command else 0):
            process = subprocess.Popen(shlex.split(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       start_new_session=True, text=True)
            self.processes.append(process)
        self.begun = True
        for process in self.processes:
            if ready_line:
                self.begun = process.stdout.readline().strip() == "ready" and self.begun
        if self.processes and not ready_line:
            time.sleep(2)

    def is_alive(self):
        return self.begun and all(p.poll() is None for p in self.processes)

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def card(args):
    """SM clock in MHz, what the clock gives way to, watts, used memory in MiB; None without nvidia-smi."""
    if not args.device.startswith("cuda:"):
        return None
    fields = "clocks.sm,clocks_event_reasons.active,power.draw,memory.used,temperature.gpu"
    for names in (fields, fields.replace("clocks_event_reasons", "clocks_throttle_reasons")):
        try:
            text = subprocess.run(["nvidia-smi", "-i", args.device[5:], f"--query-gpu={names}",
                                   "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=10,
                                  check=True).stdout
            clock, reasons, watts, used, degrees = [part.strip() for part in text.split(",")]
            return {"sm_mhz": clock, "event_reasons": reasons, "watts": watts, "used_mib": used, "celsius": degrees}
        except (OSError, ValueError, subprocess.SubprocessError):
            continue
    return None


def phases_of(args):
    """Phase, its runs, the command beside it, how many of it, whether it says 'ready'; None for a load that isn't here."""
    def of_load(own, default):
        if own:
            return own, False
        return (f"{shlex.quote(args.load)} {default}", True) if args.load else (None, False)

    yield "quiet", args.quiet_runs, "", 0, False
    yield "interrupted", args.interrupted_runs, "", 0, False
    neighbour, ready = of_load(args.neighbour, "mem 600")
    yield "neighbour", args.neighbour_runs, neighbour, 1, ready
    fill, ready = of_load(args.fill, f"fill 600 {args.leave_mib}")
    yield "full", args.full_runs, fill, 1, ready
    heat, ready = of_load(args.heat, "alu 600")
    yield "hot", args.hot_runs, heat, args.heaters, ready


def soak(args):
    begin = time.monotonic()
    moments = random.Random(args.seed)
    phases = {}
    typical_s = 1.0
    for name, count, command, copies, ready in phases_of(args):
        phase = {"asked": count, "runs": [], "card": []}
        phases[name] = phase
        if count and command is None:
            phase["skipped"] = "no command for its load: give --load"
            continue
        load = Load(command, copies, ready) if count else None
        for i in range(count):
            if time.monotonic() - begin > args.limit:
                phase["skipped"] = f"out of time after {len(phase['runs'])} of {count} runs"
                break
            if not load.is_alive():
                phase["skipped"] = f"the load ended, or never began, before run {i + 1}"
                break
            if i % 5 == 0:
                phase["card"].append(card(args))
            if name == "interrupted":
                after = moments.uniform(0, 1.05 * typical_s)
                run = run_once(args, after, (signal.SIGINT, signal.SIGTERM)[i % 2])
            else:
                run = run_once(args)
            phase["runs"].append(run)
        if load:
            load.close()
        phase["card"] = [seen for seen in phase["card"] if seen]
        if name == "quiet" and phase["runs"]:
            typical_s = statistics.median(run["seconds"] for run in phase["runs"])
        print(f"soak: {name}: {len(phase['runs'])} runs, {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return phases, time.monotonic() - begin


# -- what it comes to --------------------------------------------------------------------------------------------------

def judge(args, phases):
    quiet = [answers_of(run["topology"]) for run in phases["quiet"]["runs"] if "topology" in run]
    reference = reference_of(quiet)
    for name, phase in phases.items():
        counts = {"runs": len(phase["runs"]), "complete": 0, "wrong": 0, "left_behind": 0, "failed": 0,
                  "measured": 0, "inconclusive": 0}
        for run in phase["runs"]:
            topology = run.pop("topology", None)
            ended_well = run["exit"] in MAY_END_WITH
            stopped_well = name == "interrupted" and run["exit"] in (130, -signal.SIGINT, -signal.SIGTERM)
            counts["failed"] += not ended_well and not stopped_well
            counts["left_behind"] += bool(run["left"])
            if topology is None:
                continue
            counts["complete"] += 1
            answers = answers_of(topology)
            counts["measured"] += sum(a[0] == "measured" for a in answers.values())
            counts["inconclusive"] += sum(e["status"] == "inconclusive" for m in topology["memories"]
                                          for e in m["attributes"].values())
            run["wrong"] = [why for quantity, answer in answers.items()
                            if (why := objection(quantity, reference.get(quantity), answer, args.time_tolerance))]
            counts["wrong"] += bool(run["wrong"])
            seen = topology["provenance"].get("interruptions")
            if seen:
                run["switches"] = seen["switches"]
        if name == "interrupted" and phase["runs"]:
            ends = [run["ended_after_s"] for run in phase["runs"]]
            counts["slowest_end_s"] = max(ends)
            counts["late_ends"] = sum(end > LATEST_END_S for end in ends)
            counts["stopped"] = sum(run["exit"] not in MAY_END_WITH for run in phase["runs"])
        phase["counts"] = counts
    return reference


def summary(args, phases, seconds):
    lines = [f"`{os.path.basename(args.gputopo)} discover --device {args.device}`, {seconds:.0f} s in all", "",
             "| runs | done | median s | slowest s | wrong | failed | left behind | measured a run | inconclusive a run | "
             "SM clock MHz | W |", "| --- " * 11 + "|"]
    for name, phase in phases.items():
        counts, runs = phase["counts"], phase["runs"]
        times = [run["seconds"] for run in runs]
        complete = max(counts["complete"], 1)
        clocks = [float(c["sm_mhz"]) for c in phase["card"] if c["sm_mhz"].replace(".", "").isdigit()]
        watts = [float(c["watts"]) for c in phase["card"] if c["watts"].replace(".", "").isdigit()]
        cells = [name, f"{counts['complete']} of {counts['runs']}" if counts["runs"] else "0",
                 f"{statistics.median(times):.2f}" if times else "-", f"{max(times):.2f}" if times else "-",
                 str(counts["wrong"]), str(counts["failed"]), str(counts["left_behind"]),
                 f"{counts['measured'] / complete:.1f}", f"{counts['inconclusive'] / complete:.1f}",
                 f"{min(clocks):.0f} to {max(clocks):.0f}" if clocks else "-", f"{max(watts):.0f}" if watts else "-"]
        lines.append("| " + " | ".join(cells) + " |")
    stopped = phases["interrupted"]["counts"]
    if stopped["runs"]:
        lines += ["", f"Interrupted: {stopped['stopped']} of {stopped['runs']} were stopped by the signal, the others were "
                      f"done before; the slowest ended {stopped['slowest_end_s']:.2f} s after it, {stopped['late_ends']} "
                      "later than a second."]
    remarks = []
    for name, phase in phases.items():
        if "skipped" in phase:
            remarks.append(f"- {name}: {phase['skipped']}")
        for run in phase["runs"]:
            for why in run.get("wrong", []) + run["left"]:
                remarks.append(f"- {name}: {why}")
            if run["exit"] not in (*MAY_END_WITH, 130) and run.get("said"):
                remarks.append(f"- {name}: exit {run['exit']}: {run['said']}")
    counted = [f"{why} ({remarks.count(why)} times)" if remarks.count(why) > 1 else why for why in dict.fromkeys(remarks)]
    return "\n".join(lines + ([""] if counted else []) + counted[:60]) + "\n"


def main():
    args = options()
    args.gputopo = os.path.abspath(args.gputopo)
    phases, seconds = soak(args)
    reference = judge(args, phases)
    text = summary(args, phases, seconds)
    result = {"device": args.device, "seconds": round(seconds, 1), "phases": phases,
              "reference": {quantity: list(answer) for quantity, answer in sorted(reference.items())}}
    pathlib.Path(args.out + ".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    pathlib.Path(args.out + ".md").write_text(text, encoding="utf-8")
    print(text, end="")
    bad = sum(p["counts"]["wrong"] + p["counts"]["failed"] + p["counts"]["left_behind"] +
              p["counts"].get("late_ends", 0) for p in phases.values())
    return 1 if bad or not phases["quiet"]["counts"]["complete"] else 0


if __name__ == "__main__":
    sys.exit(main())
