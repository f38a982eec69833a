# SPDX-License-Identifier: GPL-2.0-or-later
"""What markers cost a whole system: a ping flood and a compile job with the modules of markers/macro.c, without markers, with
markers that are not connected, and with markers that a djstap script counts."""
import os
import re
import tempfile
from dataclasses import dataclass, field

import alwayson
import compiled_script
import guest
import marker_cost

STATES = ("without", "unconnected", "connected")
LOADS = ("packets", "system")
SOURCES = ["text/format.c"]
TURNS = 4  # of which the first is not counted; in the others, each state is once the first, the second and the third
PINGS = {True: 2000, False: 10000}  # where instructions are counted, and where time is
SCRIPT = "global n probe module(@1).mark(\"*\") { n++ } probe end { println(n) }"

# on STATE LOAD, off STATE
TOOLS = """#!/bin/sh
on() {
    case $1 in without) module=macro_without;; *) module=macro;; esac
    case $2 in packets) insmod /modules/$module.ko packets=1;; system) insmod /modules/$module.ko;; esac
    [ $1 != connected ] || djrun -w -s 1 -F /modules/counts.ko >/tmp/log 2>&1 || cat /tmp/log
}
off() {
    [ $1 != connected ] || echo "@counted $(djrun -w --attach counts --stop 2>&1 | tail -n 1)"
    rmmod macro macro_without 2>/dev/null
}
now() { sed -n 's/^now at \\([0-9]*\\) nsecs/\\1/p' /proc/timer_list; }
load() {
    echo "@load $1 $2"
    case $2 in
    packets) echo "@packets $(pingflood %(pings)d)";;
    system)
        before=$(now)
        { time -p job; } 2>/tmp/time || echo "@failed"
        echo "@job $(($(now) - before)) $(tr '\\n' ' ' </tmp/time)"
    esac
}
"""
SETUP = "ifconfig lo 127.0.0.1 up\necho 0 >/proc/sys/kernel/randomize_va_space\n. /bin/tools\n"


@dataclass
class Load:
    """The runs of a load in a state."""
    instructions: list = field(default_factory=list)  # a packet, or a job
    nanoseconds: list = field(default_factory=list)  # a packet
    real: list = field(default_factory=list)  # seconds a job
    user: list = field(default_factory=list)
    system: list = field(default_factory=list)
    counted: int = 0


def _script(counting):
    # What loading and unloading leaves to be done later is done before the load; a guest that counts skips the wait.
    settle = "sleep 10\n" if counting else ""
    text = SETUP
    for turn in range(TURNS):
        first = turn % len(STATES)
        for load in LOADS:
            for state in STATES[first:] + STATES[:first]:
                text += f"on {state} {load}\n{settle}load {state} {load}\noff {state}\n"
    return text


def _read(console, counting, found):
    """Adds a guest's runs to `found`, {(load, state): Load}; not the first of each."""
    seen = set()
    for part in re.split(r"^@load ", console, flags=re.MULTILINE)[1:]:
        state, load = part.split("\n", 1)[0].split()
        result = found.setdefault((load, state), Load())
        counted = re.search(r"^@counted (\d+)$", part, re.MULTILINE)
        if counted:
            result.counted += int(counted[1])
        packets = re.search(r"^@packets \d+ ([0-9.]+)$", part, re.MULTILINE)
        job = re.search(r"^@job (\d+) real ([0-9.]+) user ([0-9.]+) sys ([0-9.]+)", part, re.MULTILINE)
        if not (packets or job) or "@failed" in part:
            raise guest.Failed(f"{load}, {state}: {part}")
        if (load, state) not in seen:
            seen.add((load, state))
            continue
        if counting:
            result.instructions.append(float(packets[1] if packets else job[1]))
        elif packets:
            result.nanoseconds.append(float(packets[1]))
        else:
            for values, value in zip((result.real, result.user, result.system), job.groups()[1:]):
                values.append(float(value))


def measure(release, djstap):
    """Returns {(load, state): Load}."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        marker_cost.build(release, folder)
        counts = compiled_script.module(djstap, release, folder, "counts", "-e", SCRIPT, os.path.join(folder, "macro.ko"))
        flood = marker_cost.program(folder, "pingflood")
        for counting in (True, False):
            print(f"  packets and a compile job on {release}, {'counting instructions' if counting else 'by the clock'} …",
                  flush=True)
            archive = guest.base_archive()
            archive.program(os.path.join(os.path.dirname(djstap), "djrun"))
            archive.program(flood)
            alwayson.add_compiler(archive, SOURCES)
            archive.text("bin/tools", TOOLS % {"pings": PINGS[counting]})
            for path in (counts, os.path.join(folder, "macro.ko"), os.path.join(folder, "macro_without.ko")):
                archive.file("modules/" + os.path.basename(path), path)
            _read(guest.run(release, archive, _script(counting), counting, memory_mb=3072, timeout=3000), counting, found)
    for load in LOADS:
        # Every request and every reply is received once.
        floor = 2 * TURNS * sum(PINGS.values()) if load == "packets" else 1000
        if found[load, "connected"].counted < floor:
            raise guest.Failed(f"{load}: {found[load, 'connected'].counted} of at least {floor} hits were counted")
    return found
