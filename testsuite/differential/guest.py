#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs random programs in a guest kernel: all of them in one boot, each compared with the interpreter's prediction and
with the output in user space.

    guest.py --djstap build/release/bin/djstap --differential build/release/bin/differential [--kernel 6.1]
             [--programs 25] [--first 1]
"""
import argparse
import glob
import os
import shlex
import subprocess
import sys
import tempfile

MARK = b"==== "


def run(command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=600, **options)


def options_of(name, folder):
    with open(f"{folder}/{name}.options", encoding="utf-8") as file:
        return file.read().split()


def target_of(name, folder):
    """Returns the value of -x, which a module receives when it is run."""
    options = options_of(name, folder)
    return f"-x {options[options.index('-x') + 1]}" if "-x" in options else ""


def compile_all(djstap, kernel, names, folder):
    for name in names:
        options = options_of(name, folder)
        done = run([djstap, "-w", "-r", kernel, "-p4", "-m", name, *options, f"{name}.stp"], cwd=folder)
        if done.returncode:
            sys.exit(f"FAILED {name}.stp is not compiled:\n{done.stderr.decode(errors='replace')}")


def run_in_guest(djstap, kernel, names, folder):
    """Returns {name: output}."""
    command = f"cd {shlex.quote(folder)}; " + "".join(
        f"echo; echo '==== {name}'; djrun {target_of(name, folder)} {name}.ko 2>/dev/null; " for name in names)
    done = run([djstap, f"--guest={kernel}", "--guest-root", "-c", command, "-e", "probe begin { }"])
    parts = done.stdout.split(b"\n" + MARK)
    if len(parts) != len(names) + 1:
        sys.exit(f"FAILED the guest printed {len(parts) - 1} of {len(names)} results:\n{done.stderr.decode(errors='replace')}")
    return dict((part.partition(b"\n")[0].decode(), part.partition(b"\n")[2]) for part in parts[1:])


def main():
    parser = argparse.ArgumentParser(description="Random programs in a guest kernel.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--differential", required=True)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--programs", type=int, default=25)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    djstap = os.path.abspath(options.djstap)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="djstap-random-") as folder:
        subprocess.run([options.differential, "--write", folder, "--programs", str(options.programs),
                        "--first", str(options.first)], check=True)
        names = sorted(os.path.basename(path)[:-len(".stp")] for path in glob.glob(f"{folder}/*.stp"))
        compile_all(djstap, options.kernel, names, folder)
        outputs = run_in_guest(djstap, options.kernel, names, folder)
        for name in names:
            with open(f"{folder}/{name}.output", "rb") as file:
                expected = file.read()
            user = run([djstap, "-w", "--runtime=user", *options_of(name, folder), f"{folder}/{name}.stp"]).stdout
            # The mark of the next program begins with a newline of its own.
            kernel = outputs[name]
            if name == names[-1]:
                kernel = kernel[:len(expected)] if kernel[len(expected):].strip() == b"" else kernel
            if kernel == expected == user:
                continue
            failed += 1
            print(f"FAILED seed {name.removeprefix('random_')}: the interpreter prints\n{expected}\nthe kernel\n{kernel}\n"
                  f"user space\n{user}")
    print(f"{len(names) - failed} of {len(names)} programs agree on {options.kernel}")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
