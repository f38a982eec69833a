#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""djstap --hosts with hosts that are this machine: --remote-shell runs the commands of each host here, with programs in front that tell
what the host is, and a djrun that plays what was recorded. The script is compiled for a kernel of the tests.

    hosts.py --djstap build/release/bin/djstap [--kernel 6.1] [CASE…]
"""
import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), folder) for folder in ("pmda", "outputs")]
import frames  # noqa: E402
import readers  # noqa: E402

LOG, LINEAR = 1, 2  # of histograms
SHAPE = LINEAR, 7, 0, 40, 10
SECOND = 10 ** 9
SHELL = r"""host=$1; shift
export HOME=@ PLAYED=@ TMPDIR=@/tmp DJSTAP_DJRUN=@/djrun PATH=@/bin:$PATH HOST=$host
[ -e @/$host.login ] && . @/$host.login
# A process of its own, as on a host: only the connection dies with djstap.
sh -c "export OUTER=\$\$; $*"
exit $?
"""
DJRUN = """#!/bin/sh
for host; do :; done; host=${host#host=}; play=$PLAYED/$host
cat "$play.loaded"
if read -r line; then
    cat "$play.running"
    [ -e "$play.ends" ] || cat >/dev/null
fi
cat "$play.stopped"
[ -e "$play.dies" ] && kill -9 $OUTER $PPID
exit 0
"""
PROGRAMS = {"uname": "case $1 in -r) cat @/$HOST.release 2>/dev/null || cat @/release;; *) command -p uname $1;; esac",
            "od": "cat @/$HOST.notes 2>/dev/null",
            "date": "now=$(command -p date $1); echo $((now + $(cat @/$HOST.ahead 2>/dev/null || echo 0)))"}


def described(variables):
    """variables: (name, "number" | "text" | "statistic", number of keys, histogram, whether it adds up)"""
    out = frames.number(1, 1) + frames.text(2, "djstap_test") + frames.text(3, "<input>")
    for name, value, keys, histogram, adds_up in variables:
        out += frames.text(6, frames.text(1, name) + frames.text(2, value) + frames.number(3, keys) +
                           frames.number(4, int(histogram)) + frames.number(6, int(adds_up)))
    return frames.frame(1, out)


class Hosts:
    """What the hosts of one case are and show."""

    def __init__(self, options, folder):
        self.djstap, self.folder = options.djstap, folder
        os.mkdir(self.path("tmp"))
        os.mkdir(self.path("bin"))
        self.write("release", options.release + "\n")
        for name, text in {"shell": SHELL, "djrun": DJRUN, **{"bin/" + name: "#!/bin/sh\n" + body + "\n" for name, body in PROGRAMS.items()}}.items():
            self.write(name, text.replace("@", folder))
            os.chmod(self.path(name), 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content=""):
        with open(self.path(name), "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)

    def record(self, host, variables, running, stopped, ends=True):
        """What a host shows while it runs, and what when it ends by itself, or is stopped."""
        self.write(host + ".loaded", described(variables))
        self.write(host + ".running", running)
        self.write(host + ".stopped", stopped + frames.end())
        if ends:
            self.write(host + ".ends")

    def command(self, hosts, script, *more):
        return [self.djstap, "--hosts", hosts, "--remote-shell", f"sh '{self.path('shell')}'", *more, "-e", script]

    def run(self, hosts, script, *more):
        """Returns the exit status, the output, and the errors."""
        done = subprocess.run(self.command(hosts, script, *more), capture_output=True, text=True, timeout=900, check=False)
        return done.returncode, done.stdout, done.stderr

    def start(self, hosts, script, *more):
        """Returns the process when the script runs."""
        process = subprocess.Popen(self.command(hosts, script, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if "running on" in line:
                return process
        raise AssertionError("it did not start")

    def leftovers(self):
        return os.listdir(self.path("tmp"))

    def wait_until_clean(self):
        while self.leftovers():
            time.sleep(0.05)


def expect(what, found, wanted):
    if found != wanted:
        raise AssertionError(f"{what}:\n--- found\n{found}\n--- wanted\n{wanted}")


def expect_in(what, text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"{what}: {part!r} is not in\n{text}")


COUNTING = """
global calls, by, sizes, last
probe kernel.function("vfs_read") { calls++; by[execname()] += $count; sizes <<< $count; last = execname() }
probe timer.s(1000) { println("never") }
probe end {
    printf("%d calls\\n", calls)
    foreach (name in by-) printf("%s %d\\n", name, by[name])
    printf("%d %d %d %d\\n", @count(sizes), @min(sizes), @max(sizes), @sum(sizes))
    print(@hist_linear(sizes, 0, 40, 10))
}
"""
VARIABLES = [("calls", "number", 0, False, True), ("by", "number", 1, False, True), ("sizes", "statistic", 0, True, False),
             ("last", "text", 0, False, False)]


def counted(calls, by, last, sizes=(), now=SECOND):
    """What a host shows that has counted this."""
    shown = [frames.values(0, [frames.element([], [calls])]),
             frames.values(1, [frames.element([name], [number]) for name, number in by.items()])]
    if sizes:
        buckets = [0] * 7
        for size in sizes:
            buckets[1 + size // 10] += 1
        numbers = [len(sizes), min(sizes), max(sizes), sum(sizes), sum(sizes) // len(sizes)]
        shown.append(frames.values(2, [frames.element([], numbers, buckets)], SHAPE))
    return frames.variables_at(now, shown + [frames.values(3, [frames.element([], last)])])


def record_three(hosts):
    hosts.record("web1", VARIABLES, counted(1, {"cat": 5}, "cat", [5]), counted(3, {"cat": 25, "ls": 1}, "ls", [5, 20, 1]))
    hosts.record("web2", VARIABLES, b"", counted(2, {"cat": 10, "top": 30}, "top", [10, 30]))
    hosts.record("db1", VARIABLES, counted(0, {}, ""), counted(0, {}, ""))


def case_union(hosts):
    """What hosts counted is one result, as one script would have it."""
    record_three(hosts)
    status, output, errors = hosts.run("web[1-2],db1", COUNTING)
    expect("status", status, 0)
    lines = output.splitlines()
    expect("values", lines[:5], ["5 calls", "cat 35", "top 30", "ls 1", "5 1 30 66"])
    buckets = [(int(each[0]), int(each[1])) for each in re.findall(r"^ *(\d+) \|@* +(\d+)$", output, re.M)]
    expect("buckets", [each for each in buckets if each[1]], [(0, 2), (10, 1), (20, 1), (30, 1)])
    # What is written and never read is printed; without a sum for each host.
    expect("last", sorted(line for line in lines if line.startswith("last")), ['last@db1=""', 'last@web1="ls"', 'last@web2="top"'])
    expect_in("errors", errors, "running on 3 of 3 hosts")
    expect("leftovers", hosts.leftovers(), [])


def case_unread(hosts):
    """What is written and never read is printed as one machine prints it."""
    hosts.record("a", [("by", "number", 1, False, True)], b"", frames.variables_at(1, [frames.values(0, [frames.element(["x"], [3])])]))
    hosts.record("b", [("by", "number", 1, False, True)], b"", frames.variables_at(
        1, [frames.values(0, [frames.element(["y"], [9]), frames.element(["x"], [4])])]))
    status, output, _ = hosts.run("a,b", 'global by probe kernel.function("vfs_read") { by[execname()]++ }')
    expect("status and output", (status, output), (0, 'by["y"]=9\nby["x"]=7\n'))


def case_taken(hosts):
    """Nothing that a timer probe clears is lost or counted twice, whenever it comes."""
    variables = [("by", "number", 1, False, True)]
    parts = [frames.variables_at(i, [frames.values(0, [frames.element(["x"], [i]), frames.element(["y"], [1])])]) for i in range(1, 50)]
    for name in ("a", "b"):
        hosts.record(name, variables, b"".join(parts[:-1]), parts[-1])
    script = """global by, total
        probe kernel.function("vfs_read") { by[execname()]++ }
        probe timer.ms(20) { foreach (name in by) total[name] += by[name]; delete by }
        probe end { foreach (name in by) total[name] += by[name]; foreach (name in total+) println(name, total[name]) }"""
    status, output, _ = hosts.run("a,b", script)
    expect("status and output", (status, output), (0, f"y{2 * 49}\nx{2 * sum(range(1, 50))}\n"))


def case_died(hosts):
    """A host that dies in the middle is named, with what is missing, and the others' result is right."""
    record_three(hosts)
    cut = counted(9, {"cat": 9}, "cat")
    hosts.write("web2.stopped", cut[:len(cut) // 2])
    hosts.write("web2.running", counted(1, {"top": 7}, "top"))
    hosts.write("web2.dies")
    status, output, errors = hosts.run("web[1-2],db1", COUNTING)
    expect("status", status, 1)
    expect("values", output.splitlines()[:4], ["4 calls", "cat 25", "top 7", "ls 1"])
    expect_in("errors", errors, "web2: what it counted after its last snapshot is missing: the connection broke off in the middle of a "
              "snapshot", "[host-missing]")


def case_unreachable(hosts):
    """Hosts that are down, silent, of another kind or without a known kernel are named; the others run."""
    record_three(hosts)
    hosts.write("down.login", "echo 'ssh: connect to host down port 22: Connection refused' >&2; exit 255\n")
    hosts.write("silent.login", "exec sleep 1000\n")
    hosts.write("strange.release", "5.99.0-strange\n")
    hosts.write("other.notes", "04000000" "04000000" "03000000" "474e5500" "01020304\n")
    hosts.write("refuses.login", "exec /nonexistent/program\n")
    status, output, errors = hosts.run("web1,down,silent,strange,other,refuses", COUNTING, "--host-timeout", "20")
    expect("status", status, 1)
    expect("values", output.splitlines()[:3], ["3 calls", "cat 25", "ls 1"])
    expect_in("errors", errors, "down: all of its values are missing: there is no connection: ssh: connect to host down port 22: Connection "
              "refused", "silent: all of its values are missing: it does not answer for 20 seconds",
              "strange: all of its values are missing: the files of its kernel 5.99.0-strange are not on this machine",
              "other: all of its values are missing: its kernel is another build of", "refuses: all of its values are missing")


def case_another_build(hosts):
    """Nothing is compiled for a host of whose kernel there is only another build."""
    hosts.write("other.notes", "04000000" "04000000" "03000000" "474e5500" "01020304\n")
    status, _, errors = hosts.run("other", 'probe kernel.function("no_such_function") { println(1) }')
    expect("status", status, 1)
    expect_in("errors", errors, "other: all of its values are missing: its kernel is another build of")
    expect("whether the script was compiled", "no_such_function" in errors, False)


def case_strange_texts(hosts):
    """What a host says neither controls the terminal nor names a folder here, or a command in a hint."""
    record_three(hosts)
    hosts.write("web2.release", "/lib/modules; $(id)\x1b[31m\n")
    last = counted(3, {"cat": 25}, "cat")
    hosts.record("web1", VARIABLES, b"", last + frames.message("bad \x1b[31m", place="x\x07"))
    status, output, errors = hosts.run("web[1-2]", COUNTING)
    expect("status and values", (status, output.splitlines()[:2]), (1, ["3 calls", "cat 25"]))
    expect_in("errors", errors, "linux-headers-?lib?modules????id???31m)", "web1: error: bad ?[31m near x?")
    expect("control characters", [c for c in errors + output if ord(c) < 32 and c != "\n"], [])


def case_other_globals(hosts):
    """What a host counted whose script has other globals, by its kernel's release, is missing, and not added either."""
    one = [("calls", "number", 0, False, True)]
    number = [frames.values(0, [frames.element([], [7])])]
    hosts.record("a", one, frames.variables_at(1, number), frames.variables_at(2, number))
    hosts.record("b", one + [("more", "number", 0, False, True)], b"", frames.variables_at(2, number))
    script = """global calls, all probe kernel.function("vfs_read") { calls++ } probe timer.ms(20) { all += calls; calls = 0 }
        probe end { println(all + calls) }"""
    status, output, errors = hosts.run("a,b", script)
    expect("status and output", (status, output), (1, "14\n"))
    expect_in("errors", errors, "b: all of its values are missing: its script has other globals")


def case_no_room(hosts):
    """An element for which the merged array has no room, or whose key is too long, does not take away others."""
    for host, names in (("a", "xyz"), ("b", "zyx")):
        hosts.record(host, [("by", "number", 1, False, True)], b"", frames.variables_at(
            1, [frames.values(0, [frames.element([name], [2]) for name in names])]))
    # One byte more than a string has room for, of which the last one ends it.
    hosts.record("c", [("by", "number", 1, False, True)], b"", frames.variables_at(1, [frames.values(0, [frames.element(["x" * 512], [2])])]))
    script = """global by[2], total probe kernel.function("vfs_read") { by[execname()]++ }
        probe timer.s(1000) { delete by } probe end { foreach (name in by) total += by[name]; println(total) }"""
    status, output, errors = hosts.run("a,b,c", script)
    expect("status and output", (status, output), (1, "8\n"))
    expect_in("errors", errors, "'by' has no room for the elements of all hosts", "a key of 'by' is longer than MAXSTRINGLEN")


def case_nobody(hosts):
    """Nothing runs if no host can be reached."""
    hosts.write("down.login", "echo 'ssh: no route' >&2; exit 255\n")
    status, output, errors = hosts.run("down", COUNTING)
    expect("status and output", (status, output), (1, ""))
    expect_in("errors", errors, "down: all of its values are missing: there is no connection: ssh: no route")
    expect("what ssh says, without -v", "down: ssh: no route\n" in errors, False)
    expect_in("errors with -v", hosts.run("down", COUNTING, "-v")[2], "down: ssh: no route\n")


def case_printed(hosts):
    """What hosts print comes in the order of time by one clock, with their names."""
    hour = 3600 * SECOND
    lines = {"a": ["a1", "a3"], "b": ["b2", "b4"]}
    for number, (host, ahead) in enumerate((("a", 0), ("b", hour))):
        hosts.write(host + ".ahead", str(ahead))
        begin = int(time.time()) * SECOND + ahead
        hosts.record(host, [], b"".join(frames.printed(begin + 60 * SECOND * (2 * i + number), line) for i, line in enumerate(lines[host])),
                     frames.message("something is wrong", place="x at <input>:1:1"))
    status, output, errors = hosts.run("a,b", 'probe kernel.function("vfs_read") { println(execname()) }')
    expect("output", output, "a: a1\nb: b2\na: a3\nb: b4\n")
    expect("status", status, 1)
    offset, error = map(float, re.search(r"b: its clock is ([\d.]+) ms ahead of this machine's \(within ([\d.]+) ms\)", errors).groups())
    expect("the clock's offset", abs(offset - 3600_000) <= error + 0.1, True)
    expect_in("errors", errors, "a: error: something is wrong near x at <input>:1:1",
              "a: all of its values are missing: something is wrong near x at <input>:1:1")


def case_json(hosts):
    """--output=json: what is merged, what hosts print, their values without a sum, and what is missing, as the schema has it."""
    variables = VARIABLES[:1] + [("by", "number", 1, False, True), ("last", "text", 0, False, False), ("who", "text", 2, False, False)]
    now = int(time.time()) * SECOND

    def shown(number, name):
        return frames.variables_at(now + 3 * SECOND, [frames.values(0, [frames.element([], [number])]),
                                                      frames.values(1, [frames.element([name], [number])]),
                                                      frames.values(2, [frames.element([], name)]),
                                                      frames.values(3, [frames.element([number, 'a "b"'], name)])])
    hosts.record("a", variables, frames.printed(now, "one\n"), shown(3, "cat"))
    hosts.record("b", variables, frames.printed(now + SECOND, "two"), shown(4, "ls") + frames.message("careful", False) +
                 frames.message("division by 0", True, "operator '/' at <input>:3:14"))
    hosts.write("down.login", "exit 255\n")
    script = """global calls, by, last, who
        probe kernel.function("vfs_read") { calls++; by[execname()]++; last = execname(); who[pid(), execname()] = execname(); println("x") }
        probe end { println(calls) }"""
    path = hosts.path("result.json")
    status, output, _ = hosts.run("a,b,down", script, "--output=json:" + path)
    expect("status and output", (status, output), (1, ""))
    found = readers.json_lines(path)
    for each in found:
        if "time" in each:
            expect("a time", abs(each.pop("time") - now) < 60 * SECOND, True)
    wanted = [{"type": "printf", "host": "a", "data": "one\n"}, {"type": "printf", "host": "b", "data": "two"},
              {"type": "warning", "host": "b", "data": {"message": "careful"}}, {"type": "printf", "data": "7\n"},
              {"type": "runtime_error", "host": "b", "data": {"message": "division by 0", "place": "operator '/'", "file": "<input>",
                                                              "line": 3, "column": 14}},
              {"type": "map", "data": {"by": {"ls": 4, "cat": 3}}},
              {"type": "map", "host": "a", "data": {"last": "cat"}}, {"type": "map", "host": "b", "data": {"last": "ls"}},
              {"type": "map", "host": "a", "data": {"who": {'3,a "b"': "cat"}}}, {"type": "map", "host": "b", "data": {"who": {'4,a "b"': "ls"}}}]
    for each in wanted:
        expect("one of it in\n" + "\n".join(map(str, found)), found.count(each), 1)
    missing = [each for each in found if each["type"] == "host_missing"]
    expect("what is missing", [each["host"] for each in missing], ["b", "down"])
    expect_in("why", missing[1]["data"]["message"], "there is no connection")
    expect("anything else", {each["type"] for each in found} - {"printf", "map", "warning", "runtime_error", "host_missing"},
           {"attached_probes", "lost_events"})  # of what runs here


def case_full_disk(hosts):
    """Output that cannot be written is an error, whenever it is noticed."""
    record_three(hosts)
    status, output, errors = hosts.run("web1", COUNTING, "-o", "/dev/full")
    expect("status and output", (status, output), (1, ""))
    expect_in("errors", errors, "error: /dev/full: No space left on device")


def case_interrupted(hosts):
    """Ctrl-C stops all hosts, takes what they have counted, and leaves nothing behind."""
    record_three(hosts)
    for name in ("web1", "web2", "db1"):
        os.remove(hosts.path(name + ".ends"))
    process = hosts.start("web[1-2],db1", COUNTING)
    expect("folders of hosts", len(hosts.leftovers()), 3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=600)
    expect("status", (process.returncode, errors), (0, ""))
    expect("values", output.splitlines()[:4], ["5 calls", "cat 35", "top 30", "ls 1"])
    expect("leftovers", hosts.leftovers(), [])


def case_killed(hosts):
    """Hosts clean up by themselves when djstap is killed."""
    record_three(hosts)
    for name in ("web1", "web2", "db1"):
        os.remove(hosts.path(name + ".ends"))
    process = hosts.start("web[1-2],db1", COUNTING)
    process.kill()
    process.communicate()
    hosts.wait_until_clean()


def case_explained(hosts):
    """--explain tells where each probe runs, and why."""
    record_three(hosts)
    script = COUNTING + 'probe timer.ms(7000) { println(host_name()) } probe timer.ms(8000) { println(last) }'
    _, _, errors = hosts.run("web1", script, "--explain")
    expect_in("errors", errors, "end: runs here, on the merged globals", 'kernel.function("vfs_read"): runs on each host: it is hit there',
              "timer.ms(7000): runs on each host: it calls host_name(), which tells of the machine",
              "timer.ms(8000): runs on each host: the hosts' values of 'last' have no sum")


def case_refused(hosts):
    """A script with an error calls nobody."""
    status, output, errors = hosts.run("web1", "probe kernel.function( {")
    expect("status and output", (status, output), (1, ""))
    expect_in("errors", errors, "<input>:1")
    hosts.write("web1.login", "touch @/called\n".replace("@", hosts.folder))
    hosts.run("web1", "probe {")
    expect("calls", os.path.exists(hosts.path("called")), False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    options.djstap = os.path.abspath(options.djstap)
    facts = subprocess.run([options.djstap, "-r", options.kernel, "--info"], capture_output=True, text=True, check=False).stdout
    release = re.search(re.escape(options.kernel) + r"\.[\w.+~-]+", facts)
    if not release:
        print(f"there is no kernel {options.kernel}: scripts/kernels downloads it")
        return 77
    options.release = release[0]
    failed = 0
    for name, case in [(name, each) for name, each in globals().items() if name.startswith("case_")]:
        if options.cases and name[5:] not in options.cases:
            continue
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            try:
                case(Hosts(options, folder))
                print("passed", name[5:], flush=True)
            except AssertionError as error:
                failed += 1
                print("FAILED", name[5:], error, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
