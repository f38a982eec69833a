#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a prefix with a djstap whose runtime asks for memory and registrations through refusing.h:
    instrument.py DJSTAP PREFIX
An installed djstap takes the runtime from share/djstap beside the bin folder that it is in (compiler/driver/places.cpp)."""
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
HEADER = os.path.join(HERE, "refusing.h")
# Not for the kernel, or built by authors of modules.
APART = ("userspace", "injected", "inprocess", "capi", "include")
PARAMETER = """
unsigned long djs_refusing;
module_param_named(refusing, djs_refusing, ulong, 0);
"""


def main():
    djstap, prefix = sys.argv[1:]
    shared = os.path.join(prefix, "share", "djstap")
    os.makedirs(os.path.join(prefix, "bin"))
    for program in ("djstap", "djrun"):
        shutil.copy2(os.path.join(os.path.dirname(djstap), program), os.path.join(prefix, "bin"))
    for folder in ("runtime", "tapsets", "examples"):
        shutil.copytree(os.path.join(SOURCES, folder), os.path.join(shared, folder))
    runtime = os.path.join(shared, "runtime")
    shutil.copy2(HEADER, runtime)
    with open(HEADER, encoding="utf-8") as file:
        wrapped = set(re.findall(r"\brefusing_(\w+)\(", file.read())) - {"refuses", "taken", "given", "left", "state"}
    calls = re.compile(r"(?<![\w.>/])(" + "|".join(sorted(wrapped)) + r")\(")
    functions = re.compile(r"&(\w+)->head\.func, \(task_work_func_t\)\(void \*\)kfree\b")
    changed = 0
    for folder, _, names in os.walk(runtime):
        if os.path.relpath(folder, runtime).split("/")[0] in APART:
            continue
        for path in (os.path.join(folder, name) for name in names if name.endswith((".c", ".h")) and name != "refusing.h"):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            code = functions.sub(r"&\1->head.func, (task_work_func_t)refusing_left(\1, kfree)", calls.sub(r"refusing_\1(", text))
            if code != text:
                changed += 1
                code = '#include "refusing.h"\n' + code
            if os.path.relpath(path, runtime) == "control/module.c":
                code += PARAMETER
            with open(path, "w", encoding="utf-8") as file:
                file.write(code)
    if not changed:
        sys.exit("the runtime asks the kernel for nothing")


main()
