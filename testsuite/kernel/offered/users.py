#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs djstap-run as users, in a guest: a member of the group djstap, and one who is not.

    users.py DJSTAP-RUN     the scripts "djstap_counts", which ends by itself, and "djstap_waits", which does not, are offered
"""
import grp
import os
import signal
import subprocess
import sys

PROGRAM = sys.argv[1]
USER = 65534
GROUP = grp.getgrnam("djstap").gr_gid


def run(title, *words, groups=(GROUP,)):
    done = subprocess.run([PROGRAM, *words], user=USER, group=USER, extra_groups=groups, capture_output=True, text=True, cwd="/",
                          check=False)
    print(f"{title}: {done.returncode}")
    print("".join("  " + line + "\n" for line in (done.stdout + done.stderr).splitlines()), end="")
    sys.stdout.flush()


def loaded():
    with open("/proc/modules", encoding="utf-8") as file:
        return "djstap_waits" in file.read()


def begin():
    """Starts the script that does not end."""
    user = subprocess.Popen([PROGRAM, "djstap_waits"], user=USER, group=USER, extra_groups=(GROUP,), stdout=subprocess.PIPE, text=True, cwd="/")
    print(user.stdout.readline().strip(), "loaded" if loaded() else "not loaded")
    return user


run("a list", "--list")
run("a script", "djstap_counts")
run("another user", "djstap_counts", groups=())
run("another user's list", "--list", groups=())
run("no such script", "djstap_other")
run("a path", "/tmp/djstap_counts.ko")
run("an option", "djstap_counts", "-o", "/etc/shadow")
os.chmod("/etc/djstap/scripts/djstap_counts.ko", 0o666)
run("what others can write to", "djstap_counts")
os.chmod("/etc/djstap/scripts/djstap_counts.ko", 0o600)
os.chown("/etc/djstap/scripts", USER, USER)
run("a folder of the user", "djstap_counts")
os.chown("/etc/djstap/scripts", 0, 0)
# The user has no other way to the module.
done = subprocess.run(["djrun", "/etc/djstap/scripts/djstap_counts.ko"], user=USER, group=USER, extra_groups=(GROUP,), capture_output=True,
                      cwd="/", check=False)
print("djrun itself:", done.returncode)

user = begin()
print("while it runs:", subprocess.run(["djrun", "--attach", "djstap_waits"], user=USER, group=USER, extra_groups=(GROUP,),
                                       capture_output=True, cwd="/", check=False).returncode)
user.send_signal(signal.SIGINT)
print("Ctrl-C:", user.stdout.read().strip(), user.wait(), "loaded" if loaded() else "unloaded")
user = begin()
user.kill()
user.wait()
while loaded():
    os.sched_yield()
print("killed: unloaded")
