# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/bench handlers: the cost of handlers in user space; writes docs/benchmarks-user.md.

Times are ratios of processor time within one run (bench_handlers, Google Benchmark, the lower quartile of many short
repetitions in random order). Instructions are callgrind's, as the difference between a long and a short run.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

import page

HEAD = """# What handlers cost in user space

Written by `scripts/bench handlers`. The generated code and the runtime's arrays are the same as in the kernel (`--runtime=user`
links them into a process), so one program can compare them with C++ (`testsuite/bench/handlers.cpp`).
Ratios below 1 mean that djstap is faster. Only figures of one run are compared with each other: each is the lower quartile
of many repetitions of 10 ms, with all cases in random order. Both sides compute the same keys by the same arithmetic, fill their
array in the same order and use it once before they are timed; the map has room for all its elements from the beginning.

"""


def add_arguments(parser):
    parser.add_argument("--program", help="default: build/release/bin/bench_handlers")
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--output", help="default: docs/benchmarks-user.md")
    parser.add_argument("--records", action="store_true", help="only count the instructions of a record; writes no page")


def times(program, repetitions):
    """Returns {benchmark: nanoseconds per iteration}, {benchmark: items per second}: the lower quartile of many short
    repetitions in random order, so that both sides of a ratio ran under the same conditions."""
    done = subprocess.run([program, "--benchmark_format=json", f"--benchmark_repetitions={repetitions}",
                           "--benchmark_min_time=0.01", "--benchmark_enable_random_interleaving=true"],
                          stdout=subprocess.PIPE, check=True)
    time, rate = {}, {}
    for each in json.loads(done.stdout)["benchmarks"]:
        if each["run_type"] == "iteration":
            time.setdefault(each["run_name"], []).append(each["cpu_time"])
            rate.setdefault(each["run_name"], []).append(each.get("items_per_second", 0))
    return ({name: sorted(values)[len(values) // 4] for name, values in time.items()},
            {name: sorted(values)[-1 - len(values) // 4] for name, values in rate.items()})


def instructions(program, case):
    """Returns the instructions of one operation: the counts are large enough that differences between two starts of the
    program do not matter."""
    totals = []
    with tempfile.TemporaryDirectory() as folder:
        for operations in (10_000, 2_010_000):
            done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program,
                                   "--instructions", case, str(operations)],
                                  capture_output=True, text=True, check=True)
            totals.append(int(re.search(r"Collected\s*:\s*(\d+)", done.stderr)[1]))
    return (totals[1] - totals[0]) / 2_000_000


RECORD_SCRIPT = """probe begin {{
    for (i = 0; i < {records} / 500; i++)
        for (j = 0; j < 500; j++)
            printf("%d %d %d %d %p\\n", {numbers})
    exit()
}}"""
RECORDS = {"the numbers of the record before": "1234, 5, 987654, 7, 0xffff8880",
           "numbers that all differ from those of the record before": "1000 + j, j, 100000 + j, -j, 0xffff8880 + j"}
RECORD_AIM = 250
# What the same record takes a handler in a kernel, from its function's entry on: the first column of docs/benchmarks.md.
RECORD_ROW = re.compile(r"^\| `printf` of pid and four arguments \| djprobe \| \*\*(\d+)\*\*", re.MULTILINE)


def record_instructions(djstap, numbers):
    """Returns the instructions of one record in the reader: until its text is in the output's buffer."""
    totals = []
    with tempfile.TemporaryDirectory() as folder:
        for records in (10_000, 210_000):
            done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
                                   "--toggle-collect=djstap::RecordMerger::run*", djstap, "--runtime=user", "-D",
                                   "MAXACTION=10000000", "-o", f"{folder}/text", "-e",
                                   RECORD_SCRIPT.format(records=records, numbers=numbers)],
                                  capture_output=True, text=True, check=True)
            with open(f"{folder}/text", "rb") as text:
                if text.read().count(b"\n") != records:
                    raise SystemExit(f"bench: not all of {records} records were printed")
            totals.append(int(re.search(r"Collected\s*:\s*(\d+)", done.stderr)[1]))
    return (totals[1] - totals[0]) / 200_000


def record_section(counts, root):
    with open(os.path.join(root, "docs", "benchmarks.md"), encoding="utf-8") as file:
        made = [int(cost) for cost in RECORD_ROW.findall(file.read())]
    lines = ["\n## A record, from the handler to the text\n",
             "Instructions of `printf` with five numbers: in the handler, on the kernels of docs/benchmarks.md (QEMU's), and in the reader, "
             "until its text\nis in the output's buffer (callgrind's).\n",
             "| what | handler | reader | together | aim |", "|---|---|---|---|---|"]
    for number, (what, count) in enumerate(counts.items()):
        lines.append(f"| {what} | {' / '.join(str(cost) for cost in made)} | {count:.0f} "
                     f"| {' / '.join(f'{cost + count:.0f}' for cost in made)} "
                     f"| {page.aim(f'≤ {RECORD_AIM}', max(made) + count <= RECORD_AIM) if number == 0 else ''} |")
    return lines


def report(time, rate, counts, records):
    lines = [HEAD, "## Beside the same in C and C++\n", "| what | djstap | beside | ratio | aim |", "|---|---|---|---|---|"]

    def row(what, ours, other, most):
        ratio = time[ours] / time[other]
        lines.append(f"| {what} | {time[ours] / 1e3:.1f} µs | {time[other] / 1e3:.1f} µs | {ratio:.2f} "
                     f"| {page.aim(f'≤ {most}', ratio <= most)} |")

    row("xorshift, 10,000 turns, beside C with the same checks", "XorshiftScript", "XorshiftC", 1.5)
    row("collatz up to 1,000, beside C with the same checks", "CollatzScript", "CollatzC", 1.5)
    for size in (1000, 1_000_000):
        for use in ("Update", "Lookup"):
            row(f"{use.lower()} 10,000 times, integer key, {size:,} entries, beside std::unordered_map",
                f"{use}Script<{size}>", f"{use}Unordered<{size}>", 1)
    for use in ("Update", "Lookup"):
        row(f"{use.lower()} 10,000 times, three mixed keys, 1,000 entries, beside the map with a tuple",
            f"Mixed{use}Script<1000>", f"Mixed{use}Unordered<1000>", 1)
    lines += ["\n## From 1,000 to 1,000,000 entries, integer key\n", "| what | djstap | std::unordered_map | aim |", "|---|---|---|---|"]
    for use in ("Update", "Lookup"):
        small, large = ([time[f"{use}{kind}<{size}>"] / 1e4 for kind in ("Script", "Unordered")] for size in (1000, 1_000_000))
        factors = [b / a for a, b in zip(small, large)]
        share, as_factor = (large[0] - small[0]) / (large[1] - small[1]), (factors[0] - 1) / (factors[1] - 1)
        lines.append(f"| {use.lower()}: time of one grows by | {large[0] - small[0]:.1f} ns | {large[1] - small[1]:.1f} ns "
                     f"| {page.aim(f'≤ half of the map: {share:.2f}', share <= 0.5)} |")
        lines.append(f"| the same as a factor | {factors[0]:.2f} × | {factors[1]:.2f} × "
                     f"| {page.aim(f'(djstap - 1) ≤ half of (map - 1): {as_factor:.2f}', as_factor <= 0.5)} |")
    if counts:
        lines += ["\n## Instructions\n", "callgrind's, of one operation with its share of the loop and of making the key.\n",
                  "| what | djstap | std::unordered_map | aim |", "|---|---|---|---|"]
        for use in ("Update", "Lookup"):
            (ours, map_small), (large, map_large) = ([counts[f"{use}{kind}<{size}>"] for kind in ("Script", "Unordered")]
                                                     for size in (1000, 1_000_000))
            lines.append(f"| {use.lower()}, integer key, 1,000 → 1,000,000 entries | {ours:.1f} → {large:.1f}: {large / ours:.2f} × "
                         f"| {map_small:.1f} → {map_large:.1f}: {map_large / map_small:.2f} × "
                         f"| {page.aim('≤ 1.3 ×', large <= 1.3 * ours)} |")
        for use in ("Update", "Lookup"):
            lines.append(f"| {use.lower()}, three mixed keys, 1,000 entries | {counts[f'Mixed{use}Script<1000>']:.1f} "
                         f"| {counts[f'Mixed{use}Unordered<1000>']:.1f} | |")
    lines += records
    lines += ["\n## Two threads\n", "| what | one thread | two threads | gain |", "|---|---|---|---|"]
    for name, what in (("CounterOnCpus", "a counter (per CPU)"), ("StatisticOnCpus", "a statistic (per CPU)"),
                       ("ArrayOnCpus", "an array (its lock held for the handler, 10,000 updates)")):
        one, two = (rate[f"{name}/real_time/threads:{n}"] / 1e6 for n in (1, 2))
        lines.append(f"| {what} | {one:.0f} million/s | {two:.0f} million/s | {two / one:.2f} × |")
    return "\n".join(lines) + "\n"


COUNTED = [f"{use}{kind}<{size}>" for use in ("Update", "Lookup") for kind in ("Script", "Unordered") for size in (1000, 1_000_000)] + [
    f"Mixed{use}{kind}<1000>" for use in ("Update", "Lookup") for kind in ("Script", "Unordered")]


def run(options, root):
    """Returns the exit status: 1 if an aim is missed."""
    djstap = os.path.join(root, "build", "release", "bin", "djstap")
    records = []
    if shutil.which("valgrind"):
        records = record_section({what: record_instructions(djstap, numbers) for what, numbers in RECORDS.items()}, root)
    if options.records:
        print("\n".join(records[1:]))
        return int(page.is_missed("\n".join(records)))
    program = options.program or os.path.join(root, "build", "release", "bin", "bench_handlers")
    time, rate = times(program, options.repetitions)
    counts = {}
    if shutil.which("valgrind"):
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # a count does not depend on concurrent load
            counts = dict(zip(COUNTED, pool.map(lambda case: instructions(program, case), COUNTED)))
    text = report(time, rate, counts, records)
    with open(options.output or os.path.join(root, "docs", "benchmarks-user.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text[len(HEAD):])
    return int(page.is_missed(text))
