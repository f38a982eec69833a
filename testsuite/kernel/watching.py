# SPDX-License-Identifier: GPL-2.0-or-later
"""For the programs of cases: compares what a script's probes tell of a program with what the program itself knows.

The script stores a text for each alias, told["vfs.read"] = …, in probes that run only while the task is called
"watched", and its probe of the procfs file "told" hands the texts over and forgets them:

    probe procfs("told").read.maxsize(20000) { foreach (k in told) $value .= sprintf("%s: %s\\n", k, told[k]); delete told }
"""
import ctypes
import os
import time

libc = ctypes.CDLL(None, use_errno=True)


def name_task(name):
    PR_SET_NAME = 15
    libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def watched(work, *arguments):
    """Renames the task without a system call that the script might probe, and returns work's result, or its OSError."""
    name_task("watched")
    try:
        return work(*arguments)
    except OSError as error:
        return error
    finally:
        name_task("looker")


class Told:
    def __init__(self, module):
        self.folder = os.open(f"/proc/systemtap/{module}", os.O_RDONLY)
        self.texts = {}

    def take(self, *aliases):
        """Waits, but not for ever, until these have fired."""
        self.texts = {}
        for _ in range(500):
            with open(os.open("told", os.O_RDONLY, dir_fd=self.folder)) as file:
                self.texts.update(line.rstrip("\n").split(": ", 1) for line in file)
            if all(alias in self.texts for alias in aliases):
                break
            time.sleep(0.01)

    def check(self, alias, *expected):
        """Each expected value is a text or number, or None where anything but 0, "" and an error will do."""
        text = self.texts.get(alias)
        if text is None:
            print(f"{alias} did not fire; these did: {' '.join(self.texts)}", flush=True)
            return
        values = text.split("|")
        same = len(values) == len(expected) and all(
            value not in ("", "0", "N/A", "?") if want is None else value == str(want) for value, want in zip(values, expected))
        print(f"{alias} same" if same else f"{alias} differs: {values}, expected {list(expected)}", flush=True)
