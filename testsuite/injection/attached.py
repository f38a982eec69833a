#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Attaches to processes that do what makes it hard (--runtime=process -x), on this machine, without a guest.

    attached.py --djstap build/release/bin/djstap [--attaches N] [--kills N] [CHECK...]
"""
import argparse
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from harness import HERE, Skipped, check, check_end, children_of, go_on, hold, is_free, lacks_instructions, run_tests, state_of, wait_until  # noqa: E402
from processes import ATTACHES, HITS, SPIN, Programs, check_interrupted, expect_one, kill_keeper, running, stops_to_try  # noqa: E402


def check_running_program(programs):
    """A process that runs in the probed functions is probed, and goes on without probes."""
    process = running(programs, "spin 8")
    for _ in range(programs.attaches):
        done = programs.attach(process, SPIN)
        check(done.stdout == "hits\n0\n" and done.returncode == 0 and not done.stderr, f"it printed {done.stdout!r} {done.stderr!r}")
        check(is_free(process.pid), "something is left in the program")
    check_end(process, "right\ndone\n")


def check_end_of_running_program(programs):
    """The session ends with the process."""
    process = running(programs, "spin 2")
    tracer = programs.attached(process)
    check_end(process, "right\ndone\n")
    out, errors = tracer.communicate(timeout=600)
    check(out == "end\n" and tracer.returncode == 0 and not errors, f"it printed {out!r} {errors!r}")


def check_killed_while_attached(programs):
    """Whenever djstap is killed, a process that it probes goes on, and is freed of the probes."""
    process = running(programs, "spin 4")
    for turn in range(programs.kills):
        tracer = subprocess.Popen(programs.command(process, 'global n probe process.function("{sum,fact}").return { n++ }'),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if turn % 3 == 0:
            wait_until(lambda: not is_free(process.pid) or tracer.poll() is not None, "it is not probed")
        time.sleep(turn % 40 / 200)  # another moment each time
        tracer.kill()
        tracer.wait()
        # The process that withdraws the probes holds the memory.
        wait_until(lambda: is_free(process.pid), "the probes are left in the program")
    check_end(process, "right\ndone\n")


def check_refused_processes(programs):
    """What cannot be attached to is said, with the reason."""
    process = running(programs, "confine spin 1")
    done = programs.attach(process, 'probe process.function("sum") { exit() }')
    check(done.returncode == 1 and "seccomp" in done.stderr, f"messages: {done.stderr}")
    check_end(process, "right\ndone\n")
    done = programs.attach(process, 'probe process.function("sum") { exit() }')
    check(done.returncode == 1 and str(process.pid) in done.stderr, f"messages: {done.stderr}")
    process = programs.start("gs")
    done = programs.attach(process, HITS)
    check(done.returncode == 1 and "the program uses the register that finds a thread's counters (gs)" in done.stderr, f"messages: {done.stderr}")
    check(is_free(process.pid), "something is left in the program")
    check_end(process)


def check_waits_at_entry(programs):
    """A program with a thread that waits in the code at its entry, where others execute system calls for djstap, is refused, and the reason is told."""
    path = os.path.join(programs.folder, "entry")
    subprocess.run(["cc", "-g", "-O2", "-nostdlib", "-static", "-fno-stack-protector", os.path.join(HERE, "entry.c"), "-o", path], check=True)
    process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: state_of(process.pid) == "S", "it does not wait")
    done = programs.attach(process, 'probe process.function("f") { println(1) }')
    check(done.returncode == 1 and "a thread of the program stays in the code at its entry" in done.stderr, f"messages: {done.stderr}")
    check_end(process)


def check_faults(programs):
    """A signal that arrives while djstap stops the program keeps its details: handlers rely on them."""
    process = programs.start("faults")
    for _ in range(ATTACHES):
        done = programs.attach(process, HITS)
        expect_one(done)
    check_end(process)
    process = programs.start("signalled")
    for stop in range(1, 4):  # at one of them, the thread is traced, but not asked to stop yet
        _, done = kill_keeper(programs, process, stop, f"{process.pid}:{int(signal.SIGUSR1)}")
        expect_one(done)
        wait_until(lambda: select.select([process.stdout], [], [], 0)[0], f"the signal of stop {stop} is lost")
        check(process.stdout.readline() == "received\n", "the program printed something else")
    check_end(process)


def check_sleepy(programs):
    """What probes have left on the stack of a thread that sleeps is no use of them."""
    process = programs.start("sleepy")
    for point in ("sum", "sum.return"):
        function, _, at = point.partition(".")
        done = programs.attach(process, f"""global n probe process.function("{function}"){'.' + at if at else ''} {{ if (++n == 20) exit() }}
            probe end {{ println(n >= 20) }}""")
        expect_one(done)
        check(is_free(process.pid), f"the probes of {point} are left in the program")
    check_end(process)


def check_leaderless(programs):
    """A process whose first thread has ended is freed of the probes."""
    process = programs.start("leaderless")
    tracer = programs.attached(process)
    go_on(process)
    wait_until(lambda: state_of(process.pid) == "Z", "its first thread does not end")
    check_interrupted(tracer)
    check(is_free(process.pid), "the probes are left in the program")
    check_end(process)


def check_without_keeper(programs):
    """djstap withdraws the probes itself if the process that does it was killed."""
    process = programs.start("spin")
    tracer = programs.attached(process)
    keepers = children_of(tracer)
    check(len(keepers) == 1, f"djstap has the children {keepers}")
    os.kill(keepers[0], signal.SIGKILL)
    check_interrupted(tracer)
    check(is_free(process.pid), "the probes are left in the program")
    check_end(process)


def check_keeper_killed(programs):
    """Whenever the process that places and withdraws the probes is killed, djstap withdraws them, and the program goes on: also in the
    middle of a system call that it has a thread execute."""
    process = programs.start("careful")
    for stop in stops_to_try(programs, process):
        _, done = kill_keeper(programs, process, stop, "one")
        check(process.poll() is None, f"the program has ended after stop {stop}: {process.poll()}")
        check(done.returncode == 1 and "was ended" in done.stderr or done.returncode == 0 and done.stdout == "1\n",
              f"after stop {stop}, it printed {done.stdout!r} {done.stderr!r}")
        check(is_free(process.pid), f"the probes are left in the program after stop {stop}")
    check_end(process)


def check_stopped(programs):
    """A program that is stopped while probes are placed or withdrawn stays stopped, and goes on with SIGCONT."""
    process = programs.start("careful")
    script = 'global n probe process.function("sum") { n++ } probe timer.ms(100) { exit() }'
    for stop in stops_to_try(programs, process)[::2]:
        _, done = kill_keeper(programs, process, stop, f"{process.pid}:{int(signal.SIGSTOP)}", script)
        check(done.returncode == 0 and not done.stderr and is_free(process.pid), f"it printed {done.stdout!r} {done.stderr!r}")
        wait_until(lambda: state_of(process.pid) == "T", f"the program goes on after stop {stop}")
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: state_of(process.pid) != "T", f"the program does not go on after stop {stop}")
    check_end(process)


def check_both_killed(programs):
    """Whenever djstap and that process are killed, the program goes on."""
    process = programs.start("careful")
    stops = stops_to_try(programs, process)
    check_end(process)
    for stop in stops:
        process = programs.start("careful")
        kill_keeper(programs, process, stop, "both")
        time.sleep(0.02)
        check(process.poll() is None, f"the program has ended after stop {stop}: {process.poll()}")
        check_end(process)


def check_traced(programs):
    """A process that another one traces is refused, and nothing is said about what stays in it."""
    process = programs.start("traced")
    done = programs.attach(process, HITS)
    check(done.returncode == 1 and "another process traces it" in done.stderr and "WARNING" not in done.stderr, f"messages: {done.stderr}")
    check(is_free(process.pid), "something is left in the program")
    check_end(process)


def check_held(programs):
    """Probes are withdrawn as soon as another process traces the program no more."""
    process = programs.start("spin")
    tracer = programs.attached(process)
    child = hold(process.pid)
    check_interrupted(tracer)
    os.waitpid(child, 0)
    check(is_free(process.pid), "the probes are left in the program")
    check_end(process)


def check_not_dumped(pid):
    # Core files do not contain djstap's memory.
    with open(f"/proc/{pid}/smaps") as file:
        mappings = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", file.read(), flags=re.M)
    shared = [text for text in mappings if "memfd:djstap" in text]
    check(shared and all(re.search(r"^VmFlags:.* dd\b", text, re.M) for text in shared), "djstap's memory would be dumped")


def check_twice(programs):
    """A process that another script probes is refused, and the other script goes on."""
    process = programs.start("spin")
    tracer = programs.attached(process)
    done = programs.attach(process, HITS)
    check(done.returncode == 1 and "another script probes the program" in done.stderr, f"messages: {done.stderr}")
    check(not is_free(process.pid), "the probes of the first script are gone")
    check_not_dumped(process.pid)
    check_interrupted(tracer)
    check(is_free(process.pid), "the probes are left in the program")
    check_end(process)


def check_stacked_handlers(programs):
    """What a signal has interrupted stays, also if another signal's handler has a stack of its own."""
    process = programs.start("stacked")
    script = """probe process.function("sum") { if (!n++) println("hit"); for (i = 0; i < 400; i++) m += i } global n, m"""
    tracer = subprocess.Popen(programs.command(process, script), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(tracer.stdout.readline() == "hit\n", "there is no hit")
    process.send_signal(signal.SIGUSR1)
    check(process.stdout.readline() == "waiting\n", "the handlers do not run")
    tracer.send_signal(signal.SIGINT)
    tracer.communicate(timeout=600)
    check_end(process)


def check_joined(programs):
    """A thread whose stack is in one mapping with very much else is stopped, and the probes are withdrawn."""
    process = programs.start("joined")
    for _ in range(ATTACHES):
        done = programs.attach(process, HITS)
        expect_one(done)
        check(is_free(process.pid), "the probes are left in the program")
    check_end(process)


def check_cramped(programs):
    """System calls that djstap has a thread execute leave its memory as it was, also below its stack."""
    process = programs.start("cramped")
    for _ in range(ATTACHES):
        done = programs.attach(process, HITS)
        expect_one(done)
    check_end(process)


def check_hooked(programs):
    """What a program has written over a jump stays, and may lead to what the jump led to."""
    process = programs.start("", programs.built("hooks"))
    tracer = programs.attached(process)
    go_on(process)
    check(process.stdout.readline() == "hooked\n", "the program does not go on")
    check_interrupted(tracer)
    check_end(process)


def check_sequences(programs):
    """A restartable sequence (rseq) in which a thread is stopped begins again, also if djstap has that thread execute system calls."""
    process = programs.start("", programs.built("sequences"))
    done = programs.attach(process, 'global n probe process.function("commits").return, process.function("sum").return { if (++n == 9) exit() } '
                                    "probe end { println(n >= 9) }")
    check(done.stdout == "1\n" and "the return of 'commits'" in done.stderr and "a restartable sequence (rseq) cannot be moved" in done.stderr,
          f"it printed {done.stdout!r} {done.stderr!r}")
    for _ in range(ATTACHES):
        expect_one(programs.attach(process, HITS))
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
    if os.geteuid():
        raise Skipped("only root can create a namespace")
    command = ["unshare", "-p", "-f"]
    process = subprocess.Popen([*command, programs.path(), "crowd"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    check(process.stdout.readline() == "spinning\n", "the program does not spin")
    inside = children_of(process)[0]
    # Two turns of the threads that have slots: all others were hit, too.
    script = 'global n probe process.function("sum") { if (++n == 3000) exit() } probe end { println(n >= 3000) }'
    done = subprocess.run([programs.djstap, "--runtime=process", "-x", str(inside), "-e", script], capture_output=True, text=True, timeout=1200,
                          check=False)
    check(done.stdout == "1\n" and "hits were not handled: more than" in done.stderr, f"it printed {done.stdout!r} {done.stderr!r}")
    check(is_free(inside), "something is left in the program")
    check_end(process)


def check_changed_code(programs):
    """A program that changes its own code is not probed where it has done so, or may do so, and it is said."""
    for way, reason in (("changes", "the program has other code there than its file"), ("writable", "the program may change its code there")):
        process = programs.start(way)
        done = programs.attach(process, 'probe process.function("adapted") { println(1) } probe timer.ms(1) { exit() }')
        check(f"'adapted' of '{programs.path()}' is not probed: {reason}" in done.stderr and done.stdout == "",
              f"it printed {done.stdout!r} {done.stderr!r}")
        check(is_free(process.pid), "something is left in the program")
        check_end(process)


def check_sharing(programs):
    """A child that runs in the same memory is stopped with the program while its code changes."""
    process = programs.start("sharing")
    for _ in range(programs.attaches):
        done = programs.attach(process, HITS)
        # Both use the slot of one thread: what meets the other's handler is skipped, and counted.
        errors = re.sub(r"WARNING: \d+ hits? (was|were) skipped because another handler was active on (its|their) CPU\n", "", done.stderr)
        check(done.stdout == "1\n" and done.returncode == 0 and not errors, f"it printed {done.stdout!r} {done.stderr!r}")
        check(is_free(process.pid), "something is left in the program")
    check_end(process)


def check_forking(programs):
    """Children that are created again and again are not probed, and never wait."""
    process = programs.start("forking")
    script = """global a, n probe process.function("sum") { a[$a, "x"]++; if (++n == 20000) exit() }
        probe end { println(n >= 20000); delete a }"""
    for _ in range(programs.attaches):
        done = programs.attach(process, script)
        expect_one(done)
        check(is_free(process.pid), "something is left in the program")
    check_end(process)


def begotten(programs):
    """Returns a process that was probed when it created a child, that session, and the child and its child."""
    process = programs.start("begets")
    tracer = programs.attached(process)
    go_on(process)
    children = [int(word) for word in process.stdout.readline().split()]
    check(len(children) == 2 and not any(map(is_free, children)), "children do not have the jumps of their parent")
    return process, tracer, children


def check_children(programs):
    """When the session ends, children that the program has created, and theirs, are freed of what they inherited, and can be probed."""
    process, tracer, children = begotten(programs)
    check_interrupted(tracer)
    check(is_free(process.pid), "the probes are left in the program")
    check(all(map(is_free, children)), "the probes are left in its children")
    done = subprocess.run([programs.djstap, "--runtime=process", "-x", str(children[1]), "-e", HITS], capture_output=True, text=True, timeout=1200,
                          check=False)
    expect_one(done)
    for child in reversed(children):
        os.kill(child, signal.SIGTERM)
    check_end(process)


def check_orphans(programs):
    """So are they if the program has ended, and if djstap is killed."""
    for killed in (False, True):
        process, tracer, children = begotten(programs)
        if killed:
            tracer.kill()
        process.kill()
        process.wait()
        tracer.communicate(timeout=600)
        wait_until(lambda: all(map(is_free, children)), "the probes are left in its children")
        time.sleep(0.02)
        for child in children:
            check(state_of(child) in "RS", "a child has ended")
            os.kill(child, signal.SIGTERM)


def check_held_children(programs):
    """Of children that other processes trace, it is said that the probes stay in them."""
    process, tracer, children = begotten(programs)
    holders = [hold(child, 300) for child in children]
    tracer.send_signal(signal.SIGINT)
    out, errors = tracer.communicate(timeout=600)
    for holder in holders:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
    told = "which the program has created, cannot be stopped: the probes stay in its code"
    check(out == "end\n" and errors.count(told) == len(children), f"it printed {out!r} {errors!r}")
    for child in reversed(children):
        os.kill(child, signal.SIGTERM)
    check_end(process)


def check_executed(programs):
    """A program that a process of -x executes is not probed, which is told, and is left alone at the end."""
    process = programs.start("execs")
    tracer = programs.attached(process)
    go_on(process)
    check(process.stdout.readline() == "spinning\n", "it executes nothing")
    check(is_free(process.pid), "the other program has djstap's memory")
    told = tracer.stderr.readline()
    check(f"process {process.pid} has executed another program, which is not probed" in told, f"messages: {told!r}")
    check_interrupted(tracer)
    check_end(process)


def check_other_user(programs):
    """A process of another user is refused: that user can write to what djstap would execute."""
    if os.geteuid():
        raise Skipped("only root can start one")
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
        raise Skipped("only root can change the root of a process")
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
    parser.add_argument("--attaches", type=int, default=5, help="how often djstap attaches to a program under load")
    parser.add_argument("--kills", type=int, default=12, help="how often djstap is killed while it attaches")
    parser.add_argument("checks", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(os.path.abspath(options.djstap), folder, options.attaches, options.kills)
        if reason := lacks_instructions(programs.djstap):
            print("skipped: " + reason)
            return 77
        tests = [(name[len("check_"):], lambda each=each: each(programs)) for name, each in globals().items()
                 if name.startswith("check_") and each.__doc__]
        return run_tests(tests, options.checks)


if __name__ == "__main__":
    sys.exit(main())
