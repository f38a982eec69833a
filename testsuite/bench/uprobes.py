# SPDX-License-Identifier: GPL-2.0-or-later
"""What a uprobe at a program's function costs, in instructions of a guest: djstap's, and the kernel's own uprobe event.

The program is that of `scripts/bench programs`, which prints the time of a call of its function four(). A nanosecond of the
guest's clock is an instruction (guest.py), the kernel's included; what an exception costs the processor beside its instructions is not.
"""
import os
import re
import subprocess
import sys

import compiled_script
import guest
import kernels

FUNCTION = "four"
ARGUMENTS = "%di %si %dx %cx"  # the registers of four integers, as the kernel's events name them
ROUNDS = 12

# Prints "NAME HUNDREDTHS HITS" for each way: hundredths of an instruction a call, and how many hits there were.
SCRIPT = """
mkdir -p "$(dirname %(program)s)" && cp /bin/measured %(program)s
once() { name=$1; shift; echo "@$name $("$@" 2>/tmp/log | grep -x '[0-9]*' | tr '\\n' ' ')"; cat /tmp/log; }
once unprobed %(program)s nanoseconds %(rounds)d
once count djrun -c '%(program)s nanoseconds %(rounds)d' /count.ko
once record djrun -o /tmp/records -c '%(program)s nanoseconds %(rounds)d' /record.ko
echo "@lines $(wc -l </tmp/records)"
cd /sys/kernel/tracing
echo 'p:four %(program)s:%(offset)#x %(arguments)s' >uprobe_events && echo 1 >events/uprobes/four/enable
once event %(program)s nanoseconds %(rounds)d
echo "@hits $(awk '/four/ { print $3 }' uprobe_profile)"
"""
SCRIPTS = {"count": "global n probe process(\"%s\").function(\"four\") { n++ } probe end { println(n) }",
           "record": "probe process(\"%s\").function(\"four\") { printf(\"%%d %%d %%d %%d\\n\", $a, $b, $c, $d) }"}


def offset_of(program):
    """Returns the place of four() in the program's file: its address less that of the segment, more the segment's offset."""
    def lines(*command):
        return subprocess.run([*command, program], capture_output=True, text=True, check=True).stdout.splitlines()
    address = next(int(words[0], 16) for words in map(str.split, lines("nm")) if words[-1] == FUNCTION)
    for line in lines("readelf", "-lW"):
        words = line.split()
        if words[:1] == ["LOAD"]:
            offset, start, size = (int(words[i], 16) for i in (1, 2, 4))
            if start <= address < start + size:
                return address - start + offset
    raise guest.Failed(f"no segment of {program} contains {FUNCTION}()")


def measure(release, djstap, program, folder):
    """Returns {"count" | "record" | "event": the instructions that a hit adds} on this kernel."""
    archive = guest.base_archive()
    archive.program(os.path.join(os.path.dirname(djstap), "djrun"))
    archive.program(program, "measured")
    for name, script in SCRIPTS.items():
        archive.file(name + ".ko", compiled_script.module(djstap, release, folder, name, "-e", script % program))
    console = guest.run(release, archive, SCRIPT % {"program": program, "rounds": ROUNDS, "offset": offset_of(program), "arguments": ARGUMENTS})
    found = {match[1]: [int(word) for word in match[2].split()]
             for match in re.finditer(r"^@(\w+) ([\d ]+)$", console, re.MULTILINE)}
    hits = ROUNDS * 1000
    try:
        if (found["count"][1], found["lines"][0], found["hits"][0]) != (hits, hits, hits):
            raise guest.Failed(f"not every hit was handled:\n{console}")
        return {name: (found[name][0] - found["unprobed"][0]) / 100 for name in (*SCRIPTS, "event")}
    except (KeyError, IndexError):
        raise guest.Failed(console) from None


def rows(djstap, program, folder, beginnings):
    """Returns rows (tracer, instructions on each kernel), and the kernels' series."""
    releases = [kernels.release_of(djstap, beginning) for beginning in beginnings]
    try:
        measured = [measure(release, djstap, program, folder) for release in releases]
    except (guest.Failed, guest.GuestLost) as problem:
        sys.exit(f"bench: {problem}")
    names = {"count": "djstap, `n++`", "record": "djstap, a record of the four arguments",
             "event": "the kernel's uprobe event with the four arguments (`uprobe_events`)"}
    return [[text, " / ".join(f"{found[name]:,.0f}" for found in measured)] for name, text in names.items()], \
        [kernels.series_of(release) for release in releases]
