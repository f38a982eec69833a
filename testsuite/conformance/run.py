#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the tables of the language's features: each row is a script and what it must do.

    feature: integer division rounds toward zero
    options: -g                     further options of djstap; may be absent
    script:
        probe begin { println(-7 / 2) exit() }
    output:                         it runs in a guest and prints this
        -3
    needs: kernel                   with output: --runtime=user must refuse it; or `configuration`: it
                                    means something else there; may be absent

In place of `output:` a row may have `passes: -p2` (so far without an error) or `error: tag` (the compiler
refuses it with that diagnostic, and with no other error). Rows are separated by blank lines.

    run.py --djstap build/release/bin/djstap [--kernel 6.1] [--update] [TABLE…]
    run.py --djstap build/release/bin/djstap --user [TABLE…]
                            the rows with output again, in this machine's user space
    run.py --coverage PROGRAM   every alternative of the grammar is reached by some row (PROGRAM tells which are
                            not: grammar_coverage), every function of the library stands in a row or in a case
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import matching  # noqa: E402

TIMEOUT = 300
FIELDS = {"feature", "options", "script", "output", "passes", "error", "needs"}


class Row:
    def __init__(self, path, number, fields):
        self.path, self.number, self.fields = path, number, fields
        self.name = f"{os.path.basename(path)}:{number}: {fields['feature']}"
        goals = [goal for goal in ("output", "passes", "error") if goal in fields]
        if "script" not in fields or len(goals) != 1:
            raise ValueError(f"{path}:{number}: a row has a script and one of output, passes, error")
        self.goal = goals[0]


def read_table(path):
    rows, fields, block, begin = [], {}, None, 0

    def close():
        if fields:
            for name in ("script", "output"):
                if name in fields:
                    fields[name] = textwrap.dedent("\n".join(fields[name])).strip("\n")
            rows.append(Row(path, begin, dict(fields)))
            fields.clear()

    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n"), 1):
            if block and line.startswith(" "):
                fields[block].append(line)
                continue
            if not line.strip():
                if block:
                    fields[block].append("")
                continue
            if line.startswith("#"):
                continue
            match = re.match(r"(\w+):\s*(.*)$", line)
            if not match or match[1] not in FIELDS:
                raise ValueError(f"{path}:{number}: not a field of a row: {line}")
            block = None
            if match[1] == "feature":
                close()
                begin = number
            if match[1] in ("script", "output"):
                block = match[1]
                fields[block] = []
            else:
                fields[match[1]] = match[2]
    close()
    return rows


def run(row, djstap, kernel):
    command = [djstap, "-w"] + shlex.split(row.fields.get("options", ""))
    if kernel is None:
        command.append("--runtime=user")
    elif row.goal == "output":
        command.append(f"--guest={kernel}")
    else:
        command += ["-r", kernel, row.fields["passes"] if row.goal == "passes" else "-p3"]
    command += ["-e", row.fields["script"]]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          timeout=TIMEOUT)
    errors = "\n".join(line for line in done.stderr.split("\n") if "(once)" not in line)
    if kernel is None and "needs" in row.fields:
        refused = done.returncode == 1 and re.search(r"\[(needs-kernel|no-kernel)\]$", errors, re.MULTILINE)
        return [] if refused else [f"it needs a kernel, but user space did not refuse it:\n{errors}{done.stdout}"], None
    if row.goal == "error":
        tags = re.findall(r"^\S.*: error: .*\[([a-z0-9-]+)\]$", errors, re.MULTILINE)
        if done.returncode == 1 and tags and set(tags) == {row.fields["error"]}:
            return [], None
        return [f"expected the error [{row.fields['error']}], got status {done.returncode}:\n{errors}"], None
    if done.returncode != 0:
        return [f"status {done.returncode}:\n{errors}"], None
    if row.goal == "passes":
        return [], None
    actual = done.stdout.removesuffix("\n").split("\n") if done.stdout else []
    expected = row.fields["output"].split("\n") if row.fields["output"] else []
    if matching.fits(expected, actual):
        return [], None
    return [matching.difference(expected, actual, "output")], actual


# Writes what rows print into the table, from the last row to the first so that lines keep their numbers.
def update(path, changes):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for row, actual in reversed(changes):
        at = row.number
        while not lines[at].startswith("output:"):
            at += 1
        end = at + 1
        while end < len(lines) and lines[end].startswith(" "):
            end += 1
        lines[at + 1:end] = ["    " + line for line in actual]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


# The lines that tell which places of the grammar no script of the rows reaches.
def grammar_problems(program, rows):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, row in enumerate(rows):
            if row.goal == "error":
                continue
            paths.append(os.path.join(folder, f"{number}.stp"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(row.fields["script"])
        done = subprocess.run([program] + paths, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if not lines or done.returncode not in (0, 1):
        return [f"{program} ended with status {done.returncode}: {done.stderr}"]
    print(lines[-1])
    return [f"no row reaches this place of the grammar: {line}" for line in lines[:-1]]


def coverage(program, tables):
    rows = [row for path in tables for row in read_table(path)]
    scripts = "\n".join(row.fields["script"] for row in rows)
    cases = ""
    for folder in ("testsuite/kernel", "testsuite/language", "examples"):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            if name.endswith((".case", ".stp")):
                with open(os.path.join(ROOT, folder, name), encoding="utf-8", errors="replace") as file:
                    cases += file.read()
    problems = grammar_problems(program, rows)
    for name in sorted(os.listdir(os.path.join(ROOT, "tapsets"))):
        if not name.endswith(".stp"):
            continue
        with open(os.path.join(ROOT, "tapsets", name), encoding="utf-8") as file:
            functions = set(re.findall(r"^function (?!__)(\w+)", file.read(), re.MULTILINE))
        problems += [f"no row calls {function}() of tapsets/{name}" for function in sorted(functions)
                     if not re.search(rf"\b{function}\b", scripts + cases)]
    for problem in problems:
        print(f"FAILED {problem}")
    print(f"{len(rows)} rows, {len(problems)} things that none shows")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description="Runs the tables of the language's features.")
    parser.add_argument("--djstap", help="the program to test")
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--update", action="store_true", help="write what is printed into the tables")
    parser.add_argument("--coverage", metavar="PROGRAM", help="check that the rows reach all of the grammar")
    parser.add_argument("--user", action="store_true", help="run in user space (--runtime=user)")
    parser.add_argument("tables", nargs="*", help="default: all of this folder")
    options = parser.parse_args()
    tables = options.tables or sorted(os.path.join(HERE, name) for name in os.listdir(HERE) if name.endswith(".table"))
    if options.coverage:
        return coverage(options.coverage, tables)
    failed = total = 0
    for path in tables:
        changes = []
        for row in read_table(path):
            if options.user and (row.goal != "output" or row.fields.get("needs") == "configuration"):
                continue
            total += 1
            try:
                problems, actual = run(row, os.path.abspath(options.djstap), None if options.user else options.kernel)
            except subprocess.TimeoutExpired:
                problems, actual = ["took too long"], None
            if problems and options.update and actual is not None:
                changes.append((row, actual))
                continue
            failed += bool(problems)
            for problem in problems:
                print(f"FAILED {row.name}: {problem}")
        if changes:
            update(path, changes)
            print(f"updated {len(changes)} rows of {path}")
    print(f"{total - failed} of {total} rows passed")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
