# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of the evaluation: docs/benchmarks.md and its charts."""
import re

import cases
import kernels
import measure
import plots
from page import MISSED, table

INTRODUCTION = """# What a probe costs

This page is written by the commands of `scripts/bench`; do not edit it. Measured with {measured_with}.

The benchmark repeats a raw `gettimeofday` system call (`gtodbench`) without a probe and with one on `{function}`.
The guest has one CPU and counts instructions (`-icount shift=0,sleep=off`). Its clock advances by one nanosecond per instruction, so
the average time of a call *is* its number of instructions, which is the same on every machine. The cost of a probe is the
difference. A sample is the minimum of {runs} runs of {calls} calls, because most of these see no timer interrupt; the tables show
the average of {samples} samples. The benchmark verifies that every hit was counted or recorded and that the mechanism is the one named.

## Limitations

- Every instruction counts as one, whatever its real cost: a breakpoint's exception, the return from it, a serializing instruction or a
  cache miss look as cheap as an addition. On hardware, breakpoints compare several times worse (the report of 2005, below, measured
  9 to 90 times the cost of a djprobe).
- QEMU translates code, so its nanoseconds are ratios at best. They are listed below only for their order.
- Guests with several CPUs do not boot with this instruction counter, so two CPUs are measured in another way ("With two CPUs", below).
  Per-CPU counters and records use no `lock` prefix and write no cache line of another CPU, so their cost does not depend on the number
  of CPUs; `testsuite/kernel/percpu-instructions.case` checks their instructions.
- The reader of the records is excluded: `gtodbench` has a real-time priority and the buffers hold all records of a run, so the
  readers of djstap and its peers run between the runs. Waking a reader at a hit, as bpftrace does, is part of the hit.
"""

AGAIN = """## How to repeat the measurements

    scripts/bench overhead                     # both kernels; writes this part of the page
    scripts/bench overhead --with-peers        # installs bpftrace, SystemTap and LTTng first (apt-get, root)
    scripts/bench overhead --kernels 6.1       # one kernel; prints the results and writes nothing
    scripts/bench overhead --on-this-machine   # the running kernel, in nanoseconds; requires loadable modules
    scripts/bench irqs-off, two-cpus, always-on, records, scale, markers   # the other sections, one command each

`scripts/bench compile` measures the time from a script to its module, and what the first scripts on a kernel take: their time, the CPU
time of all their processes, and when each step is reached.
"""


class Results:
    """The measurements on one kernel."""

    def __init__(self, release, instructions, times, peers):
        self.release = release
        self.series = kernels.series_of(release)
        self.instructions = instructions  # {key: Outcome}
        self.times = times  # the same in nanoseconds
        self.peers = peers  # {tool: PeerRun}

    def added(self, key, outcomes=None):
        """Returns the instructions that `key` adds to a call, or None."""
        outcomes = self.instructions if outcomes is None else outcomes
        outcome, base = outcomes.get(key), outcomes.get("unprobed")
        if not outcome or outcome.problem or not base or not base.samples:
            return None
        return outcome.average - base.average

    def cell(self, key, outcomes=None):
        outcomes = self.instructions if outcomes is None else outcomes
        value = self.added(key, outcomes)
        outcome = outcomes.get(key)
        if value is not None:
            return f"{value:.0f}" + (f", {outcome.remark}" if outcome.remark else "")
        return f"not available: {outcome.problem}" if outcome else "not run here"

    def peer_rows(self, keys):
        """Returns (title, outcome, its own unprobed run) of those programs of the peers that ran."""
        for tool, run in self.peers.items():
            for peer in cases.PEERS[tool]:
                if peer.key in keys and peer.key in run.outcomes:
                    yield f"{tool} {peer.title}", run.outcomes[peer.key], run.outcomes["unprobed"]


def target_index(results):
    return 0 if results.series == "6.1" else 1


def target_cell(case, results):
    """Returns "≤ 3" and whether it is reached."""
    if not case.targets:
        return "–"
    target = case.targets[target_index(results)]
    value = results.added(case.key)
    return f"≤ {target}: " + ("not measured" if value is None else "reached" if round(value) <= target else MISSED)


def peers_beside(case, results, tool):
    run = results.peers[tool]
    if run.problem:
        return "–"
    cells = [f"{results.cell(peer.key, run.outcomes)} ({peer.title})" for peer in cases.PEERS[tool] if peer.beside == case.key]
    return "; ".join(cells) or "–"


def cost_section(everything):
    rows = cases.COST + [cases.mechanism_cases()["kprobe-jump", "count"]]
    text = "## Cost per hit\n\nInstructions that one hit adds to the call.\n\n"
    for results in everything:
        text += f"### Linux {results.release}\n\n"
        lines = []
        for case in rows:
            title = "kprobe, jump-optimized, `n++`" if case.key.startswith("kprobe") else case.title
            outcome = results.instructions.get(case.key)
            how = re.search(r": ([a-z0-9-]+)", outcome.log) if outcome and outcome.log else None
            lines.append([title, how[1] if how else "–", f"**{results.cell(case.key)}**", target_cell(case, results),
                          *(peers_beside(case, results, tool) for tool in results.peers)])
        text += table(["script body", "by", "added", "target", *results.peers], lines) + "\n"
        text += f"Without a probe the call takes {results.instructions['unprobed'].average:.0f} instructions.\n"
        for tool, run in results.peers.items():
            text += f"{tool}: {run.problem or 'in a guest of the same kind, ' + run.note}.\n"
        text += "\n"
    return text


def samples_row(title, outcome, base, what="instructions"):
    if not outcome or outcome.problem:
        return [title] + ["–"] * measure.SAMPLES + ["–", f"not available: {outcome.problem}" if outcome else "not run here"]
    return [title] + [f"{value:.0f}" for value in outcome.samples] + \
        [f"{outcome.average:.1f}", f"{outcome.average - base.average:.1f}" + (f", {outcome.remark}" if outcome.remark else "")]


# The programs of the peers in the tables of the evaluation.
EVALUATED_PEERS = {
    "empty": {"kprobe-empty", "kfunc-empty", "kretprobe-empty", "stap-empty"},
    "count": {"kprobe-count", "kfunc-count", "tracepoint-count", "stap-count", "stap-return", "stap-trace"},
    "record": {"kprobe-record", "kfunc-record", "kretfunc-record", "tracepoint-record", "stap-record",
               "stap-return-record", "lttng-kprobe", "lttng-kretprobe", "lttng-syscall"},
}


def evaluation_rows(results, what):
    """Returns (title, outcome, its own unprobed run) of the rows of the 2005 report's tables."""
    base = results.instructions["unprobed"]
    mechanisms = cases.mechanism_cases()
    rows = [("without a probe", base, base)]
    for name, title, _, _ in cases.MECHANISMS:
        rows.append((title, results.instructions.get(mechanisms[name, what].key), base))
    if what == "record":
        rows.append(("djprobe, `$tv` and `$tz` by name", results.instructions.get("record-names"), base))
    return rows + list(results.peer_rows(EVALUATED_PEERS[what]))


def evaluation_section(everything):
    text = ("## The evaluation of 2005, repeated\n\nEmpty handlers, counting handlers and recording handlers (an event of 56 bytes: "
            "size, id, time, pid, four arguments) with every mechanism; instructions per call. The jump and the breakpoint are placed "
            "after the function's fentry site, where the kernel's kprobes do not use ftrace.\n\n")
    for results in everything:
        for what, title in (("empty", "no-op handlers"), ("count", "counting handlers"), ("record", "recording handlers")):
            text += f"### Linux {results.series}, {title}\n\n"
            header = ["probe"] + [f"sample {i + 1}" for i in range(measure.SAMPLES)] + ["average", "overhead"]
            text += table(header, [samples_row(*row) for row in evaluation_rows(results, what)]) + "\n"
    return text + ("A djprobe's no-op handler reads no argument. `$tv` and `$tz` replace the jprobe, which read arguments by name at the "
                   "entry; a system call's wrapper reads them from memory. LTTng replaces LKST's own hook: it records the static "
                   "tracepoints of the system call, between which the kernel has no others.\n\n")


def times_section(everything):
    text = ("## In nanoseconds of the emulator\n\nNanoseconds that a hit adds in the same guests without instruction counting. The "
            "machine may have been busy; only the order is significant.\n\n")
    mechanisms = cases.mechanism_cases()
    lines = []
    for name, title, _, _ in cases.MECHANISMS:
        for what in ("count", "record"):
            key = mechanisms[name, what].key
            cells = [results.cell(key, results.times) for results in everything]
            lines.append([f"{title}, {'`n++`' if what == 'count' else 'record'}"] + cells)
    header = ["probe"] + [f"Linux {results.series}" for results in everything]
    return text + table(header, lines) + "\n"


def history_section():
    rows = [list(row) for row in cases.REPORT_2005]
    names = ["machine", "kprobe", "jprobe", "djprobe", "recording: kprobe", "jprobe", "djprobe", "LKST's own hook"]
    unprobed = " and ".join(", ".join(values) for values in cases.REPORT_2005_UNPROBED)
    text = ("## The report of 2005\n\nM. Hiramatsu, *Overhead Evaluation about Kprobes and Djprobe (Direct Jump Probe)*, Hitachi, "
            "13 July 2005. Nanoseconds over the unprobed `sys_gettimeofday()` of Linux 2.6.12, four samples of 10 seconds each; "
            "left without, right with recording of a 64-byte event.\n\n" + table(names, rows))
    text += (f"\nWithout a probe a call took {unprobed} ns (in the order of the machines, in the two series). Its conclusion: a djprobe "
             "is ten times as fast as the others or more, six times with recording, about a static hook's cost.\n\n")
    text += "What the three could do in 2005:\n\n"
    text += table(["", "kprobe", "jprobe", "djprobe"], [list(row) for row in cases.FUNCTIONALITY_2005])
    text += "\nAnd what djstap's mechanisms can do today:\n\n"
    return text + table(["mechanism", "where", "handler", "it gets", "limits"],
                        [list(row) for row in cases.FUNCTIONALITY]) + "\n"


CHARTS = [("empty", "no-op", "What a no-op handler adds to a call"),
          ("record", "record", "What a recording handler adds to a call")]


def charts(everything):
    """Returns {file name: SVG}."""
    found = {}
    for what, name, title in CHARTS:
        labels, values = [], {}
        for index, results in enumerate(everything):
            for label, outcome, base in evaluation_rows(results, what)[1:]:
                label = label.replace("`", "")
                if label not in values:
                    labels.append(label)
                    values[label] = [None] * len(everything)
                if outcome and not outcome.problem:
                    values[label][index] = outcome.average - base.average
        found[f"{name}.svg"] = plots.bars(title, [f"Linux {results.series}" for results in everything],
                                          [(label, values[label]) for label in labels], "instructions a hit (logarithmic)")
    return found


def text(everything, measured_with, calls):
    """Returns the section "overhead" of the page."""
    page = INTRODUCTION.format(measured_with=measured_with, function=cases.FUNCTION, runs=measure.RUNS, calls=f"{calls:,}",
                               samples=measure.SAMPLES)
    page += "\n" + cost_section(everything) + evaluation_section(everything)
    for what, name, title in CHARTS:
        page += f"![{title}](benchmarks/{name}.svg)\n\n"
    return page + times_section(everything) + history_section() + AGAIN
