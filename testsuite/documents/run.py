#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs what a page of docs/ shows, in guests, and compares what it prints with the page.

    run.py --djstap build/release/bin/djstap --kernel 6.1 docs/tutorial.md

Commands stand in indented blocks, after "$ "; their output follows them. A line of an output that is "…" stands for any
lines. A comment before a block changes how it is run:

    <!-- file: NAME -->     the block is a file that later commands find
    <!-- figures vary -->   numbers, and blanks between words, may differ
    <!-- status: 1 -->      the last command's exit status; otherwise 0
    <!-- output of: 6.1 --> this kernel's output: on another one the command prints at least one of these lines
    <!-- while: CMD -->     a block whose first line is a djstap without "$ ", which runs while CMD runs (-c) …
    <!-- prints: REGEX -->  … and prints, among others, a line that this matches as a whole

With --longest N, a line of djstap has at most N characters. --update writes what the commands of `$ ` print into the page.

The page says djstap; here it is `djstap --guest=KERNEL`. Commands run in one folder, one after the other. The exit status
is 0, or 1 for a failure.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
sys.dont_write_bytecode = True
import matching  # noqa: E402

# Options of runs that no guest is needed for, or that choose one themselves.
WITHOUT_GUEST = ("--guest", "--runtime=user", "--help", "--version", "--examples", "--info", "--dump-functions")

WRAPPER = """#!/bin/sh
for word; do
    case "$word" in
    --) break ;;
    {without}) exec {djstap} "$@" ;;
    esac
done
exec {djstap} --guest={kernel} "$@"
"""


class Block:
    """One indented block, with the directives before it and the number of its first line."""

    def __init__(self, line, directives):
        self.line = line
        self.directives = directives
        self.lines = []


def read_blocks(text):
    blocks, directives, open_block = [], {}, None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("    "):
            if open_block is None:
                open_block = Block(number, directives)
                blocks.append(open_block)
                directives = {}
            open_block.lines.append(line[4:])
            continue
        if not line.strip():
            if open_block is not None:
                open_block.lines.append("")
            continue
        open_block = None
        directive = re.fullmatch(r"<!-- ([a-z ]+?)(?:: (.*))? -->", line)
        if directive:
            directives[directive[1]] = directive[2]
        elif not line.startswith("<!--"):
            directives = {}
    for block in blocks:
        while block.lines and not block.lines[-1]:
            block.lines.pop()
    return blocks


def is_complete(command):
    try:
        shlex.split(command)
    except ValueError:
        return False
    return not command.endswith("\\")


def steps_of(block):
    """Yields (line number, command, expected lines) for each command of a block."""
    steps = []
    lines = iter(enumerate(block.lines, block.line))
    for number, line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while not is_complete(command):
                command += "\n" + next(lines)[1]
            steps.append((number, command, []))
        elif steps:
            steps[-1][2].append(line)
    return steps


def without_figures(line):
    """What stays of a line when its numbers, and its bars and blanks, do not matter."""
    line = re.sub(r"\b\d+\.\d+\.\d+\S*-amd64\b", "RELEASE", line)
    line = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+(\.\d+)?", "#", line)
    return re.sub(r"\s+", " ", re.sub(r"@+", "@", line)).strip()


class Page:
    def __init__(self, path, options, folder):
        self.path, self.options, self.folder = path, options, folder
        self.failures = 0
        self.outputs = []  # (first line, number of lines, lines in their place)
        self.environment = dict(os.environ, PATH=folder + "/.bin:" + os.environ["PATH"], LC_ALL="C")

    def run(self, command, errors=subprocess.STDOUT):
        return subprocess.run(["/bin/sh", "-c", command], cwd=self.folder, env=self.environment, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, timeout=600)

    def fail(self, number, why):
        self.failures += 1
        print(f"{self.path}:{number}: {why}", flush=True)

    def check_session(self, block):
        steps = steps_of(block)
        for number, command, expected in steps:
            outcome = self.run(command)
            wanted = int(block.directives.get("status") or 0) if command == steps[-1][1] else 0
            actual = [line for line in outcome.stdout.splitlines() if not line.startswith("djstap: ")]
            while expected and not expected[-1]:
                expected.pop()
            if outcome.returncode != wanted:
                self.fail(number, f"status {outcome.returncode} in place of {wanted}:\n" + outcome.stdout)
                continue
            while actual and not actual[-1]:
                actual.pop()
            printed = list(actual)
            if "figures vary" in block.directives:
                expected, actual = (list(map(without_figures, lines)) for lines in (expected, actual))
            if block.directives.get("output of", self.options.kernel) != self.options.kernel:
                if not set(expected) & set(actual):
                    self.fail(number, "prints none of these lines:\n" + matching.difference(expected, actual, "output"))
                continue
            pattern = [matching.ANY_LINES if line.strip() == "…" else line for line in expected]
            if matching.fits(pattern, actual):
                continue
            if self.options.update:
                self.outputs.append((number + command.count("\n") + 1, len(expected), printed))
            else:
                self.fail(number, "prints something else:\n" + matching.difference(expected, actual, "output"))

    def check_line(self, block):
        command = block.lines[0]
        if self.options.longest and len(command) > self.options.longest:
            self.fail(block.line, f"{len(command)} characters")
        load = block.directives["while"]
        if " -c " not in command:
            command = command.replace("djstap ", f"djstap -c {shlex.quote(load)} ", 1)
        outcome = self.run(command, errors=subprocess.PIPE)
        pattern = re.compile(block.directives["prints"])
        if not any(pattern.fullmatch(line) for line in outcome.stdout.splitlines()):
            self.fail(block.line, f"no line matches {pattern.pattern}:\n" + outcome.stdout[:3000] + outcome.stderr[:3000])

    def check(self):
        """Returns how many commands were run."""
        commands = 0
        with open(self.path) as file:
            blocks = read_blocks(file.read())
        for block in blocks:
            if self.options.line and not block.line <= self.options.line < block.line + len(block.lines):
                continue
            if "file" in block.directives:
                path = os.path.join(self.folder, block.directives["file"])
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write("\n".join(block.lines) + "\n")
            elif "prints" in block.directives:
                self.check_line(block)
                commands += 1
            elif block.lines[0].startswith("$ "):
                self.check_session(block)
                commands += len(steps_of(block))
            elif block.lines[0].startswith("djstap "):
                self.fail(block.line, "nothing says what this line should print")
        if self.outputs:
            self.write_outputs()
        return commands

    def write_outputs(self):
        with open(self.path) as file:
            lines = file.read().splitlines()
        for first, count, new in reversed(self.outputs):
            lines[first - 1:first - 1 + count] = ["    " + line if line else "" for line in new]
        with open(self.path, "w") as file:
            file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Runs what a page of docs/ shows.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--longest", type=int, help="characters of a line of djstap")
    parser.add_argument("--line", type=int, help="only the block with this line")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="djstap-page-") as folder:
        os.mkdir(folder + "/.bin")
        with open(folder + "/.bin/djstap", "w") as wrapper:
            wrapper.write(WRAPPER.format(djstap=shlex.quote(os.path.abspath(options.djstap)), kernel=options.kernel,
                                         without="|".join(word + "*" for word in WITHOUT_GUEST)))
        os.chmod(wrapper.name, 0o755)
        os.symlink(os.path.join(os.path.dirname(os.path.abspath(options.djstap)), "djrun"), folder + "/.bin/djrun")
        page = Page(options.page, options, folder)
        commands = page.check()
    print(f"{os.path.basename(options.page)} on {options.kernel}: {commands} commands, {page.failures} failures")
    return 1 if page.failures or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
