#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that the folders of the compiler, and of the runtime, include each other without a cycle.

Data flows in one direction if the include graph has no cycle. The check is first tried on a cycle written for it.
"""
import os
import re
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
INCLUDE = re.compile(r'^\s*#\s*include "([^"/]+)/[^"]+"', re.M)


def includes_of(tree):
    """Returns {folder: {folder that it includes from: (file, line of the include)}} of one tree of sources."""
    found = {}
    for path, folders, names in os.walk(tree):
        folder = os.path.relpath(path, tree).split(os.sep)[0]
        for name in sorted(names):
            if folder == "." or not name.endswith((".c", ".h", ".cpp", ".def")):
                continue
            with open(os.path.join(path, name), encoding="utf-8") as file:
                text = file.read()
            for match in INCLUDE.finditer(text):
                if match[1] != folder and os.path.isdir(os.path.join(tree, match[1])):
                    place = f"{os.path.relpath(os.path.join(path, name), tree)}: {match[0].strip()}"
                    found.setdefault(folder, {}).setdefault(match[1], place)
    return found


def circles(graph):
    """Returns the includes that close a cycle, as strings."""
    def reaches(start, goal):
        seen, left = set(), [start]
        while left:
            for folder in graph.get(left.pop(), {}):
                if folder == goal:
                    return True
                if folder not in seen:
                    seen.add(folder)
                    left.append(folder)
        return False
    return [f"{folder}/ and {other}/ include each other: {place}"
            for folder in sorted(graph) for other, place in sorted(graph[folder].items()) if reaches(other, folder)]


def control():
    """Checks that a cycle over three folders is found."""
    with tempfile.TemporaryDirectory() as tree:
        for folder, other in (("a", "b"), ("b", "c"), ("c", "a")):
            os.makedirs(os.path.join(tree, folder))
            with open(os.path.join(tree, folder, "x.h"), "w", encoding="utf-8") as file:
                file.write(f'#include "{other}/x.h"\n')
        found = circles(includes_of(tree))
    return len(found) == 3


def main():
    if not control():
        print("includes.py: a circle made for it was not found")
        return 1
    failed = 0
    for tree in ("compiler", "runtime"):
        graph = includes_of(os.path.join(ROOT, tree))
        if len(graph) < 10:
            print(f"includes.py: only {len(graph)} folders of {tree}/ include others: is this the project?")
            failed = 1
        for circle in circles(graph):
            print(f"{tree}/: {circle}")
            failed = 1
    print("failed" if failed else "no circle")
    return failed


if __name__ == "__main__":
    sys.exit(main())
