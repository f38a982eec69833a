# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/bench handlers: what handlers cost in user space; writes docs/benchmarks-user.md.

Times are ratios of processor time within one run (bench_handlers, Google Benchmark, the median of several
repetitions). Instructions are callgrind's, as the difference of a long and a short run.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile

HEAD = """# What handlers cost in user space

Written by `scripts/bench handlers`. The generated code and the runtime's arrays are those that the kernel gets
(`--runtime=user` links them into a process), so they can be put beside C++ in one program (`testsuite/bench/handlers.cpp`).
Ratios below 1 mean that djstap is faster. Only figures of one run are compared with each other.

"""


def add_arguments(parser):
    parser.add_argument("--program", help="default: build/release/bin/bench_handlers")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--output", help="default: docs/benchmarks-user.md")


def times(program, repetitions):
    """{benchmark: nanoseconds an iteration}, {benchmark: items a second}"""
    done = subprocess.run([program, "--benchmark_format=json", f"--benchmark_repetitions={repetitions}",
                           "--benchmark_report_aggregates_only=true", "--benchmark_min_time=0.1",
                           "--benchmark_enable_random_interleaving=true"],
                          stdout=subprocess.PIPE, check=True)
    time, rate = {}, {}
    for each in json.loads(done.stdout)["benchmarks"]:
        if each.get("aggregate_name") == "median":
            name = each["run_name"]
            time[name] = each["cpu_time"]
            rate[name] = each.get("items_per_second", 0)
    return time, rate


def instructions(program, case, size):
    """Instructions of one operation."""
    totals = []
    with tempfile.TemporaryDirectory() as folder:
        for operations in (10_000, 110_000):
            done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program,
                                   "--instructions", case, str(size), str(operations)],
                                  capture_output=True, text=True, check=True)
            totals.append(int(re.search(r"Collected\s*:\s*(\d+)", done.stderr)[1]))
    return (totals[1] - totals[0]) / 100_000


def report(time, rate, counts):
    lines = [HEAD, "## Beside the same in C and C++\n", "| what | djstap | beside | ratio | aim |", "|---|---|---|---|---|"]

    def row(what, ours, other, aim):
        lines.append(f"| {what} | {time[ours] / 1e3:.1f} µs | {time[other] / 1e3:.1f} µs | {time[ours] / time[other]:.2f} | {aim} |")

    row("xorshift, 10,000 turns, beside C with the same checks", "XorshiftScript", "XorshiftC", "≤ 1.5")
    row("collatz up to 1,000, beside C with the same checks", "CollatzScript", "CollatzC", "≤ 1.5")
    for size in ("1000", "1000000"):
        for use in ("Update", "Lookup"):
            row(f"{use.lower()} 10,000 times, integer key, {int(size):,} entries, beside std::unordered_map",
                f"{use}Script/{size}", f"{use}Unordered/{size}", "≤ 1" if size == "1000" else "")
    for use in ("Update", "Lookup"):
        row(f"{use.lower()} 10,000 times, three mixed keys, 1,000 entries, beside the map with a tuple",
            f"Mixed{use}Script/1000", f"Mixed{use}Unordered/1000", "≤ 1")
    lines += ["\n## From 1,000 to 1,000,000 entries\n", "| what | djstap | std::unordered_map | aim |", "|---|---|---|---|"]
    for use in ("Update", "Lookup"):
        ours, other = (time[f"{use}{kind}/1000000"] / time[f"{use}{kind}/1000"] for kind in ("Script", "Unordered"))
        lines.append(f"| {use.lower()}: time grows | {ours:.2f} × | {other:.2f} × | (djstap - 1) ≤ half of (map - 1): "
                     f"{(ours - 1) / (other - 1):.2f} |")
    for case, (small, large) in counts.items():
        lines.append(f"| {case}: instructions an operation, the handler's loop with it | {small:.1f} → {large:.1f}: "
                     f"{large / small:.2f} × | | ≤ 1.3 × |")
    lines += ["\n## Two threads\n", "| what | one thread | two threads | gain |", "|---|---|---|---|"]
    for name, what in (("CounterOnCpus", "a counter (per CPU)"), ("StatisticOnCpus", "a statistic (per CPU)"),
                       ("ArrayOnCpus", "an array (its lock held for the handler, 10,000 updates)")):
        one, two = (rate[f"{name}/real_time/threads:{n}"] / 1e6 for n in (1, 2))
        lines.append(f"| {what} | {one:.0f} million/s | {two:.0f} million/s | {two / one:.2f} × |")
    return "\n".join(lines) + "\n"


def run(options, root):
    program = options.program or os.path.join(root, "build", "release", "bin", "bench_handlers")
    time, rate = times(program, options.repetitions)
    counts = {}
    if shutil.which("valgrind"):
        for case in ("update", "lookup"):
            counts[case] = [instructions(program, case, size) for size in (1000, 1_000_000)]
    text = report(time, rate, counts)
    with open(options.output or os.path.join(root, "docs", "benchmarks-user.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text[len(HEAD):])
