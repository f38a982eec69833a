#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each static name of the runtime, and each type and macro that a source defines, is that of one source only.

The kit compiles several sources as one that includes them (djs-…-objects in runtime/Kbuild). Two static functions of one name are then an error of the
compiler, which nobody overlooks; two static variables without an initializer are one variable (tentative definitions, C11
6.9.2), and nothing says so. Nor does anything say so of two macros that happen to have one value, or of a name that a
macro of an earlier source replaces.
"""
import collections
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNTIME = os.path.join(ROOT, "runtime")
# A definition begins in the first column; what it defines stands before an initializer, a list of parameters, the
# bounds of an array, or the end.
STATIC = re.compile(r"^static\s+([^=;{(]+)(?:[=;{(])", re.MULTILINE)
MACRO = re.compile(r"^static\s+((?:DEFINE|DECLARE)_\w+|LIST_HEAD|DJS_WORKS)\((?:[^,()]*,\s*)?(\w+)\)", re.MULTILINE)
POINTER_TO_FUNCTION = re.compile(r"^static\s[^=;{(]*\(\*(\w+)[^;{]*[;{=]", re.MULTILINE)
GUARD = re.compile(r"^#ifndef (\w+_H)$", re.MULTILINE) # of a header; what stands behind it once is not read again
TYPE = re.compile(r"^(struct|union|enum) (\w+) \{", re.MULTILINE)
DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
UNDEFINED = re.compile(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def read(path):
    with open(os.path.join(RUNTIME, path), encoding="utf-8") as file:
        return file.read()


def units():
    """Returns {unit: its sources, and the headers that they include}."""
    text = read("Kbuild").replace("\\\n", " ")
    found = {}
    # The objects of a part (djs-…-objects.PART) may be compiled with the others of their kind.
    listed = collections.defaultdict(list)
    for name, objects in re.findall(r"^djs-(\w+)-objects(?:\.\w+)? := (.*)$", text, re.MULTILINE):
        listed[name] += [each[:-2] + ".c" for each in objects.split()]
    for name, files in listed.items():
        for path in files:
            for header in re.findall(r'^#include "([^"]+)"', read(path), re.MULTILINE):
                if header.endswith("/user.h"): # in place of kernel.h, outside of a kernel
                    continue
                beside = os.path.normpath(os.path.join(os.path.dirname(path), header))
                place = next((each for each in (header, beside) if os.path.exists(os.path.join(RUNTIME, each))), None)
                if place and place not in files:
                    files.append(place)
        found[name] = files
    return found


def macros_shared(files):
    """Yields (macro, where else it is defined or used) of the macros that a source or header defines and leaves defined."""
    texts = {path: COMMENT.sub("", read(path)) for path in files}
    guards = {name for text in texts.values() for name in GUARD.findall(text)}
    words = {path: set(re.findall(r"\w+", text)) for path, text in texts.items()}
    defined = {path: set(DEFINED.findall(text)) - set(UNDEFINED.findall(text)) - guards for path, text in texts.items()}
    for path, names in defined.items():
        for name in sorted(names):
            # A header's macros are meant for other sources, a source's are not.
            among = defined if path.endswith(".h") else words
            others = [other for other in files if other != path and name in among[other]]
            if others:
                yield f"{name} of {path}", others


def static_names(text):
    text = COMMENT.sub("", text)
    found = {match[2] for match in MACRO.finditer(text)} | {match[1] for match in POINTER_TO_FUNCTION.finditer(text)}
    found |= {f"{match[1]} {match[2]}" for match in TYPE.finditer(text)} | set(GUARD.findall(text))
    for match in STATIC.finditer(text):
        if match[1].startswith(("DEFINE_", "DECLARE_", "LIST_HEAD", "DJS_WORKS")) or text[match.end() - 1:match.end() + 1] == "(*":
            continue
        # "static const u32 a[N], *b": each name of the list.
        for declared in re.sub(r"\[[^\]]*\]", "", match[1]).split(","):
            names = re.findall(r"\w+", declared.replace("__attribute__", ""))
            if names:
                found.add(names[-1])
    return found


def main():
    failed, all_names, macros = False, set(), 0
    for unit, files in units().items():
        users = collections.defaultdict(list)
        for path in files:
            for name in static_names(read(path)):
                users[name].append(path)
        for name, where in sorted(users.items()):
            if len(where) > 1:
                print(f"{unit}: {name} is defined in {' and '.join(where)}")
                failed = True
        all_names |= set(users)
        for name, others in macros_shared(files):
            print(f"{unit}: the macro {name} is defined or used in {' and '.join(others)}")
            failed = True
        macros += sum(len(set(DEFINED.findall(read(path)))) for path in files)
    if len(all_names) < 500 or macros < 500 or not {"sites_mutex", "current_lookup", "struct root"} <= all_names:
        print("the sources are not read as they are written")
        failed = True
    print(f"{len(all_names)} names, {macros} macros")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
