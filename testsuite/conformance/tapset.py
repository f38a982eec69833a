#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Determines which functions of SystemTap's packaged tapset (Debian's systemtap-common) can be used with -I.

    tapset.py --djstap build/release/bin/djstap [--kernel 6.1] [--pass 2] [--embedded] [--every N]
              [--least N] [--list]

Each function that the tapset defines for this architecture is called once in a begin probe, with 0 or "" for each
parameter, up to that pass; with --embedded those whose body is C, with --every only each Nth. For pass 4 this means
that the kernel's compiler accepts the code, and that the kernel exports the symbols it uses to modules. Several
functions share a script; if it fails, its halves are tried. --list prints the first error of each function that
fails. The exit status is 0 if at least N pass, 77 if the package is not installed.
"""
import argparse
import collections
import concurrent.futures
import glob
import itertools
import os
import re
import subprocess
import sys
import tempfile

TAPSET = "/usr/share/systemtap/tapset"
TIMEOUT = 100
BATCH = 24
# Other architectures, and programs that run in user space.
ELSEWHERE = {"arm", "arm64", "i386", "ia64", "mips", "powerpc", "riscv", "s390", "bpf", "dyninst"}
FUNCTION = re.compile(r"^\s*(private\s|@__private30\s)?\s*function\s+(\w+)\s*(?::\s*(\w+))?\s*\(([^)]*)\)[^{%]*([{%])", re.MULTILINE)


class Function:
    def __init__(self, name, result, parameters, is_c):
        self.name = name
        self.is_c = is_c
        self.result = result
        self.types = [match[1] if (match := re.search(r":\s*(long|string)", each)) else None for each in parameters]

    def calls(self):
        """Returns all ways to call it, the likeliest first: a parameter without a type may have either type."""
        choices = [{"long": ["0"], "string": ['""'], None: ["0", '""']}[each] for each in self.types]
        for arguments in itertools.islice(itertools.product(*choices), 8):
            yield f"{self.name}({', '.join(arguments)})"


def functions():
    found = {}
    for path in sorted(glob.glob(f"{TAPSET}/**/*.stp", recursive=True)):
        if ELSEWHERE & set(os.path.relpath(path, TAPSET).split("/")[:-1]):
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        for private, name, result, parameters, opening in FUNCTION.findall(text):
            if private:
                continue
            words = [word for word in parameters.split(",") if word.strip()]
            found.setdefault((name, len(words)), Function(name, result, words, opening == "%"))
    return list(found.values())


class Checker:
    def __init__(self, options):
        self.command = [os.path.abspath(options.djstap), "-g", "-w", f"-p{options.last}", "-r", options.kernel,
                        "-I", TAPSET]
        self.failures = {}

    def error_of(self, calls):
        """Returns the first error of a script that makes these calls; None: it passes."""
        script = "".join(f"probe begin {{ {call} }}\n" for call in calls)
        try:
            with tempfile.TemporaryDirectory() as folder:  # -p4 leaves a module
                done = subprocess.run(self.command + ["-e", script], capture_output=True, text=True, errors="replace",
                                      timeout=TIMEOUT, stdin=subprocess.DEVNULL, cwd=folder)
        except subprocess.TimeoutExpired:
            return "takes too long"
        if done.returncode == 0:
            return None
        if done.returncode != 1:  # a function may be refused, but djstap neither crashes nor runs out of memory
            raise RuntimeError(f"djstap ended with status {done.returncode}:\n{script}{done.stderr}")
        errors = [line for line in done.stderr.split("\n") if ": error: " in line and "does not compile:" not in line]
        return errors[0].split(": error: ", 1)[-1] if errors else f"status {done.returncode}"

    def check(self, batch):
        if self.error_of([next(each.calls()) for each in batch]) is None:
            return
        if len(batch) > 1:
            self.check(batch[:len(batch) // 2])
            self.check(batch[len(batch) // 2:])
            return
        errors = []
        for call in batch[0].calls():
            error = self.error_of([call])
            if error is None:
                return
            errors.append(error)
        self.failures[batch[0]] = errors[0]


def main():
    parser = argparse.ArgumentParser(description="Calls each function of SystemTap's packaged tapset.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--pass", dest="last", default="2")
    parser.add_argument("--embedded", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--least", type=int)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if not os.path.isdir(TAPSET):
        print("systemtap-common is not installed")
        return 77
    every = [each for each in functions() if each.is_c or not options.embedded][::options.every]
    checker = Checker(options)
    batches = [every[i:i + BATCH] for i in range(0, len(every), BATCH)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(checker.check, batches))
    if options.list:
        for function, error in sorted(checker.failures.items(), key=lambda each: each[0].name):
            print(f"{function.name}({len(function.types)}): {error}")
        print()
        kinds = collections.Counter(re.sub(r"'[^']*'", "'…'", error) for error in checker.failures.values())
        for kind, count in kinds.most_common(20):
            print(f"{count:4} {kind}")
    passed = len(every) - len(checker.failures)
    print(f"{passed} of {len(every)} functions pass -p{options.last}")
    return 0 if passed >= (options.least if options.least is not None else len(every)) else 1


if __name__ == "__main__":
    sys.exit(main())
