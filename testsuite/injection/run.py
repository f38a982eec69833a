#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs scripts inside the program of -c (--runtime=process), on this machine, without a guest.

    run.py --djstap build/release/bin/djstap [--compiler ID] [CASE...]

A case is a command of program.cpp or limits.c, a script, and what both print, in any order of the two streams of lines: what the program prints comes
from the program itself, what the script prints from djstap.
"""
import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from harness import HERE, Runner, check, children_of, lacks_instructions, run_tests, state_of  # noqa: E402
from limits import COUNT, LIMITS  # noqa: E402

ARGUMENTS = """probe process.function("many") { printf("%d %d %d %d %d\\n", $a, $b, $f, $g, $i) }"""
SHAPES = """probe process.function("describe") {
    printf("%s %d %s %c %d\\n", user_string($shape->name), $shape->id, user_string($text), $c, $shape->next != 0) }"""
STORES = """global n, a, s, v, l probe process.function("sum") {
    n++; a[$b]++; s <<< $b; v += $a; l[probefunc()] <<< $a }
probe end { printf("%d %d %d %d %d %d %s\\n", n, a[2], @count(s), @sum(s), v, @count(l["sum"]), v == n ? "same" : "differ") }"""

# (name, form of the program, its arguments, script, [lines])
CASES = [
    ("counts", "program", "sum 10", COUNT, ["10 hits", "done"]),
    ("counts of a program at a fixed address", "fixed", "sum 10", COUNT, ["10 hits", "done"]),
    ("counts of a static program", "static", "sum 10", COUNT, ["10 hits", "done"]),
    ("arguments", "program", "many", ARGUMENTS, ["1 2 6 7 9", "45", "done"]),
    ("arguments without optimization", "plain", "many", ARGUMENTS, ["1 2 6 7 9", "45", "done"]),
    ("what pointers lead to", "program", "shape", SHAPES, ["circle 1 hello x 1", "square 2 you y 0", "done"]),
    ("a variable of the program", "program", "sum 1", 'probe process.function("sum") { println($level + $a) }', ["8", "done"]),
    ("all arguments as text", "program", "sum 2", 'probe process.function("sum") { println($$parms) }',
     ["a=0x1 b=0x2", "a=0x2 b=0x4", "done"]),
    ("all arguments as text, without optimization", "plain", "sum 1", 'probe process.function("sum") { println($$parms) }',
     ["a=0x1 b=0x2", "done"]),
    ("an object as text", "program", "shape", 'probe process.function("describe") { if ($shape->next == 0) println($shape$) }',
     ['{.id=2, .name="square", .next=0x0}', "done"]),
    ("a variable by its file, and a type by its name", "program", "shape",
     'probe process.function("describe") { println(@var("level@program.cpp") + @cast($shape, "shape")->id) }', ["8", "9", "done"]),
    ("arguments without debug information", "bare", "many",
     'probe process.function("many") { printf("%d %d %d %d\\n", long_arg(1), long_arg(6), long_arg(7), long_arg(9)) }',
     ["1 6 7 9", "45", "done"]),
    ("an address that is not mapped", "program", "shape",
     'probe process.function("describe") { try { println($shape->next->id) } catch { println("caught") } }', ["2", "caught", "done"]),
    ("records in their order", "program", "sum 3",
     'probe begin { println("begin") } probe process.function("sum") { printf("%d %d\\n", $a, $b) } probe end { println("end") }',
     ["begin", "1 2", "2 4", "3 6", "end", "done"]),
    ("where it is", "program", "sum 1",
     'probe process.function("sum") { printf("%s %s %d\\n", probefunc(), execname(), pid() == target()) }', ["sum program 1", "done"]),
    ("several functions and probes", "program", "sum 2 shape",
     'global n probe process.function("{sum,describe}") { n[probefunc()]++ } probe process.function("sum") { n["both"]++ } '
     'probe end { foreach (f+ in n) printf("%s %d\\n", f, n[f]) }', ["both 2", "describe 2", "sum 2", "done"]),
    ("a function of a library", "program", "sum 1",
     'global n probe process.library("libc.so.6").function("setvbuf") { n++ } probe end { println(n) }', ["1", "done"]),
    ("threads at the same time", "program", "threads 8", STORES, ["160000 160000 160000 320000 160000 160000 same", "done"]),
    ("more threads than slots, one after the other", "program", "series 150", COUNT, ["1500 hits", "done"]),
    ("more threads than slots, each at another address", "limits", "moved 130", COUNT, ["1300 hits", "done"]),
    ("children are not probed", "program", "sum 2 fork 3 sum 2", COUNT, ["4 hits", "done"]),
    ("children that share the memory are", "program", "sum 2 vfork 3 sum 2", COUNT, ["7 hits", "done"]),
    ("clocks of CPUs that there are", "program", "sum 1",
     'probe process.function("sum") { println(cpu_clock_ns(0) > 0) try { println(cpu_clock_ns(1000000)) } catch (e) { println(e) } }',
     ["1", "cpu 1000000 is not online", "done"]),
    ("longjmp", "program", "jump 3", 'probe process.function("leave") { println($n) }', ["1", "2", "3", "done"]),
    ("exceptions", "program", "throw 5",
     'global n probe process.function("{thrower,middle}") { n++ } probe end { println(n) }', ["caught 5", "10", "done"]),
    ("a cancelled thread", "program", "cancel",
     'probe process.function("hang") { println(probefunc()) }', ["hang", "canceled", "done"]),
    ("a signal on a stack of its own", "program", "alternate",
     'global a probe process.function("sum") { a[$a, "x"]++ } probe end { println(a[1, "x"]) }', ["1", "done"]),
    ("signals before the program's entry", "program", "early sum 10", COUNT, ["10 hits", "done"]),
    ("descriptors that are used otherwise before the program's entry", "limits", "reuse sum 10", COUNT, ["10 hits", "done"]),
    ("a confined program", "program", "confine sum 2", COUNT, ["2 hits", "done"]),
    ("returns", "program", "sum 2", 'probe process.function("sum").return { printf("%d %s %d\\n", $return, probefunc(), pid() == target()) }',
     ["3 sum 1", "6 sum 1", "done"]),
    ("returns counted", "program", "sum 10", 'global n probe process.function("sum").return { n++ } probe end { println(n) }', ["10", "done"]),
    ("returns at several places", "program", "returns", 'probe process.function("choose").return { println(returnval()) }', ["8", "-5", "8 -5 8 10 0", "done"]),
    ("returns without debug information", "bare", "sum 2", 'probe process.function("sum").return { println(returnval()) }', ["3", "6", "done"]),
    ("returns of a static program", "static", "sum 2", 'probe process.function("sum").return { println($return) }', ["3", "6", "done"]),
    ("returns without optimization", "plain", "sum 2", 'probe process.function("sum").call.return { println($return + $a) }',
     ["4", "8", "done"]),
    ("parameters at a return", "program", "sum 2", 'probe process.function("sum").return { printf("%d+%d=%d\\n", $a, $b, $return) }',
     ["1+2=3", "2+4=6", "done"]),
    ("texts kept from the entry", "program", "sum 2", 'probe process.function("sum").return { printf("%s %d\\n", @entry($$parms), $return) }',
     ["a=0x1 b=0x2 3", "a=0x2 b=0x4 6", "done"]),
    ("the time from entry to return", "program", "sum 3",
     'global n probe process.function("sum").return { if (gettimeofday_ns() >= @entry(gettimeofday_ns())) n++ } probe end { println(n) }',
     ["3", "done"]),
    ("entries and returns of a function", "bare", "returns sum 1",
     'probe process.function("{sum,same,choose}").call { printf("> %s %d\\n", probefunc(), long_arg(1)) } '
     'probe process.function("{sum,same,choose}").return { printf("< %s %d %d\\n", probefunc(), @entry(long_arg(1)), returnval()) }',
     ["> choose 7", "< choose 7 8", "> choose -7", "< choose -7 -5", "> same 4", "< same 4 8", "> same 5", "< same 5 10",
      "> sum 1", "< sum 1 3", "8 -5 8 10 0", "done"]),
    ("calls in each other", "program", "fact 4", 'probe process.function("fact").return { printf("%d: %d\\n", $n, $return) }',
     ["1: 1", "2: 2", "3: 6", "4: 24", "24", "done"]),
    ("many calls in each other", "program", "fact 3000",
     'global n, s probe process.function("fact").return { n++; s += $n } probe end { printf("%d calls, %d\\n", n, s) }',
     ["3000 calls, 4501500", "0", "done"]),
    ("returns that a longjmp leaves out", "program", "leap 6", 'probe process.function("leap").return { printf("%d %d\\n", $n, $return) }',
     ["2 20", "4 40", "6 60", "done"]),
    ("returns that an exception leaves out", "program", "throw 3 sum 1",
     'probe process.function("{middle,sum}").return { printf("%s %s\\n", probefunc(), @entry($$parms)) }', ["caught 3", "sum a=0x1 b=0x2", "done"]),
    ("returns of coroutines", "program", "turns", 'probe process.function("take_turn").return { printf("%d %d\\n", $which, $return) }',
     ["1 10", "0 0", "done"]),
    ("returns in threads", "program", "threads 8",
     'global n, s probe process.function("sum").return { n++; s <<< $a + $return } probe end { printf("%d %d\\n", n, @sum(s)) }',
     ["160000 640000", "done"]),
    ("returns of a library", "program", "returns",
     'global n probe process.library("libc.so.6").function("printf").return { n++ } probe end { println(n) }', ["8 -5 8 10 0", "1", "done"]),
    ("returns of children are not probed", "program", "sum 2 fork 3 sum 2",
     'global n probe process.function("sum").return { n += $a } probe end { println(n) }', ["6", "done"]),
    ("exit()", "program", "sum 5",
     'probe process.function("sum") { if ($a == 3) exit() println($a) } probe end { println("end") }', ["1", "2", "3", "end", "done"]),
]

# (name, options, script, [what the messages contain])
REFUSED = [
    ("a kernel's release", "-r 6.1 -c {program}", COUNT, ["-r 6.1 names a kernel"]),
    ("no command", "", COUNT, ["--runtime=process probes the program that -c starts, or a process"]),
    ("a statement", "-c {program}", 'probe process.statement("sum@program.cpp:*") { println(1) }', ["requires a kernel"]),
    ("the kernel", "-c {program}", 'probe kernel.function("vfs_read") { println(1) }', ["requires a kernel"]),
    ("a kernel's function", "-c {program}", 'probe process.function("sum") { print_backtrace() }', ["--runtime=process does not have"]),
    ("a variable of the program in a function", "-c {program}",
     'function f() { return @var("level@program.cpp", "/bin/sh") } probe process.function("sum") { println(f()) }',
     ["only in probes of its functions"]),
    ("a variable of the kernel", "-c {program}", 'probe process.function("sum") { println(@var("jiffies", "kernel")) }',
     ["a variable of the kernel requires a kernel"]),
    ("a write to the program", "-g -c {program}", 'probe process.function("sum") { $a = 1 }',
     ["writing to '$a' requires a kernel, which --runtime=process does not have"]),
    ("an increment in the program", "-g -c {program}", 'probe process.function("sum").return { $return++ }',
     ["writing to '$return' requires a kernel"]),
    ("a shell that starts the program", "-c {program};true", 'probe process("{program}").function("sum") {{ println(1) }}',
     ["does not map", "begins with /bin/sh"]),
    ("another program", "-c {program}", 'probe process("{plain}").function("sum") {{ println(1) }}', ["does not map"]),
    ("a program that is not there", "-c /nowhere", COUNT, ["/nowhere"]),
]


def run_case(runner, form, arguments, script, expected):
    done = runner.run(form, arguments, script)
    check(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    lines, own = done.stdout.splitlines(), runner.alone(form, arguments)
    check(sorted(lines) == sorted(expected), f"it printed {done.stdout!r} {done.stderr!r}")
    for line in own:
        check(lines.count(line) == own.count(line), f"the program prints '{line}', too")
    check([line for line in lines if line not in own] == [line for line in expected if line not in own],
          f"the order is another one: {done.stdout!r}")
    check(done.stderr == "", f"messages: {done.stderr}")


def run_refused(runner, options, script, expected):
    words = [word.format(program=runner.path("program")) for word in options.split()]
    if "{plain}" in script or "{program}" in script:
        script = script.format(plain=runner.path("plain"), program=runner.path("program"))
    done = subprocess.run(runner.command(words, script), capture_output=True, text=True, timeout=1200)
    check(done.returncode == 1, f"status {done.returncode}")
    check(done.stdout == "", f"it printed {done.stdout!r}")
    for text in expected:
        check(text in done.stderr, f"no '{text}' in {done.stderr}")


def unsafe_entries(runner):
    """Functions that cannot be patched are named with the reason; the program does what it does without djstap."""
    done = runner.run("bare", "short", 'probe process.function("{entered,tiny,sum}").call { println(probefunc()) }')
    check(done.stdout == "3 4\ndone\n", f"it printed {done.stdout!r}")
    for function, reason in (("entered", "a jump leads into it"), ("tiny", "")):
        lines = [line for line in done.stderr.splitlines() if f"'{function}'" in line and line.endswith(reason)]
        check(len(lines) == 1 and "not probed: " in lines[0], f"no '{reason}' for {function}: {done.stderr}")


def unsafe_returns(runner):
    """Functions whose returns cannot be patched are named with the reason."""
    done = runner.run("bare", "returns short", 'probe process.function("{choose,passes,tiny,leave,countdown}").return { println(probefunc()) }')
    check(sorted(done.stdout.splitlines()) == sorted(["choose", "choose", "8 -5 8 10 0", "3 4", "done"]), f"it printed {done.stdout!r} {done.stderr!r}")
    for function, reason in (("passes", "a jump to another function"), ("tiny", ""), ("leave", "no return instruction"), ("countdown", "its beginning")):
        lines = [line for line in done.stderr.splitlines() if f"'{function}'" in line and reason in line]
        check(len(lines) == 1 and "return" in lines[0] and "not probed: " in lines[0], f"no '{reason}' for {function}: {done.stderr}")


def loops_at_entries(runner):
    """A jump that leads back behind a landing pad is no further call."""
    done = runner.run("bare", "returns", 'probe process.function("{countdown,same}").call { println(probefunc()) }')
    check(sorted(done.stdout.splitlines()) == sorted(["same", "same", "8 -5 8 10 0", "done"]), f"it printed {done.stdout!r}")
    check("'countdown'" in done.stderr and "a jump leads into it" in done.stderr, f"messages: {done.stderr}")


def listings(runner):
    """-L shows what can be probed, by which mechanism, and why not; it needs no command."""
    point = f'process("{runner.path("program")}").function("{{sum,four}}")'
    done = subprocess.run([runner.djstap, "--runtime=process", "-L", point], capture_output=True, text=True, timeout=1200)
    lines = done.stdout.splitlines()
    check(len(lines) == 2 and "$a:int $b:long" in lines[1] and lines[1].endswith("# djprobe: a jump at the entry of a function"),
          f"it printed {lines} {done.stderr}")
    point = f'process("{runner.path("bare")}").function("entered")'
    done = subprocess.run([runner.djstap, "--runtime=process", "-L", point], capture_output=True, text=True, timeout=1200)
    check(done.stdout.endswith("; not probed: a jump leads into it\n"), f"it printed {done.stdout!r} {done.stderr}")


def traces(runner):
    """backtrace() in a function behind patched ones finds what it finds without them."""
    alone = subprocess.run([runner.path("program"), "trace"], capture_output=True, text=True, check=True).stdout
    check("outer" in alone, f"the program's own trace: {alone}")
    done = runner.run("program", "trace", 'global n probe process.function("{outer,print_trace,main}").call { n++ } '
                                          'probe end { println(n) }')
    check(sorted(done.stdout.splitlines()) == sorted(alone.splitlines() + ["3"]), f"it printed {done.stdout!r}")
    done = runner.run("program", "trace", 'global n probe process.function("{outer,print_trace}").return { n += @entry(1) } '
                                          'probe end { println(n) }')
    check(sorted(done.stdout.splitlines()) == sorted(alone.splitlines() + ["2"]), f"it printed {done.stdout!r} {done.stderr!r}")


def interrupted(runner):
    """Signals interrupt handlers and hit probes: no hit is lost or counted twice."""
    script = """global n, s, l probe process.function("sum") { n++; s <<< $a; l <<< $b }
        probe end { printf("n %d %d %d %d\\n", n, @count(s), @sum(s), @count(l)); println(@hist_log(l)) }"""
    done = runner.run("program", "signals 400", script)
    lines = done.stdout.splitlines()
    check(done.returncode == 0 and not done.stderr, f"status {done.returncode}: {done.stderr}")
    calls = next((line for line in lines if line.isdigit()), "none")
    check(f"n {calls} {calls} {calls} {calls}" in lines, f"{calls} calls: {lines}")


def interrupted_in_locks(runner):
    """A hit that would wait for what its own thread holds is skipped, and counted; the program never hangs."""
    script = 'global a probe process.function("sum") { a[$a, "x"] += $b } probe end { printf("n %d\\n", a[1, "x"]) }'
    done = runner.run("program", "signals 400", script)
    lines = done.stdout.splitlines()
    calls = int(next(line for line in lines if line.isdigit()))
    hits = int(next(line for line in lines if line.startswith("n "))[2:]) // 2
    skipped = sum(int(word) for line in done.stderr.splitlines() if "skipped" in line or "not handled" in line
                  for word in line.split() if word.isdigit())
    check(hits <= calls and hits + skipped == calls, f"{calls} calls, {hits} handled, {skipped} skipped: {done.stderr}")


def forked_in_handlers(runner):
    """A signal's handler that forks in the middle of a hit leaves neither the program nor its children waiting."""
    script = """global a, n probe process.function("sum") { a[$a, "x"] += $b; n++ }
        probe end { printf("%d\\n", n > 0 && a[1, "x"] > 0) }"""
    done = runner.run("program", "forks 200 sum 1", script)
    check(sorted(done.stdout.splitlines()) == ["1", "done"] and done.returncode == 0, f"it printed {done.stdout!r} {done.stderr!r}")


def executed(runner):
    """What a program recorded before it executed another one is read, and it is said that the other one is not probed."""
    script = 'global n probe process.function("sum") { n++; println($a) } probe end { printf("%d hits\\n", n) }'
    command = runner.command(["-c", f"{runner.path('program')} sum 1000 exec wait sum 3"], script)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    message = process.stderr.readline()
    check("has executed another program, which is not probed" in message, f"the message is {message!r}")
    out, errors = process.communicate("go on\n", timeout=1200)
    lines = [line for line in out.splitlines() if line not in ("go on", "done")]
    check(lines == [str(i) for i in range(1, 1001)] + ["1000 hits"] and out.count("done") == 1, f"it printed {out[-100:]!r}")
    check(process.returncode == 0 and not errors, f"status {process.returncode}: {errors}")


def killed_program(runner):
    """What a killed program recorded is read to the end."""
    done = runner.run("program", "sum 1000 end", 'probe process.function("sum") { println($a) } probe end { println("end") }')
    check(done.stdout.splitlines() == [str(i) for i in range(1, 1001)] + ["end"], f"it printed {done.stdout[-100:]!r}")
    check("SIGKILL" in done.stderr or "signal 9" in done.stderr, f"messages: {done.stderr}")


def alone(runner):
    """A program without a library is not probed, and its children are not either."""
    program = os.path.join(runner.folder, "alone")
    subprocess.run(["cc", "-g", "-O2", "-nostdlib", "-static", "-fno-stack-protector", os.path.join(HERE, "alone.c"), "-o", program],
                   check=True)
    command = runner.command(["-c", program], 'global n probe process.function("f") { n++ } probe end { println(n) }')
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    check(sorted(done.stdout.split()) == ["0", "done"], f"it printed {done.stdout!r} {done.stderr!r}")


def code_at_the_entry(runner):
    """Functions where djstap writes code at the program's entry are not probed, which is told; the program is whole."""
    program = os.path.join(runner.folder, "begins")
    subprocess.run(["cc", "-nostdlib", "-static", os.path.join(HERE, "begins.c"), "-o", program], check=True)
    done = subprocess.run(runner.command(["-c", program], 'global n probe process.function("{_start,next,last}").call { n++ }'), capture_output=True,
                          text=True, timeout=1200)
    told = f"WARNING: '_start' and 'next' of '{program}' are not probed: it is at the program's entry"
    check(done.returncode == 0 and done.stderr.startswith(told) and done.stderr.count("\n") == 1, f"status {done.returncode}: {done.stderr}")
    point = f'process("{program}").function("{{next,last}}").call'
    done = subprocess.run([runner.djstap, "--runtime=process", "-L", point], capture_output=True, text=True, timeout=1200)
    check(["at the program's entry" in line for line in sorted(done.stdout.splitlines())] == [False, True], f"it printed {done.stdout!r}")


def signals_at_start(runner):
    """Signals that arrive before the program runs on its own do not stop or divert it."""
    command = runner.command(["-c", f"{runner.path('program')} sum 3"], COUNT)
    for _ in range(5):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            for child in children_of(process):
                try:
                    os.kill(child, signal.SIGWINCH)
                except ProcessLookupError:
                    pass
        out, errors = process.communicate()
        check(sorted(out.splitlines()) == ["3 hits", "done"] and not errors, f"it printed {out!r} {errors!r}")


def killed_at_start(runner):
    """Whenever djstap is killed, its command is not left behind stopped."""
    command = runner.command(["-c", f"{runner.path('program')} sum 3"], COUNT)
    for turn in range(20):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        children = []
        while process.poll() is None and not children:
            children = children_of(process)
        time.sleep(turn / 2000)  # another moment each time
        process.kill()
        process.wait()
        for child in children:
            patience = 3000
            while state_of(child) not in ("gone", "Z", "X") and patience:
                patience -= 1
                time.sleep(0.02)
            check(patience, f"the command is left in state {state_of(child)}")


def limited(runner):
    """A limit of the size of files is an error."""
    done = subprocess.run(runner.command(["-c", f"{runner.path('program')} sum 3"], COUNT), capture_output=True, text=True, timeout=1200,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY)))
    check(done.returncode == 1 and "ulimit -f" in done.stderr, f"status {done.returncode}: {done.stderr}")


def more_than_the_buffer(runner):
    """A thread fills its buffer several times: the room that the reader has made is found."""
    buffer, record = 256 << 10, 16 + 4 * 8
    done = runner.run("program", "nanoseconds 40", 'probe process.function("four") { printf("%d %d %d %d\\n", $a, $b, $c, $d) }',
                      ["-D", f"RING_KB={buffer >> 10}"])
    printed = sum(line.endswith(" 2 3 4") for line in done.stdout.splitlines())
    # A reader that waits for a CPU may lose some of the 40000, and says how many.
    lost = re.findall(r"(\d+) records? (?:was|were) lost", done.stderr)
    check(printed + sum(map(int, lost)) == 40000 and len(lost) <= 1, f"{printed} records were printed, not 40000: {done.stderr}")
    check(printed > 2 * buffer // record, f"{printed} records by a buffer of {buffer // record}: {done.stderr}")


def documented_costs():
    """Returns the numbers of instructions in the table of docs/processes.md, by the handler."""
    with open(os.path.join(HERE, "../../docs/processes.md"), encoding="utf-8") as file:
        table = file.read().split("| handler | instructions | ns |\n", 1)[1].split("\n\n", 1)[0]
    rows = [[cell.strip() for cell in line.split("|")] for line in table.splitlines()[1:]]
    return {row[1]: int(row[2]) for row in rows}


def instructions(runner):
    """A hit adds to a call what the documentation says."""
    def count(script):
        done = runner.run("program", "steps", script)
        return int(next(line for line in done.stdout.splitlines() if line.isdigit()))
    bare = count('probe process.function("sum") { }' + "probe begin { }")
    documented = documented_costs()
    check(sorted(documented) == sorted(name for name, _, _ in HITS), f"the handlers are {list(documented)}")
    for name, point, body in HITS:
        added = count('global n, s, a, v probe process.function("four")%s { %s } '
                      "probe end { if (n + v + a[1] < 0) println(@count(s)) }" % (point, body)) - bare
        print(f"        {added:4} instructions: {name}")
        check(0 < added <= documented[name] + SPARE.get(runner.compiler, MOST_SPARE), f"{name}: {added} instructions, not {documented[name]}")


def everything(runner):
    """All functions of a program, and of its C library, patched: it prints what it prints without djstap."""
    actions = "sum 10 shape many threads 4 series 5 fork 2 jump 3 throw 3 cancel trace alternate short"
    alone = subprocess.run([runner.path("program"), *actions.split()], capture_output=True, text=True, check=True).stdout
    script = ('global n probe process.function("*").call?, process.library("libc.so.6").function("*").call? { n++ } '
              'probe end { if (n < 1000) println("few hits") }')
    done = runner.run("program", actions, script, ["-w", "-D", "MAXKPROBES=100000"])
    check(done.stdout == alone, f"it printed {done.stdout!r} {done.stderr!r}")
    returns = script.replace(".call?", ".return?")
    for body in ("n++", "n += @entry(1)"):
        done = runner.run("program", actions + " turns fact 5 leap 4 returns",
                          returns.replace("n++", body), ["-w", "-D", "MAXKPROBES=100000"])
        check(done.stdout == alone.replace("done\n", "120\n8 -5 8 10 0\ndone\n"), f"it printed {done.stdout!r} {done.stderr!r}")


def neighbours(runner):
    """The stubs of libraries that lie side by side have different places, whichever library comes first."""
    folder = os.path.join(runner.folder, "neighbours")
    os.makedirs(folder)
    for name, functions in (("few", 10), ("many", 3000)):
        source = os.path.join(folder, f"{name}.c")
        with open(source, "w") as file:
            file.writelines(f"long {name}{i}(long x) {{ return x * 7 + x / 3 + {i}; }}\n" for i in range(functions))
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", os.path.join(folder, f"lib{name}.so")], check=True)
    source = os.path.join(folder, "main.c")
    with open(source, "w") as file:
        file.write('#include <stdio.h>\nlong few1(long), many1(long);\n'
                   'int main(void) { printf("%ld\\n", few1(1) + many1(1)); return 0; }\n')
    script = ('global n probe process.library("lib{few,many}.so").function("{few,many}[0-9]*").call { n++ } '
              'probe end { printf("%d hits\\n", n) }')
    for order in (["few", "many"], ["many", "few"]):
        program = os.path.join(folder, "of-" + order[0])
        subprocess.run(["cc", source, "-o", program, "-L" + folder, "-Wl,-rpath," + folder, *("-l" + name for name in order)], check=True)
        done = subprocess.run(runner.command(["-c", program, "-D", "MAXKPROBES=100000"], script), capture_output=True, text=True, timeout=1200)
        check(sorted(done.stdout.splitlines()) == ["16", "2 hits"] and done.returncode == 0, f"it printed {done.stdout!r} {done.stderr!r}")


# The handlers of the table in docs/processes.md, which tells how many instructions a hit adds where gcc has compiled the runtime, in whatever
# version. What clang makes of it takes 20 more for an element of an array.
SPARE, MOST_SPARE = {"GNU": 2}, 24
HITS = [
    ("`n++`", "", "n++"),
    ("`s <<< $b`, of which `@count` is used", "", "s <<< $b"),
    ("a record of four numbers", "", 'printf("%d %d %d %d\\n", $a, $b, $c, $d)'),
    ("`a[$a]++`", "", "a[$a]++"),
    ("at a return: `n++`", ".return", "n++"),
    ("at a return: `v += $a`, kept from the entry", ".return", "v += $a"),
]
CHECKS = [instructions, listings, unsafe_entries, unsafe_returns, loops_at_entries, traces, interrupted, interrupted_in_locks, forked_in_handlers, executed, killed_program,
          neighbours, everything, alone, code_at_the_entry, signals_at_start, killed_at_start, limited, more_than_the_buffer, *LIMITS]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--compiler", default="GNU", help="the compiler of the runtime, by CMake's name for it")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(os.path.abspath(options.djstap), folder, options.compiler)
        if reason := lacks_instructions(runner.djstap):
            print("skipped: " + reason)
            return 77
        tests = [(name, lambda each=each: run_case(runner, *each)) for name, *each in CASES]
        tests += [("refused: " + name, lambda each=each: run_refused(runner, *each)) for name, *each in REFUSED]
        tests += [(function.__name__, lambda function=function: function(runner)) for function in CHECKS]
        return run_tests(tests, options.cases)


if __name__ == "__main__":
    sys.exit(main())
