#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""All functions of a compiler patched: it compiles what it compiles without probes.

    compiler.py --djstap build/release/bin/djstap
"""
import argparse
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from harness import HERE, check, lacks_instructions, run_tests  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "testsuite", "bench"))
import programs  # noqa: E402


def check_job(djstap, script):
    with tempfile.TemporaryDirectory() as folder:
        equal, patched, functions, took, hits = programs.compile_job(djstap, ROOT, folder, script)
    print(f"        {patched} of {functions} functions, {took}, {hits} hits", flush=True)
    check(equal, "the compiler wrote something else")
    check(100 * patched >= 92 * functions, f"{patched} of {functions} functions are patched")
    check(hits > functions, f"{hits} hits")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--djstap", required=True)
    parser.add_argument("checks", nargs="*")
    options = parser.parse_args()
    djstap = os.path.abspath(options.djstap)
    if reason := lacks_instructions(djstap):
        print("skipped: " + reason)
        return 77
    scripts = {"counters": programs.FUNCTIONS, "an array": programs.FUNCTIONS.replace("n++", "n++; a[probefunc()]++").replace("global n", "global n, a")}
    return run_tests([(name, lambda each=each: check_job(djstap, each)) for name, each in scripts.items()], options.checks)


if __name__ == "__main__":
    sys.exit(main())
