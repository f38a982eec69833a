# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules that djstap compiles for a guest."""
import os
import subprocess

import guest


def module(djstap, release, folder, name, *arguments):
    """Returns the path of the module of this name, made in the folder from the script that the arguments name (`-e SCRIPT`,
    a file, `--example NAME`). Raises guest.Failed with djstap's messages."""
    command = [djstap, "-r", release, "-p4", "-w", "-m", name, *arguments]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise guest.Failed(done.stderr.strip())
    return os.path.join(folder, name + ".ko")


def module_or_why(*arguments):
    """Returns (path, "") of the same module, or (None, the first line of djstap's messages)."""
    try:
        return module(*arguments), ""
    except guest.Failed as failed:
        return None, str(failed).split("\n")[0]
