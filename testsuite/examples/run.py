#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs SystemTap's packaged examples in guests under their test commands, and checks that they tell what the workload did.

    run.py --djstap build/release/bin/djstap [--kernel 6.1] [--every N] [--show] [EXAMPLE…]

runs.table has a row for each example:

    example: io/iostats.stp
    arguments: 1                in place of those of the test command, where that one ends before the workload
    command: sleep 1            in place of the test command's -c, or of worker.py, which does known things
    program: ../kernel/x.c      a C program that is compiled first; $PROGRAM is its path in the arguments and the command
    options: -D NAME=1          further options of djstap
    status: 1                   exit status; absent: 0
    finds:                      each of these lines is one of the output's, in any order; {{…}} is a regular expression

The rest of the test command is the packaged one (test_installcheck), but its time limit is that of --limit: a guest
without KVM is slow. --every 8 runs each eighth row, --show prints what the examples print. The exit status is 77 if the
packages are not installed.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import matching  # noqa: E402
import packaged  # noqa: E402

PATIENCE = 1500


def rows():
    """Returns the table's rows: {name: text, finds: [lines]}."""
    found, row, block = [], {}, None
    with open(f"{HERE}/runs.table", encoding="utf-8") as file:
        lines = [*file.read().splitlines(), ""]
    for line in lines:
        if line.startswith("#"):
            continue
        if not line.strip():
            if row:
                found.append(row)
            row, block = {}, None
        elif line.startswith("    ") and block is not None:
            block.append(line[4:])
        else:
            name, _, text = line.partition(":")
            block = row.setdefault(name, []) if name == "finds" else None
            if block is None:
                row[name] = text.strip()
    return found


def compiled(row, folder):
    """Compiles the row's program; returns its path."""
    path = f"{folder}/{os.path.basename(row['program']).removesuffix('.c')}"
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-o", path, f"{HERE}/{row['program']}"], check=True)
    return path


def words_of(row, options, program=""):
    packed = packaged.Command(row["example"], "test_installcheck", options.kernel)
    if not packed.known: # the description only tells how to compile it
        packed = packaged.Command(row["example"], "test_check", options.kernel)
    arguments = shlex.split(row["arguments"].replace("$PROGRAM", program)) if "arguments" in row else packed.arguments
    command = row.get("command") or packed.command or f"python3 -S {HERE}/worker.py"
    return [options.djstap, f"--guest={options.kernel}", "--guest-root", "-w", "-T", options.limit, "-c", command.replace("$HERE", HERE).replace("$PROGRAM", program),
            *packed.options, *row.get("options", "").split(), f"{packaged.EXAMPLES}/{row['example']}", *arguments]


def run_row(row, options):
    """Returns what is wrong; "" if nothing is."""
    environment = {**os.environ, "TZ": "UTC"}
    # Where the guest has it, too.
    with tempfile.TemporaryDirectory(prefix="djstap-example-", dir="/var/tmp") as folder:
        program = compiled(row, folder) if "program" in row else ""
        try:
            done = subprocess.run(words_of(row, options, program), capture_output=True, text=True, errors="replace", timeout=PATIENCE,
                                  stdin=subprocess.DEVNULL, env=environment, check=False)
        except subprocess.TimeoutExpired:
            return "takes too long"
    # Colours and cursor movements only matter to a terminal.
    lines = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line).rstrip() for line in done.stdout.splitlines()]
    if options.show:
        print("\n".join(lines))
    # The status of a script's error is also that of a guest that is lost, or whose kernel complains.
    if done.returncode != int(row.get("status", "0")) or re.search(r": error: .*\[guest-[a-z]+\]$", done.stderr, re.MULTILINE):
        return f"exit status {done.returncode}: {done.stderr.strip()}"
    missing = [line for line in row["finds"] if not any(matching.line_fits(line, each) for each in lines)]
    if missing:
        return "lacks\n    " + "\n    ".join(missing) + "\n  in\n    " + "\n    ".join(lines[:60]) + f"\n  {done.stderr.strip()}"
    return ""


def main():
    parser = packaged.parser("Runs SystemTap's packaged examples in guests.")
    parser.add_argument("--limit", default="40")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    names = packaged.names()
    if not names:
        print("systemtap-doc is not installed")
        return 77
    table = [row for row in rows() if options.kernel in row.get("kernels", options.kernel).split()]
    unknown = [row["example"] for row in table if row["example"] not in names]
    chosen = [row for row in table if row["example"] in options.examples] if options.examples else table[::options.every]
    failed = len(unknown)
    for name in unknown:
        print(f"runs.table names {name}, which does not exist")
    for row in chosen:
        problem = run_row(row, options)
        print(f"{row['example']}: {'failed: ' + problem if problem else 'passed'}", flush=True)
        failed += bool(problem)
    print(f"{len(chosen) - failed} of {len(chosen)} examples passed; the table has {len(table)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
