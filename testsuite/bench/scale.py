# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `scripts/bench scale`: one counting probe on increasingly many functions."""
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

import bare
import guest
import kernels
import page

# About 1, 10, 100, 1,000, 10,000 functions, and all.
PATTERNS = ["vfs_read", "vfs_f*", "vfs_*", "x*", "*_s*", "*"]
CYCLES = 3
CYCLES_OF_ALL = 10  # of the last pattern, which also shows whether memory is leaked
TARGET_SECONDS = 3
# Probes whose handlers differ: each has an ftrace_ops of its own, and the kernel would wait for each when it is
# detached.
HANDLERS = [1, 20, 100]  # as far as vfs_* has functions
TARGET_HANDLERS, TARGET_HANDLERS_SECONDS = 20, 0.4
# Of the time that a module takes which does nothing but attach to the same functions (bare/).
TARGET_TIMES_BARE = 1.25

# Reads the kernel's own clock from timer_list, the only file that shows it in nanoseconds.
NOW = """#!/bin/sh
now() { sed -n 's/^now at \\([0-9]*\\) nsecs/\\1/p' /proc/timer_list; }
"""
# Loads and attaches by leaving the module loaded, then detaches and unloads. $1: module, $2: functions expected.
CYCLE_SCRIPT = NOW + """
free() { sync; echo 3 >/proc/sys/vm/drop_caches; sed -n 's/^MemAvailable: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo; }
name=$(basename "$1" .ko)
before=$(free)
began=$(now)
djrun -w -s 1 -F "$1" >/tmp/log 2>&1 || { echo "@failed $(tail -n 1 /tmp/log)"; exit; }
on=$(now)
while_on=$(free)
detaching=$(now)
djrun -w --attach "$name" --stop >/tmp/counted 2>&1
off=$(now)
echo "@cycle $((on - began)) $((off - detaching)) $((before - while_on)) $((before - $(free))) $(tail -n 1 /tmp/counted)"
"""
# The same for the module that does nothing else. $1: module, $2: functions that are called directly.
BARE_SCRIPT = NOW + """
began=$(now)
insmod "$1" direct="$2" || { echo "@failed bare module"; exit; }
on=$(now)
detaching=$(now)
rmmod bare
off=$(now)
echo "@bare $((on - began)) $((off - detaching))"
"""
MECHANISM_SCRIPT = """#!/bin/sh
djrun -v -s 1 -F "$1" 2>/tmp/log >/dev/null
sed -n 's/^kernel\\.function([^)]*)[^:]*: //p' /tmp/log | sort | uniq -c | sed 's/^ */@mechanism /'
sed -n 's/^\\([0-9]*\\) more: /@mechanism \\1 /p' /tmp/log
djrun -w --attach "$(basename "$1" .ko)" --stop >/dev/null 2>&1
grep ': djprobe$' /tmp/log | sed -n 's/^\\([0-9]*\\) more: .*/\\1/p; t; s/.*/1/p' | awk '{ n += $1 } END { print n }' >/tmp/direct
"""


@dataclass
class Row:
    """One pattern, or one number of handlers, on one kernel. Times in seconds, memory in MB."""
    pattern: str
    handlers: int = 0
    compiled: float = 0
    compiler_mb: float = 0
    module_mb: float = 0
    attached: list = field(default_factory=list)
    detached: list = field(default_factory=list)
    used_mb: list = field(default_factory=list)
    kept_kb: list = field(default_factory=list)
    bare_attached: list = field(default_factory=list)
    bare_detached: list = field(default_factory=list)
    mechanisms: dict = field(default_factory=dict)  # {"djprobe", or "ftrace: why": functions}
    problem: str = ""
    missed: str = ""

    @property
    def cycles(self):
        return CYCLES_OF_ALL if self.pattern == PATTERNS[-1] else CYCLES

    @property
    def is_compared(self):
        """Whether it is measured beside the bare module."""
        return self.pattern == PATTERNS[-1]

    def times_bare(self):
        """What attaching and detaching take as multiples of what they take the bare module."""
        return min(self.attached) / min(self.bare_attached), min(self.detached) / min(self.bare_detached)

    @property
    def what(self):
        return f"{self.handlers} handlers that differ" if self.handlers else self.pattern

    @property
    def functions(self):
        return sum(self.mechanisms.values())


def script_of(row, djstap, release):
    if not row.handlers:
        return f'global n probe kernel.function("{row.pattern}").call {{ n++ }} probe end {{ println(n) }}'
    listing = subprocess.run([djstap, "-r", release, "-L", f'kernel.function("{row.pattern}").call'], text=True,
                             stdout=subprocess.PIPE, check=True).stdout
    functions = re.findall(r'^kernel\.function\("([^"@]+).*# djprobe', listing, re.MULTILINE)[:row.handlers]
    probes = [f'global n{i} probe kernel.function("{function}").call {{ n{i}++ }}' for i, function in enumerate(functions)]
    return "\n".join(probes) + f'\nprobe end {{ println({" + ".join(f"n{i}" for i in range(len(functions)))}) }}'


def compile_module(djstap, release, row, folder, number):
    """Returns the module's path; "" if it does not compile, with row.problem."""
    name = f"scale_{number}"
    # Functions without an fentry site are excluded: they would need a kprobe each.
    command = [djstap, "-r", release, "-p4", "-w", "-D", "MAXKPROBES=0", "-m", name, "-e",
               script_of(row, djstap, release)]
    seconds = []
    for _ in range(3):
        with tempfile.TemporaryFile() as errors:
            began = time.perf_counter()
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            seconds.append(time.perf_counter() - began)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                errors.seek(0)
                row.problem = errors.read().decode("utf-8", "replace").strip().split("\n")[0]
                return ""
        row.compiler_mb = max(row.compiler_mb, usage.ru_maxrss / 1024)
    row.compiled = min(seconds)
    path = os.path.join(folder, name + ".ko")
    row.module_mb = os.path.getsize(path) / 2**20
    return path


def read_console(row, text):
    for match in re.finditer(r"^@cycle (\d+) (\d+) (-?\d+) (-?\d+) (.*)$", text, re.MULTILINE):
        row.attached.append(int(match[1]) / 1e9)
        row.detached.append(int(match[2]) / 1e9)
        row.used_mb.append(int(match[3]) / 1024)
        row.kept_kb.append(int(match[4]))
        if not match[5].isdigit():
            row.problem = f"it did not print how often it was hit: {match[5]}"
    for match in re.finditer(r"^@bare (\d+) (\d+)$", text, re.MULTILINE):
        row.bare_attached.append(int(match[1]) / 1e9)
        row.bare_detached.append(int(match[2]) / 1e9)
    for match in re.finditer(r"^@mechanism (\d+) (.*)$", text, re.MULTILINE):
        how = match[2].strip()
        row.mechanisms[how] = row.mechanisms.get(how, 0) + int(match[1])
    failed = re.search(r"^@failed (.*)$", text, re.MULTILINE)
    if failed:
        row.problem = failed[1]
    elif len(row.attached) != row.cycles or row.is_compared and len(row.bare_attached) != row.cycles:
        row.problem = row.problem or f"{len(row.attached)} of {row.cycles} cycles ran"
    elif row.is_compared and max(row.times_bare()) > TARGET_TIMES_BARE:
        row.missed = "all functions: {:.2f} x the bare module to attach, {:.2f} x to detach".format(*row.times_bare())


def run_cycles(release, djstap, rows, count_instructions, before=""):
    """Fills in the measurements of a guest in `rows`, which runs `before` first."""
    archive = guest.base_archive()
    archive.program(os.path.join(os.path.dirname(djstap), "djrun"))
    archive.text("bin/cycle", CYCLE_SCRIPT)
    archive.text("bin/mechanisms", MECHANISM_SCRIPT)
    archive.text("bin/bare", BARE_SCRIPT)
    script = before
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        for number, row in enumerate(rows):
            print(f"  {row.what} on {release} …", flush=True)
            path = compile_module(djstap, release, row, folder, number)
            if path:
                name = os.path.basename(path)
                archive.file("modules/" + name, path)
                cycle = f"cycle /modules/{name}\n"
                if row.is_compared:
                    os.mkdir(os.path.join(folder, "bare"))
                    archive.file("modules/bare.ko", bare.build(release, path, os.path.join(folder, "bare")))
                    cycle = "bare /modules/bare.ko $(cat /tmp/direct)\n" + cycle
                script += f"echo '@pattern {number}'\nmechanisms /modules/{name}\n" + cycle * row.cycles
        print(f"  attaching and detaching on {release} …", flush=True)
        console = guest.run(release, archive, script, count_instructions)
    for part in console.split("@pattern ")[1:]:
        number, text = part.split("\n", 1)
        read_console(rows[int(number)], text)


def measure(release, djstap):
    """Returns one Row per pattern, then one per number of handlers."""
    patterns = [Row(pattern) for pattern in PATTERNS]
    run_cycles(release, djstap, patterns, False)
    handlers = [Row("vfs_*", handlers) for handlers in HANDLERS]
    run_cycles(release, djstap, handlers, True)
    return patterns + handlers


def seconds(values):
    return f"{min(values):.2f}" if values else "–"


def mechanism_cell(row):
    return "; ".join(f"{count:,} {how}" for how, count in sorted(row.mechanisms.items())) or "–"


def cells(row):
    if row.problem:
        return [f"`{row.pattern}`", "–", "–", "–", "–", "–", "–", "–", f"not available: {row.problem}"]
    return [f"`{row.pattern}`", f"{row.functions:,}", f"{row.compiled:.2f}", seconds(row.attached), seconds(row.detached),
            f"{row.compiler_mb:.0f}", f"{row.module_mb:.2f}", f"{max(row.used_mb):.1f}", mechanism_cell(row)]


HEADER = ["pattern", "functions", "compiled, s", "attached, s", "detached, s", "compiler, MB", "module, MB",
          "kernel memory, MB", "by"]

TEXT = """## Many functions at once

`probe kernel.function(PATTERN).call {{ n++ }}`, with {with_what}; the least of {cycles} runs ({cycles_of_all} for all functions). Compiled: the whole command
`djstap -p4`, by this machine's clock. Attached: `djrun` from its start until it has loaded the module and armed all probes.
Detached: until they are disarmed and the module is unloaded. The clock of a guest without KVM on one CPU measures both, so these are
upper bounds and depend on the load of the machine. Kernel memory is the decrease of available memory while the probes were armed, in
the run with the largest decrease, including a record buffer of 1 MB. Target: {target} s each for all functions.

Functions without an fentry site are excluded (`-D MAXKPROBES=0`) because each needs its own kprobe.

"""

BARE_TEXT = """A module that attaches one empty function to the same functions through the same interfaces of the kernel, and does nothing
else (testsuite/bench/bare), alternates with djstap in this guest: it is attached in {2} s and detached in {3} s. djstap takes {0:.2f} times
as long to attach all functions, and {1:.2f} times as long to detach them. Target: {target} times.

"""

HANDLERS_HEADER = ["handlers", "compiled, s", "attached, s", "detached, s", "by"]

HANDLERS_TEXT = """Different handlers cannot share an ftrace ops, and the kernel waits when each ops is unregistered; djstap detaches all of them and
waits once ([decision 9](decisions/0009-detaching-at-once.md)). One counting handler per function, Linux {series}, in a guest whose
clock advances by one nanosecond per instruction and skips idle time until the next timer. Target: {handlers} detached in {target} s.

"""


def handler_cells(row):
    if row.problem:
        return [str(row.handlers), "–", "–", "–", f"not available: {row.problem}"]
    return [str(row.functions), f"{row.compiled:.2f}", seconds(row.attached), seconds(row.detached), mechanism_cell(row)]


def section(everything, djstap):
    text = TEXT.format(with_what=kernels.measured_with(djstap, list(everything)), cycles=CYCLES, cycles_of_all=CYCLES_OF_ALL,
                       target=TARGET_SECONDS)
    for release, rows in everything.items():
        patterns, handlers = [row for row in rows if not row.handlers], [row for row in rows if row.handlers]
        text += f"### Linux {kernels.series_of(release)}\n\n" + page.table(HEADER, [cells(row) for row in patterns]) + "\n"
        if not patterns[-1].problem:
            text += (f"Memory that was available after the first cycle of all functions and no longer after the last of "
                     f"{CYCLES_OF_ALL}: {max(0, sum(patterns[-1].kept_kb[1:])):,} KB.\n\n")
            text += BARE_TEXT.format(*patterns[-1].times_bare(), seconds(patterns[-1].bare_attached),
                                     seconds(patterns[-1].bare_detached), target=TARGET_TIMES_BARE)
        text += HANDLERS_TEXT.format(series=kernels.series_of(release), handlers=TARGET_HANDLERS,
                                     target=TARGET_HANDLERS_SECONDS)
        text += page.table(HANDLERS_HEADER, [handler_cells(row) for row in handlers]) + "\n"
    return text


def add_arguments(parser):
    kernels.add_arguments(parser)
    parser.add_argument("--instructions", action="store_true",
                        help="only all functions beside the bare module, by a clock that advances by one nanosecond per instruction: "
                             "the same on a busy machine; writes no page")


def compare_instructions(djstap, releases):
    """Prints what attaching all functions takes djstap and the bare module. Returns whether djstap misses the target."""
    missed = False
    for release in releases:
        row = Row(PATTERNS[-1])
        # The kernel tests its cryptography after it has booted.
        run_cycles(release, djstap, [row], True, "sleep 30\n")
        if row.problem:
            sys.exit(f"bench: {release}: {row.problem}")
        for what, own, bares, times in zip(("attached", "detached"), (row.attached, row.detached),
                                           (row.bare_attached, row.bare_detached), row.times_bare()):
            print(f"{release}: {what} in {min(own) * 1000:.0f} ms, the bare module in {min(bares) * 1000:.0f} ms: {times:.2f} x, "
                  f"target {TARGET_TIMES_BARE}")
        missed |= bool(row.missed)
    return missed


def main(options):
    djstap = kernels.djstap_of(options)
    releases = kernels.releases_of(djstap, options)
    if options.instructions:
        return int(compare_instructions(djstap, releases))
    everything = {release: measure(release, djstap) for release in releases}
    for release, rows in everything.items():
        print(f"\n{release}: functions, compiled, attached, detached (s), compiler, module, kernel (MB)")
        for row in rows:
            print("  " + "  ".join(f"{cell:>9}" for cell in cells(row)))
            print(f"             cycles: attached {row.attached}, used {row.used_mb} MB, kept {row.kept_kb} KB")
    if kernels.both_ran(releases):
        page.put("scale", section(everything, djstap))
    for release, rows in everything.items():
        for row in rows:
            if row.missed:
                print(f"bench: {release}: {row.missed}; the target is {TARGET_TIMES_BARE}")
    return 1 if any(row.problem or row.missed for rows in everything.values() for row in rows) else 0
