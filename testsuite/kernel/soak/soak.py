#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In a guest: scripts of all mechanisms are loaded and unloaded under load, while a processor goes offline and online
and readers are killed.

    soak.py ROUNDS MODULE.ko…

A round loads each module once in each way: with a reader that ends, with one that is killed, without a reader, as a
flight recorder that is read; in an order that the round's number determines. Prints problems, and at the end the
number of sessions; what is done at present on the standard error.
"""
import glob
import os
import random
import signal
import subprocess
import sys
import time

ONLINE = "/sys/devices/system/cpu/cpu1/online"
LOAD = ["gtodbench -s 100000 -q", "while :; do find /proc/self /sys/kernel -maxdepth 2 >/dev/null 2>&1; done",
        "while :; do dd if=/dev/zero of=/tmp/file bs=64k count=16 2>/dev/null; rm -f /tmp/file; /bin/true; done"]
PACKETS = """import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 9999))
while True:
    s.sendto(b"x" * 100, ("127.0.0.1", 9999))
    s.recv(200)
    time.sleep(0.01)
"""
PATIENCE = 240  # seconds until a module that should be unloaded is gone


def run(*words, allowed=(0,)):
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in allowed:
        print(f"{' '.join(words)}: status {done.returncode}: {done.stderr}", flush=True)


def is_loaded(name):
    # Its folder below /sys/module goes first: until it is gone from this list as well, it cannot be loaded again.
    with open("/proc/modules", encoding="utf-8") as modules:
        return any(line.startswith(f"{name} ") for line in modules)


def gone(name):
    until = time.monotonic() + PATIENCE
    while is_loaded(name):
        if time.monotonic() > until:
            print(f"{name} stays loaded", flush=True)
            return
        time.sleep(0.05)


def with_reader(path, name, draw, allowed=(0,)):
    run("djrun", "-w", path, "-T", f"{draw.random():.2f}", allowed=allowed)
    gone(name)


def killed(path, name, draw):
    reader = subprocess.Popen(["djrun", "-w", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(draw.random() * 2)
    reader.send_signal(signal.SIGKILL)
    reader.wait()
    gone(name)


def alone(path, name, draw, allowed=(0,)):
    """A module with a mechanism that is asked for (--mechanism) may refuse to be loaded."""
    run("insmod", path, allowed=allowed)
    time.sleep(draw.random())
    if is_loaded(name) or 1 not in allowed:
        run("rmmod", name)


def recorder(path, name, draw, allowed=(0,)):
    run("djrun", "-w", "-F", path, allowed=allowed)
    time.sleep(draw.random())
    reader = subprocess.Popen(["djrun", "--attach", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(draw.random() / 2)
    reader.send_signal(signal.SIGKILL)
    reader.wait()
    run("djrun", "-w", "--attach", name, "--stop", allowed=allowed)
    gone(name)


def switch_processor(draw):
    """Switches a processor off and on again, or on if it is off."""
    for value in ("0", "1"):
        with open(ONLINE, "w") as file:
            file.write(value)
        time.sleep(draw.random() / 2)


def attached():
    """What scripts have attached and listed at present, the one that runs this program included."""
    return {line for path in ("/sys/kernel/debug/kprobes/list", "/sys/kernel/debug/tracing/enabled_functions")
            for line in open(path)} | set(glob.glob("/proc/djstap*")) | set(glob.glob("/proc/systemtap/*"))


def main():
    rounds, modules = int(sys.argv[1]), sys.argv[2:]
    before = attached()
    load = [subprocess.Popen(["sh", "-c", each], start_new_session=True) for each in LOAD]
    load.append(subprocess.Popen([sys.executable, "-c", PACKETS], start_new_session=True))
    sessions = 0
    for number in range(rounds):
        draw = random.Random(number)
        steps = [(way, path) for way in (with_reader, killed, alone, recorder) for path in modules]
        draw.shuffle(steps)
        for at, (way, path) in enumerate(steps):
            name = os.path.basename(path).removesuffix(".ko")
            # Some are unloaded or loaded with one processor less.
            offline = at % 4 == 1
            if offline:
                with open(ONLINE, "w") as file:
                    file.write("0")
            # A guest that says nothing for minutes is given up.
            print(f"{sessions}: {way.__name__}, {name}{', on one processor' if offline else ''}", file=sys.stderr, flush=True)
            way(path, name, draw)
            sessions += 1
            if offline:
                with open(ONLINE, "w") as file:
                    file.write("1")
            if at % 4 == 3:
                switch_processor(draw)
    for each in load:
        os.killpg(each.pid, signal.SIGKILL)
        each.wait()
    print("left:", "\n".join(each.rstrip() for each in sorted(attached() - before)) or "nothing")
    print(f"{sessions} sessions")


if __name__ == "__main__":
    main()
