#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs kernel cases: a script, a command and what they print, each in a guest of its own.

A case is a text file of fields, `name: value`, or `name:` with an indented block below it:

    title: what it shows
    script:                 the script; or `file: NAME.stp`; examples: the .stp beside the .meta
    prepare:                shell commands on the host, run before; $KERNEL, $T (an empty folder)
    options: -v             further options of djstap ($T and $KERNEL are replaced, in command too)
    command: gtodbench -n 3 for -c
    run:                    instead of script, options and command: shell commands on the host, for
                            what is not one djstap ($DJSTAP is `djstap` with --guest; $T, $KERNEL,
                            $SOURCES: the project's own folder)
    status: 0               exit status
    output:                 expected standard output (see ../harness/matching.py)
    errors:                 expected standard error; without this field it may be anything
    kernels: 6.1 6.12       on which it runs; absent: on both

    run.py --djstap build/release/bin/djstap --kernel 6.1 CASE…
    run.py --list CASE…     prints which kernels a case runs on

The exit status is 0, or 1 for a failure, or 3 when a guest was lost twice (it is tried again once): that
tells of the machine, not of the case, and is no success either.
"""
import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import matching  # noqa: E402

KERNELS = ["6.1", "6.12"]
FIELDS = {"title", "description", "keywords", "script", "file", "prepare", "options", "command", "run", "status",
          "output", "errors", "kernels"}
TIMEOUT = 300 if not os.environ.get("DJSTAP_LONG") else 3000
PASSED, FAILED, LOST = 0, 1, 3


def read_case(path):
    """The case's fields."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    fields = {}
    inline = set()
    block = None
    for number, line in enumerate(lines, 1):
        if block is not None and (line.startswith((" ", "\t")) or not line.strip()):
            fields[block].append(line)
            continue
        block = None
        if not line.strip() or line.startswith("#"):
            continue
        match = re.match(r"(\w+):(?:\s+(.*))?$", line)
        if not match or match[1] not in FIELDS or match[1] in fields:
            raise ValueError(f"{path}:{number}: not a field of a case: {line}")
        block = match[1]
        fields[block] = [match[2].strip()] if match[2] else []
        inline.update([block] if match[2] else [])
    for name, value in fields.items():
        if name in inline:  # a long value may go on in indented lines
            fields[name] = " ".join(line.strip() for line in value).strip()
        else:
            fields[name] = textwrap.dedent("\n".join(value)).strip("\n")
    if "run" not in fields and "script" not in fields and "file" not in fields:
        fields["file"] = os.path.splitext(os.path.basename(path))[0] + ".stp"
    if "output" not in fields:
        raise ValueError(f"{path}: a field 'output' is needed")
    return fields


def kernels_of(fields):
    kernels = fields.get("kernels", "").split() or KERNELS
    if any(kernel not in KERNELS for kernel in kernels):
        raise ValueError(f"kernels: {' '.join(kernels)}: known are {' '.join(KERNELS)}")
    return kernels


def expected_lines(text):
    return text.split("\n") if text else []


class Runner:
    def __init__(self, path, djstap, kernel):
        self.path = path
        self.fields = read_case(path)
        self.djstap = os.path.abspath(djstap)
        self.kernel = kernel

    def once(self, folder):
        """(status, output, errors) of the case's command."""
        environment = dict(os.environ, T=folder, KERNEL=self.kernel, LC_ALL="C.UTF-8",
                           SOURCES=os.path.dirname(os.path.dirname(HERE)),
                           DJSTAP=f"{shlex.quote(self.djstap)} --guest={self.kernel}")
        environment["PATH"] = os.path.dirname(self.djstap) + ":" + environment.get("PATH", "")

        def execute(command):
            with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, start_new_session=True) as process:
                try:
                    output, errors = process.communicate(timeout=TIMEOUT)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)  # a shell's children, too
                    raise
            return subprocess.CompletedProcess(command, process.returncode, output, errors)

        if "prepare" in self.fields:
            done = execute(["/bin/sh", "-e", "-c", self.fields["prepare"]])
            if done.returncode:
                return None, done.stdout, done.stderr
        if "run" in self.fields:
            done = execute(["/bin/sh", "-e", "-c", self.fields["run"]])
            return done.returncode, done.stdout, done.stderr
        def replaced(text):
            return text.replace("$T", folder).replace("$KERNEL", self.kernel)

        words = [replaced(word) for word in shlex.split(self.fields.get("options", ""))]
        end = words.index("--") if "--" in words else len(words)  # the rest are the script's arguments
        command = [self.djstap, f"--guest={self.kernel}"] + words[:end]
        if "command" in self.fields:
            command += ["-c", replaced(self.fields["command"])]
        if "script" in self.fields:
            command += ["-e", self.fields["script"]]
        else:
            command.append(os.path.join(os.path.dirname(os.path.abspath(self.path)), self.fields["file"]))
        command += words[end:]
        done = execute(command)
        return done.returncode, done.stdout, done.stderr

    def check(self):
        with tempfile.TemporaryDirectory(prefix="djstap-case-") as folder:
            status, output, errors = self.once(folder)

            def lines(data):
                text = data.decode("utf-8", "backslashreplace").replace(folder, "$T").replace("\r", "")
                return [line.rstrip() for line in text.removesuffix("\n").split("\n")] if text else []

            output, errors = lines(output), lines(errors)
        name = f"{os.path.basename(self.path)} on {self.kernel}"
        if status is None:
            print(f"FAILED {name}: its preparation failed\n" + "\n".join(output + errors))
            return FAILED
        if any("[guest-lost]" in line for line in errors) and "[guest-lost]" not in self.fields.get("errors", ""):
            print(f"GUEST LOST {name}\n" + "\n".join(errors))
            return LOST
        problems = []
        wanted = int(self.fields.get("status", "0"))
        if status != wanted:
            problems.append(f"exit status {status}, expected {wanted}")
        expected = expected_lines(self.fields["output"])
        if not matching.fits(expected, output):
            problems.append(matching.difference(expected, output, "output"))
        if "errors" in self.fields:
            expected = expected_lines(self.fields["errors"])
            if not matching.fits(expected, errors):
                problems.append(matching.difference(expected, errors, "errors"))
        for problem in problems:
            print(f"FAILED {name}: {problem}")
        if problems:
            print("standard error was:\n" + "\n".join(errors))
        return FAILED if problems else PASSED


def main():
    parser = argparse.ArgumentParser(description="Runs djstap's kernel cases.")
    parser.add_argument("--djstap", help="the program to test")
    parser.add_argument("--kernel", choices=KERNELS, help="default: all that a case names")
    parser.add_argument("--list", action="store_true", help="only print each case's kernels")
    parser.add_argument("cases", nargs="+")
    options = parser.parse_args()
    if options.list:
        for path in options.cases:
            print(os.path.basename(path), *kernels_of(read_case(path)))
        return PASSED
    if not options.djstap:
        parser.error("--djstap is needed")
    worst = PASSED
    for path in options.cases:
        for kernel in [options.kernel] if options.kernel else kernels_of(read_case(path)):
            try:
                result = Runner(path, options.djstap, kernel).check()
                if result == LOST:
                    result = Runner(path, options.djstap, kernel).check()
            except (ValueError, OSError, re.error, subprocess.TimeoutExpired) as error:
                print(f"FAILED {path}: {error}")
                result = FAILED
            print(f"{os.path.basename(path)} on {kernel}: " + {0: "passed", 1: "failed", 3: "guest lost"}[result])
            worst = max(worst, result)
    return worst


if __name__ == "__main__":
    sys.exit(main())
