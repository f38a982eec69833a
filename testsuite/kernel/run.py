#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs kernel cases: a script, a command and what they print, each in a guest of its own.

A case is a text file of fields, `name: value`, or `name:` with an indented block below it:

    title: what it shows
    script:                 the script; or `file: NAME.stp`; a .meta runs the example with its name (--example)
    prepare:                shell commands on the host, run before; $KERNEL, $KERNEL_FOLDER (where it was unpacked to),
                            $T (an empty folder)
    options: -v             further options of djstap ($T and $KERNEL are replaced, in command too)
    command: gtodbench -n 3 for -c
    run:                    instead of script, options and command: shell commands on the host, for
                            what is not one djstap ($DJSTAP is `djstap` with --guest, $GUEST its
                            options; $T, $KERNEL, $KERNEL_FOLDER, $SOURCES: the project's own folder)
    status: 0               exit status
    output:                 expected standard output (see ../harness/matching.py)
    errors:                 expected standard error; without this field it may be anything
    kernels: 6.1 6.12       on which it runs; absent: on both. sanitized and races are those of scripts/debug-kernels:
                            what runs on 6.1 also runs on them, with scripts/test --nightly. What runs on 6.12 also runs
                            on newer ones, and what runs on a series on its kernel with PREEMPT_RT
    not-on-sanitized: why   it does not hold there: it is skipped, and the reason printed
    not-on-races: why       the same
    not-on-debug: why       the same, on both of these
    not-in-forms: why       the same, with --handler-forms
    not-on-rt: why          the same, on the kernels with PREEMPT_RT
    not-on-newer: why       the same, on the kernels that are newer than those above
    kernel-arguments: …     added to the kernel's command line; kaslr: it runs at a random address, not where it was linked
    nightly-on: 6.1         the kernels where only scripts/test --nightly runs it, because it takes long
    nightly: why            only scripts/test --nightly runs it, on all of its kernels
    failing: 1              `run` only: how many of its runs of djstap end with a nonzero status; absent: none
    killed: 1               how many of its runs of djstap it kills; absent: none
    ends: lost              what the case does to its guests on purpose: lost, complained, emulator-died
    preemptible: yes        scripts/test runs it with preempt=full, too; --nightly does so with all cases

    parallel: yes           it also runs with four processors that run at the same time (--parallel); its probes are
                            armed before its load begins, and disarmed after it has ended
    seeds: yes              probes are armed and disarmed under load, and the load pauses as $SEED determines
                            (gtodbench -r): --nightly runs it with several seeds

    run.py --djstap build/release/bin/djstap --kernel 6.1 CASE…
    run.py --kernel-arguments preempt=full …    adds to the kernel's command line
    run.py --seed 7 …       $SEED is 7 (default: 1)
    run.py --handler-forms called …    the handlers are compiled as those of large scripts are (HandlerForms in
                            compiler/codegen/codegen.h)
    run.py --parallel …     guests have four processors, each a thread of its own
    run.py --kernel sanitized CASE…        one of the debug kernels; races runs the `parallel` cases on four processors
    run.py --kernel 6.1-rt CASE…   any other kernel that djstap finds by this name: scripts/kernels 6.1-rt fetches it
    run.py --without-symbols --kernel 7.3 CASE…   the kernel that scripts/test fetches without debug symbols, to newest-kernel
                            beside $DJSTAP_KERNELS
    run.py --list CASE…     prints a case's kernels, which of `nightly`, `preemptible`, `parallel` and `seeds` it has, and nightly-on-KERNEL

The outcomes of guests and djstap's own status are read from its report ($DJSTAP_REPORT), whatever the case's shell
does with them. A guest that is lost, or whose kernel complains, is a failure. Only if the emulator is to blame the
case is repeated, at most twice: if it died itself; and with --parallel, where QEMU 7.2 does not provide the
guarantees of hardware for code that is patched while others run it, if the kernel's log shows a fault in bytes that
were just being patched, or if the guest does not boot, or if one of its programs crashes before a module is loaded. All are printed, and noted in the file that $DJSTAP_TEST_NOTES
names.

The exit status is 0, 1 for a failure, or 77 if everything was skipped.
"""
import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import matching  # noqa: E402
import outcomes  # noqa: E402

KERNELS = ["6.1", "6.12"]
DEBUG_KERNELS = ["sanitized", "races"]
FIELDS = {"not-on-sanitized", "not-on-races", "not-on-debug", "not-on-rt", "not-on-newer", "not-in-forms",
          "title", "description", "keywords", "script", "file", "prepare", "options", "command", "run", "status",
          "output", "errors", "kernels", "kernel-arguments", "failing", "killed", "ends", "nightly", "nightly-on", "preemptible", "parallel", "seeds"}
OTHER_RUNS = ("nightly", "preemptible", "parallel", "seeds")
TIMEOUT = 600 if not os.environ.get("DJSTAP_LONG") else 3000
PARALLEL = "-smp 4 -accel tcg,thread=multi"
DEBUG_ARGUMENTS = {"sanitized": "", "races": "kcsan.early_enable=1"}
PASSED, FAILED, EMULATORS_FAULT, SKIPPED = 0, 1, 2, 77
PATIENCE = 6  # the factor by which a debug kernel may be slower
DEBUG_MEMORY = "1G"  # for its guests: an eighth of it describes what may be accessed
TRIES = 3  # if the emulator is to blame
# Of a module that a session leaves behind, which its kernel then looks less closely at (agent/remains.c).
STAYS = re.compile(r"stays loaded|cannot be unloaded")


def read_case(path):
    """Returns the case's fields."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    fields = {}
    inline = set()
    block = None
    for number, line in enumerate(lines, 1):
        if block is not None and (line.startswith((" ", "\t")) or not line.strip()):
            fields[block].append(line)
            continue
        block = None
        if not line.strip() or line.startswith("#"):
            continue
        match = re.match(r"([\w-]+):(?:\s+(.*))?$", line)
        if not match or match[1] not in FIELDS or match[1] in fields:
            raise ValueError(f"{path}:{number}: not a field of a case: {line}")
        block = match[1]
        fields[block] = [match[2].strip()] if match[2] else []
        inline.update([block] if match[2] else [])
    for name, value in fields.items():
        if name in inline:  # a long value may continue in indented lines
            fields[name] = " ".join(line.strip() for line in value).strip()
        else:
            fields[name] = textwrap.dedent("\n".join(value)).strip("\n")
    if "run" not in fields and "script" not in fields and "file" not in fields:
        fields["file"] = os.path.splitext(os.path.basename(path))[0] + ".stp"
    if "output" not in fields:
        raise ValueError(f"{path}: a field 'output' is needed")
    if re.search(r"DJSTAP_KERNEL_ARGUMENTS=[^$\n]*$", fields.get("run", ""), re.MULTILINE):
        raise ValueError(f"{path}: it replaces DJSTAP_KERNEL_ARGUMENTS, and loses preempt=full or kaslr with it")
    if "failing" in fields and "run" not in fields:
        raise ValueError(f"{path}: 'failing' is for 'run'; a case of one djstap has a 'status'")
    return fields


def kernels_of(fields):
    kernels = fields.get("kernels", "").split() or KERNELS
    known = KERNELS + DEBUG_KERNELS
    if any(kernel not in known for kernel in kernels):
        raise ValueError(f"kernels: {' '.join(kernels)}: known are {' '.join(known)}")
    return kernels


def nightly_kernels_of(fields):
    """Returns the kernels on which a case runs only with --nightly; it runs always on at least one."""
    nightly = fields.get("nightly-on", "").split()
    if any(kernel not in KERNELS or kernel not in kernels_of(fields) for kernel in nightly) or \
            (nightly and not set(KERNELS) & set(kernels_of(fields)) - set(nightly)):
        raise ValueError(f"nightly-on: {' '.join(nightly)}: not some, but not all, of the case's kernels")
    return nightly


def debug_kernels_of(fields):
    """Returns the debug kernels, which are 6.1, on which a case runs or is skipped with a reason."""
    return [kernel for kernel in DEBUG_KERNELS if kernel in kernels_of(fields) or "6.1" in kernels_of(fields)]


def reason_to_skip(fields, kernel):
    """Returns why a case does not hold on this kernel; None if it does."""
    kinds = [kernel]
    if kernel in DEBUG_KERNELS:
        kinds.append("debug")
    if kernel.endswith("-rt"):
        kinds.append("rt")
    if kernel.removesuffix("-rt") not in KERNELS + DEBUG_KERNELS:
        kinds.append("newer")
    series = kernel.removesuffix("-rt")
    if kernel not in DEBUG_KERNELS and (KERNELS[-1] if series not in KERNELS else series) not in kernels_of(fields):
        return f"it is for {' and '.join(kernels_of(fields))}"
    return next((fields[f"not-on-{kind}"] for kind in kinds if f"not-on-{kind}" in fields), None)


def kernel_folder_in(environment, name):
    """Returns the folder of the newest kernel of this series below $DJSTAP_KERNELS, as djstap finds it: "6.1-rt" is one
    with PREEMPT_RT, and "6.1" is not. Empty: the folder has none."""
    folder = environment.get("DJSTAP_KERNELS") or "/var/lib/djstap/kernels"
    series, real_time = name.removesuffix("-rt"), name.endswith("-rt")
    releases = [each for each in os.listdir(folder) if each.startswith(series + ".") and ("-rt-" in each) == real_time] \
        if os.path.isdir(folder) else []
    numbers = {each: [int(number) for number in re.findall(r"\d+", each)] for each in releases}
    return os.path.join(folder, max(releases, key=numbers.get)) if releases else ""


def beside_kernels(name):
    """Returns the folder of this name beside that of the kernels."""
    kernels = os.environ.get("DJSTAP_KERNELS") or "/var/lib/djstap/kernels"
    return os.path.join(os.path.dirname(kernels.rstrip("/")), name)  # as dirname(1)


def debug_kernel(name):
    """Returns the folder that contains only this kernel."""
    folder = os.environ.get("DJSTAP_DEBUG_KERNELS") or beside_kernels("debug-kernels")
    path = os.path.join(folder, name)
    if not os.path.isdir(path):
        raise ValueError(f"there is no {path}: scripts/debug-kernels builds it")
    return path


def expected_lines(text):
    return text.split("\n") if text else []


def run_whole(command, timeout, environment, folder=None):
    """Runs a command; one that takes too long is ended with all its children, and subprocess.TimeoutExpired is raised.
    The children, guests among them, also end if this program is ended meanwhile."""
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:  # SystemExit and KeyboardInterrupt, too
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def add_words(environment, name, words):
    environment[name] = f"{environment.get(name, '')} {words}".strip()


class Runner:
    def __init__(self, path, djstap, kernel, kernel_arguments="", parallel=False):
        self.path = path
        self.fields = read_case(path)
        self.djstap = os.path.abspath(djstap)
        self.name = kernel
        self.kernel = "6.1" if kernel in DEBUG_KERNELS else kernel
        self.debug = debug_kernel(kernel) if kernel in DEBUG_KERNELS else None
        self.timeout = TIMEOUT * (PATIENCE if self.debug else 1)
        self.kernel_arguments = f"{kernel_arguments} {DEBUG_ARGUMENTS[kernel]}".strip() if self.debug else kernel_arguments
        self.kernel_arguments = f"{self.kernel_arguments} {self.fields.get('kernel-arguments', '')}".strip()
        self.parallel = parallel or (kernel == "races" and "parallel" in self.fields)

    def options_of_guest(self):
        """Returns the options for every djstap of the case."""
        options = [f"--guest={self.kernel}"]
        text = self.fields.get("run", "") + " " + self.fields.get("options", "") + " "
        if self.debug and not re.search(r"--guest-memory|\s-s\s", text):
            options.append(f"--guest-memory={DEBUG_MEMORY}")
        return options

    def once(self, folder):
        """Returns (status, output, errors) of the case's command."""
        environment = dict(os.environ, T=folder, KERNEL=self.kernel, LC_ALL="C.UTF-8", DJSTAP_REPORT=self.report,
                           DJSTAP_CHECK_REMAINS="1",
                           SOURCES=os.path.dirname(os.path.dirname(HERE)),
                           GUEST=" ".join(self.options_of_guest()),
                           DJSTAP=" ".join([shlex.quote(self.djstap)] + self.options_of_guest()))
        if self.debug:
            environment.update(DJSTAP_KERNELS=self.debug, DJSTAP_GUEST_PATIENCE=str(PATIENCE), DJSTAP_SANITIZE="1")
        if self.kernel_arguments:
            add_words(environment, "DJSTAP_KERNEL_ARGUMENTS", self.kernel_arguments)
        if self.parallel:
            add_words(environment, "DJSTAP_QEMU_ARGUMENTS", PARALLEL)
        environment["KERNEL_FOLDER"] = kernel_folder_in(environment, self.kernel)
        # A python3 found by its name may be a script that searches for one, in dozens of processes.
        environment["PATH"] = ":".join([os.path.dirname(self.djstap), os.path.dirname(sys.executable),
                                        environment.get("PATH", "")])

        def execute(command):
            return run_whole(command, self.timeout, environment, folder)

        if "prepare" in self.fields:
            done = execute(["/bin/sh", "-e", "-c", self.fields["prepare"]])
            if done.returncode:
                return None, done.stdout, done.stderr
        if "run" in self.fields:
            done = execute(["/bin/sh", "-e", "-c", self.fields["run"]])
            return done.returncode, done.stdout, done.stderr
        def replaced(text):
            return text.replace("$T", folder).replace("$KERNEL", self.kernel)

        words = [replaced(word) for word in shlex.split(self.fields.get("options", ""))]
        end = words.index("--") if "--" in words else len(words)  # the rest are the script's arguments
        command = [self.djstap] + self.options_of_guest() + words[:end]
        if "command" in self.fields:
            command += ["-c", replaced(self.fields["command"])]
        if "script" in self.fields:
            command += ["-e", self.fields["script"]]
        elif self.path.endswith(".meta"):
            command += ["--example", os.path.splitext(os.path.basename(self.path))[0]]
        else:
            command.append(os.path.join(os.path.dirname(os.path.abspath(self.path)), self.fields["file"]))
        command += words[end:]
        done = execute(command)
        return done.returncode, done.stdout, done.stderr

    def reported(self):
        """Returns what djstap reported: (of each guest, how often it began, statuses of its own)."""
        if not os.path.exists(self.report):
            return [], 0, []
        with open(self.report, encoding="utf-8") as file:
            told = [json.loads(line) for line in file]
        return ([each for each in told if "end" in each], sum("begins" in each for each in told),
                [each["status"] for each in told if "status" in each])

    def problems_of_guests(self):
        guests, begun, statuses = self.reported()
        lost, faults = outcomes.judge(guests, self.fields.get("ends", "").split(), self.parallel)
        problems = []
        for guest in lost:
            end = outcomes.end_of(guest)
            note(f"{end} {os.path.basename(self.path)} on {self.name}: {guest['reason']}")
            problems.append(f"a guest: {end}: {guest['reason']}\n{guest.get('complaint', '')}\n{guest.get('log', '')}")
        if faults and not problems:
            return EMULATORS_FAULT, faults
        failing, wanted = sum(status != 0 for status in statuses), int(self.fields.get("failing", "0"))
        if "run" in self.fields and failing != wanted:
            problems.append(f"{failing} runs of djstap failed, expected {wanted}: statuses {statuses}")
        killed = begun - len(statuses)
        if killed != int(self.fields.get("killed", "0")):
            problems.append(f"{killed} of {begun} runs of djstap crashed or were killed, expected {self.fields.get('killed', '0')}")
        return FAILED if problems else PASSED, problems

    def check(self):
        with tempfile.TemporaryDirectory(prefix="djstap-case-") as folder, \
                tempfile.TemporaryDirectory(prefix="djstap-report-") as reports:
            self.report = os.path.join(reports, "report")
            status, output, errors = self.once(folder)
            of_guests, problems = self.problems_of_guests()

            def lines(data):
                text = data.decode("utf-8", "backslashreplace").replace(folder, "$T").replace("\r", "")
                return [line.rstrip() for line in text.removesuffix("\n").split("\n")] if text else []

            output, errors = lines(output), lines(errors)
        name = f"{os.path.basename(self.path)} on {self.name}"
        if status is None:
            print(f"FAILED {name}: its preparation failed\n" + "\n".join(output + errors))
            return FAILED
        if of_guests == EMULATORS_FAULT:
            self.blame = problems[0]
            print(f"{name}: {self.blame}")
            return EMULATORS_FAULT
        wanted = int(self.fields.get("status", "0"))
        if status != wanted:
            problems.append(f"exit status {status}, expected {wanted}")
        expected = expected_lines(self.fields["output"])
        if not matching.fits(expected, output):
            problems.append(matching.difference(expected, output, "output"))
        if self.path.endswith(".meta") and any(": warning: " in line for line in errors):
            problems.append("an example has warnings")
        if "errors" in self.fields:
            expected = expected_lines(self.fields["errors"])
            if not matching.fits(expected, errors):
                problems.append(matching.difference(expected, errors, "errors"))
        elif stays := next((line for line in errors if STAYS.search(line)), None):
            problems.append(f"a module is left behind: {stays}")
        for problem in problems:
            print(f"FAILED {name}: {problem}")
        if problems:
            print("standard error was:\n" + "\n".join(errors))
        return FAILED if problems else PASSED


def note(text):
    """Adds a note for the end of the whole run."""
    print(text)
    if path := os.environ.get("DJSTAP_TEST_NOTES"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text + "\n")


def run_case(path, djstap, kernel, kernel_arguments, parallel):
    try:
        fields = read_case(path)
        reason = reason_to_skip(fields, kernel)
        if not reason and "DJSTAP_HANDLER_FORMS" in os.environ:
            reason = fields.get("not-in-forms")
        if not reason and kernel not in KERNELS + DEBUG_KERNELS and not kernel_folder_in(os.environ, kernel):
            reason = f"there is no kernel {kernel}: scripts/kernels {kernel} fetches it"
        if reason:
            print(f"{os.path.basename(path)} on {kernel}: skipped: {reason}")
            return SKIPPED
        for _ in range(TRIES):
            runner = Runner(path, djstap, kernel, kernel_arguments, parallel)
            in_parallel = " in parallel" if runner.parallel else ""
            if runner.parallel:
                note(f"started in parallel: {os.path.basename(path)} on {kernel}")
            result = runner.check()
            if result != EMULATORS_FAULT:
                break
            note(f"retried{in_parallel}: {os.path.basename(path)} on {kernel}: {runner.blame}")
    except (ValueError, OSError, re.error, subprocess.TimeoutExpired) as error:
        print(f"FAILED {path}: {error}")
        result = FAILED
    print(f"{os.path.basename(path)} on {kernel}: " + ("passed" if result == PASSED else "failed"))
    return PASSED if result == PASSED else FAILED


def main():
    parser = argparse.ArgumentParser(description="Runs djstap's kernel cases.")
    parser.add_argument("--djstap", help="the program to test")
    parser.add_argument("--kernel", help="6.1, 6.12, sanitized, races, or another that djstap finds; default: all that a case names")
    parser.add_argument("--kernel-arguments", default="", help="added to each kernel's command line: preempt=full")
    parser.add_argument("--parallel", action="store_true", help="four processors that run at the same time")
    parser.add_argument("--seed", type=int, default=1, help="of the load's pauses")
    parser.add_argument("--handler-forms", choices=("called", "context", "separate"), help="in place of those that fit their number and size")
    parser.add_argument("--without-symbols", action="store_true", help="with the kernels of the folder newest-kernel")
    parser.add_argument("--list", action="store_true", help="only print each case's kernels")
    parser.add_argument("cases", nargs="+")
    options = parser.parse_args()
    if options.list:
        for path in options.cases:
            fields = read_case(path)
            print(os.path.basename(path), *(kernel for kernel in KERNELS if kernel in kernels_of(fields)), *debug_kernels_of(fields),
                  *(field for field in OTHER_RUNS if field in fields),
                  *(f"nightly-on-{kernel}" for kernel in nightly_kernels_of(fields)))
        return PASSED
    if not options.djstap:
        parser.error("--djstap is needed")
    if options.without_symbols:
        os.environ["DJSTAP_KERNELS"] = beside_kernels("newest-kernel")
    os.environ["SEED"] = str(options.seed)
    if options.handler_forms:
        os.environ["DJSTAP_HANDLER_FORMS"] = options.handler_forms
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda ended_by, _: sys.exit(128 + ended_by))
    results = [run_case(path, options.djstap, kernel, options.kernel_arguments, options.parallel)
               for path in options.cases
               for kernel in ([options.kernel] if options.kernel else kernels_of(read_case(path)))]
    if FAILED in results:
        return FAILED
    return PASSED if PASSED in results else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
