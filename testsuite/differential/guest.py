#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs random programs in a guest kernel: all of them in one boot. Output, messages and exit status of each are compared with the
interpreter's prediction and with those in user space.

    guest.py --djstap build/release/bin/djstap --differential build/release/bin/differential [--kernel 6.1]
             [--programs 25] [--first 1]
"""
import argparse
import glob
import os
import re
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


def messages_of(text):
    """Returns each ERROR and WARNING without its place, in lines, as main.cpp does."""
    messages = [each.rpartition(b" near ")[0] or each.rstrip(b"\n") for each in re.split(rb"^(?=ERROR: |WARNING: )", text, flags=re.M)[1:]]
    # What helps against the error before it is the reader's advice.
    return b"".join(each + b"\n" for each in messages if not each.startswith(b"WARNING: that ended the session: "))


def prediction(name, folder):
    """Returns the interpreter's (output, messages, status)."""
    contents = []
    for ending in "output", "messages", "status":
        with open(f"{folder}/{name}.{ending}", "rb") as file:
            contents.append(file.read())
    return contents[0], contents[1], int(contents[2])


def run_in_guest(djstap, kernel, names, folder):
    """Returns {name: (output, messages, status)}."""
    command = f"cd {shlex.quote(folder)}; " + "".join(
        f"echo; echo '==== {name}'; djrun {target_of(name, folder)} {name}.ko 2>/tmp/messages; status=$?; echo; echo \"==== $status\"; cat /tmp/messages; "
        for name in names) + "echo; echo '==== end'"
    done = run([djstap, f"--guest={kernel}", "--guest-root", "-c", command, "-e", "probe begin { }"])
    if done.returncode:  # of the last echo: only what the guest itself ends with can fail
        sys.exit(f"FAILED the guest ended with {done.returncode}:\n{done.stderr.decode(errors='replace')}")
    parts = done.stdout.split(b"\n" + MARK)
    if len(parts) != 2 * len(names) + 2:
        sys.exit(f"FAILED the guest printed {len(parts) - 2} of {2 * len(names)} results:\n{done.stderr.decode(errors='replace')}")
    parts = [part.partition(b"\n")[::2] for part in parts[1:-1]]
    return {name.decode(): (output, messages_of(errors), int(status))
            for (name, output), (status, errors) in zip(parts[::2], parts[1::2])}


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
        results = run_in_guest(djstap, options.kernel, names, folder)
        for name in names:
            expected, kernel = prediction(name, folder), results[name]
            done = run([djstap, "--runtime=user", *options_of(name, folder), f"{folder}/{name}.stp"])
            user = done.stdout, messages_of(done.stderr), done.returncode
            if kernel == expected == user:
                continue
            failed += 1
            print(f"FAILED seed {name.removeprefix('random_')}: the interpreter prints\n{expected}\nthe kernel\n{kernel}\n"
                  f"user space\n{user}")
    print(f"{len(names) - failed} of {len(names)} programs agree on {options.kernel}")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
