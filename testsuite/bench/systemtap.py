# SPDX-License-Identifier: GPL-2.0-or-later
"""SystemTap: compiles its modules for a guest's kernel, with a corrected copy of its runtime if necessary."""
import os
import re
import shutil
import subprocess

import guest
import kernels
import packages

# Since 6.1.100 task_work_cancel() takes the work itself; the former function is called task_work_cancel_func().
CORRECTIONS = [("stp_task_work.c", re.compile(r"\btask_work_cancel\b"), "task_work_cancel_func")]
CORRECTION = "task_work_cancel in stp_task_work.c renamed to task_work_cancel_func"

# stap searches for kernels only in /lib/modules: it finds this one in a mount namespace of its own.
_NAMESPACE = 'mkdir -p /lib/modules && mount -t tmpfs modules /lib/modules && ln -s "$0" /lib/modules/ && exec "$@"'


def version():
    found = re.search(r"version ([0-9.]+)", kernels.first_line(["stap", "-V"]))
    return f"SystemTap {found[1] if found else ''}".strip()


def runtime():
    """Returns the corrected copy of SystemTap's runtime."""
    path = os.path.join(packages.cache("systemtap"), "runtime")
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree("/usr/share/systemtap/runtime", path)
    packages.corrected(path, CORRECTIONS)
    return path


def environment(release):
    """Returns the environment with which stap finds the kernel's debug information."""
    return dict(os.environ, SYSTEMTAP_DIR=packages.cache("systemtap", release),
                SYSTEMTAP_DEBUGINFO_PATH=f"+:{guest.KERNELS}/{release}/usr/lib/debug:/usr/lib/debug")


def command(release, arguments):
    """Returns the command that runs stap with these arguments, so that it finds the kernel."""
    if os.path.exists(f"/lib/modules/{release}/build"):
        return ["stap", *arguments]
    return ["unshare", "-m", "sh", "-c", _NAMESPACE, f"{guest.KERNELS}/{release}/lib/modules/{release}", "stap", *arguments]


def module(release, folder, name, script, own_runtime):
    """Returns (path, "") of the script's module, or (None, why there is none). own_runtime: a corrected copy, or ""."""
    arguments = ["-R", own_runtime] if own_runtime else []
    arguments += ["-p4", "-u", "-m", name, "-r", release, "-e", script]
    done = subprocess.run(command(release, arguments), cwd=folder, env=environment(release), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    path = os.path.join(folder, name + ".ko")
    if done.returncode == 0 and os.path.exists(path):
        return path, ""
    if "Pass 4" in done.stderr:
        return None, f"does not build here ({packages.first_error(done.stderr)})"
    problem = re.search(r"semantic error: (.*)", done.stderr)
    return None, problem[1].split(" (")[0] if problem else done.stderr.strip().split("\n")[-1]


def add(archive):
    """Adds the programs that load SystemTap's modules to a guest's initramfs."""
    archive.program(shutil.which("staprun"))
    archive.file("usr/bin/staprun", shutil.which("staprun"))  # the path that stapio uses
    stapio = next(path for path in ("/usr/lib/systemtap/stapio", "/usr/lib/x86_64-linux-gnu/systemtap/stapio",
                                    "/usr/libexec/systemtap/stapio") if os.path.exists(path))
    archive.program(stapio)
    archive.file(stapio.lstrip("/"), stapio)
