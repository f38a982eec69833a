#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that every source file names its licence in its first lines, except scripts that are compared line by line."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LINE = "SPDX-License-Identifier: GPL-2.0-or-later"
ENDINGS = (".c", ".h", ".cpp", ".def", ".py", ".S", ".g4", ".stp")
# Their expected messages contain lines and columns.
COMPARED = ("testsuite/language/", "testsuite/fuzz/corpus/")


def lacks(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return not any(LINE in file.readline() for _ in range(3))


def sources():
    """Returns the sources of the folders that contain any, without build outputs."""
    for top in ("compiler", "runtime", "testsuite", "tapsets", "grammar", "examples", "scripts"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                is_source = name.endswith(ENDINGS) or top == "scripts"
                if is_source and "__pycache__" not in path and not path.startswith(COMPARED):
                    yield path


def main():
    found = sorted(sources())
    missing = [path for path in found if lacks(os.path.join(ROOT, path))]
    for path in missing:
        print(f"{path}: no line says {LINE}")
    if len(found) < 400:
        print(f"licence.py: only {len(found)} sources: is this the project?")
    return 1 if missing or len(found) < 400 else 0


if __name__ == "__main__":
    sys.exit(main())
