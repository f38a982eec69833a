#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Four guests, two of each kernel, in a network of their own: a script on all of them by djstap --hosts, beside each guest's own
flight recorder of the same script, and beside one script that sees the hits of all; Performance Co-Pilot over the network; what is
left when the controller is interrupted or killed, and what is said when a guest is lost.

    four_guests.py --djstap build/release/bin/djstap --agent build/release/bin/pmdadjstap [--kept FOLDER] [--bench RUNS]

--bench only measures: what each step costs until the first merged line is printed, in the median of so many runs. --kept names a folder for the guests' root of Debian, which takes minutes to make: a second run finds it there. The exit status is 77
where something is missing that this needs: the rights of root, mmdebstrap, PCP.
"""
import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
import guests  # noqa: E402
from guests import PATIENCE, until  # noqa: E402

KERNELS = "6.1", "6.1", "6.12", "6.12"
CALLS = 4000  # of the first guest; the second has twice as many, and so on
SCRIPT = os.path.join(HERE, "hits.stp")
NO_FAULT = re.compile(r"djstap: (running on 4 of 4 hosts$|guest\d: its clock is |(reading the symbols of|index(ing|ed) the debug information of|"
                      r"(building|adding to|waiting for another djstap to build) the runtime for) )")
# Whether probes are armed is asked by a call that the script only answers.
ASK = "/fleet/fleet-load 9000000 1"


def expect(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}:\n{found}\nexpected\n{expected}")


def compile_modules(djstap, folder):
    """What each kernel's guests have: hits.ko for the agent, recorder.ko."""
    made = {}
    for kernel in sorted(set(KERNELS)):
        made[guests.release_of(kernel)] = where = os.path.join(folder, kernel)
        os.mkdir(where)
        for name, options in ("hits", ["--output=snapshots"]), ("recorder", []):
            guests.call(djstap, "-p4", "-r", kernel, "-m", name, *options, SCRIPT, cwd=where)
    return made


def load_of(guest, part):
    """The words for one of two loads of a guest, whose numbers no other has. A like one that is not counted runs beside it."""
    first, count = guest.number * 1_000_000 + part * 500_000, guest.number * CALLS
    return f"/fleet/other-load {first} {count} & /fleet/fleet-load {first} {count} && wait"


def run_loads(all_guests, part):
    """The loads of all guests at the same time, while other programs run, too."""
    others = [each.start("touch /tmp/busy; while [ -e /tmp/busy ]; do find /usr /proc >/dev/null 2>&1; done; true") for each in all_guests]
    loads = [each.start(load_of(each, part)) for each in all_guests]
    for each, load in zip(all_guests, loads):
        expect(f"the load of {each.name}", load.wait(PATIENCE), 0)
    for each, other in zip(all_guests, others):
        each.run("rm /tmp/busy")
        other.wait()


def start_recorders(all_guests):
    for each in all_guests:
        each.run("/fleet/djrun -F /fleet/recorder.ko")


def stop_recorders(all_guests):
    """What they have recorded, and what their `end` probes print."""
    return [each.run("/fleet/djrun --attach recorder --stop") for each in all_guests]


class Controller:
    """djstap --hosts, whose probes are armed on all guests."""

    def __init__(self, options, folder, all_guests, *more):
        self.output, self.errors = os.path.join(folder, "output"), os.path.join(folder, "errors")
        numbers = [each.number for each in all_guests]
        with open(self.output, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [options.djstap, "--hosts", f"guest[{numbers[0]}-{numbers[-1]}]", "--remote-shell", " ".join(guests.remote_shell(folder)),
                 "--host-timeout", str(PATIENCE), *more, SCRIPT], stdin=subprocess.DEVNULL, stdout=output, stderr=errors, cwd=folder)
        try:
            for each in all_guests:
                until(lambda guest=each: self.is_armed(guest), lambda: "the probes are not armed\n" + self.said())
        except BaseException:
            self.process.kill()
            raise

    def is_armed(self, guest):
        if self.process.poll() is not None:
            raise AssertionError("djstap has ended\n" + self.said())
        guest.run(ASK)
        return f"{guest.name}: armed\n" in self.text()

    def text(self):
        with open(self.output, errors="replace") as output:
            return output.read()

    def said(self):
        with open(self.errors, errors="replace") as errors:
            return self.text() + errors.read()

    def end(self, number):
        """Ends it by a signal; returns its exit status, output and errors."""
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        with open(self.errors, errors="replace") as errors:
            return status, self.text(), errors.read()


def split(text):
    """(What handlers printed, without the host's name, in any order; what the `end` probe printed)"""
    printed, at_end = [], []
    for line in text.splitlines():
        line = re.sub(r"^guest\d: ", "", line)
        if line.startswith("guest "):
            printed.append(line)
        elif line != "armed":
            at_end.append(line)
    return sorted(printed), at_end


def values(lines):
    """{what: number, or the numbers of a statistic, or the count of a bucket}"""
    found, statistic = {}, ""
    for line in lines:
        if row := re.fullmatch(r"\s*(\S+) \|@* *(\d+)", line):
            if int(row[2]):
                found[statistic, row[1]] = int(row[2])
        elif numbers := re.fullmatch(r"(sizes|of \d):? (\d+) (-?\d+) (-?\d+) (-?\d+) (-?\d+)", line):
            statistic = numbers[1]
            found[statistic] = tuple(int(each) for each in numbers.groups()[1:])
        elif number := re.fullmatch(r"(\w+[ \d]*?):? (\d+)", line):
            found[number[1]] = int(number[2])
    return found


def union(of_hosts):
    """What one script has that sees the hits of all."""
    whole = {}
    for what in {name for each in of_hosts for name in each}:
        parts = [each[what] for each in of_hosts if what in each]
        if isinstance(parts[0], int):
            whole[what] = sum(parts)
            continue
        count, total = (sum(part[i] for part in parts) for i in range(2))
        whole[what] = count, total, min(part[2] for part in parts), max(part[3] for part in parts), int(total / count)
    return whole


def check_union(options, folder, all_guests):
    """Ctrl-C, and what is merged: the same as the union of the recorders, and as what one script has that sees all hits."""
    start_recorders(all_guests)
    controller = Controller(options, folder, all_guests)
    run_loads(all_guests, 0)
    status, output, errors = controller.end(signal.SIGINT)
    # What djstap prepares on this machine, and that the clocks of guests differ from its own, is no fault.
    faults = [line for line in errors.splitlines() if not NO_FAULT.match(line)]
    expect("exit status and messages", (status, faults), (0, []))
    recorded = [split(text) for text in stop_recorders(all_guests)]
    printed, at_end = split(output)
    expect("what was printed", printed, sorted(line for lines, _ in recorded for line in lines))
    expect("merged values", values(at_end), union([values(lines) for _, lines in recorded]))
    expect("calls", values(at_end)["calls"], CALLS * sum(each.number for each in all_guests))
    print("union: the merged values are those of the recorders")
    loads = "; ".join(load_of(each, 0) for each in all_guests)
    alone_printed, alone_at_end = split(all_guests[0].run(f"/fleet/djrun -c \"sh -c '{loads}'\" /fleet/recorder.ko"))
    expect("beside one script that sees all hits", (printed, sorted(at_end)), (alone_printed, sorted(alone_at_end)))
    print("union: the output is that of one script that sees all hits")
    check_clean(all_guests, "Ctrl-C")
    return [values(lines) for _, lines in recorded]


def check_clean(all_guests, after):
    """No module of the controller's, and nothing in the folder for temporary files."""
    for each in all_guests:
        until(lambda guest=each: guest.run("ls -A /tmp") == "", lambda guest=each: f"{after}: {guest.name} has {guest.run('ls -lR /tmp')}")
        until(lambda guest=each: guest.modules() == guest.own_modules, lambda guest=each: f"{after}: {guest.name} has {guest.modules()}")
    print(f"{after}: nothing is left")


def check_killed_controller(options, folder, all_guests):
    controller = Controller(options, folder, all_guests)
    controller.end(signal.SIGKILL)
    check_clean(all_guests, "the controller is killed")


def check_killed_guest(options, folder, all_guests):
    """The last guest is lost in the middle: it is named, and the others' values are complete."""
    *others, lost = all_guests
    start_recorders(others)
    controller = Controller(options, folder, all_guests)
    run_loads(all_guests, 0)
    # A snapshot is sent every second, in the order of what is printed: what the guest has counted has arrived before this.
    armed = f"{lost.name}: armed\n"
    before = controller.text().count(armed)
    lost.run("sleep 5; " + ASK)
    until(lambda: controller.text().count(armed) > before, lambda: f"{lost.name} sends nothing\n" + controller.said())
    lost.kill()
    run_loads(others, 1)
    status, output, errors = controller.end(signal.SIGINT)
    expect("exit status", status, 1)
    expect("who is named as missing", set(re.findall(r"^djstap: error: (\w+):", errors, re.MULTILINE)), {lost.name})
    recorded = [split(text) for text in stop_recorders(others)]
    printed, at_end = split(output)
    of_lost = re.compile(rf"(by|guests?) {lost.number}\b")
    expect("what the others printed", [line for line in printed if not of_lost.match(line)],
           sorted(line for lines, _ in recorded for line in lines))
    whole, of_others = values(at_end), union([values(lines) for _, lines in recorded])
    keys = re.compile(r"(by|guests) \d")
    expect("values of the others", {name: value for name, value in whole.items() if isinstance(name, str) and keys.match(name)
                                    and not of_lost.match(name)},
           {name: value for name, value in of_others.items() if isinstance(name, str) and keys.match(name)})
    counted = sum(value for name, value in whole.items() if isinstance(name, str) and name.startswith("by "))
    expect("the sum of all", (whole["calls"], whole["sizes"][0]), (counted, counted))
    expect("what the lost one counted until then", counted - of_others["calls"], lost.number * CALLS)
    print("a guest is killed: it is named, and the others' values are right")
    check_clean(others, "a guest was killed")


STEPS = "connect", "facts", "compile", "push", "load", "first snapshots", "merge"


def bench(options, folder, all_guests):
    """The time of each step, and its share of what lies between the connections and the first merged line."""
    script = os.path.join(folder, "bench.stp")
    with open(SCRIPT) as hits, open(script, "w") as file:
        file.write(hits.read() + 'probe timer.ms(100) { printf("%d calls\\n", calls) }\n')
    taken = {step: [] for step in STEPS}
    for run in range(options.bench + 1):
        process = subprocess.Popen(
            [options.djstap, "-v", "--hosts", f"guest[1-{len(all_guests)}]", "--remote-shell", " ".join(guests.remote_shell(folder)),
             "--host-timeout", str(PATIENCE), script], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            step = re.match(r"hosts, (.*): ([\d.]+) ms", line)
            if step and run > 0:  # the first one fills the caches
                taken[step[1]].append(float(step[2]))
            if step and step[1] == STEPS[-1]:
                process.send_signal(signal.SIGINT)
        expect("exit status", process.wait(PATIENCE), 0)
    medians = {step: sorted(values)[len(values) // 2] for step, values in taken.items()}
    since_connected = sum(medians[step] for step in STEPS[1:])
    for step in STEPS:
        share = "" if step == "connect" else f"{100 * medians[step] / since_connected:6.1f} %"
        print(f"{step:16}{medians[step]:9.0f} ms{share}")
    print(f"{'since connected':16}{since_connected:9.0f} ms")


def pcp(guest, program, *arguments, **more):
    # pmrep: the Python that has its modules.
    return subprocess.run([program, "-h", guest.address, *arguments], env={**os.environ, "PCP_PYTHON_PROG": "/usr/bin/python3"},
                          capture_output=True, text=True, check=False, timeout=PATIENCE, **more)


def check_pcp(folder, all_guests, recorded):
    """Each guest's agent has counted what its recorder has, and pmlogger writes it down."""
    for guest, own in zip(all_guests, recorded):
        def shown(metric, of=guest):
            found = pcp(of, "pminfo", "-f", "djstap.hits." + metric).stdout
            instances = dict(re.findall(r'inst \[\d+ or "(.*)"\] value (-?\d+)', found))
            scalar = re.search(r"^ +value (-?\d+)", found, re.MULTILINE)
            return int(scalar[1]) if scalar else {name: int(value) for name, value in instances.items()}
        until(lambda of=guest, calls=own["calls"]: shown("calls", of) >= calls, f"the agent of {guest.name} does not count")
        # More than its own load ran on the first guest.
        if guest.number != 1:
            expect(f"{guest.name}: by", shown("by"),
                   {f"{guest.number},{digit}": own[f"by {guest.number} {digit}"] for digit in range(10)})
            expect(f"{guest.name}: sizes", tuple(shown("sizes." + part) for part in ("count", "sum", "min", "max", "average")), own["sizes"])
            expect(f"{guest.name}: buckets", sum(shown("sizes.histogram").values()), own["calls"])
    last, own = all_guests[-1], recorded[-1]
    # Of a counter it prints the rate.
    table = pcp(last, "pmrep", "-p", "-s", "1", "djstap.hits.sizes.max").stdout
    expect("pmrep", table.split()[-1:], [str(own["sizes"][3])])
    archive, config = os.path.join(folder, "archive"), os.path.join(folder, "pmlogger.conf")
    with open(config, "w") as file:
        file.write("log mandatory on 1 sec { djstap.hits.calls djstap.hits.by }\n")
    environment = {**os.environ, "PCP_RUN_DIR": folder, "PCP_LOG_DIR": folder, "PCP_TMP_DIR": folder}
    guests.call("/usr/lib/pcp/bin/pmlogger", "-h", last.address, "-c", config, "-l", os.path.join(folder, "pmlogger.log"), "-s", "3", archive,
                env=environment, timeout=PATIENCE)
    found = guests.call("pmval", "-r", "-a", archive, "djstap.hits.calls")
    numbers = {line.split()[1] for line in found.splitlines() if re.match(r"\d\d:", line)} - {"No"}
    expect("an archive", numbers, {str(own["calls"])})
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    expect("others may read", "value" in pcp(last, "pminfo", "-f", "djstap.hits.calls", **as_nobody).stdout, True)
    for who in {}, as_nobody:
        stored = pcp(last, "pmstore", "djstap.hits.calls", "0", **who)
        expect("nobody may store", (stored.returncode != 0, "ermission" in stored.stdout + stored.stderr), (True, True))
    print("PCP: each guest's agent has what its recorder has")


def main():
    parser = argparse.ArgumentParser(description="Runs a script on four guests in a network.")
    parser.add_argument("--djstap", required=True, type=os.path.abspath)
    parser.add_argument("--agent", required=True, type=os.path.abspath)
    parser.add_argument("--kept", type=os.path.abspath)
    parser.add_argument("--bench", type=int, default=0)
    options = parser.parse_args()
    lacking = guests.missing_tools()
    if lacking:
        print("skipped: it needs " + ", ".join(lacking))
        return 77
    with tempfile.TemporaryDirectory(prefix="djstap-fleet-") as folder, contextlib.ExitStack() as stack:
        os.chmod(folder, 0o755)  # for nobody's programs
        programs = options.agent, os.path.join(os.path.dirname(options.djstap), "djrun")
        image = guests.Image(folder, programs, compile_modules(options.djstap, folder), options.kept)
        stack.enter_context(guests.Network())
        all_guests = [guests.Guest(image, i + 1, kernel) for i, kernel in enumerate(KERNELS)]
        guests.write_ssh_config(folder, all_guests)
        for each in all_guests:
            stack.enter_context(each)
        try:
            for each in all_guests:
                each.wait()
                until(lambda guest=each: "hits" in guest.modules(), lambda guest=each: "the agent runs no module\n" + guest.log())
                each.own_modules = each.modules()
            print("four guests run", flush=True)
            if options.bench:
                bench(options, folder, all_guests)
                return 0
            recorded = check_union(options, folder, all_guests)
            check_pcp(folder, all_guests, recorded)
            check_killed_controller(options, folder, all_guests)
            check_killed_guest(options, folder, all_guests)
        except BaseException:
            for each in all_guests:
                print(each.log())
            raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
