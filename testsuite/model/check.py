#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Has spin look at all states of a model.

check.py MODEL holds|fails [-DNAME[=VALUE]…]: `fails` wants an assertion that does not hold. Ends with 77 where spin
is not installed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
DEPTH = 20000  # steps; a run of these models has some hundred


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def must(command, folder):
    result = run(command, folder)
    if result.returncode:
        sys.exit(f"{' '.join(command)}:\n{result.stdout}")


def main():
    model, wanted, *flags = sys.argv[1:]
    if wanted not in ("holds", "fails"):
        sys.exit(__doc__)
    if not shutil.which("spin"):
        print("spin is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(FOLDER):
            if name.endswith(".pml"):
                shutil.copy(os.path.join(FOLDER, name), folder)
        # A failure is found soon; then compiling takes most of the time.
        optimize = "-O1" if wanted == "holds" else "-O0"
        must(["spin", "-a", *flags, model + ".pml"], folder)
        must([os.environ.get("CC", "cc"), optimize, "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=2000", "-o", "pan", "pan.c"],
             folder)
        result = run(["./pan", f"-m{DEPTH}"], folder).stdout
        errors = re.search(r"errors: (\d+)", result)
        complete = errors and not re.search(r"max search depth too small|Search not completed|out of memory", result)
        failed = re.search(r"assertion violated .*", result)
        states = re.search(r"\d+ states, stored", result)
        print(failed.group() if failed else "no assertion fails", "-", states.group() if states else "")
        if wanted == "fails":
            return 0 if failed else result
        if complete and errors.group(1) == "0":
            return 0
        return result + run(["spin", "-t", "-p", "-g", *flags, model + ".pml"], folder).stdout[-20000:]


sys.exit(main())
