#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles random scripts ($DJSTAP) into modules of the working folder.

    compile.py FIRST COUNT PROGRAM

FIRST, FIRST + 1, … are the seeds, and the names of the modules: djstap_FIRST.ko, beside the script, djstap_FIRST.stp. PROGRAM is
what process(@1) stands for. Prints which are not compiled, and why; the exit status is 1 then.
"""
import concurrent.futures
import os
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scripts  # noqa: E402


def compile_script(seed, program):
    """Returns what is wrong, or nothing."""
    script = scripts.Script(seed)
    name = f"djstap_{seed}"
    with open(f"{name}.stp", "w", encoding="utf-8") as file:
        file.write(script.text)
    words = shlex.split(os.environ["DJSTAP"]) + ["-p4", "-m", name, *script.options, f"{name}.stp", program]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                          env=dict(os.environ, DJSTAP_HANDLER_FORMS=script.form or os.environ.get("DJSTAP_HANDLER_FORMS", "")))
    if done.returncode == 0:
        return ""
    return f"{name}: status {done.returncode}: {' '.join(words)}\n{done.stderr.decode(errors='replace')}"


def main():
    first, count, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [each for each in pool.map(lambda seed: compile_script(seed, program), range(first, first + count)) if each]
    print("".join(failures), end="")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
