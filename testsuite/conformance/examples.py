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
import re
import shlex
import subprocess
import sys

SHARE = "/usr/share/systemtap"
TIMEOUT = 100


def arguments_of(path):
    """Returns what follows the script's name in its test command, up to a -c or the shell's next command."""
    try:
        with open(path.removesuffix(".stp") + ".meta", encoding="utf-8", errors="replace") as file:
            check = re.search(r"^test_check:\s*(.*)$", file.read(), re.MULTILINE)
    except OSError:
        return []
    base = os.path.basename(path)
    if not check or base not in check[1]:
        return []
    rest = re.split(r"[|;>&]", re.sub(r"`[^`]*`|\$\([^)]*\)|\$\$(?!\w)", "1", check[1].split(base, 1)[1]))[0]
    try:
        words = shlex.split(rest)
    except ValueError:
        return []
    return words[:words.index("-c")] if "-c" in words else words


def folders_of(path):
    """Returns the libraries next to it that its test command names: -I FOLDER."""
    try:
        with open(path.removesuffix(".stp") + ".meta", encoding="utf-8", errors="replace") as file:
            check = re.search(r"^test_check:.*$", file.read(), re.MULTILINE)
    except OSError:
        return []
    found = re.findall(r"\s-I\s*(\S+)", check[0]) if check else []
    return [word for name in found for word in ("-I", os.path.join(os.path.dirname(path), name))]


def compile_script(command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT,
                          stdin=subprocess.DEVNULL)


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
        command = [os.path.abspath(options.djstap), "-g", "-w", f"-p{options.last}", "-r", options.kernel,
                   "-I", f"{SHARE}/tapset", *folders_of(script), script]
        no_arguments = False
        try:
            done = compile_script(command + arguments_of(script))
            for made_up in ("1", "begin"):  # its description names none
                if "[missing-argument]" in done.stderr or done.returncode != 0 and made_up == "begin" and no_arguments:
                    no_arguments = True
                    done = compile_script(command + [made_up] * 4)
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
