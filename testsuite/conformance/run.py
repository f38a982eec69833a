#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the tables of the language's features: each row is a script and what it must do.

    feature: integer division rounds toward zero
    options: -g                     further options of djstap; may be absent
    script:
        probe begin { println(-7 / 2) exit() }
    output:                         it runs in a guest and prints this
        -3
    errors:                         with output: the run-time errors ("ERROR: …") that it ends with; absent: none
        ERROR: division by 0 near operator '/' at <input>:1:27
    needs: kernel                   with output: --runtime=user must refuse it; or `configuration`: there it
                                    is told the kernel; may be absent
    differs: NAME                   from SystemTap, see beside.py; may be absent
    varies: yes                     its output is never the same twice, see beside.py; may be absent

Instead of `output:` a row may have `passes: -p2` (no errors up to this pass) or `error: tag` (the compiler rejects it
with that diagnostic, and with no other error; `times: 2` if it contains two such mistakes). Rows are separated by
empty lines.

    run.py --djstap build/release/bin/djstap [--kernel 6.1] [--update] [TABLE…]
    run.py --djstap build/release/bin/djstap --user [TABLE…]
                            the rows with output again, in this machine's user space
    run.py --round-trip PROGRAM   checks that what -p1 prints of the rows' scripts, of all other scripts of the
                            project, of SystemTap's packaged ones (if they are installed) and of random programs
                            parses to the same
    run.py --coverage PROGRAM   checks that every alternative of the grammar is reached by some row (PROGRAM
                            prints those that are not: grammar_coverage), and that every function of the library
                            occurs in a row or in a case
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
FIELDS = {"feature", "options", "script", "output", "errors", "passes", "error", "needs", "times", "differs", "varies"}
BLOCKS = ("script", "output", "errors")
INDENT = "    "


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
            for name in BLOCKS:
                if name in fields and name == "script":
                    fields[name] = textwrap.dedent("\n".join(fields[name])).strip("\n")
                elif name in fields:  # lines may begin with spaces
                    fields[name] = "\n".join(line.removeprefix(INDENT) for line in fields[name]).strip("\n")
            rows.append(Row(path, begin, dict(fields)))
            fields.clear()

    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n"), 1):
            if block and line.startswith(INDENT):
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
            if match[1] in BLOCKS:
                block = match[1]
                fields[block] = []
            else:
                fields[match[1]] = match[2]
    close()
    return rows


def run(row, djstap, kernel, user):
    own = shlex.split(row.fields.get("options", ""))
    arguments = own[own.index("--"):] if "--" in own else []
    command = [djstap, "-w"] + own[:len(own) - len(arguments)]
    needs = row.fields.get("needs")
    if user:
        command += ["--runtime=user"] + (["-r", kernel] if needs == "configuration" else [])
    elif row.goal == "output":
        command.append(f"--guest={kernel}")
    else:
        command += ["-r", kernel, row.fields["passes"] if row.goal == "passes" else "-p3"]
    command += ["-e", row.fields["script"], *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
    # As bytes: text=True would read a carriage return as the end of a line.
    output, messages = (data.decode("utf-8", "backslashreplace") for data in (done.stdout, done.stderr))
    errors = "\n".join(line for line in messages.split("\n") if "(once)" not in line)
    if user and needs == "kernel":
        refused = done.returncode == 1 and re.search(r"\[(needs-kernel|no-kernel)\]$", errors, re.MULTILINE)
        return [] if refused else [f"it needs a kernel, but user space did not refuse it:\n{errors}{output}"], None
    if row.goal == "error":
        tags = re.findall(r"^\S.*: error: .*\[([a-z0-9-]+)\]$", errors, re.MULTILINE)
        if done.returncode == 1 and tags == [row.fields["error"]] * int(row.fields.get("times", "1")):
            return [], None
        return [f"expected the error [{row.fields['error']}], got status {done.returncode}:\n{errors}"], None
    if row.goal == "passes":
        return ([f"status {done.returncode}:\n{errors}"] if done.returncode else []), None
    failures = [line for line in errors.split("\n") if line.startswith("ERROR: ")]
    # A guest that is lost, or whose kernel complains, has the status of a script's error.
    if done.returncode != bool(failures) or re.search(r": error: .*\[[a-z0-9-]+\]$", errors, re.MULTILINE):
        return [f"status {done.returncode}:\n{errors}"], None
    actual = {"output": output.removesuffix("\n").split("\n") if output else [], "errors": failures}
    problems = []
    for name, lines in actual.items():
        expected = row.fields[name].split("\n") if row.fields.get(name) else []
        if not matching.fits(expected, lines):
            problems.append(matching.difference(expected, lines, name))
    return problems, actual


def as_expected(lines):
    """Returns the lines as a block of a row contains them: text with a special meaning there becomes a pattern."""
    texts = [re.sub(r"\{\{|^\.\.\.$", lambda found: "{{" + re.escape(found[0]) + "}}", line) for line in lines]
    texts = [re.sub(r"[\0-\x08\x0b-\x1f]", lambda found: f"{{{{\\x{ord(found[0]):02x}}}}}", text) for text in texts]
    for end in (0, -1):  # empty lines at an end would not belong to a block
        if texts and not texts[end]:
            texts[end] = "{{}}"
    return [INDENT + text if text else "" for text in texts]


def update(path, changes):
    """Writes the output of rows to the table: (row, {"output": lines, "errors": lines}) in the table's order."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")

    def block(first, name):
        """Returns the lines of a row's block: from its name to its end; an empty range behind the row if it has none."""
        at = first
        while at < len(lines) and not lines[at].startswith("feature:"):
            if lines[at].startswith(name + ":"):
                end = at + 1
                while end < len(lines) and (lines[end].startswith(" ") or not lines[end].strip()):
                    end += 1
                while not lines[end - 1].strip():
                    end -= 1
                return at, end
            at += 1
        while not lines[at - 1].strip():
            at -= 1
        return at, at

    for row, actual in reversed(changes):  # from the last one, so that line numbers stay valid
        for name, texts in actual.items():
            at, end = block(row.number, name)
            if texts or name == "output":
                lines[at:end] = [name + ":"] + as_expected(texts)
            else:
                del lines[at:end]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


# Returns the lines that name the places of the grammar that no row's script reaches.
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


def round_trip(program, tables):
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for path in tables for row in read_table(path)]
        for number, row in enumerate(rows):
            with open(os.path.join(folder, f"{number}.stp"), "w", encoding="utf-8") as file:
                file.write(row.fields["script"])
        places = [folder] + [os.path.join(ROOT, name) for name in ("testsuite/language", "examples", "tapsets")]
        return subprocess.run([program, "--random", "500", *places, "/usr/share/systemtap"]).returncode


def main():
    parser = argparse.ArgumentParser(description="Runs the tables of the language's features.")
    parser.add_argument("--djstap", help="the program to test")
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--update", action="store_true", help="write what is printed into the tables")
    parser.add_argument("--coverage", metavar="PROGRAM", help="check that the rows reach all of the grammar")
    parser.add_argument("--round-trip", metavar="PROGRAM", help="check that what is printed parses to the same")
    parser.add_argument("--user", action="store_true", help="run in user space (--runtime=user)")
    parser.add_argument("tables", nargs="*", help="default: all of this folder")
    options = parser.parse_args()
    tables = options.tables or sorted(os.path.join(HERE, name) for name in os.listdir(HERE) if name.endswith(".table"))
    if options.round_trip:
        return round_trip(options.round_trip, tables)
    if options.coverage:
        return coverage(options.coverage, tables)
    failed = total = 0
    for path in tables:
        changes = []
        for row in read_table(path):
            if options.user and row.goal != "output":
                continue
            total += 1
            try:
                problems, actual = run(row, os.path.abspath(options.djstap), options.kernel, options.user)
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
