# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `scripts/bench records`: how many records per second are written and read without loss."""
import os
import re
import shutil
import tempfile
from dataclasses import dataclass

import cases
import guest
import kernels
import measure
import packages
import page
import systemtap

# The kernel's own clock, and the idle time of the CPU: both in nanoseconds, or instructions.
SPENT = """#!/bin/sh
echo $(($(sed -n -e 's/^now at \\([0-9]*\\) nsecs/\\1/p' -e 's/.*\\.idle_sleeptime *: *\\([0-9]*\\).*/-\\1/p' /proc/timer_list |
    tr '\\n' '+')0))
"""
# $1: the key, $2: calls; then the command. If its output is kept, it is in /tmp/out.
RUN = """#!/bin/sh
key=$1 calls=$2
shift 2
: >/tmp/out
before=$(spent)
"$@" >/tmp/log 2>&1 </dev/null || echo "@problem $key $(tail -n 1 /tmp/log)"
after=$(spent)
echo "@run $key $calls $((after - before)) $(grep -c '^[0-9]* ' /tmp/out)"
grep -h -i lost /tmp/log /tmp/out | sed "s/^/@lost $key /" | tail -n 1
"""
TARGETS = {"bpftrace": 3, "SystemTap": 10}
OVERFLOW_CALLS = 100000  # to a buffer of 1 MB, at a priority that leaves the reader no CPU time


@dataclass
class Tool:
    """Runs a command with one printf probe on it; the numbers of records of its two runs."""
    command: str  # with {what}: the command to run, {out}: the file to print to
    few: int
    many: int
    sink: str = "/dev/null"  # output of the runs whose instructions are counted


# The time between the two runs' ends in which the CPU was idle with its tick enabled is not separated: some 10⁸
# instructions, so the difference must be many times that.
TOOLS = {
    "djstap": Tool("djrun -s 128 -o {out} -c '{what}' /modules/records.ko", 200000, 2200000),
    # bpftrace did not end with -o /dev/null; the cost of a file is small in comparison.
    "bpftrace": Tool("env BPFTRACE_PERF_RB_PAGES=16384 bpftrace -B full -o {out} -c '/bin/{what}' /records.bt", 10000, 60000,
                     sink="/tmp/out"),
    "SystemTap": Tool("staprun -b 64 -o {out} -c '/bin/{what}' /modules/records_stap.ko", 10000, 50000),
}


@dataclass
class Outcome:
    """One tool on one kernel. cost: instructions to write and read a record."""
    cost: float = 0
    problem: str = ""

    @property
    def rate(self):
        """Returns the records per 10^9 instructions."""
        return 1e9 / self.cost


def run_line(key, calls, command):
    return f"run {key} {calls} {command}\n"


def add_tools(archive, djstap, release, folder):
    """Adds the tools and their programs; returns {tool: why it is not available}."""
    problems = {}
    case = cases.Case("records", "", cases.POINT, cases.RECORD)
    path, why = measure.Builder(djstap, release, folder).module(case)
    if path:
        archive.file("modules/records.ko", path)
    else:
        problems["djstap"] = why
    archive.program(os.path.join(os.path.dirname(djstap), "djrun"))
    if shutil.which("bpftrace"):
        archive.program(shutil.which("bpftrace"))
        archive.text("records.bt", next(peer.program for peer in cases.BPFTRACE if peer.key == "kfunc-record"))
    else:
        problems["bpftrace"] = packages.NOT_INSTALLED
    path, why = (None, packages.NOT_INSTALLED)
    if shutil.which("stap"):
        program = next(peer.program for peer in cases.SYSTEMTAP if peer.key == "stap-record")
        path, why = systemtap.module(release, folder, "records_stap", program, systemtap.runtime())
        systemtap.add(archive)
    if path:
        archive.file("modules/records_stap.ko", path)
    else:
        problems["SystemTap"] = why
    return problems


def read(console, problems):
    """Returns ({tool: Outcome}, (hits, printed, lost) of the run that overflows) from the guest's output."""
    outcomes = {tool: Outcome(problem=why) for tool, why in problems.items()}
    runs = {}
    for key, calls, spent, lines in re.findall(r"^@run (\S+) (\d+) (\d+) (\d+)$", console, re.MULTILINE):
        runs[key, int(calls)] = (int(spent), int(lines))
    (few, few_spent), (many, many_spent) = sorted((calls, spent) for (key, calls), (spent, _) in runs.items() if key == "none")
    call = (many_spent - few_spent) / (many - few)
    for name, tool in TOOLS.items():
        if name in outcomes:
            continue
        first, second = runs.get((name, tool.few)), runs.get((name, tool.many))
        kept = runs.get((name + "-kept", tool.many))
        failed = re.search(rf"^@(?:problem|lost) {name}(?:-kept)? (.*)$", console, re.MULTILINE)
        if failed or not first or not second or not kept:
            outcomes[name] = Outcome(problem=failed[1] if failed else "it did not end")
        elif kept[1] < tool.many:
            outcomes[name] = Outcome(problem=f"{kept[1]} of {tool.many} records were printed")
        else:
            outcomes[name] = Outcome((second[0] - first[0]) / (tool.many - tool.few) - call)
    printed = runs.get(("overflow", OVERFLOW_CALLS), (0, 0))[1]
    lost = re.search(r"^@lost overflow .*?(\d+) records? w", console, re.MULTILINE)
    return outcomes, (OVERFLOW_CALLS, printed, int(lost[1]) if lost else 0)


def measure_kernel(release, djstap):
    archive = guest.base_archive()
    archive.text("bin/spent", SPENT)
    archive.text("bin/run", RUN)
    archive.program(os.path.join(os.path.dirname(djstap), "gtodbench"))
    archive.program(shutil.which("chrt"))
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        problems = add_tools(archive, djstap, release, folder)
        script = "sleep 30\n"  # excludes the work that a kernel still does after booting
        for calls in (100000, 1100000):
            script += run_line("none", calls, f"gtodbench -n {calls} -q")
        for name, tool in TOOLS.items():
            if name in problems:
                continue
            # The first run of a tool costs more than others: first reads of files, first pages.
            for key, calls, out in ((name + "-warm", tool.few, tool.sink), (name, tool.few, tool.sink),
                                    (name, tool.many, tool.sink), (name + "-kept", tool.many, "/tmp/out")):
                script += run_line(key, calls, tool.command.format(what=f"gtodbench -n {calls} -q", out=out))
        script += run_line("overflow", OVERFLOW_CALLS, "djrun -s 1 -o /tmp/out -c "
                           f"'chrt -f 10 gtodbench -n {OVERFLOW_CALLS} -q' /modules/records.ko")
        print(f"  making and taking records on {release} …", flush=True)
        console = guest.run(release, archive, script, memory_mb=3072, timeout=1800)
    return read(console, problems)


def rows_of(outcomes):
    """Returns [tool, instructions, rate, djstap's in comparison, target]."""
    own = outcomes["djstap"]
    rows = []
    for name in TOOLS:
        outcome = outcomes[name]
        if outcome.problem:
            rows.append([name, "–", "–", "–", f"not available: {outcome.problem}"])
            continue
        times, reached = "–", ""
        if name in TARGETS and not own.problem:
            ratio = outcome.cost / own.cost
            times = f"{ratio:.1f} ×"
            reached = f"≥ {TARGETS[name]} ×: " + ("reached" if ratio >= TARGETS[name] else page.MISSED)
        rows.append([name, f"{outcome.cost:,.0f}", f"{outcome.rate / 1e6:.2f}", times, reached])
    return rows


TEXT = """## Records without loss

The benchmark measures how many records can be written and read without loss if the reader and the probed program share a CPU, whose
instructions then limit both. Each hit of `gettimeofday` prints its pid and four arguments (`printf`, a record of 56 bytes with
djstap); the reader formats them and writes the text to /dev/null (bpftrace: to a file in memory). The instructions of the whole
guest are counted (`-icount shift=0,sleep=off`, one CPU, idle time excluded) from the tool's start to its end, for few and for many
hits. The difference per additional hit, minus the instructions of the call itself, is the cost of a record: writing it, waking the
reader, reading, ordering, formatting and printing it. All records hold the same numbers; djstap copies the digits of a number that is
the same as in the record before, and takes some 160 instructions more for a record whose five numbers all differ. The rate is the number of records per 10⁹ instructions. The same run is repeated
into a file, and counts only if the file has all records. Measured with {with_what}.

"""


def section(everything, djstap):
    text = TEXT.format(with_what=kernels.measured_with(djstap, list(everything)))
    for release, (outcomes, (hits, printed, lost)) in everything.items():
        text += f"### Linux {kernels.series_of(release)}\n\n" + page.table(
            ["tool", "instructions a record", "million records in 10⁹ instructions", "djstap's rate against it", "to reach"],
            rows_of(outcomes))
        text += (f"\nBeyond it: {hits:,} hits at a priority that leaves the reader no CPU, into a buffer of 1 MB: {printed:,} records "
                 f"printed, {lost:,} counted as lost, {printed + lost:,} together.\n\n")
    return text


def main(options):
    djstap = kernels.djstap_of(options)
    if options.with_peers:
        packages.install()
    releases = kernels.releases_of(djstap, options)
    everything = {release: measure_kernel(release, djstap) for release in releases}
    failed = False
    for release, (outcomes, (hits, printed, lost)) in everything.items():
        print(f"\n{release}:")
        for row in rows_of(outcomes):
            print("  " + "  ".join(row))
            failed |= page.is_missed(row[-1])
        print(f"  overflow: {hits} hits, {printed} printed, {lost} lost")
        failed |= bool(outcomes["djstap"].problem) or printed + lost != hits
    if kernels.both_ran(releases):
        page.put("records", section(everything, djstap))
    return 1 if failed else 0
