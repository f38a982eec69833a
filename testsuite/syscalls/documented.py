#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that the aliases of system calls have the variables that SystemTap's manual, tapset::syscalls(3stap), lists.

    documented.py --djstap build/release/bin/djstap

A probe of each alias that x86-64 has (those of other architectures and of 32-bit programs are left out) prints all of
these variables, up to -p2: a variable that the alias does not set is never assigned, which is reported. The status is
77 if the manual (Debian's systemtap-doc) is not installed.
"""
import argparse
import gzip
import os
import re
import subprocess
import sys

MANUAL = "/usr/share/man/man3/tapset::syscalls.3stap.gz"
# Set by the return probe only; mkdirat's is a slip of the manual's.
ELSEWHERE = {("pipe", "pipe0"), ("pipe", "pipe1"), ("mkdirat", "pahtname_unquoted")}


def documented():
    """Returns {alias: its variables}."""
    with gzip.open(MANUAL, "rt", encoding="utf-8") as file:
        text = re.sub(r"\\f.|\\", "", file.read())
    found, name = {}, None
    for line in text.splitlines():
        if match := re.match(r"(?:\.\w+ )?syscall\.([\w.]+)", line):
            name = match[1]
            found[name] = set()
        elif name and not line.startswith("."):
            found[name] |= {each.strip() for each in line.split(",")}
    return {name: {each for each in variables if re.fullmatch(r"[a-z]\w*", each)} - {"int"}
            for name, variables in found.items()}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--djstap", default="build/release/bin/djstap")
    options = parser.parse_args()
    if not os.path.exists(MANUAL):
        print("systemtap-doc is not installed")
        return 77
    listed = subprocess.run([options.djstap, "--dump-probe-aliases"], capture_output=True, text=True, check=True).stdout
    aliases = set(re.findall(r"^(?:probe )?syscall\.(\w+)", listed, re.MULTILINE))
    checked, bad = 0, 0
    script = []
    for name, variables in sorted(documented().items()):
        if name not in aliases:
            continue
        wanted = sorted(each for each in variables if (name, each) not in ELSEWHERE)
        checked += len(wanted) + 2
        script.append(f"probe syscall.{name} {{ println({', '.join(['name', 'argstr', *wanted])}) }}")
    done = subprocess.run([options.djstap, "-r", "6.1", "-p2", "-e", "\n".join(script)], capture_output=True, text=True,
                          errors="replace", check=False)
    for line, message in re.findall(r"^<input>:(\d+):\d+: (?:warning|error): (.*)", done.stderr, re.MULTILINE):
        print(f"{script[int(line) - 1].split(' {')[0]}: {message}")
        bad += 1
    print(f"{checked} variables of {len(script)} aliases")
    return 1 if bad or done.returncode or len(script) < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
