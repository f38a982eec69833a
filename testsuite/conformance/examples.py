#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts how many of SystemTap's packaged examples compile: Debian's systemtap-doc and systemtap-common.

    examples.py --djstap build/release/bin/djstap [--kernel 6.1] [--pass 1] [--least N] [--list]

Each runs up to that pass with the packaged tapset on -I, with -g and with the arguments in its own description
(.meta, test_check). --list prints the first error of each example that fails. The exit status is 0 if at least N of
them pass (default: all), 77 if the packages are not installed.
"""
import argparse
import collections
import glob
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
import packaged  # noqa: E402

SHARE = "/usr/share/systemtap"
TIMEOUT = 1500  # syscall.* with that library is thousands of C functions


def words_of(path, series):
    """Returns (options, arguments) of its test command, or None if its description has none."""
    name = os.path.relpath(path, packaged.EXAMPLES)
    if name not in packaged.names():
        return None
    command = packaged.Command(name, "test_check", series)
    return [*command.options, *(["-c", command.command] if command.command else [])], command.arguments


def compile_script(command):
    with tempfile.TemporaryDirectory() as folder:  # -p4 leaves a module
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT,
                              stdin=subprocess.DEVNULL, cwd=folder)


def main():
    parser = argparse.ArgumentParser(description="Compiles SystemTap's packaged examples.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--pass", dest="last", default="1")
    parser.add_argument("--least", type=int)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    scripts = sorted(glob.glob(f"{SHARE}/examples/**/*.stp", recursive=True))
    if not scripts or not os.path.isdir(f"{SHARE}/tapset"):
        print("systemtap-doc and systemtap-common are not installed")
        return 77
    passed = 0
    reasons = collections.Counter()
    for script in scripts:
        words = words_of(script, options.kernel)
        chosen, arguments = words or ([], [])
        command = [os.path.abspath(options.djstap), "-g", "-w", f"-p{options.last}", "-r", options.kernel, "-m", "example",
                   "-I", f"{SHARE}/tapset", *chosen, script]
        try:
            done = compile_script(command + arguments)
            # Its description names none: a number, a name, or a program and a function of it.
            for made_up in (["1"] * 4, ["begin"] * 4, [command[0], "main"]) if "[missing-argument]" in done.stderr else ():
                if done.returncode:
                    done = compile_script(command + made_up)
        except subprocess.TimeoutExpired:
            first = "takes too long"
        else:
            if done.returncode == 0:
                passed += 1
                continue
            errors = [line for line in done.stderr.split("\n") if ": error: " in line] or ["no error"]
            first = errors[0].split(": error: ", 1)[-1]
            if done.returncode not in (0, 1):
                print(f"FAILED {script}: status {done.returncode}")
                return 1
        reasons[first] += 1
        if options.list:
            print(f"{os.path.relpath(script, SHARE + '/examples')}: {first}")
    if options.list:
        print()
        for reason, count in reasons.most_common(20):
            print(f"{count:4} {reason}")
    print(f"{passed} of {len(scripts)} pass -p{options.last}")
    return 0 if passed >= (options.least if options.least is not None else len(scripts)) else 1


if __name__ == "__main__":
    sys.exit(main())
