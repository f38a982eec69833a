#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries that a program loads and unloads while it is probed (--runtime=process), on this machine, without a guest.

    late.py --djstap build/release/bin/djstap [--turns N] [CHECK...]
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from harness import HERE, Runner, Skipped, check, is_free, lacks_instructions, run_tests, wait_until  # noqa: E402

ONCE = 'global n function once() { if (!n++) println("hit") } '


class Programs:
    """late.c and its library."""

    def __init__(self, djstap, folder, turns):
        self.runner, self.turns = Runner(djstap, folder), turns
        self.program, self.library = (os.path.join(folder, name) for name in ("late", "libplugin.so"))
        subprocess.run(["cc", "-g", "-O2", "-pthread", os.path.join(HERE, "late.c"), "-o", self.program], check=True)
        subprocess.run(["cc", "-g", "-O2", "-shared", "-fPIC", os.path.join(HERE, "plugin.c"), "-o", self.library], check=True)

    def point(self, function="plugged"):
        return f'probe process("{self.library}").function("{function}")'

    def arguments(self, actions):
        return [self.program, self.library, *actions.split()]

    def run(self, actions, script, *options):
        command = self.runner.command(["-c", " ".join(self.arguments(actions)), *options], script)
        return subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)

    def start(self, actions):
        """Starts it on its own; it has printed that it spins."""
        process = subprocess.Popen(self.arguments(actions), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        check(process.stdout.readline() == "spinning\n", "the program does not wait")
        return process

    def trace(self, process, script):
        return subprocess.Popen(self.runner.command(["-x", str(process.pid)], script), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_lines(done, expected):
    check(sorted(done.stdout.splitlines()) == sorted(expected) and done.returncode == 0 and not done.stderr,
          f"it printed {done.stdout!r} {done.stderr!r}")


def go_on(process):
    process.stdin.write("go on\n")
    process.stdin.flush()


def check_end(process):
    go_on(process)
    out, _ = process.communicate(timeout=600)
    check(process.returncode == 0 and out == "right\n", f"the program printed {out!r}, status {process.returncode}")


def check_loaded(programs):
    """A library is probed each time when it is loaded, wherever, from its constructor on."""
    done = programs.run("load load elsewhere", programs.point() + ' { printf("%s %d %d\\n", probefunc(), $a, $b) }')
    check_lines(done, ["plugged 7 7", "plugged 1 2"] * 3 + ["right"])


def check_named_in_the_program(programs):
    """.library() names it by its path."""
    done = programs.run("load", f'probe process.library("{programs.library}").function("plugged") {{ println($a) }}')
    check_lines(done, ["7", "1", "right"])


def check_returns(programs):
    """Returns, and what was kept from the entries."""
    done = programs.run("load elsewhere", programs.point() + '.return { printf("%d %d\\n", $return, $a) }')
    check_lines(done, ["77 7", "12 1"] * 2 + ["right"])


def check_beside_others(programs):
    """With the program's own functions, while it runs in them."""
    script = programs.point() + " { n[probefunc()]++ } " + """probe process.function("own") { m++ }
        global n, m probe end { printf("%d %d\\n", n["plugged"], m > 0) }"""
    check_lines(programs.run("threads 20", script), [f"{20 * 1001} 1", "right"])


def check_children(programs):
    """A child that loads it does not wait, and counts nothing."""
    done = programs.run("child load child", "global n " + programs.point() + " { n++ } probe end { println(n) }")
    check_lines(done, ["2", "right"])


def check_loaded_twice(programs):
    """One of two copies is probed, whose probes stay when another one comes and goes."""
    script = "global n " + programs.point() + " { n++ } probe end { println(n) }"
    done = programs.run("hold again again", script)
    check(done.stdout == "right\n6\n" and done.stderr.count("another copy") == 1, f"it printed {done.stdout!r} {done.stderr!r}")


def check_mapped_as_data(programs):
    """What the program maps of the file to read it is no copy of the library."""
    script = "global n " + programs.point() + " { n++ } probe end { println(n) }"
    check_lines(programs.run("look hold look other look load", script), ["5", "right"])


def check_renamed(programs):
    """A library stays probed when its file has lost its name."""
    script = "global n " + programs.point() + " { n++ } probe end { println(n) }"
    done = programs.run("hold rename other", script)
    os.rename(programs.library + ".renamed", programs.library)
    check_lines(done, ["4", "right"])


def check_replaced(programs):
    """Another file with the library's name is not probed, since its code has not been analyzed."""
    kept, new = programs.library + ".kept", programs.library + ".new"
    os.link(programs.library, kept)
    subprocess.run(["cc", "-g", "-O2", "-shared", "-fPIC", "-Wl,-soname,new", os.path.join(HERE, "plugin.c"), "-o", new], check=True)
    script = "global n " + programs.point() + " { n++ } probe end { println(n) }"
    done = programs.run("load replace load load", script)
    os.rename(kept, programs.library)
    check(done.stdout == "right\n2\n" and done.stderr.count("is another file now") == 1, f"it printed {done.stdout!r} {done.stderr!r}")


def check_loaded_in_handler(programs):
    """A signal's handler may load it."""
    script = "global n " + programs.point() + " { n++ } probe end { println(n) }"
    check_lines(programs.run("in-handler", script), ["2", "right"])


def check_first_thread_gone(programs):
    """A program whose first thread has ended goes on loading and unloading libraries."""
    script = "global n " + programs.point() + " { n++ } probe end { println(n) }"
    check_lines(programs.run("load hold leave other load", script), ["7", "right"])


def check_never_loaded(programs):
    """A script may name a library that is never loaded."""
    done = programs.run("threads 0", "global n " + programs.point() + " { n++ } probe end { println(n) }")
    check_lines(done, ["0", "right"])


def check_attached_before(programs):
    """A process of -x loads it after the session has started."""
    process = programs.start("wait load hold")
    tracer = programs.trace(process, 'probe timer.ms(10) { if (!m++) println("go") } global m ' + programs.point() + " { println($a) }")
    check(tracer.stdout.readline() == "go\n", "the session does not start")
    wait_until(lambda: not is_free(process.pid), "it is not probed")
    check_end(process)
    out, errors = tracer.communicate(timeout=600)
    check(out == "7\n1\n7\n1\n" and tracer.returncode == 0 and not errors, f"it printed {out!r} {errors!r}")


def check_not_in_time(programs):
    """A program does not wait for ever for a djstap that is stopped, which does not touch what is loaded then, and tells so."""
    if programs.turns < 50:
        raise Skipped("the program waits for ten seconds")
    process = programs.start("wait load wait load")
    tracer = programs.trace(process, 'probe timer.ms(10) { if (!m++) println("go") } global m ' + programs.point() + " { println($a) }")
    check(tracer.stdout.readline() == "go\n", "the session does not start")
    wait_until(lambda: not is_free(process.pid), "it is not probed")
    tracer.send_signal(signal.SIGSTOP)
    go_on(process)
    check(process.stdout.readline() == "spinning\n", "the program does not go on")
    tracer.send_signal(signal.SIGCONT)
    check_end(process)
    out, errors = tracer.communicate(timeout=600)
    check(out == "" and "djstap was not in time" in errors and tracer.returncode == 0, f"it printed {out!r} {errors!r}")


def check_unloaded(programs):
    """Nothing is written where a library was that has been unloaded."""
    process = programs.start("hold wait forget load wait")
    tracer = programs.trace(process, ONCE + programs.point() + " { once() }")
    wait_until(lambda: not is_free(process.pid), "it is not probed")
    go_on(process)
    check(process.stdout.readline() == "forgotten\n", "the library is not unloaded")
    go_on(process)
    check(process.stdout.readline() == "spinning\n", "the library is not loaded again")
    check(tracer.stdout.readline() == "hit\n", "there is no hit")
    tracer.send_signal(signal.SIGINT)
    _, errors = tracer.communicate(timeout=600)
    check(tracer.returncode == 0 and not errors, f"messages: {errors!r}")
    check(is_free(process.pid), "something is left in the program")
    check_end(process)


def check_ends_unloaded(programs):
    """Nor when the session ends."""
    process = programs.start("hold wait forget")
    tracer = programs.trace(process, programs.point() + " { println(1) }")
    wait_until(lambda: not is_free(process.pid), "it is not probed")
    go_on(process)
    check(process.stdout.readline() == "forgotten\n", "the library is not unloaded")
    tracer.send_signal(signal.SIGINT)
    _, errors = tracer.communicate(timeout=600)
    check(tracer.returncode == 0 and not errors, f"messages: {errors!r}")
    check(is_free(process.pid), "something is left in the program")
    check_end(process)


def check_attached_meanwhile(programs):
    """A process of -x may load and unload it all the time while it is analyzed, and while the session ends."""
    process = programs.start("wait threads 100000000")
    go_on(process)
    for _ in range(programs.turns):
        tracer = programs.trace(process, ONCE + programs.point() + " { once() }")
        check(tracer.stdout.readline() == "hit\n", f"there is no hit: {tracer.poll()}")
        tracer.send_signal(signal.SIGINT)
        _, errors = tracer.communicate(timeout=600)
        check(tracer.returncode == 0 and not errors, f"messages: {errors!r}")
        check(is_free(process.pid) and process.poll() is None, "something is left in the program, or it has ended")
    process.kill()
    process.communicate()


def check_killed(programs):
    """Whenever djstap is killed, the thread that loads a library goes on, and nothing of the probes stays."""
    for turn in range(programs.turns):
        process = programs.start("wait threads 40 wait")
        tracer = programs.trace(process, ONCE + programs.point() + " { once() } " + 'probe process.function("own") { once() }')
        wait_until(lambda: not is_free(process.pid), "it is not probed")
        go_on(process)
        check(tracer.stdout.readline() == "hit\n", "there is no hit")
        time.sleep(turn / 100)  # another moment each time
        tracer.kill()
        tracer.communicate()
        check(process.stdout.readline() == "spinning\n", "the program does not go on")
        wait_until(lambda: is_free(process.pid), "the probes are left in the program")
        check_end(process)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--turns", type=int, default=4, help="how often djstap is killed")
    parser.add_argument("checks", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        djstap = os.path.abspath(options.djstap)
        if reason := lacks_instructions(djstap):
            print("skipped: " + reason)
            return 77
        programs = Programs(djstap, folder, options.turns)
        tests = [(name[len("check_"):], lambda each=each: each(programs)) for name, each in globals().items()
                 if name.startswith("check_") and each.__doc__]
        return run_tests(tests, options.checks)


if __name__ == "__main__":
    sys.exit(main())
