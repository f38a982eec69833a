# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of --runtime=process have in common: the programs, what can be seen of a process, and how tests are run."""
import ctypes
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FORMS = {
    "program": ["-g", "-O2", "-rdynamic", "program.cpp"],
    "plain": ["-g", "-O0", "program.cpp"],
    "bare": ["-O2", "program.cpp"],
    "fixed": ["-g", "-O2", "-no-pie", "program.cpp"],
    "static": ["-g", "-O2", "-static", "program.cpp"],
    "limits": ["-g", "-O2", "limits.c"],
}
NO_FSGSBASE = "FSGSBASE"


class Failure(Exception):
    pass


class Skipped(Exception):
    """A test cannot be run here."""


def check(condition, text):
    if not condition:
        raise Failure(text)


class Runner:
    """Runs scripts in the forms of program.cpp, and in limits.c."""

    def __init__(self, djstap, folder, compiler=None):
        self.djstap, self.folder, self.compiler = djstap, folder, compiler
        self.lines_alone = {}

    def path(self, form):
        folder = os.path.join(self.folder, form)
        path = os.path.join(folder, "program")
        if not os.path.exists(path):
            os.makedirs(folder)
            *options, source = FORMS[form]
            compiler = "c++" if source.endswith(".cpp") else "cc"
            subprocess.run([compiler, "-pthread", *options, os.path.join(HERE, source), "-o", path], check=True)
        return path

    def alone(self, form, arguments):
        """Returns the lines that a program prints without djstap."""
        key = (form, arguments)
        if key not in self.lines_alone:
            done = subprocess.run([self.path(form), *arguments.split()], capture_output=True, text=True, check=True)
            self.lines_alone[key] = done.stdout.splitlines()
        return self.lines_alone[key]

    def command(self, options, script):
        return [self.djstap, "--runtime=process", *options, "-e", script]

    def run(self, form, arguments, script, options=(), timeout=1200):
        command = self.command(["-c", f"{self.path(form)} {arguments}", *options], script)
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired as expired:
            raise Failure(f"it does not end: {expired.stdout!r} {expired.stderr!r}") from expired


def wait_until(condition, text):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.02)
    raise Failure(text)


def is_free(pid):
    """Whether nothing of djstap's is mapped in the process, as any of its threads tells."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/maps") as file:
            if "memfd:djstap" in file.read():
                return False
    return True


def children_of(process):
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def processes_of(path):
    """Returns the processes that execute a program."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{name}/exe") == path:
                found.append(int(name))
        except OSError:  # it has ended
            pass
    return found


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


def go_on(process):
    process.stdin.write("go on\n")
    process.stdin.flush()


def check_end(process, expected="right\n"):
    go_on(process)
    out, _ = process.communicate(timeout=600)
    check(process.returncode == 0 and out == expected, f"the program printed {out!r}, status {process.returncode}")


def hold(pid, seconds=0.3):
    """Traces a process for a moment, in a child."""
    ready, tells = os.pipe()
    child = os.fork()
    if child == 0:
        seize = 0x4206
        held = ctypes.CDLL(None, use_errno=True).ptrace(seize, pid, None, None) == 0
        os.write(tells, b"+" if held else b"-")
        time.sleep(seconds)
        os._exit(0)
    held = os.read(ready, 1) == b"+"
    os.close(ready)
    os.close(tells)
    check(held, "the process cannot be traced")
    return child


def lacks_instructions(djstap):
    """Returns why programs cannot be probed on this machine; None if they can."""
    done = subprocess.run([djstap, "--runtime=process", "-c", "true", "-e", "probe begin { }"], capture_output=True, text=True, check=False)
    return done.stderr if NO_FSGSBASE in done.stderr else None


def run_tests(tests, selected):
    """Runs those of [(name, function)] that are selected, or all if none is; returns the exit status."""
    failed = 0
    for name, test in tests:
        if selected and name not in selected:
            continue
        try:
            test()
            print(f"ok      {name}", flush=True)
        except Skipped as reason:
            print(f"skipped {name}: {reason}", flush=True)
        except Failure as failure:
            failed += 1
            print(f"FAILED  {name}: {failure}", flush=True)
    return 1 if failed else 0
