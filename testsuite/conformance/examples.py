#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts how many of SystemTap's packaged examples compile: Debian's systemtap-doc and systemtap-common.

    examples.py --djstap build/release/bin/djstap [--kernel 6.1] [--pass 1] [--library added] [--least N] [--list]
    examples.py --djstap build/release/bin/djstap --results     all of them, which takes an hour, and writes examples.md

Each runs up to that pass with -g and with the arguments in its own description (.meta, test_check). --library: SystemTap's
tapset is `added` to djstap's by -I, it is there `alone`, or only djstap's `own` is. --list prints the first error of each
example that fails, --jobs N runs N of them side by side. `--library systemtap` asks stap itself. The exit status is 0 if at
least N of them pass (default: all), 77 if the packages are not installed.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../examples"), os.path.join(HERE, "../bench")]
import kernels  # noqa: E402
import packaged  # noqa: E402
import systemtap  # noqa: E402

SHARE = "/usr/share/systemtap"
TIMEOUT = 1500  # syscall.* with that library is thousands of C functions


def words_of(path, series):
    """Returns (options, arguments) of its test command, or None if its description has none."""
    name = os.path.relpath(path, packaged.EXAMPLES)
    if name not in packaged.names():
        return None
    command = packaged.Command(name, "test_check", series)
    return [*command.options, *(["-c", command.command] if command.command else [])], command.arguments


def compile_script(command, environment):
    with tempfile.TemporaryDirectory() as folder:  # -p4 leaves a module
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT,
                              stdin=subprocess.DEVNULL, cwd=folder, env=environment)


def failure(script, options, last, library):
    """Returns a script's first error, or None; raises RuntimeError if djstap ends as it should not."""
    chosen, arguments = words_of(script, options.kernel) or ([], [])
    djstap = os.path.abspath(options.djstap)
    words = ["-g", "-w", f"-p{last}", "-m", "example", *chosen, script]
    environment = {**os.environ, "SYSTEMTAP_TAPSET": f"{SHARE}/tapset"} if library == "alone" else None
    if library == "systemtap":
        release = kernels.release_of(djstap, options.kernel)
        command = systemtap.command(release, ["-r", release, "-R", options.systemtap, *words])
        environment = systemtap.environment(release)
    else:
        command = [djstap, "-r", options.kernel, *(["-I", f"{SHARE}/tapset"] if library == "added" else []), *words]
    try:
        done = compile_script(command + arguments, environment)
        # Its description names none: a number, a name, or a program and a function of it.
        is_short = "[missing-argument]" in done.stderr or "command line argument out of range" in done.stderr
        for made_up in (["1"] * 4, ["begin"] * 4, [djstap, "main"]) if is_short else ():
            if done.returncode:
                done = compile_script(command + made_up, environment)
    except subprocess.TimeoutExpired:
        return "takes too long"
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{script}: status {done.returncode}")
    if not done.returncode:
        return None
    if library == "systemtap":
        found = re.search(r"^(?:semantic|parse) error: (.*)", done.stderr, re.MULTILINE)
        return re.sub(r"\s+\[man [^]]*\]", "", found[1]) if found else done.stderr.strip().split("\n")[-1]
    errors = [line for line in done.stderr.split("\n") if ": error: " in line] or ["no error"]
    # Of C code that does not compile, the compiler's own first error.
    told = errors[1] if len(errors) > 1 and errors[0].endswith("C code does not compile:") else errors[0]
    return told.split(": error: ", 1)[-1]


def failures(scripts, options, last, library):
    """Returns {script: its first error} for those that fail."""
    found = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for script, reason in zip(scripts, pool.map(lambda each: failure(each, options, last, library), scripts)):
            if reason is not None:
                found[script] = reason
                if options.list:
                    print(f"{os.path.relpath(script, SHARE + '/examples')}: {reason}", flush=True)
    return found


LIBRARIES = {"own": "djstap's library", "added": "SystemTap's, added to djstap's by `-I`",
             "alone": "SystemTap's alone (`SYSTEMTAP_TAPSET`)"}


def write_results(scripts, options):
    """Writes how many pass with each library, and why the others fail."""
    counts, reasons = {}, collections.defaultdict(dict)
    for library in LIBRARIES:
        failed = failures(scripts, options, "2", library)
        counts[library] = [len(scripts) - len(failed)]
        failed |= failures([script for script in scripts if script not in failed], options, "4", library)
        counts[library].append(len(scripts) - len(failed))
        for script, reason in failed.items():
            reasons[os.path.relpath(script, SHARE + "/examples")].setdefault(reason, []).append(library)
    text = ["# SystemTap's packaged examples", "",
            f"Written by `testsuite/conformance/examples.py --results`: {len(scripts)} scripts of systemtap-doc, on Debian's "
            f"{options.kernel}, each with the arguments of its own test command.", "",
            "| library | pass `-p2` | pass `-p4` |", "|---|---|---|"]
    text += [f"| {title} | {counts[library][0]} | {counts[library][1]} |" for library, title in LIBRARIES.items()]
    text.append(f"| {systemtap.version()} itself, instead of djstap | {len(scripts) - len(failures(scripts, options, '2', 'systemtap'))} | not run |")
    text += ["", "These do not pass `-p4`:", "", "| example | library | first error |", "|---|---|---|"]
    for name in sorted(reasons):
        for reason, libraries in reasons[name].items():
            shown = "all" if len(libraries) == len(LIBRARIES) else ", ".join(libraries)
            reason = re.sub(r"kernel \d\S+", f"kernel {options.kernel}", reason)
            text.append(f"| `{name}` | {shown} | {reason.replace('|', chr(92) + '|')} |")
    with open(os.path.join(HERE, "examples.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Compiles SystemTap's packaged examples.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--pass", dest="last", default="1")
    parser.add_argument("--least", type=int)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--library", choices=[*LIBRARIES, "systemtap"], default="added")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", action="store_true")
    options = parser.parse_args()
    scripts = sorted(glob.glob(f"{SHARE}/examples/**/*.stp", recursive=True))
    if not scripts or not os.path.isdir(f"{SHARE}/tapset"):
        print("systemtap-doc and systemtap-common are not installed")
        return 77
    options.systemtap = systemtap.runtime() if options.results or options.library == "systemtap" else None
    if options.results:
        write_results(scripts, options)
        return 0
    failed = failures(scripts, options, options.last, options.library)
    reasons = collections.Counter(failed.values())
    passed = len(scripts) - len(failed)
    if options.list:
        print()
        for reason, count in reasons.most_common(20):
            print(f"{count:4} {reason}")
    print(f"{passed} of {len(scripts)} pass -p{options.last}")
    return 0 if passed >= (options.least if options.least is not None else len(scripts)) else 1


if __name__ == "__main__":
    sys.exit(main())
