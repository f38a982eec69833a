#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that every registered diagnostic is reached by a test.

A diagnostic counts as reached if its [tag] occurs in the expected output of a language or kernel case, or if a unit
test names its kind (DiagnosticKind::Name) or its tag ("tag"). Others must be listed in exempt.txt, one per line:
`tag: reason`. A diagnostic that is listed there although it is reached is an error, too, so that the list stays
short.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def texts(folder, endings):
    for path, _, names in os.walk(os.path.join(ROOT, folder)):
        for name in names:
            if name.endswith(endings):
                with open(os.path.join(path, name), encoding="utf-8", errors="replace") as file:
                    yield file.read()


def registered():
    kinds = {}
    problems = []
    for text in texts("compiler/diagnostics/kinds", (".def",)):
        for kind, tag in re.findall(r"^DIAGNOSTIC\((\w+),\s*\"([^\"]+)\"", text, re.MULTILINE):
            if tag in kinds.values():
                problems.append(f"the tag [{tag}] is registered twice")
            kinds[kind] = tag
    return kinds, problems


def seen_by_cases():
    tags = set()
    for text in texts("testsuite/language", (".stp",)):
        for line in re.findall(r"^//[|!] (.*)$", text, re.MULTILINE):
            tags.update(re.findall(r"\[([a-z0-9-]+)\]", line))
            tags.update(re.findall(r'"kind":"([a-z0-9-]+)"', line))
    for text in texts("testsuite/kernel", (".case",)):
        tags.update(re.findall(r"\[([a-z0-9-]+)\]", text))
    return tags


def main():
    kinds, problems = registered()
    units = "\n".join(texts("testsuite/unit", (".cpp",)))
    tags = seen_by_cases()
    exempt = {}
    with open(os.path.join(HERE, "exempt.txt"), encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line and not line.startswith("#"):
                tag, _, reason = line.partition(":")
                exempt[tag] = reason.strip()
    for kind, tag in sorted(kinds.items(), key=lambda each: each[1]):
        seen = tag in tags or re.search(rf'\b(?:DiagnosticKind|Kind)::{kind}\b|"\[?{re.escape(tag)}\]?"', units)
        if not seen and tag not in exempt:
            problems.append(f"no test sees [{tag}] ({kind})")
        if seen and tag in exempt:
            problems.append(f"[{tag}] is listed in exempt.txt, but a test sees it")
    for tag, reason in exempt.items():
        if tag not in kinds.values():
            problems.append(f"exempt.txt lists [{tag}], which is not registered")
        if not reason:
            problems.append(f"exempt.txt gives no reason for [{tag}]")
    for problem in problems:
        print(problem)
    print(f"{len(kinds)} diagnostics, {len(exempt)} exempt, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
