#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each static name of the runtime is used by one of its sources only.

The kit compiles several sources as one that includes them. Two static functions of one name are then an error of the
compiler, which nobody overlooks; two static variables without an initializer are one variable (tentative definitions, C11
6.9.2), and nothing says so.
"""
import collections
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNTIME = os.path.join(ROOT, "runtime")
# A definition begins in the first column; what it defines stands before an initializer, a list of parameters, the
# bounds of an array, or the end.
STATIC = re.compile(r"^static\s+(?!inline\b|__always_inline\b|_Static_assert\b)([^=;{(]+)(?:[=;{(])", re.MULTILINE)
MACRO = re.compile(r"^static\s+((?:DEFINE|DECLARE)_\w+|LIST_HEAD)\((?:[^,()]*,\s*)?(\w+)\)", re.MULTILINE)
POINTER_TO_FUNCTION = re.compile(r"^static\s[^=;{(]*\(\*(\w+)[^;{]*[;{=]", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def sources():
    with open(os.path.join(RUNTIME, "Kbuild"), encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    return [each[:-2] + ".c" for each in re.search(r"^djs-objects := (.*)$", text, re.MULTILINE)[1].split()]


def static_names(text):
    text = COMMENT.sub("", text)
    found = {match[2] for match in MACRO.finditer(text)} | {match[1] for match in POINTER_TO_FUNCTION.finditer(text)}
    for match in STATIC.finditer(text):
        if match[1].startswith(("DEFINE_", "DECLARE_", "LIST_HEAD")) or text[match.end() - 1:match.end() + 1] == "(*":
            continue
        # "static const u32 a[N], *b": each name of the list.
        for declared in re.sub(r"\[[^\]]*\]", "", match[1]).split(","):
            names = re.findall(r"\w+", declared)
            if names:
                found.add(names[-1])
    return found


def main():
    users = collections.defaultdict(list)
    for source in sources():
        with open(os.path.join(RUNTIME, source), encoding="utf-8") as file:
            for name in static_names(file.read()):
                users[name].append(source)
    failed = False
    for name, where in sorted(users.items()):
        if len(where) > 1:
            print(f"{name} is static in {' and '.join(where)}")
            failed = True
    if len(users) < 300 or "sites_mutex" not in users or "current_lookup" not in users:
        print(f"only {len(users)} names were found: the sources are not read as they are written")
        failed = True
    print(f"{len(users)} static names of {len(sources())} sources")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
