# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the evaluation's cases, in a guest or natively, and reads their cost."""
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field

import cases
import compiled_script
import guest

SAMPLES = 4
RUNS = 5  # the fastest of these is a sample: most of them contain no timer interrupt
MIN_HITS = SAMPLES * RUNS  # times calls

# Runs gtodbench repeatedly and prints its average per call, one per line. $T: a folder to write to. It runs with
# precedence over all others, so that no reader of records, djstap's or a peer's, is measured with it.
SAMPLE_SCRIPT = """#!/bin/sh
i=0
while [ $i -lt %d ]; do
    chrt -f 10 gtodbench -n %d -q
    i=$((i + 1))
done >$T/result
"""

# Printed after each case: how it ended, its samples, its messages, and its output.
CASE_SCRIPT = """
echo '@begin %(key)s'
rm -f $T/result $T/out; : >$T/result; : >$T/out
%(command)s >$T/log 2>&1 </dev/null
echo "@status $?"
cat $T/result
echo '@log'
head -c 3000 $T/log
echo
echo "@lines $(wc -l <$T/out)"
echo "@first $(grep -v '^$' $T/out | head -n 1)"
"""


@dataclass
class Outcome:
    """The cost of one case. `samples`: nanoseconds, or instructions, per call."""
    samples: list = field(default_factory=list)
    log: str = ""
    problem: str = ""
    remark: str = ""  # about the samples

    @property
    def average(self):
        return sum(self.samples) / len(self.samples)


class Plan:
    """The commands of all cases, as one shell script."""

    def __init__(self, calls):
        self.calls = calls
        self.text = ""
        self.checks = {}
        self.remarks = {}

    def add(self, key, command, check=None, remark=None):
        """Adds a case. `check` and `remark` return what is wrong, or remarkable, from (log, lines, first line); "":
        nothing."""
        self.remarks[key] = remark
        self.text += CASE_SCRIPT % {"key": key, "command": command}
        self.checks[key] = check

    def outcomes(self, console):
        """Returns {key: Outcome} from the script's output."""
        found = {}
        for part in console.split("@begin ")[1:]:
            key = part.split("\n", 1)[0].strip()
            found[key] = self._outcome(key, part)
        for key in self.checks:
            found.setdefault(key, Outcome(problem="it did not run"))
        return found

    def _outcome(self, key, part):
        status = re.search(r"^@status (\d+)", part, re.MULTILINE)
        log = re.search(r"^@log\n(.*?)^@lines (\d+)\n@first (.*)", part, re.MULTILINE | re.DOTALL)
        if not status or not log:
            return Outcome(problem="it did not end")
        values = [float(value) for value in re.findall(rf"^{self.calls} ([0-9.]+)$", part, re.MULTILINE)]
        outcome = Outcome(log=log[1].strip())
        if len(values) != SAMPLES * RUNS or int(status[1]):
            lines = outcome.log.split("\n")
            why = next((line for line in lines if re.match("FATAL|ERROR", line)), lines[-1])
            outcome.problem = f"exit status {status[1]}: {why}"
            return outcome
        # A run takes about as long as the period of the timer: once its interrupt falls into one, it does so in the next ones, too.
        outcome.samples = [min(values[i::SAMPLES]) for i in range(SAMPLES)]
        check = self.checks[key]
        remark = self.remarks[key]
        outcome.problem = check(outcome.log, int(log[2]), log[3].strip()) if check else ""
        outcome.remark = remark(outcome.log, int(log[2]), log[3].strip()) if remark else ""
        return outcome


def check_of(case, calls):
    """Returns a function that returns what is wrong with a case's log and output; "": nothing."""
    hits = calls * MIN_HITS

    def check(log, lines, first):
        if case.mechanism and not re.search(rf": {re.escape(case.mechanism)}(?![\w-])", log):
            return f"it is not attached by {case.mechanism}: {log.splitlines()[0] if log else 'no message'}"
        if re.search(r"\blost\b|\bmissed\b|\bskipped\b", log):
            return f"not every hit was handled: {log.splitlines()[-1]}"
        if case.counts and not (first.isdigit() and int(first) >= hits):
            return f"it counted {first or 'nothing'} of {hits} hits"
        if case.records and lines < hits:
            return f"it printed {lines} of {hits} lines"
        return ""
    return check


class Builder:
    """Compiles cases to modules."""

    def __init__(self, djstap, release, folder):
        self.djstap = djstap
        self.release = release
        self.folder = folder

    def module(self, case):
        """Returns (path, "") of the case's module, or (None, why there is none)."""
        return self.module_of(case, case.script)

    def module_of(self, case, script):
        """The same for another script with the case's name and options."""
        name = "bench_" + case.key.replace("-", "_")
        return compiled_script.module_or_why(self.djstap, self.release, self.folder, name, *case.options, "-e", script)


def plan_of(builder, all_cases, calls, modules, tools=""):
    """Returns (Plan, {key: Outcome} of the cases that do not compile). Adds each module's path to `modules`."""
    plan, refused = Plan(calls), {}
    plan.add("unprobed", "sh $B/samples")
    for case in all_cases:
        path, problem = builder.module(case)
        if problem:
            refused[case.key] = Outcome(problem=problem)
            continue
        modules.append(path)
        plan.add(case.key, f"djrun -v -s 16 -o $T/out -c 'sh '$B/samples $M/{os.path.basename(path)}",
                 check_of(case, calls))
    plan.add("unprobed-after", "sh $B/samples")
    return plan, refused


def sample_script(calls):
    return SAMPLE_SCRIPT % (SAMPLES * RUNS, calls)


def add_samples(archive, djstap, calls):
    archive.program(os.path.join(os.path.dirname(djstap), "gtodbench"))
    archive.program(shutil.which("chrt"))
    archive.text("bin/samples", sample_script(calls))


def in_guest(release, djstap, all_cases, folder, calls, count_instructions):
    """Returns {key: Outcome} of one boot."""
    modules = []
    plan, refused = plan_of(Builder(djstap, release, folder), all_cases, calls, modules)
    archive = guest.base_archive()
    archive.program(os.path.join(os.path.dirname(djstap), "djrun"))
    add_samples(archive, djstap, calls)
    for path in modules:
        archive.file("modules/" + os.path.basename(path), path)
    script = "export T=/tmp B=/bin M=/modules" + plan.text
    return plan.outcomes(guest.run(release, archive, script, count_instructions)) | refused


def natively(djstap, all_cases, folder, calls):
    """Returns {key: Outcome} on the running kernel. Modules must be loadable: see why_not_native()."""
    modules = []
    plan, refused = plan_of(Builder(djstap, os.uname().release, folder), all_cases, calls, modules)
    return run_natively(djstap, plan, folder) | refused


def run_natively(djstap, plan, folder):
    """Returns {key: Outcome} of a plan whose modules are in `folder`."""
    with open(os.path.join(folder, "samples"), "w", encoding="utf-8") as file:
        file.write(sample_script(plan.calls))
    environment = dict(os.environ, T=folder, B=folder, M=folder,
                       PATH=os.path.dirname(djstap) + ":" + os.environ.get("PATH", ""))
    done = subprocess.run(["sh", "-c", plan.text], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    return plan.outcomes(done.stdout)


def why_not_native(djstap):
    """Returns why modules cannot be loaded on this machine; "" if they can."""
    release = os.uname().release
    if os.geteuid():
        return "modules are loaded by root only"
    with open("/proc/self/status", encoding="utf-8") as file:
        capabilities = int(re.search(r"^CapEff:\s+([0-9a-f]+)", file.read(), re.MULTILINE)[1], 16)
    if not capabilities >> 16 & 1:
        return "this process may not load modules (no CAP_SYS_MODULE; a container?)"
    try:
        with open("/proc/sys/kernel/modules_disabled", encoding="utf-8") as file:
            if file.read().strip() != "0":
                return "kernel.modules_disabled is set: no module can be loaded until the next boot"
    except OSError:
        return f"the kernel {release} has no loadable modules"
    try:
        with open("/sys/kernel/security/lockdown", encoding="utf-8") as file:
            locked = re.search(r"\[(\w+)\]", file.read())
            if locked and locked[1] != "none":
                return f"the kernel is locked down ({locked[1]}): it takes signed modules only"
    except OSError:
        pass
    done = subprocess.run([djstap, "-r", release, "-p2", "-e", f"probe {cases.POINT} {{ next }}"],
                          capture_output=True, text=True)
    return done.stderr.strip().split("\n")[0] if done.returncode else ""
