#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs scripts in SystemTap and in djstap, and reports differences between their outputs.

The scripts are the rows with output of this folder's tables and of those in beside/ (see run.py for the format), the
language cases that print in user space, those of generated_scripts.py and random programs, or what is named:

    beside.py --djstap build/release/bin/djstap [TABLE… | SCRIPT.stp…]
    beside.py --djstap build/release/bin/djstap --results     and writes beside/results.md
    beside.py --djstap build/release/bin/djstap --only-random --random 40 --first 300 --results
                                                              more random programs, and their row in it
    beside.py --djstap build/release/bin/djstap -e 'probe begin { println(1) exit() }' [-o '-g']
    beside.py --djstap build/release/bin/djstap --groups '^(kernel.table|language cases)$' --results
                                                              some rows of it
    beside.py --check-results       beside/results.md has a verdict on each script; without SystemTap

SystemTap's modules are compiled here and run in a guest (package systemtap, or --install); its outputs are kept, see
peer_outputs.py. djstap runs each script in user space, or in a guest of the same kernel if the script needs one, and
with --guest each script in a guest. The bytes of the output and the messages about errors ("ERROR: …") are compared.

A row with `differs: NAME` is known to differ; NAME is a row of docs/language.md's table, which gives the reason. If
it no longer differs, that is a failure. `varies: yes`: its output is never the same twice (times, process numbers);
both outputs must then match the row's own. A script that SystemTap rejects or cannot run is listed, but does not
count as equal; one that beside/results.md does not name as such is a failure, as is one whose guest was lost.
"""
import argparse
import collections
import difflib
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "harness"), os.path.join(HERE, "..", "bench")]
import generated_scripts  # noqa: E402
import kernels  # noqa: E402
import matching  # noqa: E402
import packages  # noqa: E402
import peer_outputs  # noqa: E402
import run as tables  # noqa: E402

TIMEOUT = 120
USER_SPACE = "--runtime=user"
EQUAL, DIFFERENT, KNOWN, NOT_RUN, LOST = "equal", "different", "known to differ", "not run by SystemTap", "lost"
RESULTS = os.path.join(HERE, "beside", "results.md")


class Script:
    def __init__(self, name, text, options=(), row=None, group=""):
        self.name, self.text, self.options, self.row, self.group = name, text, list(options), row, group
        self.fields = row.fields if row else {}

    def item(self):
        """Returns the key under which peer_outputs keeps an output."""
        return self.text, tuple(self.options)


def rows_of(path):
    """Returns the scripts of a table's rows that print something."""
    scripts = []
    for row in tables.read_table(path):
        options = shlex.split(row.fields.get("options", ""))
        if row.goal == "output":
            scripts.append(Script(row.name, row.fields["script"], options, row, os.path.relpath(path, HERE)))
    return scripts


def language_case(path):
    """Returns the script of a case that runs in user space and prints, or None."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    found = re.match(r"// run: --runtime=user (.*)%s$", text, re.MULTILINE)
    if not found or not re.search(r"^//\|", text, re.MULTILINE):
        return None
    script = Script(os.path.basename(path), text, shlex.split(found[1]), group="language cases")
    script.fields = dict(re.findall(r"^// (differs): (.*)$", text, re.MULTILINE))
    return script


def default_scripts(options):
    scripts = [] if options.only_random else written_scripts()
    if options.random:
        differential = os.path.join(os.path.dirname(os.path.abspath(options.djstap)), "differential")
        group = f"random programs from seed {options.first}"
        scripts += [Script(name, text, own, group=group)
                    for name, text, own in generated_scripts.random_programs(differential, options.random, options.first)]
        print(group, flush=True)
    return scripts


def written_scripts():
    scripts = []
    for folder in (HERE, os.path.join(HERE, "beside")):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".table"):
                scripts += rows_of(os.path.join(folder, name))
    folder = os.path.join(ROOT, "testsuite", "language")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".stp"):
            case = language_case(os.path.join(folder, name))
            scripts += [case] if case else []
    return scripts + [Script(name, text, group="generated") for name, text in generated_scripts.all_scripts()]


def djstap_output(djstap, where, script):
    """Returns (output, errors, status), or None if it needs a kernel and has none. `where`: options that say how it runs."""
    options = script.options
    end = options.index("--") if "--" in options else len(options)
    command = [djstap, "-w", *where, *options[:end], "-e", script.text, *options[end:]]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode("utf-8", "backslashreplace"), "took too long", None
    output, errors = (data.decode("utf-8", "backslashreplace") for data in (done.stdout, done.stderr))
    if USER_SPACE in where and re.search(r"\[(needs-kernel|no-kernel)\]$", errors, re.MULTILINE):
        return None
    return output, errors, done.returncode


def messages(errors):
    """Returns the run-time errors in a program's standard error."""
    return [line.rstrip() for line in errors.split("\n") if line.startswith("ERROR: ")]


def refusals(errors):
    return [line for line in errors.split("\n") if re.search(r": error: .*\[[a-z0-9-]+\]$", line)]


def difference(script, peer, output, errors):
    """Returns the differences as lines for display; empty: none."""
    refused = refusals(errors)
    if refused:
        return ["djstap refuses it: " + refused[0]]
    if script.fields.get("varies"):
        expected = script.fields["output"].split("\n") if script.fields["output"] else []
        lines = peer["output"].removesuffix("\n").split("\n") if peer["output"] else []
        return [] if matching.fits(expected, lines) else ["SystemTap's output does not fit the row's:", *lines]
    found = []
    if peer["output"] != output:
        found += difflib.unified_diff(peer["output"].split("\n"), output.split("\n"), "SystemTap", "djstap", lineterm="")
    theirs, ours = messages(peer["errors"]), messages(errors)
    if theirs != ours:
        found += difflib.unified_diff(theirs, ours, "SystemTap's errors", "djstap's errors", lineterm="")
    return found


class Judge:
    def __init__(self, djstap, kernel, in_guest, reasons):
        self.djstap, self.reasons = djstap, reasons
        self.guest = [f"--guest={kernel}"]
        self.runtimes = [[USER_SPACE, "-r", kernel]] + ([self.guest] if in_guest else [])
        release = kernels.release_of(djstap, kernel)
        self.outputs = peer_outputs.Outputs(release, lambda text: print(text, file=sys.stderr, flush=True))
        self.results = []

    def judge(self, scripts):
        self.outputs.produce([script.item() for script in scripts])
        for script in scripts:
            self.results.append((script, *self._one(script)))

    def _one(self, script):
        """Returns (result, explanation)."""
        peer = self.outputs.known(script.item())
        if peer["state"] == "lost":
            return LOST, [peer["why"]]
        if peer["state"] != "ran":
            return NOT_RUN, [f"{peer['state']}: {peer['why']}"]
        found = []
        runs = [(where, djstap_output(self.djstap, where, script)) for where in self.runtimes]
        if not any(ours for _, ours in runs):
            runs = [(self.guest, djstap_output(self.djstap, self.guest, script))]
        for where, ours in runs:
            lines = difference(script, peer, *ours[:2]) if ours else []
            found += [f"with {where[0]}:", *lines] if lines else []
        known = script.fields.get("differs")
        if not known:
            return (DIFFERENT, found) if found else (EQUAL, [])
        if known not in self.reasons:
            return DIFFERENT, [f"docs/language.md gives no reason for '{known}'", *found]
        return (KNOWN, [known]) if found else (DIFFERENT, [f"it is marked as different ('{known}'), and is equal"])

    def write_results(self, path):
        """Writes the table of results: nothing in it depends on when or where it was produced. The rows of groups that
        were not run now stay as they are."""
        rows, others_not_run = _earlier_results(path)
        now = {}
        for script, result, lines in self.results:
            now.setdefault(script.group, []).append((result, lines))
        rows.update((group, _counts(results)) for group, results in now.items())
        text = ["# What SystemTap prints, and what djstap prints", "",
                f"{self.outputs.version}, kernel {self.outputs.release}. Written by `testsuite/conformance/beside.py --results`.",
                "What differs on purpose is explained in [docs/language.md](../../../docs/language.md#where-djstap-differs-from-systemtap).",
                "", "| scripts of | scripts | equal | known to differ | different | not run by SystemTap |",
                "|---|--:|--:|---|--:|--:|"]
        text += [_results_row(group, *counts) for group, counts in rows.items()]
        text.append(_results_row("all", *(sum((counts[i] for counts in rows.values()), collections.Counter()) for i in (0, 1))))
        names = tuple(f"- {_unnumbered(script.name)}: " for script, _, _ in self.results)
        not_run = [line for line in others_not_run if not line.startswith(names)]
        # A script's number in its batch is arbitrary.
        not_run += [f"- {_unnumbered(script.name)}: {re.sub(r'm[0-9]{4}_src', 'script', ' '.join(lines))}"
                    for script, result, lines in self.results if result == NOT_RUN]
        text += ["", "## Not run by SystemTap", "", *not_run]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(text if not_run else text + ["None."]) + "\n")

    def report(self):
        unexpected = 0
        _, listed = _earlier_results(RESULTS)
        for script, result, lines in self.results:
            if result in (DIFFERENT, NOT_RUN, LOST):
                print(f"{result.upper()} {script.name}")
                print("\n".join("    " + line for line in lines))
            if result == NOT_RUN and script.group and not any(line.startswith(f"- {_unnumbered(script.name)}: ") for line in listed):
                print("    and beside/results.md does not name it as such")
                unexpected += 1
        counts = {}
        for _, result, _ in self.results:
            counts[result] = counts.get(result, 0) + 1
        print(f"{len(self.results)} scripts: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
        return 1 if counts.get(DIFFERENT) or counts.get(LOST) or unexpected or not self.results else 0


def _unnumbered(name):
    return re.sub(":[0-9]+:", ":", name)


def _counts(results):
    """Returns how often each result occurred, and each reason of a known difference, in a list of (result, explanation)."""
    return (collections.Counter(result for result, _ in results),
            collections.Counter(lines[0] for result, lines in results if result == KNOWN))


def _earlier_results(path):
    """Returns ({group: counts as above}, lines about scripts not run) of a table of results; "all" is left out."""
    if not os.path.exists(path):
        return {}, []
    with open(path, encoding="utf-8") as file:
        table, _, not_run = file.read().partition("\n## Not run by SystemTap\n")
    rows = {}
    for group, equal, known, different, missing in re.findall(
            r"^\| (.+?) \| \d+ \| (\d+) \| (\d.*?) \| (\d+) \| (\d+) \|$", table, re.MULTILINE):
        names = collections.Counter({name: int(count) for count, name in re.findall(r"[:,] (\d+) ([^,]+)", known)})
        rows[group] = (collections.Counter({EQUAL: int(equal), KNOWN: sum(names.values()), DIFFERENT: int(different),
                                            NOT_RUN: int(missing)}), names)
    rows.pop("all", None)
    return rows, [line for line in not_run.split("\n") if line.startswith("- ")]


def _results_row(name, counts, known):
    """Returns a row of the table of results."""
    names = f"{counts[KNOWN]}: " + ", ".join(f"{count} {name}" for name, count in sorted(known.items())) if known else "0"
    return f"| {name} | {sum(counts.values())} | {counts[EQUAL]} | {names} | {counts[DIFFERENT]} | {counts[NOT_RUN]} |"


def write_into_tables(outputs, scripts):
    """Makes SystemTap's output the expected output of the rows, except where they are known to differ."""
    changes = {}
    for script in scripts:
        peer = outputs.known(script.item())
        if script.row and peer["state"] == "ran" and not {"differs", "varies"} & script.fields.keys():
            lines = peer["output"].removesuffix("\n").split("\n") if peer["output"] else []
            changes.setdefault(script.row.path, []).append(
                (script.row, {"output": lines, "errors": messages(peer["errors"])}))
    for path, rows in changes.items():
        tables.update(path, rows)


def documented_reasons():
    """Returns the names in docs/language.md's table of differences from SystemTap."""
    with open(os.path.join(ROOT, "docs", "language.md"), encoding="utf-8") as file:
        section = file.read().partition("\n## Where djstap differs from SystemTap\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| ([^|]+?) \|", section, re.MULTILINE)[1:]


def check_results():
    """Prints the groups of written scripts of which beside/results.md counts more or fewer than there are now."""
    rows, _ = _earlier_results(RESULTS)
    listed = {group: sum(counts.values()) for group, (counts, _) in rows.items() if not group.startswith("random ")}
    now = collections.Counter(script.group for script in written_scripts())
    wrong = sorted(group for group in now.keys() | listed.keys() if now[group] != listed.get(group, 0))
    for group in wrong:
        print(f"{group}: {now[group]} scripts, of which beside/results.md counts {listed.get(group, 0)}: "
              "run beside.py --results with it")
    return 1 if wrong else 0


def named_scripts(options):
    if options.script is not None:
        return [Script("the script", options.script, shlex.split(options.options))]
    if options.groups:
        return [script for script in written_scripts() if re.search(options.groups, script.group)]
    scripts = []
    for path in options.files:
        if path.endswith(".table"):
            scripts += rows_of(path)
            continue
        with open(path, encoding="utf-8") as file:
            scripts.append(Script(path, file.read(), shlex.split(options.options)))
    return scripts or default_scripts(options)


def main():
    parser = argparse.ArgumentParser(description="Compares what scripts print in SystemTap and in djstap.")
    parser.add_argument("--djstap", help="the program to test")
    parser.add_argument("--kernel", default="6.1", help="default: 6.1")
    parser.add_argument("--guest", action="store_true", help="djstap runs in a guest, too")
    parser.add_argument("--install", action="store_true", help="install SystemTap where it is missing (root)")
    parser.add_argument("--update", action="store_true", help="write what SystemTap prints into the tables")
    parser.add_argument("--random", type=int, default=300, metavar="N", help="random programs; default: 300")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first one's seed; default: 1")
    parser.add_argument("--only-random", action="store_true", help="run random programs alone")
    parser.add_argument("--results", action="store_true", help="write the table of results, beside/results.md")
    parser.add_argument("--groups", metavar="REGEX", help="only those of the scripts that are written down")
    parser.add_argument("--check-results", action="store_true", help="only whether the table of results is complete")
    parser.add_argument("-e", dest="script", help="compare this script alone")
    parser.add_argument("-o", dest="options", default="", help="its options")
    parser.add_argument("files", nargs="*", help="tables and scripts; default: all that have output")
    options = parser.parse_args()
    if options.check_results:
        return check_results()
    if not options.djstap:
        parser.error("--djstap is needed")
    if options.install:
        packages.install(["systemtap"])
    djstap = os.path.abspath(options.djstap)
    judge = Judge(djstap, options.kernel, options.guest, documented_reasons())
    if not judge.outputs.version:
        print("skipped: SystemTap is not installed (--install installs it)")
        return 77
    scripts = named_scripts(options)
    judge.judge(scripts)
    if options.script is not None:
        peer = judge.outputs.known(scripts[0].item())
        print(peer.get("output", ""), end="")
        print(peer.get("errors", "") or peer.get("why", ""), file=sys.stderr)
    if options.update:
        write_into_tables(judge.outputs, scripts)
    if options.results and judge.outputs.lost:
        print("beside/results.md is not written, because guests were lost")
    elif options.results:
        judge.write_results(RESULTS)
    return judge.report()


if __name__ == "__main__":
    sys.exit(main())
