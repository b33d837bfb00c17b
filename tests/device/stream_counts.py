#!/usr/bin/env python3
"""Accesses that the streams' kernels make by the hardware's counters, beside what they count themselves.

usage: stream_counts.py build/tests/device_test   (needs a GPU, and ncu with permission to read counters)
"""
import collections
import csv
import io
import re
import shutil
import subprocess
import sys

TEST = "--gtest_filter=RealStreams.EveryKernelMovesWhatItCounts"
COUNTERS = {
    ("read", "cached"): ["smsp__inst_executed_op_global_ld.sum"],
    ("read", "l2_only"): ["smsp__inst_executed_op_global_ld.sum"],
    ("read", "shared"): ["smsp__inst_executed_op_shared_ld.sum"],
    ("read", "texture"): ["smsp__inst_executed_op_texture.sum"],
    ("read", "constant"): ["smsp__inst_executed_op_ldc.sum"],
    ("write", "cached"): ["smsp__inst_executed_op_global_st.sum"],
    ("write", "shared"): ["smsp__inst_executed_op_shared_st.sum"],
    ("copy", "cached"): ["smsp__inst_executed_op_global_ld.sum", "smsp__inst_executed_op_global_st.sum"],
    ("copy", "l2_only"): ["smsp__inst_executed_op_global_ld.sum", "smsp__inst_executed_op_global_st.sum"],
    ("copy", "shared"): ["smsp__inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_st.sum"],
}
# Instructions of the kernel's own: a block writes its times (5 words) and, in shared memory, clears what it walks; each
# warp may read parameters as constants.
OWN_SHARE = 0.02
OWN_BLOCK = 200


def counted(executable):
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    metrics = sorted({m for names in COUNTERS.values() for m in names})
    command = [ncu, "--csv", "--page", "raw", "--metrics", ",".join(metrics), "--cache-control", "none",
               "--clock-control", "none", "--kernel-name", "regex:^stream_(read|write|copy)", executable, TEST]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    said = [(m[1], int(m[2])) for m in re.finditer(r"^(stream_\w+) (\d+)$", run.stdout, re.M)]
    start = run.stdout.find('"ID"')
    if run.returncode != 0 or start < 0:
        sys.exit(f"stream_counts: ncu gave no counters: {(run.stdout + run.stderr)[-400:]}")
    table = run.stdout[start:]
    rows = [r for r in csv.DictReader(io.StringIO(table)) if (r.get("ID") or "").isdigit()]
    return said, rows


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    said, rows = counted(sys.argv[1])
    by_kernel = collections.defaultdict(list)
    for row in rows:
        by_kernel[row["Kernel Name"].split("(")[0]].append(row)
    wrong = compared = 0
    for name, accesses in said:
        parts = re.match(r"stream_(read|write|copy|add|fetch_add)_(cached|l2_only|texture|constant|shared)", name)
        kind = parts.groups() if parts else None
        if kind not in COUNTERS or not by_kernel[name]:
            continue
        row = by_kernel[name].pop(0)
        got = sum(float(row[m].replace(",", "")) for m in COUNTERS[kind])
        own = OWN_SHARE * accesses + OWN_BLOCK * float(row["Grid Size"].strip("()").split(",")[0])
        compared += 1
        if kind == ("read", "constant"):
            own += 1.5 * accesses  # 16 bytes take two instructions
        if not accesses <= got <= accesses + own:
            wrong += 1
            print(f"{name}: {accesses} by count, {got:.0f} by counter")
    print(f"{compared} streams compared with the counters, {wrong} differ")
    sys.exit(1 if wrong or compared < 80 else 0)


if __name__ == "__main__":
    main()
