#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures how often the emulator fails at code that is patched while other processors run it, with djstap and without.

    patching.py --djstap build/release/bin/djstap [--kernel 6.1] [--starts 20] [--turns 40]

Guests have four processors that run at the same time, all of which call gettimeofday. In half of the guests the
kernel's own function tracer is switched on and off for its callees, --turns times; in the others a script's probes on
the same functions are armed and disarmed by their condition as often, and there is no tracer. A fault, or a processor
that makes no progress, in bytes that were patched is the emulator's, and should be equally frequent in both; anything
else that happens to a guest is djstap's fault, or the kernel's, and a failure.
"""
import argparse
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile

import outcomes
import run

FUNCTIONS = ("__x64_sys_gettimeofday", "ktime_get_real_ts64")
LOAD = "for c in 0 1 2 3; do taskset -c $c gtodbench -s 1000 -q >/dev/null & done"
TRACER = f"""
cd /sys/kernel/tracing; echo {" ".join(FUNCTIONS)} > set_ftrace_filter; echo 100 > buffer_size_kb
[ $(wc -l < set_ftrace_filter) = {len(FUNCTIONS)} ] || exit 1
{LOAD}
for i in $(seq TURNS); do
    echo function > current_tracer; grep -q function current_tracer || exit 1; sleep 0.05; echo nop > current_tracer; sleep 0.05
done
"""
PROBES = f"""
{LOAD}
for i in $(seq TURNS); do sync; sleep 0.05; sync; sleep 0.05; done
"""
NO_SCRIPT = "probe begin { }"
SCRIPT = "global on, n probe kernel.function(\"ksys_sync\") { on = !on } " + " ".join(
    f'probe kernel.function("{name}") if (on) {{ n++ }}' for name in FUNCTIONS) + " probe end { println(n > 0) }"
# A processor that keeps hitting a breakpoint that was already removed: the only thing that a lost guest's log may show.
STUCK = re.compile(r"RIP: 0010:((?:" + "|".join(FUNCTIONS) + r")\+0x[01]/|(?:asm_)?exc_int3\+)")
OTHER = re.compile(r"general protection|unable to handle|invalid opcode|WARNING: CPU|KASAN|list_(?:add|del) corruption")
EMULATOR, OWN = "the emulator's fault", "a failure"


def start(options, script, command):
    """Returns None, or (whose fault it is, what happened)."""
    with tempfile.TemporaryDirectory(prefix="djstap-patching-") as folder:
        report = os.path.join(folder, "report")
        environment = dict(os.environ, DJSTAP_REPORT=report)
        run.add_words(environment, "DJSTAP_QEMU_ARGUMENTS", run.PARALLEL)
        shell = f"sh -c {shlex.quote(command.replace('TURNS', str(options.turns)))}"
        try:
            done = run.run_whole([options.djstap, f"--guest={options.kernel}", "-w", "-e", script, "-c", shell], run.TIMEOUT, environment)
        except subprocess.TimeoutExpired:
            return OWN, f"it took longer than {run.TIMEOUT} s"
        if not os.path.exists(report):
            return OWN, done.stderr.decode(errors="replace")
        with open(report, encoding="utf-8") as file:
            guests = [told for told in map(json.loads, file) if "end" in told]
        for guest in guests:
            if guest["end"] == "emulator-died":
                return EMULATOR, guest["reason"]
            if outcomes.end_of(guest) != "exited":
                log = guest.get("complaint", "") + guest.get("log", "")
                place = outcomes.fault_while_patched(log)
                if not place and not OTHER.search(log) and (stuck := STUCK.search(log)):
                    place = stuck[1]
                return (EMULATOR, f"at {place}, while it was patched") if place else (OWN, f"{guest['reason']}\n{log}")
        if done.returncode or (script == SCRIPT and done.stdout != b"1\n"):
            return OWN, (done.stdout + done.stderr).decode(errors="replace")
    return None


def main():
    parser = argparse.ArgumentParser(description="The emulator's faults at code that is patched, with djstap and without.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1", choices=run.KERNELS)
    parser.add_argument("--starts", type=int, default=20, help="guests of each kind (default %(default)s)")
    parser.add_argument("--turns", type=int, default=40, help="on and off (default %(default)s)")
    options = parser.parse_args()
    faults = {}
    for kind, script, command in (("the kernel's tracer", NO_SCRIPT, TRACER), ("djstap's probes", SCRIPT, PROBES)):
        faults[kind] = []
        for number in range(options.starts):
            if happened := start(options, script, command):
                faults[kind].append(happened[0])
                print(f"{kind}, guest {number + 1}: {happened[0]}: {happened[1]}")
        print(f"{kind}: {options.starts} guests, {faults[kind].count(EMULATOR)} met the emulator's fault, {faults[kind].count(OWN)} another", flush=True)
    control, ours = (found.count(EMULATOR) for found in faults.values())
    # Three times the standard deviation of the difference between two counts of this size.
    too_many = ours - control > 3 * math.sqrt(ours + control)
    if too_many:
        print("djstap's probes meet the emulator's fault more often than the kernel's tracer")
    return 1 if too_many or any(OWN in found for found in faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
