#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares each figure of README.md with what it is a figure of: a benchmark's table, or a count of the files it names.

    readme_figures.py [--list]

A number in README.md that no entry here explains is a failure, too. Examples (indented) are run by testsuite/documents.
"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = {word: number for number, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split())} | {"fifty": 50}


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def costs(body):
    """Returns what docs/benchmarks.md says that a script body adds to a call, on each kernel."""
    rows = re.findall(rf"^\| {re.escape(body)} \| [^|]* \| \*\*(\d+)\*\*", text_of("docs", "benchmarks.md"), re.MULTILINE)
    return [int(row) for row in rows]


def number(text):
    return WORDS[text.lower()] if text.lower() in WORDS else int(text)


def rounded(values, to):
    return {to * round(value / to) for value in values}


def steps():
    return {max(int(step) for step in re.findall(r"^\*\*(\d+)\.\*\*", text_of("docs", "tutorial.md"), re.MULTILINE))}


def questions():
    return {len(re.findall(r"^    djstap ", text_of("docs", "one-liners.md"), re.MULTILINE))}


def tools():
    return rounded([len(glob.glob(os.path.join(ROOT, "examples", "*.meta")))], 10)


# The words around each figure, and what it has to be among; `None`: what the sentence says is measured by a benchmark on the
# machine that runs it.
FIGURES = [
    (r"at a function's return it adds (\w+) to (\w+) to a call", lambda: set(costs("`.return { n++ }`"))),
    (r"per-CPU ring buffer in about (\w+) instructions", lambda: rounded(costs("`printf` of pid and four arguments"), 10)),
    (r"Some (\w+) tools come with djstap", tools),
    (r"the first hour, in (\w+) steps", steps),
    (r"(\w+) questions that a line answers", questions),
    (r"restored from a saved state in a (third) of a second", None),  # scripts/bench compile
]

# Numbers that are no figures: names, versions, sections of manual pages, what the kernel or the processor has, and code.
NAMES = [r"Debian( packages for)? \d+", r"\bx86-64\b", r"\b6\.12?\b", r"\bGPL-2\.0\b", r"djprobe of 2005", r"\w+\(\d\)", r"`[^`]*`", r"\]\([^)]*\)",
         r"a breakpoint of the processor, which has four"]


def main():
    readme = text_of("README.md")
    prose = " ".join(line for line in readme.split("\n") if not line.startswith("    "))
    problems = []
    for pattern, truth in FIGURES:
        found = re.search(pattern, prose)
        if not found:
            problems.append(f"README.md has no longer: {pattern}")
            continue
        if "--list" in sys.argv:
            print(f"{found[0]}: {'scripts/bench compile' if truth is None else sorted(truth())}")
        if truth is not None and {number(each) for each in found.groups()} != truth():
            problems.append(f"README.md says '{found[0]}', but it is {sorted(truth())}")
    for pattern in [pattern for pattern, _ in FIGURES] + NAMES:
        prose = re.sub(pattern, "", prose)
    for each in re.finditer(r"\b(\d+|" + "|".join(word for word in WORDS if number(word) > 2) + r")\b", prose):
        problems.append(f"README.md has a figure that nothing checks: …{prose[max(0, each.start() - 40):each.end() + 30]}…")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
