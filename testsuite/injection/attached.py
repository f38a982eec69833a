#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Attaches to processes that do what makes it hard (--runtime=process -x), on this machine, without a guest.

    attached.py --djstap build/release/bin/djstap [CHECK...]
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import run  # noqa: E402
from run import Failure, check, wait_until  # noqa: E402

SOURCE = os.path.join(run.HERE, "attached.c")
ATTACHES = 6
ONCE = """global n function once() { if (!n++) println("hit") }
probe process.function("sum") { once() } probe end { println("end") }"""
HITS = 'global n probe process.function("sum") { if (++n == 1000) exit() } probe end { println(n >= 1000) }'


class Programs:
    def __init__(self, djstap, folder):
        self.djstap, self.folder = djstap, folder

    def path(self, *options):
        path = os.path.join(self.folder, "-".join(["program", *options]))
        if not os.path.exists(path):
            subprocess.run(["cc", "-g", "-O2", "-pthread", *options, SOURCE, "-o", path], check=True)
        return path

    def start(self, way, path=None, chroot=None):
        path = path or self.path()
        if chroot:  # the program has the same path there
            os.makedirs(os.path.dirname(chroot + path))
            shutil.copy(path, chroot + path)
        process = subprocess.Popen(["chroot", chroot, path, way] if chroot else [path, way], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)
        check(process.stdout.readline() == "spinning\n", "the program does not spin")
        return process

    def command(self, process, script, *options):
        return [self.djstap, "--runtime=process", "-x", str(process.pid), *options, "-e", script]

    def attach(self, process, script, *options):
        return subprocess.run(self.command(process, script, *options), capture_output=True, text=True, timeout=1200, check=False)

    def attached(self, process):
        """Returns djstap when it has seen a hit."""
        tracer = subprocess.Popen(self.command(process, ONCE), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check(tracer.stdout.readline() == "hit\n", "there is no hit")
        return tracer


def go_on(process):
    process.stdin.write("go on\n")
    process.stdin.flush()


def check_end(process):
    go_on(process)
    out, _ = process.communicate(timeout=600)
    check(process.returncode == 0 and out == "right\n", f"the program printed {out!r}, status {process.returncode}")


def check_interrupted(tracer):
    tracer.send_signal(signal.SIGINT)
    out, errors = tracer.communicate(timeout=600)
    check(out == "end\n" and tracer.returncode == 0 and not errors, f"it printed {out!r} {errors!r}")


def is_free(pid):
    """Whether nothing of djstap's is mapped, as any of its threads tells."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/maps") as file:
            if "memfd:djstap" in file.read():
                return False
    return True


def check_faults(programs):
    """A signal that arrives while djstap stops the program keeps its details: handlers rely on them."""
    process = programs.start("faults")
    for _ in range(ATTACHES):
        done = programs.attach(process, HITS)
        check(done.stdout == "1\n" and done.returncode == 0 and not done.stderr, f"it printed {done.stdout!r} {done.stderr!r}")
    check_end(process)


def check_sleepy(programs):
    """What probes have left on the stack of a thread that sleeps is no use of them."""
    process = programs.start("sleepy")
    for point in ("sum", "sum.return"):
        function, _, at = point.partition(".")
        done = programs.attach(process, f"""global n probe process.function("{function}"){'.' + at if at else ''} {{ if (++n == 20) exit() }}
            probe end {{ println(n >= 20) }}""")
        check(done.stdout == "1\n" and done.returncode == 0 and not done.stderr, f"it printed {done.stdout!r} {done.stderr!r}")
        check(is_free(process.pid), f"the probes of {point} are left in the program")
    check_end(process)


def check_leaderless(programs):
    """A process whose first thread has ended is freed of the probes."""
    process = programs.start("leaderless")
    tracer = programs.attached(process)
    go_on(process)
    wait_until(lambda: run.state_of(process.pid) == "Z", "its first thread does not end")
    check_interrupted(tracer)
    check(is_free(process.pid), "the probes are left in the program")
    check_end(process)


def check_without_keeper(programs):
    """djstap withdraws the probes itself if the process that does it was killed."""
    process = programs.start("spin")
    tracer = programs.attached(process)
    keepers = run.children_of(tracer)
    check(len(keepers) == 1, f"djstap has the children {keepers}")
    os.kill(keepers[0], signal.SIGKILL)
    check_interrupted(tracer)
    check(is_free(process.pid), "the probes are left in the program")
    check_end(process)


def check_traced(programs):
    """A process that another one traces is refused, and nothing is said about what stays in it."""
    process = programs.start("traced")
    done = programs.attach(process, HITS)
    check(done.returncode == 1 and "another process traces it" in done.stderr and "WARNING" not in done.stderr, f"messages: {done.stderr}")
    check(is_free(process.pid), "something is left in the program")
    check_end(process)


def check_twice(programs):
    """A process that another script probes is refused, and the other script goes on."""
    process = programs.start("spin")
    tracer = programs.attached(process)
    done = programs.attach(process, HITS)
    check(done.returncode == 1 and "another script probes the program" in done.stderr, f"messages: {done.stderr}")
    check(not is_free(process.pid), "the probes of the first script are gone")
    check_interrupted(tracer)
    check(is_free(process.pid), "the probes are left in the program")
    check_end(process)


def check_thread(programs):
    """The number of a thread is refused, with that of its process."""
    process = programs.start("spin")
    thread = max(map(int, os.listdir(f"/proc/{process.pid}/task")))
    done = subprocess.run([programs.djstap, "--runtime=process", "-x", str(thread), "-e", HITS], capture_output=True, text=True, timeout=1200,
                          check=False)
    check(done.returncode == 1 and f"{thread} is a thread of process {process.pid}" in done.stderr, f"messages: {done.stderr}")
    check_end(process)


def check_namespace(programs):
    """Threads of a process that has other numbers itself, as in a container, keep their slots: no two of them use one."""
    command = ["unshare", "-p", "-f"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        return  # only root can create a namespace
    process = subprocess.Popen([*command, programs.path(), "crowd"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    check(process.stdout.readline() == "spinning\n", "the program does not spin")
    inside = run.children_of(process)[0]
    # Two turns of the threads that have slots: all others were hit, too.
    script = 'global n probe process.function("sum") { if (++n == 3000) exit() } probe end { println(n >= 3000) }'
    done = subprocess.run([programs.djstap, "--runtime=process", "-x", str(inside), "-e", script], capture_output=True, text=True, timeout=1200,
                          check=False)
    check(done.stdout == "1\n" and "hits were not handled: more than" in done.stderr, f"it printed {done.stdout!r} {done.stderr!r}")
    check(is_free(inside), "something is left in the program")
    check_end(process)


def check_other_user(programs):
    """A process of another user is refused: that user can write to what djstap would execute."""
    if os.geteuid():
        return  # only root can start one
    os.chmod(programs.folder, 0o755)
    process = subprocess.Popen([programs.path(), "spin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=65534)
    check(process.stdout.readline() == "spinning\n", "the program does not spin")
    done = programs.attach(process, HITS)
    check(done.returncode == 1 and "runs as another user" in done.stderr and "WARNING" not in done.stderr, f"messages: {done.stderr}")
    check(is_free(process.pid), "something is left in the program")
    check_end(process)


def check_other_files(programs):
    """A process that finds something else where djstap's memory would be, as in a container, is refused, and does not write there."""
    if os.geteuid():
        return  # only root can change the root of a process
    root = os.path.join(programs.folder, "root")
    program = programs.path("-static")
    process = programs.start("spin", path=program, chroot=root)
    tracer = subprocess.Popen(["sh", "-c", 'echo $$; read line; exec "$@"', "sh", *programs.command(process, HITS)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # djstap's memory is that of the process that withdraws the probes, one of the next ones.
    first = int(tracer.stdout.readline())
    descriptors = os.path.join(root, "proc", "all", "fd")
    os.makedirs(descriptors)
    for pid in range(first, first + 2000):
        os.symlink("all", os.path.join(root, "proc", str(pid)))
    files = [os.path.join(descriptors, str(number)) for number in range(64)]
    for path in files:
        with open(path, "wb") as file:
            file.truncate(2 << 30)
    out, errors = tracer.communicate("go on\n", timeout=600)
    check(tracer.returncode == 1 and "cannot open djstap's memory" in errors, f"it printed {out!r} {errors!r}")
    check(all(os.stat(path).st_blocks == 0 for path in files), "the program has written to a file")
    check(is_free(process.pid), "something is left in the program")
    check_end(process)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--djstap", required=True)
    parser.add_argument("checks", nargs="*")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(os.path.abspath(options.djstap), folder)
        probe = subprocess.run([programs.djstap, "--runtime=process", "-c", "true", "-e", "probe begin { }"], capture_output=True, text=True, check=False)
        if run.NO_FSGSBASE in probe.stderr:
            print("skipped: " + probe.stderr)
            return 77
        for name, each in [(name[6:], each) for name, each in globals().items() if name.startswith("check_") and each.__doc__]:
            if options.checks and name not in options.checks:
                continue
            try:
                each(programs)
                print(f"ok      {name}", flush=True)
            except Failure as failure:
                failed += 1
                print(f"FAILED  {name}: {failure}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
