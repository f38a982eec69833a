# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes that mean the same to everybody, each with the argument why (equivalent.txt)."""
import os

PATH = "testsuite/mutation/equivalent.txt"


def read(root):
    """{key of a change: its argument}. A key stands at the begin of a line, its argument in the indented lines below."""
    found, keys, argument = {}, [], []
    with open(os.path.join(root, PATH), encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n") + ["end"], 1):
            if line.startswith("#") or not line.strip():
                continue
            if line.startswith(" "):
                argument.append(line.strip())
                continue
            if argument:
                found.update((key, " ".join(argument)) for key in keys)
                keys, argument = [], []
            if line in found or line in keys:
                raise SystemExit(f"{PATH}:{number}: named twice: {line}")
            keys.append(line)
    if keys != ["end"]:
        raise SystemExit(f"{PATH}: without an argument: {keys[0]}")
    return found
