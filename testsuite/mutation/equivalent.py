# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes that mean the same to everybody, each with the argument why (equivalent.txt).

As a program, checks that what is changed is still in its file: scripts/mutate would notice only after it has read all sources.
"""
import os
import re

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


def stale(root):
    """The changes whose text is no longer in their file."""
    texts = {}
    for key in read(root):
        path, text = key.split(": ", 1)[0], key.split(": ", 3)[3]
        if path not in texts:
            full = os.path.join(root, path)
            texts[path] = ""
            if os.path.exists(full):
                with open(full, encoding="utf-8") as file:
                    texts[path] = "".join(file.read().split())
        if "".join(re.sub("[«»]", "", text).split()) not in texts[path]:
            yield key


if __name__ == "__main__":
    missing = sorted(stale(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
    raise SystemExit("\n  ".join([f"{PATH}: no file has the text of these changes:", *missing]) if missing else 0)
