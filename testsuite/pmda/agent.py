#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""djstap's agent of Performance Co-Pilot in a pmcd of the test's own: what clients see of recordings, and of scripts that run in
user space.

    agent.py --djstap build/release/bin/djstap --agent build/release/bin/pmdadjstap --client build/release/bin/pcp_fetch_client
"""
import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request

sys.dont_write_bytecode = True
import fetch  # noqa: E402
import stored  # noqa: E402
import frames  # noqa: E402
import own_pmcd  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LOG, LINEAR = 1, 2  # of histograms
SHAPE = LINEAR, 4, 0, 10, 5
VARIABLES = [("calls", "number", 0, False, "Calls so far [counter, count]"), ("by", "number", 2, False, "Bytes of each [KB]"),
             ("took", "statistic", 1, True, "How long it took [us]"), ("size", "statistic", 0, False, ""),
             ("none", "statistic", 0, False, ""), ("last", "text", 0, False, "The last one"), ("_odd", "number", 0, False, ""),
             ("x_odd", "number", 0, False, "")]
SHOWN = [frames.values(0, [frames.element([], [-7])]),
         frames.values(1, [frames.element(["a b", -1], [3]), frames.element(["a,b%", 2], [4]), frames.element(["", 0], [5])]),
         frames.values(2, [frames.element(["x"], [3, 1, 9, 12, 4], [0, 2, 1, 0]), frames.element(["y"], [1, 40, 40, 40, 40], [0, 0, 0, 1])],
                       SHAPE),
         frames.values(3, [frames.element([], [2, -5, 5, 0, 0])]), frames.values(5, [frames.element([], 'say "hi"')]),
         frames.values(6, [frames.element([], [1 << 40])]), frames.values(7, [frames.element([], [6])])]
COUNTS = [3, 2, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 6, 0, 0, 0, 1]
SCRIPT = """
global ticks # Ticks of the timer [counter]
# Every second tick,
// in a # list [ms]
global seen
global quoted = "x # y" /* Behind a text */
probe timer.ms(5) { ticks++; seen["even", ticks % 2 == 0] <<< ticks % 10; quoted = "#" }
probe never { println(ticks, quoted) print(@hist_linear(seen["", 0], 0, 10, 5)) }
"""


@contextlib.contextmanager
def folder():
    """Where pmcd's user may read."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        yield path


def write(path, content, mode=0o644):
    with open(path, "wb" if isinstance(content, bytes) else "w") as file:
        file.write(content)
    os.chmod(path, mode)
    return path


def expect(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}:\n{found!r}\nexpected\n{expected!r}")


def check_recording(options):
    """Every kind of global, as clients see it."""
    with folder() as where:
        recorded = write(os.path.join(where, "web-1.snapshots"),
                         frames.description("m", VARIABLES) + frames.message("careful", False) + frames.variables_at(5, SHOWN, COUNTS, True))
        same = write(os.path.join(where, "web_1.snapshots"), frames.description("m", VARIABLES[:1]))
        with own_pmcd.Pcp(where, options.agent, "--recorded", recorded, "--recorded", same) as pmcd:
            value, name = pmcd.values, "djstap.web_1."
            expect("names", sorted(each for each in pmcd.names() if each.startswith(name)), sorted(
                [name + each for each in ("calls", "by", "last", "x_odd", "xx_odd", "took.histogram")] +
                [name + of + part for of in ("took", "size", "none") for part in (".count", ".sum", ".min", ".max", ".average")]))
            expect("a number", value(name + "calls"), -7)
            expect("a large one, beside another global of this name", [value(name + each) for each in ("xx_odd", "x_odd")], [1 << 40, 6])
            expect("a text", value(name + "last"), 'say "hi"')
            expect("an array", value(name + "by"), {"a%20b,-1": 3, "a%2cb%25,2": 4, ",0": 5})
            for part, x, y in ("count", 3, 1), ("min", 1, 40), ("max", 9, 40), ("sum", 12, 40), ("average", 4, 40):
                expect(part, value(f"{name}took.{part}"), {"x": x, "y": y})
            expect("buckets", value(name + "took.histogram"), {"x:0..4": 2, "x:5..9": 1, "y:>=10": 1})
            expect("a scalar", [value(f"{name}size.{part}") for part in ("count", "min", "max", "sum")], [2, -5, 5, 0])
            expect("no values", [value(f"{name}none.{part}") for part in ("count", "min")], [0, {}])
            agent = "djstap.agent.script."
            expect("counts", [value(agent + each)["web_1"] for each in ("lost", "skipped", "errors", "incomplete")], [5, 6, 6, 1])
            expect("another one of its name", value(agent + "message"), {"web_1": same + " is not shown: its name is that of another recording"})
            described = pmcd.run("pminfo", "-dtT", name + "calls", name + "took.max", name + "took.count", name + "by").stdout
            for words in ("[Calls so far [counter, count]]", "Semantics: counter  Units: count", "Units: microsec", "Units: Kbyte",
                          "Greatest value of global took of script web_1"):
                expect(words, words in described, True)
            one = pmcd.run("pmval", "-s", "1", "-i", "y", name + "took.max").stdout
            expect("one instance", [line.split() for line in one.splitlines()][-1], ["40"])
            table = pmcd.run("pmrep", "-r", "-p", "-s", "1", "-i", "x", name + "took.count", name + "last").stdout.splitlines()
            expect("pmrep", table[-1].split()[1:], ["3", "say", '"hi"'])
            check_dashboard(pmcd)
            check_pmproxy(pmcd, name)


def check_pmproxy(pmcd, name):
    """The OpenMetrics endpoint has the same numbers."""
    port = own_pmcd.free_port()
    with subprocess.Popen(["/usr/lib/pcp/bin/pmproxy", "-f", "-A", "-U", "root", "-p", str(port), "-i", "127.0.0.1", "-l", pmcd.path("pmproxy.log"),
                           "-c", write(pmcd.path("pmproxy.conf"), "[pmproxy]\npcp.enabled = true\nhttp.enabled = true\nredis.enabled = false\n"),
                           "-s", pmcd.path("pmproxy.socket")], env=pmcd.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as proxy:
        try:
            def page(metric):
                # One at a time: Python does not read pages of several pieces as pmproxy 6.0 sends them.
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics?names={metric}&hostspec={pmcd.host}", timeout=60) as answer:
                        return answer.read().decode().splitlines()
                except OSError:
                    return None
            pmcd.until(lambda: page(name + "took.count"), "pmproxy does not answer")
            for part in ("count", "min", "max", "sum", "average", "histogram"):
                metric, found = f"{name}took.{part}", {}
                for line in page(metric):
                    if line and not line.startswith("#"):
                        labelled, number = line.rsplit(" ", 1)
                        expect("OpenMetrics", labelled.split("{", 1)[0], metric.replace(".", "_"))
                        found[labelled.split('instname="', 1)[1].split('"', 1)[0]] = int(float(number))
                expect("OpenMetrics: " + part, found, pmcd.values(metric))
        finally:
            proxy.terminate()


def check_many(options):
    """100,000 instances; and recordings that are none."""
    with folder() as where:
        many = os.path.join(where, "many.snapshots")
        fetch.recording(many, 100, 1000)
        bad = write(os.path.join(where, "bad.snapshots"), b"\x05hello")
        few = os.path.join(where, "few.snapshots")
        fetch.recording(few, 1, 3)
        with open(few, "rb") as file:
            cut = write(os.path.join(where, "cut.snapshots"), file.read() + frames.printed(1, "x")[:-1])
        recorded = [word for each in (many, bad, cut, "/nonexistent") for word in ("--recorded", each)]
        with own_pmcd.Pcp(where, options.agent, *recorded) as pmcd:
            (_, _), found = fetch.measure(pmcd, options.client, [f"djstap.many.a{i}" for i in range(100)], 1)
            expect("instances", found, 100_000)
            expect("an element", pmcd.values("djstap.many.a99")["key999"], 99_999)
            states = pmcd.values("djstap.agent.script.state")
            expect("states", states, {"many": "ended", "bad": "failed", "cut": "failed", "nonexistent": "failed"})
            messages = pmcd.values("djstap.agent.script.message")
            expect("damage", "damaged" in messages["bad"], True)
            expect("a recording that was cut off", "the last frame is incomplete" in messages["cut"], True)
            expect("what it has", pmcd.values("djstap.cut.a0"), {f"key{i}": i for i in range(3)})


def check_former(options):
    """Instances that are gone keep their numbers for a while, then they are forgotten."""
    def recording(path, keys_of_snapshots):
        shots = [frames.variables_at(i, [frames.values(0, [frames.element([f"k{key}"], [key]) for key in keys])])
                 for i, keys in enumerate(keys_of_snapshots)]
        return write(path, frames.description("m", [("by", "number", 1, False, "")]) + b"".join(shots))

    with folder() as where:
        few = recording(os.path.join(where, "few.snapshots"), [range(10), range(10, 20), range(10)])
        # 22 times a thousand new ones, and the first of all again.
        many = recording(os.path.join(where, "many.snapshots"), [range(i, i + 1000) for i in range(0, 22_000, 1000)] + [range(1000)])
        with own_pmcd.Pcp(where, options.agent, "--recorded", few, "--recorded", many) as pmcd:
            for name, count, is_known in ("few", 10, True), ("many", 1000, False):
                metric = f"djstap.{name}.by"
                expect(name, pmcd.values(metric), {f"k{key}": key for key in range(count)})
                expect(f"{name}: the number of the first one", 'inst [0 or "k0"]' in pmcd.run("pminfo", "-f", metric).stdout, is_known)


def check_scripts(options):
    """Scripts that run, fail, end, change, may not run; an agent that is killed; what other users may do."""
    with folder() as where:
        scripts = os.path.join(where, "scripts")
        os.mkdir(scripts, 0o755)
        evidence = os.path.join(where, "evidence")
        # Scripts run in user space here.
        program = write(os.path.join(where, "djstap"), f'#!/bin/sh\nexec {options.djstap} --runtime=user "$@"\n', 0o755)
        write(os.path.join(scripts, "good.stp"), SCRIPT)
        write(os.path.join(scripts, "wrong.stp"), "probe begin { nothing() }")
        write(os.path.join(scripts, "over.stp"), "global n probe begin { n = 5; exit() } probe never { println(n) }")
        write(os.path.join(scripts, "open.stp"), SCRIPT, 0o666)
        write(os.path.join(scripts, f"$(touch {os.path.basename(evidence)}).stp"), SCRIPT)
        for name in "one-name", "one_name", "one name":
            write(os.path.join(scripts, f"{name}.stp"), SCRIPT)
        write(os.path.join(scripts, "README"), "no script")
        if os.getuid() == 0:
            os.chown(write(os.path.join(scripts, "foreign.stp"), SCRIPT), 1, 1)
        with own_pmcd.Pcp(where, options.agent, "--scripts", scripts, "--djstap", program) as pmcd:
            def state(name):
                return pmcd.values("djstap.agent.script.state").get(name)

            def ticks():
                found = pmcd.values("djstap.good.ticks")
                return found if isinstance(found, int) else 0
            pmcd.until(lambda: ticks() > 0, "the script shows nothing")
            before = ticks()
            pmcd.until(lambda: ticks() > before, "the script does not go on")
            expect("elements", sorted(pmcd.values("djstap.good.seen.count")), ["even,0", "even,1"])
            buckets = pmcd.values("djstap.good.seen.histogram")
            expect("buckets", sorted(buckets), ["even,0:0..4", "even,0:5..9", "even,1:0..4", "even,1:5..9"])
            described = pmcd.run("pminfo", "-dt", "djstap.good").stdout
            for words in ("djstap.good.ticks [Ticks of the timer [counter]]", "djstap.good.seen.sum [Every second tick, in a # list [ms]]",
                          "djstap.good.quoted [Behind a text]", "Units: millisec"):
                expect(words, words in described, True)
            pmcd.until(lambda: state("wrong") == "failed" and state("over") == "ended", "failures are not seen")
            messages = pmcd.values("djstap.agent.script.message")
            expect("the error", "nothing" in messages["wrong"], True)
            expect("the last value", pmcd.values("djstap.over.n"), 5)
            for name in ("open", "foreign") if os.getuid() == 0 else ("open",):
                expect(name, state(name), "refused")
                expect(name, f"{name}.stp" in messages[name], True)
                expect("the log", f"{name}: {messages[name]}" in pmcd.log(), True)
            listed = pmcd.run("pminfo", "-f", "djstap.agent.script.state").stdout
            expect("one name", [line.split()[-1] for line in listed.splitlines() if "one_name" in line], ['"refused"'])
            expect("one name", "have the same name" in messages["one_name"], True)
            expect("a shell", os.path.exists(evidence) or os.path.exists(os.path.join(scripts, os.path.basename(evidence))), False)
            check_archive(pmcd)
            check_unprivileged(pmcd)
            check_changes(pmcd, scripts, state)
            check_kill(pmcd, ticks, program)


def check_archive(pmcd):
    """pmlogger records what a script counts, and pmval reads it from the archive."""
    archive = pmcd.path("archive")
    config = write(pmcd.path("pmlogger.conf"), "log mandatory on 100 msec { djstap.good.ticks }\n")
    subprocess.run(["/usr/lib/pcp/bin/pmlogger", "-h", pmcd.host, "-c", config, "-l", pmcd.path("pmlogger.log"), "-s", "5", archive],
                   env=pmcd.environment, check=True, timeout=300)
    shown = subprocess.run(["pmval", "-r", "-a", archive, "-t", "100msec", "djstap.good.ticks"], capture_output=True, text=True, check=True)
    values = [int(line.split()[1]) for line in shown.stdout.splitlines() if line[:2].isdigit() and line.split()[1].isdigit()]
    expect("an archive", len(values) > 0 and min(values) > 0 and values == sorted(values), True)


def check_unprivileged(pmcd):
    if os.getuid() != 0:
        return
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    expect("reading", "value" in pmcd.run("pminfo", "-f", "djstap.good.ticks", **as_nobody).stdout, True)
    stored = pmcd.run("pmstore", "djstap.good.ticks", "0", **as_nobody)
    expect("storing", stored.returncode == 0, False)
    expect("storing", "ermission" in stored.stdout + stored.stderr, True)


def check_changes(pmcd, scripts, state):
    """A script that comes, one that changes, one that goes."""
    write(os.path.join(scripts, "over.stp"), "global other # [bytes]\nprobe begin { other = 6; exit() } probe never { println(other) }")
    write(os.path.join(scripts, "late.stp"), SCRIPT)
    os.unlink(os.path.join(scripts, "wrong.stp"))
    pmcd.until(lambda: state("late") == "running" and state("wrong") is None, "changes of the folder are not seen")
    pmcd.until(lambda: pmcd.values("djstap.over.other") == 6, "the changed script is not run")
    expect("the former name", "djstap.over.n" in pmcd.names(), False)


def children(number):
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.splitlines()
    return [int(child) for child, parent in (line.split() for line in listed) if int(parent) == number]


def exists(number):
    try:
        with open(f"/proc/{number}/stat") as status:
            return status.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def check_kill(pmcd, ticks, program):
    """pmcd stays up when its agent is killed, the scripts end with it, and a new agent starts them again."""
    agent = pmcd.agent_id()
    running = children(agent)
    expect("scripts run", len(running) >= 2, True)
    os.kill(agent, signal.SIGKILL)
    pmcd.until(lambda: not any(exists(each) for each in running), "a script outlives the agent")
    expect("pmcd", pmcd.pmcd.poll(), None)
    # pmcd notices at the next request, and starts what has ended when it is told to.
    pmcd.run("pminfo", "-f", "djstap.good.ticks")
    pmcd.pmcd.send_signal(signal.SIGHUP)
    pmcd.until(lambda: pmcd.agent_id() not in (None, agent) and ticks() > 0, "the agent does not come back")
    expect("pmcd", pmcd.pmcd.poll(), None)


def check_dashboard(pmcd):
    """The dashboard is complete, and this agent has each metric of its panels."""
    with open(os.path.join(HERE, "..", "..", "packaging", "grafana", "djstap.json")) as file:
        dashboard = json.load(file)
    for name in ("title", "uid", "schemaVersion", "time", "templating"):
        expect(name, name in dashboard, True)
    panels = dashboard["panels"]
    expect("numbers of panels", len({panel["id"] for panel in panels}), len(panels))
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    names = set(pmcd.names())
    for panel in panels:
        place = panel["gridPos"]
        expect("a place", place["x"] + place["w"] <= 24 and place["h"] > 0, True)
        source = panel["datasource"]
        expect("a source", (source["type"], source["uid"]), (variables["datasource"]["query"], "${datasource}"))
        for target in panel["targets"]:
            metric = variables[target["expr"][1:]]["query"] if target["expr"].startswith("$") else target["expr"]
            expect(metric, metric in names, True)


def check_help(options):
    for arguments, status in (["--help"], 0), (["-?"], 0), (["--unknown"], 1):
        # libpcp frees nothing of an agent that ends.
        shown = subprocess.run([options.agent, *arguments], capture_output=True, text=True, check=False,
                               env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        expect(arguments[0], (shown.returncode, "--recorded" in shown.stdout + shown.stderr), (status, True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for program in ("djstap", "agent", "client"):
        parser.add_argument(f"--{program}", required=True, type=os.path.abspath)
    parser.add_argument("--stored", action="store_true",
                        help="run the scripts that users store: the agent's limit of memory leaves AddressSanitizer no room for its shadow")
    options = parser.parse_args()
    if not own_pmcd.is_installed():
        print("Performance Co-Pilot is not installed: skipped")
        sys.exit(77)
    if options.stored:
        sys.exit(0 if stored.check_runs(options) else 77)
    check_help(options)
    check_recording(options)
    check_many(options)
    check_former(options)
    check_scripts(options)
    stored.check_none_run(options)


if __name__ == "__main__":
    main()
