#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the first scripts on a kernel compile of the runtime: the parts that each needs and the kit lacks, once.

    first_scripts.py --djstap PROGRAM [--kernel RELEASE]

Whatever the order, the modules are the same in the end: those of a kit that got its parts one after the other refer to what those of
a whole kit do, and their runtimes contain the same.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

PLAIN = "probe begin { exit() }"
ARRAYS = "global a probe timer.s(1) { a[pid()] <<< 1 foreach (k in a) print(@hist_log(a[k])) }"
# The parts that each adds to a kit without any, by what it says of them. All are known before code is generated: there is one step.
STEPS = (
    (ARRAYS, "globals, process, timer"),
    ('probe kernel.function("vfs_read") { print_backtrace() }', "place, symbols"),
    ('probe process("/bin/bash").function("main") { println(tid()) }', "calls, process, programs, uprobe"),
    ("probe timer.jiffies(1) { }", "timer"),
    ('probe kernel.function("vfs_read") { println(substr(execname(), 1, 2) =~ "a") }', "process, regex, text"),
    ('probe kernel.function("vfs_read") { print_ubacktrace() }', "place, returns, symbols, tasks, ustack"),
    ('probe kernel.trace("sched_switch") { println(pp()) }', "place, tracepoint"),
    ('probe perf.sw.cpu_clock { println(cpu()) }', "perf, process, programs, tasks"),
    ('probe procfs("x").read { $value = "1" }', "procfs"),
    ('probe kernel.function("vfs_read") { println($count) print_regs() }', "registers"),
)
EMBEDDED = "function f:long() %{ STAP_RETVALUE = 1; %} probe begin { println(f()) exit() }"


class Scripts:
    def __init__(self, options, folder):
        self.options, self.folder, self.failed = options, folder, False

    def compile(self, cache, script, *more):
        """Compiles a script in a cache; returns what djstap reports of the runtime, and the module's path."""
        module = os.path.join(self.folder, "module.ko")
        command = [self.options.djstap, "-w", "-r", self.options.kernel, "-p4", "-m", "module", *more, "-e", script]
        run = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env={**os.environ, "DJSTAP_CACHE": cache})
        if run.returncode:
            self.fail(f"{script}: {run.stderr}")
        return [line for line in run.stderr.splitlines() if "the runtime for" in line and ") of" not in line and ": " in line
                and not line.split(": ")[-1][0].isdigit()], module

    def fail(self, text):
        print(text)
        self.failed = True

    def expect(self, found, expected, what):
        if found != expected:
            self.fail(f"{what}: {found}, expected {expected}")


def names(cache, module):
    """Returns the runtime's symbols in a cache's kit, and those that a module of it has and refers to, but for the thunks, whose
    registers the compiler chooses."""
    with open(*glob.glob(os.path.join(cache, "runtime", "*", "manifest"))) as manifest:
        runtime = {line.split()[1] for line in manifest if line.startswith("runtime-symbol ")}
    lines = subprocess.run(["nm", module], capture_output=True, text=True, check=True).stdout.splitlines()
    words = [line.split() for line in lines if "__x86_indirect_thunk_" not in line]
    return runtime | {each[-1] for each in words if len(each) > 1 and
                      (each[-2] == "U" or (each[-2].isupper() and each[-1].startswith("djs_")))}


def added(lines):
    return [line.split("(once): ")[1] for line in lines if "adding to the runtime" in line]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1")
    options = parser.parse_args()
    options.djstap = os.path.abspath(options.djstap)
    with tempfile.TemporaryDirectory(prefix="djstap-first-") as folder:
        scripts = Scripts(options, folder)
        base, grown, whole = (os.path.join(folder, name) for name in ("base", "grown", "whole"))
        lines, _ = scripts.compile(base, PLAIN)
        scripts.expect([line.endswith("(once)") for line in lines], [True], "the first script's kit")
        # Each alone: what is needed is known at once.
        for script, parts in STEPS:
            shutil.rmtree(grown, ignore_errors=True)
            shutil.copytree(base, grown)
            lines, _ = scripts.compile(grown, script)
            scripts.expect(added(lines), [parts] if parts else [], script)
        # One after the other.
        shutil.rmtree(grown)
        shutil.copytree(base, grown)
        for script, _ in STEPS:
            scripts.compile(grown, script)
            lines, _ = scripts.compile(grown, script)
            scripts.expect(lines, [], "compiled again: " + script)
        lines, module = scripts.compile(grown, EMBEDDED, "-g")
        scripts.expect(len(added(lines)), 1, "embedded C code")
        step_by_step = names(grown, module)
        lines, module = scripts.compile(whole, EMBEDDED, "-g")
        at_once = names(whole, module)
        scripts.expect(added(lines), [], "a first script with embedded C code")
        scripts.expect(sorted(step_by_step ^ at_once), [], "step by step or at once")
        if not {"djs_ops_uprobe", "djs_enter", "djs_map_find"} <= at_once:
            scripts.fail("the module lacks the runtime's parts")
        return 1 if scripts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
