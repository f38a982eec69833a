# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `scripts/bench two-cpus`: whether a hit costs more if another CPU hits the same probe."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernel"))
import cases
import guest
import kernels
import measure
import outcomes
import page

CALLS = 100000  # for each busy CPU
TRIES = 4  # QEMU 7.2 with one thread per CPU sometimes loses a guest when code that a CPU is about to execute is patched
KEYS = ["count", "statistic", "map", "record", "return-count", "return-record", "tracepoint-count"]

TEXT = """## With two CPUs

The benchmark repeats the system call on one of a guest's two CPUs, then on both at once, with the same probe. The CPUs are threads that
run concurrently (`-accel tcg,thread=multi`). A plugin of the emulator (`testsuite/bench/hit_instructions.c`) counts on each CPU the
instructions from one entry of the function to the next. The table shows the most frequent distance minus that without a probe, which is
the cost of a hit on that CPU; interrupts fall into few of the {calls} calls. The count includes instructions that wait for a lock, but
not the cost of cache lines that move between CPUs. Only an array's lock makes CPUs wait here. (QEMU 7.2 occasionally loses a guest with
one thread per CPU; it is then started again.)

"""


def plugin_of(djstap):
    path = os.path.join(os.path.dirname(djstap), "hit_instructions.so")
    if not os.path.exists(path):
        sys.exit(f"bench: there is no hit_instructions.so beside {djstap}")
    return path


def address_of(release):
    """Returns the address of the probed function in a kernel that is not relocated at boot."""
    symbols = subprocess.run(["nm", f"{guest.KERNELS}/{release}/usr/lib/debug/boot/vmlinux-{release}"], capture_output=True, text=True)
    found = re.search(rf"^([0-9a-f]+) [tT] {cases.FUNCTION}$", symbols.stdout, re.MULTILINE)
    if not found:
        raise guest.Failed(f"there is no {cases.FUNCTION} in the symbols of {release}")
    return found[1]


def calls_on(cpus):
    """Returns a shell script that makes the calls on this many CPUs at once."""
    return "".join(f"taskset {1 << cpu} gtodbench -n {CALLS} -q &\n" for cpu in range(cpus)) + "wait\n"


def distances(release, djstap, module, busy):
    """Returns [the most frequent distance on each busy CPU]."""
    archive = guest.base_archive()
    for program in ("djrun", "gtodbench"):
        archive.program(os.path.join(os.path.dirname(djstap), program))
    archive.text("bin/calls", "#!/bin/sh\n" + calls_on(busy))
    script = "sh /bin/calls"
    if module:
        archive.file("module.ko", module)
        script = "djrun -v -s 32 -o /tmp/out -c 'sh /bin/calls' /module.ko"
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        counted = os.path.join(folder, "counted")
        plugin = f"{plugin_of(djstap)},address=0x{address_of(release)}"
        for last in reversed(range(TRIES)):
            try:
                console = guest.run(release, archive, script + "\necho \"status $?\"", count_instructions=False, cpus=2,
                                    threads="multi", plugin=plugin, plugin_output=counted, timeout=120)
                break
            except guest.GuestLost as lost:
                if not last or not outcomes.fault_while_patched(lost.console):
                    raise
                print(f"  a guest was lost and is started again: {str(lost).splitlines()[-1]}", flush=True)
        with open(counted, encoding="ascii") as file:
            lines = [[int(word) for word in line.split()] for line in file]
    if "status 0" not in console or re.search(r"\blost\b|\bmissed\b|\bskipped\b", console):
        raise guest.Failed(console)
    found = {cpu: distance for cpu, arrivals, distance, often in lines if arrivals >= CALLS and often > arrivals / 2}
    if set(found) != set(range(busy)):
        raise guest.Failed(f"no distance is that of most calls: {lines}")
    return [found[cpu] for cpu in range(busy)]


def measure_kernel(release, djstap):
    """Returns [(title, added with one busy CPU, [added on each of two])]."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        builder = measure.Builder(djstap, release, folder)
        base = [distances(release, djstap, None, busy) for busy in (1, 2)]
        for case in (case for case in cases.COST if case.key in KEYS):
            module, problem = builder.module(case)
            if problem:
                raise guest.Failed(problem)
            one, two = (distances(release, djstap, module, busy) for busy in (1, 2))
            rows.append((case.title, one[0] - base[0][0], [with_ - without for with_, without in zip(two, base[1])]))
            print(f"  {release} {case.title}: {rows[-1][1]}; both: {rows[-1][2]}", flush=True)
    return rows


def section(everything):
    text = TEXT.format(calls=f"{CALLS:,}")
    header = ["script body"]
    for release, _ in everything:
        series = kernels.series_of(release)
        header += [f"{series}: one CPU", "both: CPU 0", "CPU 1"]
    lines = []
    for same in zip(*(rows for _, rows in everything)):
        lines.append([same[0][0]])
        for _, one, both in same:
            lines[-1] += [str(one), *(str(each) for each in both)]
    return text + page.table(header, lines)


def add_arguments(parser):
    kernels.add_arguments(parser)


def main(options):
    if (os.cpu_count() or 1) < 2 or not shutil.which("qemu-system-x86_64"):
        sys.exit("bench: this needs two CPUs and QEMU")
    return kernels.measured(options, "two-cpus", measure_kernel, section)
