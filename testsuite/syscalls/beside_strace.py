#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the aliases of system calls with strace: a program makes many different calls, and both observe it at once.

    beside_strace.py --djstap build/release/bin/djstap [--kernel 6.1] [--update]

Names, arguments and results are compared call by call and argument by argument. What a call writes (the decoder `out`
in scripts/syscall-tapset.table) is an address at its entry and is not compared. Every difference must be one of those
that EXPLAINED explains, and they must be at most 2 % of what is compared. --update writes docs/syscalls.md. The status is
77 if strace is not installed.
"""
import argparse
import collections
import errno
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PAGE = os.path.join(ROOT, "docs/syscalls.md")
TIMEOUT = 900
MOST = 0.02
LEAST_CALLS = 150  # different ones
# SystemTap's names of calls, and those of the kernel's table, which strace has.
NAMES = {"newfstatat": "fstatat", "pread64": "pread", "pwrite64": "pwrite", "getdents64": "getdents", "umount2": "umount"}
# (call, argument in strace's text, in djstap's) → why they differ.
EXPLAINED = [
    ("ioctl|arch_prctl", r"\[.*\]", "0x.*", "what the call writes; strace shows it after the call"),
    ("seccomp", r"\[SECCOMP_.*\]", "0x.*", "not decoded"),
]

loader = importlib.machinery.SourceFileLoader("syscall_tapset", os.path.join(ROOT, "scripts/syscall-tapset"))
specification = importlib.util.spec_from_loader("syscall_tapset", loader)
tapset = importlib.util.module_from_spec(specification)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "scripts"))  # its own modules
loader.exec_module(tapset)


class Call:
    def __init__(self, name, text):
        self.name, self.text, self.result = NAMES.get(name, name), text, None


def observe(options, folder):
    """Runs the workload; returns strace's output and djstap's."""
    program = os.path.join(folder, "workload")
    subprocess.run(["gcc", "-O1", "-static", "-o", program, f"{HERE}/workload.c"], check=True)
    command = [os.path.abspath(options.djstap), f"--guest={options.kernel}", "-o", f"{folder}/djstap", f"{HERE}/all.stp", "-c",
               f"mkdir -p /tmp/work && cd /tmp/work && strace -f -o log {program}; cat log"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False,
                          stdin=subprocess.DEVNULL)
    if "exited with 0" not in done.stdout:
        sys.exit(done.stdout + done.stderr)
    with open(f"{folder}/djstap", encoding="utf-8", errors="replace") as file:
        return done.stdout, file.read()


def traced(output):
    """Returns strace's calls, {task: [Call]}."""
    calls, unfinished = collections.defaultdict(list), {}
    for line in output.splitlines():
        match = re.match(r"(\d+) +(.*)", line)
        if not match:
            continue
        task, text = match.groups()
        if text.startswith(("---", "+++")):
            continue
        if text.endswith(" <unfinished ...>"):
            unfinished[task] = text[:-len(" <unfinished ...>")]
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", text):
            text = unfinished.pop(task) + resumed[1]
        match = re.match(r"(\w+)\((.*)\) += (.*)$", text)
        if not match:
            sys.exit(f"strace: {line}")
        call = Call(match[1], match[2])
        call.result = match[3]
        calls[task].append(call)
    return calls


def probed(output):
    """Returns djstap's calls."""
    calls = collections.defaultdict(list)
    for line in output.splitlines():
        task, kind, name, text = line.split("\t", 3)
        if kind == "call":
            calls[task].append(Call(name, text))
        elif calls[task]:
            calls[task][-1].result = text
    return calls


def arguments(text):
    """Splits a list of arguments at its own commas, without comments and without what the call wrote."""
    text = re.sub(r" /\*.*?\*/", "", text)
    parts, depth, quoted, begin, i = [], 0, False, 0, 0
    while i < len(text):
        letter = text[i]
        if quoted:
            i += letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
        i += 1
    parts.append(text[begin:])
    return [re.sub(r" => .*", "", each.strip()) for each in parts if each.strip()]


def normal(text):
    """Flags have no order, and the numbers of characters may have leading zeros."""
    text = re.sub(r"\\([0-7]{1,3})", lambda match: f"\\{int(match[1], 8):03o}", text)
    return re.sub(r"[A-Z0-9_x]+(\|[A-Z0-9_x]+)+", lambda match: "|".join(sorted(match[0].split("|"))), text)


def number(result):
    """Returns a result as a number: strace's `-1 ENOENT (No such file …)`, djstap's `-2 (ENOENT)`."""
    if match := re.match(r"-1 (E\w+) ", result):
        return -getattr(errno, match[1])
    if match := re.match(r"-(\d+) \((E\w+)\)", result):
        return -int(match[1]) if getattr(errno, match[2]) == int(match[1]) else result
    if match := re.match(r"(-?0x[0-9a-f]+|-?\d+)", result):
        return int(match[1], 16 if "0x" in match[1] else 8 if re.match(r"0\d", match[1]) else 10)
    return None


def written(options):
    """Returns {name: the numbers of the arguments that the call writes}."""
    rules = tapset.Rules(os.path.join(ROOT, "scripts/syscall-tapset.table"))
    out = {}
    for entry, (source, pairs) in tapset.listed_calls(options.djstap, options.kernel).items():
        if source and entry not in tapset.ENTRIES:  # those are for old programs of other architectures
            call = tapset.Call(entry, source, pairs, rules)
            out.setdefault(call.name, {i for i, each in enumerate(call.arguments) if each.decoder == "out"})
    return out


class Comparison:
    def __init__(self, out):
        self.out = out
        self.names, self.calls, self.arguments, self.results, self.addresses = set(), 0, 0, 0, 0
        self.differences = []  # (call, strace's, djstap's)

    def call(self, ours, theirs):
        self.calls += 1
        self.names.add(ours.name)
        if ours.name != theirs.name:
            self.differences.append((theirs.name, theirs.name, ours.name))
            return
        mine, others = arguments(ours.text), arguments(theirs.text)
        if len(mine) != len(others):
            self.arguments += 1
            self.differences.append((ours.name, theirs.text, ours.text))
            return
        for i, (one, other) in enumerate(zip(mine, others)):
            if i in self.out.get(ours.name, ()) and re.fullmatch(r"0x[0-9a-f]+|NULL", one):
                self.addresses += 1
                continue
            self.arguments += 1
            if normal(one) != normal(other):
                self.differences.append((ours.name, other, one))
        if theirs.result.startswith("?") or ours.result is None:
            return  # exit, or an exec that has another name afterwards
        self.results += 1
        if number(theirs.result) != number(ours.result):
            self.differences.append((ours.name, "= " + theirs.result, "= " + ours.result))

    def explained(self, difference):
        for name, other, one, why in EXPLAINED:
            if re.fullmatch(name, difference[0]) and re.fullmatch(other, difference[1]) and re.fullmatch(one, difference[2]):
                return why
        return None


def page(comparison, options):
    total = comparison.arguments + comparison.results + comparison.calls
    lines = ["# System calls beside strace", "",
             "Written by `testsuite/syscalls/beside_strace.py --update`: a program makes many different system calls with known",
             "arguments, and strace and djstap's aliases (`syscall.*`: `name`, `argstr`, `retstr`) observe it at once.", "",
             "| what | number |", "|---|---|",
             f"| different calls | {len(comparison.names)} |", f"| calls | {comparison.calls} |",
             f"| arguments compared | {comparison.arguments} |",
             f"| arguments that the call writes: addresses at its entry, not compared | {comparison.addresses} |",
             f"| results compared | {comparison.results} |",
             f"| differences | {len(comparison.differences)} ({100 * len(comparison.differences) / total:.1f} % of names, arguments and results) |",
             "", f"Kernel: Debian's {options.kernel}, strace 6.1. Comments of strace, and the order of flags, do not count.", ""]
    if comparison.differences:
        lines += ["| call | strace | djstap | why |", "|---|---|---|---|"]
        rows = set()
        for difference in comparison.differences:
            name, other, one = (re.sub("0x[0-9a-f]{5,}", "0x…", each.replace("|", "\\|")) for each in difference)
            rows.add(f"| `{name}` | `{other}` | `{one}` | {comparison.explained(difference) or '?'} |")
        lines += sorted(rows)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--djstap", default=os.path.join(ROOT, "build/release/bin/djstap"))
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--saved", help="a folder with the outputs of an earlier run: strace, djstap")
    options = parser.parse_args()
    if not shutil.which("strace"):
        print("strace is not installed")
        return 77
    if options.saved:
        theirs, ours = (open(f"{options.saved}/{name}", encoding="utf-8", errors="replace").read() for name in ("strace", "djstap"))
    else:
        with tempfile.TemporaryDirectory() as folder:
            theirs, ours = observe(options, folder)
    theirs, ours = traced(theirs), probed(ours)
    comparison = Comparison(written(options))
    unequal = []
    for task in sorted(theirs, key=int):
        mine, others = ours.get(task, []), theirs[task]
        if others[0].name == "execve" and len(others) == len(mine) + 1:
            others = others[1:]  # begun under another name
        if len(mine) != len(others):
            unequal.append(f"task {task}: {len(others)} calls by strace, {len(mine)} by djstap")
        for one, other in zip(mine, others):
            comparison.call(one, other)
    text = page(comparison, options)
    if options.update:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
    print(text)
    for each in unequal:
        print(each)
    total = comparison.arguments + comparison.results + comparison.calls
    good = not unequal and all(map(comparison.explained, comparison.differences)) and \
        len(comparison.differences) <= MOST * total and len(comparison.names) >= LEAST_CALLS
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
