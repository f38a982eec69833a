#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes docs/kernels.md: what works on which of Debian's kernels, by running a kernel case, or several, for each column.

    table.py --djstap build/release/bin/djstap [KERNEL…]     6.1, 6.1-rt, 6.12, 6.12-rt and 7.3 if none is named
    table.py … --check                                       runs them, but only compares
    table.py … --costs                                       measures only the columns of costs
    table.py … --column "all functions"                      runs only the cases of this column, or of several; the others are kept
    table.py --log FILE [--log FILE…] KERNEL…                 runs nothing: what run.py printed into these files counts,
                                                             the last result of each case

Rows of kernels that are not named are kept. scripts/kernels fetches the kernels. A cell is "yes" if all cases passed,
"partly" if one is skipped because it does not hold there (`not-on-…` in the case: the reason is below the table), "no" if
one failed, and "–" if one was not run. A cost is the number of instructions that a hit of a djprobe adds, as scripts/bench
overhead measures it.
"""
import argparse
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "../bench")]
os.environ["DJSTAP_LONG"] = "1"  # a hundred loads
import cases as bench_cases  # noqa: E402
import guest as bench_guest  # noqa: E402
import measure  # noqa: E402
import overhead  # noqa: E402
import run  # noqa: E402

DOCUMENT = os.path.join(HERE, "../../docs/kernels.md")
KERNELS = ["6.1", "6.1-rt", "6.12", "6.12-rt", "7.3"]
COLUMNS = {
    "kit": ["first-run"],
    "100 loads": ["safety-load-unload"],
    "djprobe": ["mechanism-djprobe"],
    "return djprobe": ["return-djprobe", "return-sleeper"],
    "ftrace": ["mechanism-ftrace"],
    "kprobe": ["mechanism-kprobe", "mechanism-kprobe-int3"],
    "kprobe-jump": ["mechanism-kprobe-jump"],
    "kretprobe": ["mechanism-kretprobe"],
    "tracepoint": ["tracepoint-arguments"],
    "timer": ["timer", "timer-in-task"],
    "perf": ["profile", "perf-process"],
    "netfilter": ["netfilter"],
    "procfs": ["procfs"],
    "modules": ["module-functions"],
    "all functions": ["all-functions"],
    "markers": ["markers"],
    "data": ["watch-data"],
    "programs": ["process-functions", "process-lives"],
    "system calls": ["syscalls"],
    "stacks": ["stacks", "ustack"],
    "arrays, records": ["arrays", "records-at-once"],
    "levels": ["levels"],
    "recorder": ["recorder"],
    "embedded C": ["embedded-c"],
    "under load": ["unload-under-load"],
}
COSTS = {"cost of `n++`": "count", "cost of a record": "record"}  # the cases of testsuite/bench/cases.py
HEAD = ["kernel", "release", *COLUMNS, *COSTS]
COST_MAY_GROW = 2  # instructions: releases of a series differ by less
NOT_MEASURED = "–"
BEGIN = """\
# Kernels

What works on which of Debian's kernels for x86-64. `testsuite/kernel/table.py` writes this page from runs of kernel cases in guests;
`scripts/kernels SERIES` fetches a kernel. Names with `-rt` are kernels with PREEMPT_RT, others are the kernels for clouds.
`scripts/test` runs the kernel cases on 6.1, 6.12 or both, `scripts/test --nightly` all of them on both, and on 7.3 one with a probe of each mechanism and one with a warning.

"""
MEANING = """\

The columns: *kit*: the runtime is built, and a first script runs; *100 loads*: a module is loaded and unloaded a hundred times while the
functions that it probes are called; *all functions*: the entries of all functions are probed at once; *data*: breakpoints of the
processor on data; *stacks*: of the kernel, through the code of handlers, and of programs; *levels*: handlers know what they interrupt; *under load*: probes are
attached and detached while they are hit. The other columns are mechanisms and parts of the runtime that [architecture.md](architecture.md) describes.
The costs are the instructions that a hit of a djprobe adds to a function; the record consists of the process ID and four arguments.

"partly": a case of this column does not hold on that kernel, for the reason below. "–": not run yet.

"""
END = """\

PREEMPT_RT: handlers run with preemption or interrupts disabled and wait for nothing but raw locks there, as on other kernels, and timers
fire in hard interrupts. Softirqs are threads of such a kernel: what a script calls the softirq level is that of tasks.
"""


def read_old():
    """Returns (the row of each kernel, with today's columns, the notes of each kernel) of the document."""
    rows, notes, names = {}, {}, []
    if os.path.exists(DOCUMENT):
        with open(DOCUMENT, encoding="utf-8") as file:
            for line in file:
                if match := re.match(r"\| ([\d.]+(?:-rt)?) \|", line):
                    cells = dict(zip(names, cells_of(line)))
                    rows[match[1]] = "| " + " | ".join(cells.get(name, NOT_MEASURED) for name in HEAD) + " |"
                elif line.startswith("| kernel |"):
                    names = cells_of(line)
                elif match := re.match(r"- ([\d.]+(?:-rt)?), ", line):
                    notes.setdefault(match[1], []).append(line.strip())
    return rows, notes


def cells_of(row):
    return [cell.strip() for cell in row.strip().split("|")[1:-1]]


def read_logs(paths):
    """Returns the results in what run.py printed, by case and kernel."""
    words = {"passed": run.PASSED, "failed": run.FAILED, "skipped": run.SKIPPED}
    results = {}
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if match := re.match(r"([\w-]+)\.case on ([\w.-]+): (passed|failed|skipped)", line):
                    results[match[1], match[2]] = words[match[3]]
    return results


def costs_of(kernel, djstap):
    """Returns the cells of a kernel's costs, measured in a guest that counts instructions."""
    folder = run.kernel_folder_in(os.environ, kernel)
    bench_guest.KERNELS = os.path.dirname(folder)
    chosen = [case for case in bench_cases.COST if case.key in COSTS.values()]
    with tempfile.TemporaryDirectory(prefix="djstap-table-") as modules:
        try:
            outcomes = measure.in_guest(os.path.basename(folder), os.path.abspath(djstap), chosen, modules, overhead.CALLS, True)
        except bench_guest.GuestLost as lost:
            print(f"{kernel}: the guest was lost: {lost}", flush=True)
            return ["no"] * len(COSTS)
    cells = []
    for key in COSTS.values():
        ran = [outcomes[each] for each in ("unprobed", "unprobed-after", key)]
        problem = next((each.problem for each in ran if each.problem), "")
        if problem:
            print(f"{kernel}: {key}: {problem}", flush=True)
        # The least: where the timer ticks often, its interrupt falls into most of the runs.
        cells.append("no" if problem else f"{min(ran[2].samples) - min(ran[0].samples + ran[1].samples):.0f}")
    return cells


def costs_in(row):
    """Returns the cells of costs in a row of the document."""
    return cells_of(row)[-len(COSTS):] if row else [NOT_MEASURED] * len(COSTS)


def with_costs(row, costs):
    return "|".join(row.split("|")[:3 + len(COLUMNS)]) + "| " + " | ".join(costs) + " |"


def cost_too_much(costs, documented):
    """Returns whether a cost is missing, or above the document's by more than releases of a series differ."""
    return any(not now.isdigit() or not before.isdigit() or int(now) > int(before) + COST_MAY_GROW
               for now, before in zip(costs, documented))


def judge(kernel, result_of, kept):
    """Returns (row without costs, notes) of a kernel; `kept` has the cells of columns that are not judged."""
    cells, notes = [], []
    for column, cases in COLUMNS.items():
        if column in kept:
            cells.append(kept[column])
            continue
        cell = "yes"
        for case in cases:
            path = os.path.join(HERE, case + ".case")
            result = result_of(case, path)
            if result == run.PASSED:
                continue
            if result is None:
                cell = "–" if cell == "yes" else cell
            elif result == run.SKIPPED:
                cell = "partly" if cell == "yes" else cell
                notes.append(f"- {kernel}, {column}: {run.reason_to_skip(run.read_case(path), kernel)}.")
            else:
                cell = "no"
                notes.append(f"- {kernel}, {column}: `{case}.case` fails.")
            sys.stdout.flush()
        cells.append(cell)
    release = os.path.basename(run.kernel_folder_in(os.environ, kernel))
    return f"| {kernel} | {release} | " + " | ".join(cells) + " |", notes


def document(rows, notes):
    order = sorted(rows, key=lambda name: ([int(part) for part in name.removesuffix("-rt").split(".")], name))
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD),
             *(with_costs(rows[kernel], costs_in(rows[kernel])) for kernel in order)]
    below = [note for kernel in order for note in notes.get(kernel, [])]
    return BEGIN + "\n".join(lines) + "\n" + MEANING + "\n".join(below) + "\n" + END


def main():
    parser = argparse.ArgumentParser(description="Writes docs/kernels.md.")
    parser.add_argument("--djstap")
    parser.add_argument("--log", action="append", help="take the results from here")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a cell differs")
    parser.add_argument("--costs", action="store_true", help="measure only what a hit costs, and keep the other cells")
    parser.add_argument("--column", action="append", choices=list(COLUMNS), help="run only its cases, and keep the other cells")
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_args()
    if not options.djstap and not options.log:
        parser.error("--djstap or --log is needed")
    logged = read_logs(options.log or [])
    rows, notes = read_old()
    old = dict(rows), dict(notes)
    os.environ.setdefault("SEED", "1")
    for kernel in options.kernels or KERNELS:
        if not run.kernel_folder_in(os.environ, kernel):
            parser.error(f"there is no kernel {kernel}: scripts/kernels {kernel} fetches it")

        def result_of(case, path, kernel=kernel):
            if options.log:
                return logged.get((case, kernel))
            return run.run_case(path, options.djstap, kernel, "", False)

        measured = options.djstap and not options.column
        costs = costs_of(kernel, options.djstap) if measured else costs_in(old[0].get(kernel))
        if options.costs and kernel in rows:
            rows[kernel] = with_costs(rows[kernel], costs)
        else:
            kept = {}
            if options.column and kernel in rows:
                kept = {name: cell for name, cell in zip(HEAD, cells_of(rows[kernel])) if name in COLUMNS and name not in options.column}
            row, found = judge(kernel, result_of, kept)
            notes[kernel] = [note for note in notes.get(kernel, []) if note.split(", ", 1)[1].split(":")[0] in kept] + found
            rows[kernel] = with_costs(row, costs)
        if not options.check:
            with open(DOCUMENT, "w", encoding="utf-8") as file:
                file.write(document(rows, notes))
    # The archive's newest release of a series changes; what works is to stay.
    cells = lambda row: row.split("|")[3:3 + len(COLUMNS)] if row else None  # noqa: E731
    changed = [kernel for kernel in rows if cells(rows[kernel]) != cells(old[0].get(kernel)) or
               cost_too_much(costs_in(rows[kernel]), costs_in(old[0].get(kernel))) or
               (notes.get(kernel) or []) != old[1].get(kernel, [])]
    if options.check and changed:
        print(f"FAILED: docs/kernels.md differs: {', '.join(changed)}")
        return 1
    return 1 if any("fails." in note for kernel in options.kernels or KERNELS for note in notes.get(kernel, [])) else 0


if __name__ == "__main__":
    sys.exit(main())
