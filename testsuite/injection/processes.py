# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes for the checks of attached.py, and sessions that attach to them."""
import os
import shutil
import signal
import subprocess

from harness import HERE, Runner, check

SOURCE = os.path.join(HERE, "attached.c")
ATTACHES = 6
ONCE = """global n function once() { if (!n++) println("hit") }
probe process.function("sum") { once() } probe end { println("end") }"""
SPIN = """global n, m, w probe process.function("sum") { n++; if ($a != 1 || $b != 2) w++ }
probe process.function("fact").return { m++; if ($return < $n) w++; if (n > 1000 && m > 100) exit() }
probe end { println(n > 1000 && m > 100 ? "hits" : "no hits"); println(w) }"""
HITS = 'global n probe process.function("sum") { if (++n == 1000) exit() } probe end { println(n >= 1000) }'


class Programs:
    """The forms of attached.c, and processes of them."""

    def __init__(self, djstap, folder, attaches, kills):
        self.djstap, self.folder, self.attaches, self.kills = djstap, folder, attaches, kills
        self.runner = Runner(djstap, folder)

    def path(self, *options):
        path = os.path.join(self.folder, "-".join(["attached", *options]))
        if not os.path.exists(path):
            subprocess.run(["cc", "-g", "-O2", "-pthread", *options, SOURCE, "-o", path], check=True)
        return path

    def built(self, name):
        """Returns the path of another program, by the name of its source."""
        path = os.path.join(self.folder, name)
        subprocess.run(["cc", "-g", "-O2", "-pthread", os.path.join(HERE, name + ".c"), "-o", path], check=True)
        return path

    def killer(self):
        path = os.path.join(self.folder, "killer")
        if not os.path.exists(path):
            subprocess.run(["cc", "-O2", os.path.join(HERE, "killer.c"), "-o", path], check=True)
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


def expect_one(done):
    """The script of a session that has ended printed 1, and djstap told nothing else."""
    check(done.stdout == "1\n" and done.returncode == 0 and not done.stderr, f"it printed {done.stdout!r} {done.stderr!r}")


def check_interrupted(tracer):
    tracer.send_signal(signal.SIGINT)
    out, errors = tracer.communicate(timeout=600)
    check(out == "end\n" and tracer.returncode == 0 and not errors, f"it printed {out!r} {errors!r}")


def running(programs, actions):
    """Starts program.cpp on its own; it has printed that it spins."""
    process = subprocess.Popen([programs.runner.path("program"), *actions.split()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    check(process.stdout.readline() == "spinning\n", "the program does not spin")
    return process


def kill_keeper(programs, process, stop, who, script=HITS):
    """Has the process that places and withdraws the probes killed at this stop, or a signal sent to a process: `who` is PROCESS:SIGNAL. Returns how many there were, and what djstap printed."""
    told = os.path.join(programs.folder, "stops")
    done = subprocess.run([programs.killer(), str(stop), who, told, *programs.command(process, script)], capture_output=True, text=True, timeout=1200,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}, check=False)  # it detects none in a process that is traced
    with open(told) as file:
        return int(file.read()), done


def stops_to_try(programs, process):
    """Some of the moments when the process that places and withdraws the probes may be killed; with as many kills as there are, all."""
    stops, done = kill_keeper(programs, process, 1000000, "one")
    expect_one(done)
    check(stops > 100, f"{stops} stops")
    return [1 + stops * turn // programs.kills for turn in range(min(programs.kills, stops))]
