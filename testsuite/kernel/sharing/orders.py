#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""All kinds of users of a function's entry attach and detach in every order; each must count exactly.

Runs in a guest, in a folder with the modules djstap_entry.ko, djstap_both.ko and patch.ko and the program bpf_fentry.
Continues until each user has been attached and detached while each other one was attached: a step attaches or
detaches one, then the system call is made CALLS times. Each user must count exactly the calls that were made while it
was attached; users that do not, that are refused, or that emit a warning are printed. At the end it prints who was
attached.
"""
import collections
import os
import re
import select
import signal
import subprocess
import sys
import time

CALLS = 100
FUNCTION = "__x64_sys_gettimeofday"
TRACING = "/sys/kernel/tracing"
PATIENCE = 60  # seconds
MAX_STEPS = 80


def write(path, text):
    """Writes the text; returns why the kernel refused it, or nothing."""
    # A further event must not clear the others, and these files cannot be positioned at their end.
    flags = os.O_WRONLY | (0 if text.startswith(("p:", "-:")) else os.O_TRUNC)
    file = os.open(path, flags)
    try:
        os.write(file, (text + "\n").encode())
    except OSError as error:
        return error.strerror
    finally:
        os.close(file)
    return ""


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def wait_for(condition, what):
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"waited in vain until {what}")
        time.sleep(0.01)


def made_calls():
    """Makes the calls; returns how many."""
    subprocess.run(["gtodbench", "-n", str(CALLS), "-q"], check=True, stdout=subprocess.DEVNULL)


class Script:
    """A djstap module with its reader: counts entries, and also returns if it has two numbers."""

    def __init__(self, name, numbers):
        self.name, self.numbers = name, numbers
        self.session = None

    def attach(self):
        self.session = subprocess.Popen(["djrun", "-v", f"djstap_{self.name}.ko"], text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.said = ""
        poll = select.poll()
        poll.register(self.session.stderr, select.POLLIN)
        while self.said.count("kernel.function") < self.numbers:  # one line per probe, once all are attached
            assert poll.poll(PATIENCE * 1000), f"no answer of {self.name}: {self.said}"
            data = os.read(self.session.stderr.fileno(), 65536).decode()
            assert data, f"{self.name} ended: {self.said}"
            self.said += data
        return ""

    def detach(self):
        self.session.send_signal(signal.SIGINT)
        output, said = self.session.communicate(timeout=PATIENCE)
        self.said += said
        return [int(number) for number in output.split()] or [output]

    def told(self):
        """Returns its warnings."""
        return re.findall(r"WARNING: .*", self.said)

    def mechanisms(self):
        return re.findall(r"\): ([\w-]+)|\.return: ([\w-]+)", self.said)


class Bpf:
    def attach(self):
        self.program = subprocess.Popen(["./bpf_fentry", FUNCTION], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self.program.stdout.readline() == "attached\n":
            return ""
        return self.program.communicate()[1].strip().rsplit(": ", 1)[-1]

    def detach(self):
        return [int(self.program.communicate(timeout=PATIENCE)[0])]


class Livepatch:
    FOLDER = "/sys/kernel/livepatch/patch"

    def settle(self):
        wait_for(lambda: not os.path.exists(self.FOLDER) or read(self.FOLDER + "/transition").strip() == "0",
                 "the livepatch is in place")

    def attach(self):
        done = subprocess.run(["insmod", "patch.ko"], text=True, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            return done.stderr.strip().rsplit(": ", 1)[-1]
        self.settle()
        return ""

    def detach(self):
        calls = int(read("/sys/module/patch/parameters/calls"))
        write(self.FOLDER + "/enabled", "0")
        wait_for(lambda: not os.path.exists(self.FOLDER), "the livepatch is gone")
        subprocess.run(["rmmod", "patch"], check=True)
        return [calls]


class Tracer:
    """ftrace's function tracer, in a buffer of its own: removing a kprobe clears the common one."""

    FOLDER = TRACING + "/instances/calls"

    def attach(self):
        os.mkdir(self.FOLDER)
        return write(self.FOLDER + "/set_ftrace_filter", FUNCTION) or write(self.FOLDER + "/current_tracer", "function")

    def detach(self):
        lines = sum(FUNCTION + " <-" in line for line in read(self.FOLDER + "/trace").split("\n"))
        write(self.FOLDER + "/current_tracer", "nop")
        os.rmdir(self.FOLDER)
        return [lines]


class Kprobe:
    """A kprobe of tracefs at the entry."""

    def attach(self):
        return (write(TRACING + "/kprobe_events", f"p:here {FUNCTION}") or
                write(TRACING + "/events/kprobes/here/enable", "1"))

    def detach(self):
        hits = next(int(line.split()[1]) for line in read(TRACING + "/kprobe_profile").split("\n") if "here" in line)
        write(TRACING + "/events/kprobes/here/enable", "0")
        write(TRACING + "/kprobe_events", "-:here")
        return [hits]


def walk(names, there):
    """Yields who attaches, or detaches, next: until each was attached, or refused, and detached while each other one was
    `there`."""
    wanted = {(way, name, other) for way in "+-" for name in names for other in names if name != other}
    steps = []

    def gains(name):
        way = "-" if name in there else "+"
        return {(way, name, other) for other in there} & wanted

    def step(name):
        steps.append(name)
        if len(steps) > MAX_STEPS:
            raise TimeoutError(f"{MAX_STEPS} steps do not show {sorted(wanted)}")
        wanted.difference_update(gains(name))
        return name

    while wanted:
        best = max(names, key=lambda name: len(gains(name)))
        if gains(best):
            yield step(best)
            continue
        way, name, other = min(wanted)
        if way == "+":
            yield step(name if name in there else other)
            continue
        for each in list(there):
            yield step(each)
        # A livepatch and BPF attach only before those that do not share with them.
        for each in sorted((name, other), key=names.index):
            yield step(each)


def main():
    users = {"bpf": Bpf(), "livepatch": Livepatch(), "entry": Script("entry", 1), "both": Script("both", 2),
             "tracer": Tracer(), "kprobe": Kprobe()}
    expected, attached = {}, collections.Counter()
    verbose = "-v" in sys.argv

    def leave(name):
        counted, wanted = users[name].detach(), expected.pop(name)
        there = " ".join(sorted(expected)) or "nobody"
        if any(number != wanted for number in counted):
            print(f"{name} counted {counted} of {wanted}, with {there} there")
        for words in users[name].told() if hasattr(users[name], "told") else []:
            print(f"{name} said, with {there} there: {words}")
        if verbose:
            print(f"-{name} {counted} of {wanted}", file=sys.stderr)

    for name in walk(list(users), expected):
        if name in expected:
            leave(name)
        else:
            reason = users[name].attach()
            if reason:
                print(f"{name} was refused: {reason}, with {' '.join(sorted(expected))} there")
            else:
                expected[name] = 0
                attached[name] += 1
            if verbose:
                mechanisms = users[name].mechanisms() if hasattr(users[name], "mechanisms") else ""
                print(f"+{name} {reason}", mechanisms, file=sys.stderr)
        made_calls()
        for each in expected:
            expected[each] += CALLS
    while expected:
        leave(next(iter(expected)))
    for name in users:
        print(name, "was attached" if attached[name] else "was never attached")


main()
