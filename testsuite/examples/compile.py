#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles SystemTap's packaged examples to modules, with djstap's own library and the arguments of their test commands.

    compile.py --djstap build/release/bin/djstap [--kernel 6.1] [--every N] [--list] [EXAMPLE…]

Those in exceptions.list must fail, all others must pass -p4. --every 8 takes each eighth of them. --list prints the first
error of each that fails. The exit status is 77 if the packages are not installed.
"""
import collections
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packaged  # noqa: E402

TIMEOUT = 1500 # the verbose call graph of fs/proc compiles for a minute


def compile_example(djstap, name, series, folder):
    """Returns the first error; "" if there is none."""
    command = packaged.Command(name, "test_check", series)
    target = ["-c", command.command] if command.command else []
    words = [djstap, "-g", "-w", "-p4", "-r", series, "-m", "example", *command.options, *target, f"{packaged.EXAMPLES}/{name}",
             *command.arguments]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, stdin=subprocess.DEVNULL,
                              cwd=folder, check=False)
    except subprocess.TimeoutExpired:
        return "takes too long"
    if done.returncode == 0:
        return ""
    if done.returncode != 1:
        return f"exit status {done.returncode}"
    errors = [line.split("error: ", 1)[1] for line in done.stderr.split("\n") if "error: " in line]
    return errors[0] if errors else "no message"


def main():
    parser = packaged.parser("Compiles SystemTap's packaged examples with djstap's library.")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    names = packaged.names()
    if not names:
        print("systemtap-doc is not installed")
        return 77
    excepted = packaged.exceptions(options.kernel)
    wrong = [f"exceptions.list names {name}, which does not exist" for name in excepted if name not in names]
    passed, asked = 0, options.examples or names[::options.every]
    with tempfile.TemporaryDirectory() as folder:
        for name in asked:
            error = compile_example(options.djstap, name, options.kernel, folder)
            passed += not error
            if error and options.list:
                print(f"{name}: {error}", flush=True)
            if error and name not in excepted:
                wrong.append(f"{name} fails: {error}")
            if not error and name in excepted:
                wrong.append(f"{name} passes, but exceptions.list has it: {excepted[name][1]}")
    kinds = collections.Counter(kind for kind, _ in excepted.values())
    print(f"{passed} of {len(asked)} pass -p4; of all {len(names)}, {kinds['user']} observe user programs, {kinds['kernel']} need "
          f"what the kernel does not have; those that need it, too, and are only parsed by their own test commands: {kinds['parsed']}")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
