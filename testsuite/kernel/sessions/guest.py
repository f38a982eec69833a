#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In a guest: runs modules of random scripts under load, one after the other and two at the same time.

    guest.py SEED PROGRAM MODULE.ko…

Each module runs a command that makes CALLS calls, and once more in a way that the seed determines: with a reader that ends, with one
that is killed, without one, as a flight recorder. Prints what is wrong: a reader that a signal ends, a module that stays loaded, calls
that are counted twice, and calls that are missing although nothing says so. At the end it prints how many sessions there were, and in how
many each call was counted.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "soak"))
import soak  # noqa: E402

CALLS = 150
FINE = (0, 1)  # a script may end by an error of its own
# What tells why calls may be missing: an overload, or the session had ended; or as many hits as these were not handled.
REASONS = re.compile(r"disabled|disarmed|ERROR|session", re.IGNORECASE)
SKIPPED = re.compile(r"^WARNING: (\d+) hits? w\w+ (?:skipped|missed)", re.MULTILINE)
SECONDS = 4  # that the calls may take
STATUS = "/tmp/status-of-calls"
LIMIT = 120  # seconds that a session may take


def name_of(path):
    return os.path.basename(path).removesuffix(".ko")


def made_all_calls():
    """Returns whether the last command did; it was killed if it took too long, and does not run if the session has ended before."""
    if not os.path.exists(STATUS):
        return False
    with open(STATUS, encoding="utf-8") as status:
        return status.read().strip() == "0"


def command(path, name, counter):
    """Returns what is wrong with a session during which CALLS calls are made, and whether each was counted."""
    if os.path.exists(STATUS):
        os.remove(STATUS)
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(["djrun", path, "-c", f"timeout {SECONDS} {counter} -n {CALLS} -q; echo $? >{STATUS}"], stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.PIPE, timeout=LIMIT, check=False)
        output.seek(max(0, output.seek(0, os.SEEK_END) - 1000))
        counted = re.findall(rb"^calls (\d+)$", output.read(), re.MULTILINE)
    errors = done.stderr.decode(errors="replace")
    told = f"{name}: status {done.returncode}, calls {counted}\n{errors[:2000]}"
    if done.returncode not in FINE:
        return told, False
    with open(path.removesuffix(".ko") + ".stp", encoding="utf-8") as script:
        may_end = "exit()" in script.read() or REASONS.search(errors) or not made_all_calls()
    if not counted:
        return "" if may_end else told, False
    missing = CALLS - int(counted[-1])
    skipped = sum(map(int, SKIPPED.findall(errors)))
    return told if missing < 0 or (missing > skipped and not may_end) else "", missing == 0


def main():
    draw, program, modules = random.Random(int(sys.argv[1])), sys.argv[2], sys.argv[3:]
    counter = shutil.copy(shutil.which("gtodbench"), "/tmp/exactly")
    busy = f"while :; do {program} sum 3 deep 20 shape many fork 2 thread 2 jump 2; done >/dev/null 2>&1 </dev/null"
    load = [subprocess.Popen(["nice", "-n", "15", "sh", "-c", each], start_new_session=True) for each in draw.sample(soak.LOAD[1:] + [busy], 2)]
    load.append(subprocess.Popen([sys.executable, "-c", soak.PACKETS], start_new_session=True))
    sessions, exact, beside = 0, 0, None
    for path in modules:
        print(name_of(path), file=sys.stderr, flush=True)
        name = name_of(path)
        problem, is_exact = command(path, name, counter)
        exact += is_exact
        if problem:
            print(problem, flush=True)
        soak.gone(name)
        other, way = draw.choice(modules), draw.choice(["reader", "killed", "alone", "recorder"])
        if other != path:
            beside = subprocess.Popen(["djrun", "-w", other, "-T", "0.7"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            sessions += 1
        if way == "reader":
            soak.with_reader(path, name, draw, FINE)
        elif way == "killed":
            soak.killed(path, name, draw)
        elif way == "alone":
            soak.alone(path, name, draw, FINE)
        else:
            soak.recorder(path, name, draw, FINE)
        if beside:
            if beside.wait(LIMIT) not in FINE:
                print(f"{other}, beside {name}: status {beside.returncode}", flush=True)
            soak.gone(name_of(other))
            beside = None
        sessions += 2
    for each in load:
        os.killpg(each.pid, signal.SIGKILL)
        each.wait()
    print(f"{sessions} sessions, {exact} exact")


if __name__ == "__main__":
    main()
