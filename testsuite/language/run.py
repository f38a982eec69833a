#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs language cases: scripts that contain the command and its expected output.

    // run: -p1 %s            options of djstap; %s is this file. Or:
    // shell: djstap -p1 - < %s
    probe begin { }
    // status: 1              absent: 0
    // needs: root            else it is skipped: a case alone ends with status 77 then. Or fsgsbase: a processor and a
                              kernel that let programs read the base of their threads' memory, for --runtime=process
    //| a line of standard output
    //! a line of standard error

A case's output is compared line by line (see ../harness/matching.py). Commands run in the case's own folder, so that
places read NAME.stp:LINE:COLUMN; $T is an empty folder for files that they write. What the first script on a kernel
reports of its preparations is expected only where a case names it, so that a case passes with an empty cache, too.

    run.py --djstap build/release/bin/djstap [--update] [CASE…]
"""
import argparse
import ctypes
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import matching  # noqa: E402

TIMEOUT = 120
PREPARATION = re.compile(r"djstap: (reading the symbols of|index(ing|ed) the debug information of|"
                         r"(building|adding to|waiting for another djstap to build) the runtime for) ")


class Case:
    def __init__(self, path):
        self.path = path
        self.folder, self.name = os.path.split(os.path.abspath(path))
        with open(path, encoding="utf-8", newline="") as file:
            self.lines = file.read().split("\n")
        self.run = self.shell = None
        self.status, self.needs = 0, None
        self.output, self.errors = [], []
        for line in self.lines:
            if match := re.match(r"// run: (.*)", line):
                self.run = match[1]
            elif match := re.match(r"// shell: (.*)", line):
                self.shell = match[1]
            elif match := re.match(r"// status: (\d+)$", line):
                self.status = int(match[1])
            elif match := re.match(r"// needs: (.*)", line):
                self.needs = match[1]
            elif match := re.match(r"//\|(?: (.*))?$", line):
                self.output.append(match[1] or "")
            elif match := re.match(r"//!(?: (.*))?$", line):
                self.errors.append(match[1] or "")
        if (self.run is None) == (self.shell is None):
            raise ValueError(f"{path}: one line '// run: …' or '// shell: …' is needed")

    def execute(self, djstap):
        """Returns (status, output lines, error lines)."""
        environment = dict(os.environ, LC_ALL="C.UTF-8")
        environment["PATH"] = os.path.dirname(os.path.abspath(djstap)) + ":" + environment.get("PATH", "")
        with tempfile.TemporaryDirectory(prefix="djstap-case-") as folder:
            environment["T"] = folder
            if self.shell is not None:
                command = ["/bin/sh", "-c", self.shell.replace("%s", shlex.quote(self.name))]
            else:
                command = [djstap] + [word.replace("%s", self.name) for word in shlex.split(self.run)]
            done = subprocess.run(command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=TIMEOUT)

            def lines(data):
                text = data.decode("utf-8", "backslashreplace").replace(folder, "$T")
                return text.removesuffix("\n").split("\n") if text else []

            return done.returncode, lines(done.stdout), lines(done.stderr)

    def update(self, status, output, errors):
        body = [line for line in self.lines if not re.match(r"(//\||//!|// status: \d+$)", line)]
        while body and not body[-1].strip():
            body.pop()
        if status:
            body.append(f"// status: {status}")
        body += [f"//| {line}".rstrip() for line in matching.updated(self.output, output)]
        body += [f"//! {line}".rstrip() for line in matching.updated(self.errors, errors)]
        with open(self.path, "w", encoding="utf-8", newline="") as file:
            file.write("\n".join(body) + "\n")


def has_fsgsbase():
    """Returns whether the kernel says so in the auxiliary vector (AT_HWCAP2, HWCAP2_FSGSBASE)."""
    return bool(ctypes.CDLL(None).getauxval(ctypes.c_ulong(26)) & 2)


THERE = {"root": lambda: os.geteuid() == 0, "fsgsbase": has_fsgsbase}


def check(case, djstap, update):
    status, output, errors = case.execute(djstap)
    output, errors = ([line.rstrip() for line in lines] for lines in (output, errors))
    if not any(PREPARATION.match(line) for line in case.errors):
        errors = [line for line in errors if not PREPARATION.match(line)]
    problems = []
    if status != case.status:
        problems.append(f"exit status {status}, expected {case.status}")
    if not matching.fits(case.output, output):
        problems.append(matching.difference(case.output, output, "output"))
    if not matching.fits(case.errors, errors):
        problems.append(matching.difference(case.errors, errors, "errors"))
    if status < 0 or status >= 126 or any("Sanitizer" in line for line in errors):
        problems.append(f"djstap ended abnormally (status {status})")
    elif problems and update:
        case.update(status, output, errors)
        print(f"updated {case.name}")
        return True
    for problem in problems:
        print(f"FAILED {case.name}: {problem}")
    return not problems


def main():
    parser = argparse.ArgumentParser(description="Runs djstap's language cases.")
    parser.add_argument("--djstap", required=True, help="the program to test")
    parser.add_argument("--update", action="store_true", help="write what is printed into the cases")
    parser.add_argument("cases", nargs="*", help="default: all of this folder")
    options = parser.parse_args()
    djstap = os.path.abspath(options.djstap)
    paths = options.cases or sorted(os.path.join(HERE, name) for name in os.listdir(HERE) if name.endswith(".stp"))
    failed = skipped = 0
    for path in paths:
        try:
            case = Case(path)
            if case.needs and not THERE[case.needs]():
                print(f"skipped {case.name}: it needs {case.needs}")
                skipped += 1
                continue
            failed += not check(case, djstap, options.update)
        except (ValueError, OSError, subprocess.TimeoutExpired) as error:
            print(f"FAILED {path}: {error}")
            failed += 1
    print(f"{len(paths) - failed - skipped} of {len(paths)} language cases passed")
    return 1 if failed or not paths else 77 if skipped == len(paths) else 0


if __name__ == "__main__":
    sys.exit(main())
