# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of run.py: sessions that end before their program, and what is counted where a limit is reached."""
import os
import re
import signal
import subprocess

from harness import check, is_free, processes_of, state_of, wait_until

COUNT = 'global n probe process.function("sum") { n++ } probe end { printf("%d hits\\n", n) }'
ENDLESS = ["-D", "MAXACTION=2000000000"]


def start(runner, form, arguments, script, *options):
    command = runner.command(["-c", f"{runner.path(form)} {arguments}", *options], script)
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def program_of(runner, form):
    """Returns the only process of a program."""
    found = processes_of(os.path.realpath(runner.path(form)))
    check(len(found) == 1, f"the program has the processes {found}")
    return found[0]


def check_freed(program):
    wait_until(lambda: is_free(program), "the probes are left in the program")
    check(state_of(program) not in ("Z", "X", "gone"), "the program has ended")


def killed_djstap(runner):
    """The program is freed of the probes, and goes on without djstap."""
    script = 'global a probe process.function("sum") { a[$a]++; println("hit") }'
    process = start(runner, "program", "sum 1 wait sum 100000 threads 4 fork 2 throw 2", script)
    first = process.stdout.readline()
    check(first == "hit\n", f"the first line is {first!r}: {process.stderr.read() if first == '' else ''}")
    program = program_of(runner, "program")
    check(not is_free(program), "the program is not probed")
    process.send_signal(signal.SIGKILL)
    process.wait()
    check_freed(program)
    process.stdin.write("go on\n")
    process.stdin.close()
    rest = process.stdout.read()  # until the program closes it
    check(rest.splitlines() == ["go on", "caught 2", "done"], f"the program printed {rest[-200:]!r}")


def freed_at_the_end(runner):
    """A program that goes on after the script has its own code again."""
    process = start(runner, "program", "sum 2 spin 4 sum 3 fact 4 throw 2 trace",
                    'probe process.function("sum") { if ($b == 2) { printf("%d\\n", $a); exit() } }')
    lines = [process.stdout.readline() for _ in range(2)]
    check(sorted(lines) == ["1\n", "spinning\n"], f"it printed {lines} {process.stderr.read() if '' in lines else ''}")
    program = program_of(runner, "program")
    check(process.wait() == 0, f"status {process.returncode}")
    check_freed(program)
    process.stdin.write("go on\n")
    process.stdin.close()
    rest = process.stdout.read()
    alone = subprocess.run([runner.path("program"), "trace"], capture_output=True, text=True, check=True).stdout
    check(rest == "right\n24\ncaught 2\n" + alone, f"it printed {rest!r}")


def killed_before(runner):
    """A program that has not begun ends with djstap: nothing half patched runs."""
    script = 'probe begin { exit() } probe process.function("sum") { println("hit") }'
    done = runner.run("program", "sum 1", script)
    check(done.returncode == 0 and done.stdout == "", f"status {done.returncode}: {done.stdout!r} {done.stderr!r}")


def crowd(runner):
    """The hits of threads for which there is no slot are counted, and others may have the slots of threads that are gone."""
    done = runner.run("program", "crowd 70", COUNT)
    check(sorted(done.stdout.splitlines()) == ["630 hits", "done"], f"it printed {done.stdout!r}")
    check(done.stderr == "WARNING: 70 hits were not handled: more than 63 threads ran at the same time\n", f"messages: {done.stderr}")
    done = runner.run("program", "crowd 70 series 200", COUNT)
    hits = int(next(line for line in done.stdout.splitlines() if line.endswith("hits")).split()[0])
    lost = [int(line.split()[1]) for line in done.stderr.splitlines() if "were not handled: more than" in line]
    check("done\n" in done.stdout, f"it printed {done.stdout!r}")
    check(len(lost) == 1 and hits + lost[0] == 2700, f"{hits} handled: {done.stderr}")
    check(hits > 2000, f"{hits} handled")


def code_of_function(path, name, process=None):
    """Returns the first bytes of a function of a program that may be anywhere, as the file has them, or a process."""
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()
    at = next(int(line.split()[0], 16) for line in symbols if line.split()[-1] == name)
    segments = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    for offset, address, size in re.findall(r"^ *LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", segments, re.M):
        begin = int(address, 16)
        if begin <= at < begin + int(size, 16):
            place = at - begin + int(offset, 16)
    if process is None:
        with open(path, "rb") as file:
            file.seek(place)
            return file.read(5)
    with open(f"/proc/{process}/maps") as file:
        bias = next(int(line.split("-")[0], 16) for line in file if line.rstrip().endswith(path))
    with open(f"/proc/{process}/mem", "rb") as file:
        file.seek(bias + at)
        return file.read(5)


def sealed(runner):
    """A program that has confined itself gets its code back, and djstap has it execute no system call."""
    process = start(runner, "limits", "seal sum 1 wait sum 1 wait sum 3",
                    'global n probe process.function("sum") { println("hit") if (n++) exit() }')
    first = process.stdout.readline()
    check(first == "hit\n", f"the first line is {first!r}: {process.stderr.read() if first == '' else ''}")
    program, path = program_of(runner, "limits"), os.path.realpath(runner.path("limits"))
    own = code_of_function(path, "sum")
    check(code_of_function(path, "sum", program) != own, "sum() is not probed")
    process.stdin.write("go on\n")
    process.stdin.flush()
    check(process.wait() == 0, f"status {process.returncode}")
    check(program_of(runner, "limits") == program and not is_free(program), "its memory is not mapped any more")
    check(code_of_function(path, "sum", program) == own, "the probe is left in sum()")
    process.stdin.write("go on\n")
    process.stdin.close()
    rest = process.stdout.read()
    check(sorted(rest.splitlines()) == ["done", "go on", "go on", "hit"], f"it printed {rest!r} {process.stderr.read()!r}")


def room_for_calls(runner):
    """Calls for which there is no room make earlier ones return without a hit, each of which is counted."""
    script = 'global n probe process.function("fact").return { n += @entry(1) } probe end { printf("%d hits\\n", n) }'
    done = runner.run("program", "fact 40000", script)
    hits = int(re.search(r"(\d+) hits", done.stdout).group(1))
    lost = re.fullmatch(r"WARNING: (\d+) returns were not handled: what their handlers kept from the entry had to make room for later calls\n",
                        done.stderr)
    check(lost and hits + int(lost.group(1)) == 40000, f"{hits} hits, {done.stderr}")
    check(32000 < hits <= 32768, f"{hits} hits")


def abandoned_with_locks(runner):
    """If a signal's handler has left a handler that had locked something, others wait for a second, once; the session ends when more than MAXSKIPPED are skipped."""
    script = 'global a probe process.function("sum") { a[$a]++; while ($a == 0) a[0]++ } probe end { println("end"); delete a }'
    done = runner.run("limits", "abandon 1 apart 300", script, ENDLESS, timeout=60)
    check(sorted(done.stdout.splitlines()) == ["done", "end"], f"it printed {done.stdout!r} {done.stderr!r}")
    check(done.stderr.startswith("WARNING: 101 hits were skipped because a global variable stayed locked") and done.stderr.count("\n") == 1,
          f"messages: {done.stderr}")


def abandoned(runner):
    """When a signal's handler has left four handlers without locks, further hits of the thread are skipped, and counted; those of others are not."""
    script = 'probe process.function("sum") { while ($a == 0) i++; println($a) } probe end { println("end") }'
    for exits, expected, told in ((3, ["1", "2", "3", "1", "2", "end"], ""),
                                  (4, ["1", "2", "end"], "WARNING: 3 hits were skipped because another handler was active on their CPU\n")):
        done = runner.run("limits", f"abandon {exits} sum 3 apart 2", script, ENDLESS, timeout=60)
        check([line for line in done.stdout.splitlines() if line != "done"] == expected, f"it printed {done.stdout!r}")
        check(done.stderr == told, f"messages: {done.stderr}")


def interrupted_records(runner):
    """A record that a signal's handler has left for good hides none that follow, which are printed at the end, and it is told."""
    script = """global s probe begin { s = "x"; for (i = 0; i < 11; i++) s = s . s }
        probe process.function("sum") { printf("%s %d\\n", s, $a) }"""
    lost = 0
    for body in (script, 'probe process.function("sum") { printf("%d %d %d %d\\n", $a, $a, $a, $a) }'):
        done = runner.run("limits", "interrupt 3 sum 20", body, ["-s", "4", "-D", "MAXSTRINGLEN=4096"])
        numbers = [int(line.split()[-1]) for line in done.stdout.splitlines() if line != "done" and not line.endswith(" 0")]
        check(numbers == list(range(1, 21)) and done.returncode == 0, f"it printed {numbers} {done.stderr!r}")
        told = re.fullmatch(r"(?:WARNING: (\d) records? (?:was|were) never completed: a signal's handler left a probe's handler for good\n)?", done.stderr)
        check(told, f"messages: {done.stderr}")
        lost += int(told.group(1) or 0)
    check(0 < lost <= 6, f"{lost} records were left")


def canceled_in_handlers(runner):
    """Threads that are canceled in a handler leave nothing behind to those that have their slots later."""
    script = 'probe process.function("sum") { while ($a == 0 && i < 5000) i++; if ($a) println($a) }'
    done = runner.run("limits", "cancel 8 apart 3", script, ENDLESS)
    check([line for line in done.stdout.splitlines() if line != "done"] == ["1", "2", "3"] and not done.stderr,
          f"it printed {done.stdout!r} {done.stderr!r}")


def executed_in_handlers(runner):
    """What threads have locked when another one executes a program is free: timers go on."""
    script = """global a, last, quiet probe process.function("sum") { a[1]++ }
        probe timer.ms(20) { quiet = a[1] == last && last ? quiet + 1 : 0; last = a[1]; if (quiet == 5) exit() } probe end { println("end") }"""
    process = start(runner, "limits", "hurry 3 exec wait", script)
    told = process.stderr.readline()
    check("has executed another program" in told, f"messages: {told}")
    out, errors = process.communicate("go on\n", timeout=60)
    # A timer's handler may wait for what a thread has locked while the kernel ends that thread.
    skipped = re.fullmatch(r"(WARNING: 1 hit was skipped because a global variable stayed locked.*\n)?", errors)
    check("end" in out.splitlines() and process.returncode == 0 and skipped, f"it printed {out!r} {errors!r}")


def scribbled(runner):
    """If a program writes to djstap's memory, it is told which records are not read."""
    done = runner.run("limits", "sum 2 scribble 2 sum 2", 'probe process.function("sum") { println($a) }', ["-s", "1"])
    check(done.returncode == 1 and "the buffer of thread slot 1 is damaged; the rest of it is not read" in done.stderr,
          f"status {done.returncode}: {done.stdout!r} {done.stderr!r}")
    check("done" in done.stdout.splitlines() and done.stderr.count("\n") == 1, f"it printed {done.stdout!r} {done.stderr!r}")


def uses_gs(runner):
    """A program that uses the gs register is refused before it begins."""
    done = runner.run("limits", "gs sum 1", COUNT)
    check(done.returncode == 1 and done.stdout == "", f"status {done.returncode}: {done.stdout!r}")
    check("the program uses the register that finds a thread's counters" in done.stderr, f"messages: {done.stderr}")


LIMITS = [killed_djstap, killed_before, freed_at_the_end, crowd, sealed, room_for_calls, abandoned_with_locks, abandoned,
          interrupted_records, canceled_in_handlers, executed_in_handlers, scribbled, uses_gs]
