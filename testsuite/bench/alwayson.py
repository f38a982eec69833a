# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `scripts/bench always-on`: a compile job with and without a flight recorder of the whole system."""
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

import compiled_script
import guest
import kernels
import lttng
import packages
import page

RUNS = 2  # in addition to one that is not counted
TARGET_PERCENT = 3
SCRIPT = os.path.join(page.ROOT, "examples", "flight-recorder.stp")

# The job: these files of djstap's runtime, each compiled by a gcc process of its own, like make would do.
SOURCES = ["text/format.c", "regex/regex.c", "map/map.c", "statistic/statistic.c"]
RUNTIME = os.path.join(page.ROOT, "runtime")
IN_GUEST = "/source"  # their folder in the guest

# The standard set, by the names of the kernel's tracepoints.
EVENTS = ["sched:sched_switch", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "irq:irq_handler_entry",
          "irq:irq_handler_exit", "irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit",
          "exceptions:page_fault_user", "exceptions:page_fault_kernel", "sched:sched_process_fork",
          "sched:sched_process_exec", "sched:sched_process_exit"]
# Excludes the reader's own activity: it would record its own recording, without end.
BPFTRACE = r"""
tracepoint:sched:sched_switch { printf("%d switch to %d\n", tid, args->next_pid) }
tracepoint:raw_syscalls:sys_enter /comm != "bpftrace"/ { printf("%d syscall %d\n", tid, args->id) }
tracepoint:raw_syscalls:sys_exit /comm != "bpftrace"/ { printf("%d returns %d\n", tid, args->ret) }
tracepoint:irq:irq_handler_entry { printf("%d irq %d\n", tid, args->irq) }
tracepoint:irq:irq_handler_exit { printf("%d irq %d done %d\n", tid, args->irq, args->ret) }
tracepoint:irq_vectors:local_timer_entry { printf("%d timer interrupt\n", tid) }
tracepoint:irq_vectors:local_timer_exit { printf("%d timer interrupt done\n", tid) }
tracepoint:exceptions:page_fault_user { printf("%d fault at %p, %x\n", tid, args->address, args->error_code) }
tracepoint:exceptions:page_fault_kernel { printf("%d kernel fault at %p, %x\n", tid, args->address, args->error_code) }
tracepoint:sched:sched_process_fork { printf("%d fork %d\n", tid, args->child_pid) }
tracepoint:sched:sched_process_exec { printf("%d exec %s\n", tid, str(args->filename)) }
tracepoint:sched:sched_process_exit { printf("%d exit\n", tid) }
"""
LTTNG_EVENTS = ("sched_switch,sched_process_fork,sched_process_exec,sched_process_exit,irq_handler_entry,irq_handler_exit,"
                "x86_irq_vectors_local_timer_entry,x86_irq_vectors_local_timer_exit,"
                "x86_exceptions_page_fault_user,x86_exceptions_page_fault_kernel")

JOB = """#!/bin/sh
export PATH=/usr/bin:/bin
cd /tmp
for source in %(sources)s; do
    gcc -O2 -I %(folder)s -c $source -o $(basename $source .c).o || exit 1
done
"""

# Runs the job; reads the kernel's clock, one nanosecond per instruction, before and after each run.
MEASURE = """#!/bin/sh
now() { sed -n 's/^now at \\([0-9]*\\) nsecs/\\1/p' /proc/timer_list; }
echo "@begin $1"
run=0
while [ $run -le %d ]; do
    before=$(now)
    job || echo "@problem the job failed"
    after=$(now)
    [ $run = 0 ] || echo "@took $((after - before))"
    run=$((run + 1))
done
""" % RUNS

# Each recorder: the commands that turn it on, and that turn it off and report how much it holds.
RECORDERS = {
    "djstap -F": (
        "djrun -s 8 -F /modules/flight_recorder.ko >/tmp/log 2>&1 || echo \"@problem $(tail -n 1 /tmp/log)\"",
        "djrun --attach flight_recorder --stop >/tmp/out 2>/tmp/log; echo \"@recorded $(wc -l </tmp/out)\"; cat /tmp/log"),
    "ftrace": (
        "echo 8192 >/sys/kernel/tracing/buffer_size_kb\n"
        + "".join(f"echo 1 >/sys/kernel/tracing/events/{event.replace(':', '/')}/enable || echo '@problem no {event}'\n"
                  for event in EVENTS),
        "echo 0 >/sys/kernel/tracing/events/enable\n"
        "echo \"@recorded $(grep -vc '^#' /sys/kernel/tracing/trace)\"; echo >/sys/kernel/tracing/trace"),
    "LTTng": (
        "lttng-begin\nexport HOME=/root\n"
        "{ lttng create always --snapshot && lttng enable-channel -k all --subbuf-size=1M --num-subbuf=8 && "
        f"lttng enable-event -k -c all {LTTNG_EVENTS} && lttng enable-event -k -c all --syscall -a && "
        "lttng add-context -k -c all -t tid && lttng start; } >/tmp/log 2>&1 || echo \"@problem $(tail -n 1 /tmp/log)\"",
        "lttng stop >/dev/null; lttng snapshot record >/dev/null; "
        "echo \"@recorded $(cat $(find /root/lttng-traces -name 'all_*') | wc -c) bytes\"; lttng destroy >/dev/null; lttng-end"),
    "bpftrace": (
        "BPFTRACE_PERF_RB_PAGES=2048 bpftrace -B full -o /tmp/out /tmp/standard.bt >/tmp/log 2>&1 &\n"
        "until grep -q Attach /tmp/out /tmp/log 2>/dev/null; do sleep 1; done; sleep 5",
        "kill -INT $!; wait $!; echo \"@recorded $(wc -l </tmp/out)\"; grep -h Lost /tmp/out /tmp/log | tail -n 1"),
}


@dataclass
class Cost:
    """Guest instructions of the job, one value per run."""
    took: list = field(default_factory=list)
    recorded: str = ""
    problem: str = ""

    @property
    def least(self):
        return min(self.took)


def compiler_files(sources):
    """Returns what gcc needs to compile the sources: programs, and files, including the sources."""
    programs = [os.path.realpath(shutil.which("gcc"))]
    for name in ("cc1", "as"):
        programs.append(subprocess.run(["gcc", f"-print-prog-name={name}"], capture_output=True, text=True).stdout.strip())
    programs[-1] = shutil.which(programs[-1]) or programs[-1]
    files = set()
    for source in sources:
        listing = subprocess.run(["gcc", "-I", RUNTIME, "-M", source], capture_output=True, text=True, check=True).stdout
        files |= set(listing.replace("\\\n", " ").split()[1:])
    return programs, sorted(files)


def add_compiler(archive, names):
    """Adds gcc, the runtime's sources of these names, and the program `job`, which compiles them."""
    sources = [os.path.join(RUNTIME, name) for name in names]
    (gcc, cc1, assembler), files = compiler_files(sources)
    archive.program(gcc)
    archive.file("usr/bin/gcc", gcc)
    archive.program(cc1)
    archive.file(cc1.lstrip("/"), cc1)
    archive.program(assembler)
    archive.file("usr/bin/as", os.path.realpath(assembler))
    for path in files:
        # The path that gcc uses: it may lead through folders that contain no headers.
        name = path.replace(RUNTIME, IN_GUEST).lstrip("/")
        archive.folder(os.path.dirname(name))
        archive.file(os.path.normpath(name), path)
    archive.text("bin/job", JOB % {"sources": " ".join(f"{IN_GUEST}/{name}" for name in names), "folder": IN_GUEST})


def archive_of(djstap, folder, release):
    archive = guest.base_archive()
    add_compiler(archive, SOURCES)
    archive.text("bin/measure", MEASURE)
    archive.program(os.path.join(os.path.dirname(djstap), "djrun"))
    archive.file("modules/flight_recorder.ko", compiled_script.module(djstap, release, folder, "flight_recorder", SCRIPT))
    return archive


def missing_peers(archive, release):
    """Returns {recorder: why it is not available}; adds the others to the archive."""
    problems = {}
    if shutil.which("bpftrace"):
        archive.program(shutil.which("bpftrace"))
        archive.text("standard.bt", BPFTRACE)
    else:
        problems["bpftrace"] = packages.NOT_INSTALLED
    root, why = lttng.build(release) if shutil.which("lttng") else (None, packages.NOT_INSTALLED)
    if root:
        lttng.add(archive, root)
    else:
        problems["LTTng"] = why
    return problems


def measure(release, djstap):
    """Returns {recorder, or "" for none: Cost} on one kernel."""
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        archive = archive_of(djstap, folder, release)
        problems = missing_peers(archive, release)
        script = "echo 0 >/proc/sys/kernel/randomize_va_space\ncp /standard.bt /tmp 2>/dev/null\nmeasure none\n"
        for name, (on, off) in RECORDERS.items():
            if name not in problems:
                script += f"{on}\nmeasure '{name}'\n{off}\n"
        print(f"  compiling in a guest with {release} …", flush=True)
        console = guest.run(release, archive, script + "measure 'none again'\n", memory_mb=3072, timeout=3000)
    costs = {name: Cost(problem=why) for name, why in problems.items()}
    problem = ""
    for part in re.split(r"^@begin ", console, flags=re.MULTILINE):
        name, _, text = part.partition("\n")
        if name in ("none", "none again") or name in RECORDERS:
            recorded = re.search(r"^@recorded (.*)$", text, re.MULTILINE)
            costs[name] = Cost([int(value) for value in re.findall(r"^@took (\d+)$", text, re.MULTILINE)],
                               recorded[1].strip() if recorded else "", problem)
            failed = re.search(r"^@problem the job failed", text, re.MULTILINE)
            if failed:
                costs[name].problem = "the job failed"
        problem = "; ".join(re.findall(r"^@problem (?!the job)(.*)$", text, re.MULTILINE))
    return costs


def increase(costs, name):
    """Returns how many percent more instructions than without a recorder, or None."""
    cost = costs.get(name)
    if not cost or cost.problem or not cost.took:
        return None
    return 100.0 * (cost.least / costs["none"].least - 1)


def target(costs):
    """Returns whether the targets are reached, in words."""
    own = increase(costs, "djstap -F")
    peers = [value for name in RECORDERS if name != "djstap -F" for value in [increase(costs, name)] if value is not None]
    if own is None:
        return "djstap: not measured"
    text = f"To reach: at most {TARGET_PERCENT} % more: {'reached' if own <= TARGET_PERCENT else page.MISSED}"
    if peers:
        reached = own <= min(peers) / 2
        text += f"; at most half of the cheapest peer's increase ({min(peers) / 2:.2f} %): {'reached' if reached else page.MISSED}"
    return text + "."


TEXT = """## Always on

A job in the guest compiles {count} C files with gcc one after the other (`gcc -O2 -c`), without probes and with a recorder of a
standard set of events: context switches, system call entries and exits, interrupts, page faults, fork, exec and exit. The table shows
the guest instructions of the whole system, counted by `-icount shift=0,sleep=off` on one CPU: the minimum of {runs} runs after one that
is not counted. Measured with {with_what}.

djstap records `examples/flight-recorder.stp` with `-F`, ftrace its events into its ring buffer in overwrite mode, and LTTng into a
snapshot session, which also overwrites. bpftrace has no such buffer: it prints, and its reader is part of its cost (its own system
calls are excluded from its records). Each record holds the thread, the time and the event's arguments, in 8 MB. Instructions are not
time (see above), so the figures show the order of the recorders, not the time on a real machine.

"""


def section(everything, djstap):
    text = TEXT.format(count=len(SOURCES), runs=RUNS, with_what=kernels.measured_with(djstap, list(everything)))
    for release, costs in everything.items():
        base = costs["none"]
        rows = [["without", f"{base.least / 1e6:,.1f}", "–", "–", ""]]
        for name in RECORDERS:
            cost, more = costs.get(name), increase(costs, name)
            if more is None:
                rows.append([name, "–", "–", "–", f"not available: {cost.problem if cost else 'it did not run'}"])
            else:
                rows.append([name, f"{cost.least / 1e6:,.1f}", f"{(cost.least - base.least) / 1e6:,.2f}", f"{more:.2f} %",
                             cost.recorded])
        again = costs["none again"]
        rows.append(["without, again", f"{again.least / 1e6:,.1f}", f"{(again.least - base.least) / 1e6:,.2f}",
                     f"{increase(costs, 'none again'):.2f} %", ""])
        text += f"### Linux {kernels.series_of(release)}\n\n" + page.table(
            ["recorder", "million instructions", "more", "", "it holds at the end (lines, or bytes)"], rows)
        text += f"\n{target(costs)}\n\n"
    return text + ("The 2005 report: LKST with its standard events cost about 3 % of a kernel build; on kprobes it would "
                   "have been over 18 % (estimated).\n")


def main(options):
    djstap = kernels.djstap_of(options)
    if options.with_peers:
        packages.install()
    releases = kernels.releases_of(djstap, options)
    everything = {release: measure(release, djstap) for release in releases}
    failed = False
    for release, costs in everything.items():
        print(f"\n{release}:")
        for name, cost in costs.items():
            more = increase(costs, name)
            failed |= more is None
            print(f"  {name:<12} {cost.took} {'' if more is None else f'{more:+.2f} %'} {cost.recorded} {cost.problem}")
        print(f"  {target(costs)}")
        failed |= page.is_missed(target(costs))
    if kernels.both_ran(releases):
        page.put("always-on", section(everything, djstap))
    return 1 if failed else 0
