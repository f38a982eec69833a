#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints what a reader finds in an output of djstap, or a Python expression of it, where it is `r`.

    read.py FORMAT FILE [EXPRESSION]
"""
import sys

sys.dont_write_bytecode = True
import readers  # noqa: E402

if __name__ == "__main__":
    found = {**readers.READERS, **readers.DETAILS}[sys.argv[1]](sys.argv[2])
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    print(eval(sys.argv[3], {"r": found}) if len(sys.argv) > 3 else len(found))
