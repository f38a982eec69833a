#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a script with all outputs at once in user space, and reads each of them with a reader of its own. Then what an
output that cannot be written does.

    session.py --djstap build/release/bin/djstap
"""
import argparse
import os
import pty
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import readers  # noqa: E402

SCRIPT = r"""
global n, a, s, h
probe begin {
    for (i = 0; i < 100; i++) printf("n=%d name=%s\n", i, "x,\"y\"")
    a["k,1", 1] = "one"; a["k\xff", 2] = "two"
    s <<< 4; s <<< 6
    h <<< 10; h <<< 200
    println(@hist_linear(h, 0, 100, 10))
    n = 7; warn("careful")
}
probe timer.ms(1) { printf("reads=%d writes=%d\n", 5, 6); println(1 / (pid() - pid())) }
"""
FILES = {"json": "j", "csv": "v", "perfetto": "p", "ctf": "c", "folded": "f", "svg": "s", "pprof": "b"}
QUICK = "probe begin { println(1) } probe timer.s(600) { exit() }"


def run(djstap, *arguments, **more):
    return subprocess.run([djstap, "--runtime=user", *arguments], capture_output=True, text=True, errors="surrogateescape", timeout=300,
                          check=False, **more)


def all_at_once(djstap):
    done = run(djstap, "--output=text", *(f"--output={form}:{path}" for form, path in FILES.items()),
               "--event-fields=cpu,time", "-e", SCRIPT)
    assert done.returncode == 1, done
    assert done.stderr.count("ERROR: division by 0 near operator '/' at <input>:11:") == 1, done.stderr
    assert done.stderr.count("WARNING: careful\n") == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:100] == [f'n={i} name=x,"y"' for i in range(100)], lines[:3]
    assert "n=7" in lines and "reads=5 writes=6" in lines, lines[-9:]
    objects = readers.json_lines("j")
    prints = [each for each in objects if each["type"] == "printf"]
    assert [each["data"] for each in prints[:100]] == [line + "\n" for line in lines[:100]]
    assert all({"cpu", "time", "probe", "pid", "tid"} <= set(each) for each in prints), prints[0]
    assert sorted(each["time"] for each in prints) == [each["time"] for each in prints]
    kinds = {each["type"]: each["data"] for each in objects}
    assert kinds["map"] and kinds["runtime_error"]["line"] == 11 and kinds["lost_events"]["events"] == 0
    assert {"n": 7} in [each["data"] for each in objects if each["type"] == "map"]
    warnings = [each["data"] for each in objects if each["type"] == "warning"]
    assert warnings[0] == {"message": "careful"}, warnings
    assert kinds["stats"] == {"s": {"count": 2, "min": 4, "max": 6, "total": 10, "average": 5}}
    rows = readers.table("v")
    assert [row["value"] for row in rows if row["name"] == "n"] == ["7"]
    assert {(row["key1"], row["key2"], row["value"]) for row in rows if row["name"] == "a"} == {
        ("k,1", "1", "one"), ("k\udcff", "2", "two")}
    assert [row["total"] for row in rows if row["kind"] == "stats"] == ["10"]
    assert sum(int(row["count"]) for row in rows if row["kind"] == "hist") == 2
    events = readers.perfetto("p")
    assert [e["name"] for e in events if e["name" if "name" in e else "type"].startswith("n=")][:100] == lines[:100]
    counters = {e["track"]: e["value"] for e in events if e["type"] == "counter"}
    assert counters == {"counter reads": 5, "counter writes": 6, "counter n": 7}, counters
    assert any(e.get("name", "").startswith("error: division by 0") for e in events)
    assert [e["name"] for e in events if "careful" in e.get("name", "")] == ["warning: careful"]
    traced = readers.ctf("c")
    assert sum(line.startswith("warning: ") and "careful" in line for line in traced) == 1, traced[-3:]
    assert sum(line.startswith("n=%d name=%s: ") for line in traced) == 100
    assert any(line.startswith("error: ") and "division by 0" in line for line in traced), traced[-3:]
    assert readers.folded("f") == {} and readers.svg("s") == {} and readers.pprof("b") == {}


def failures(djstap):
    def told(*arguments):
        done = run(djstap, *arguments, "-e", QUICK)
        assert done.returncode == 1, done
        return done.stderr
    for form in ["text", *FILES]:
        if form == "ctf":
            continue
        # A session whose output cannot be written ends at once, or when that becomes known.
        script = "probe begin { println(1); exit() }" if form in ("folded", "svg", "pprof") else QUICK
        done = run(djstap, f"--output={form}:/dev/full", "--output=" + ("json" if form == "text" else "text"), "-e",
                   script)
        if form != "folded":  # without a stack it writes nothing
            assert done.returncode == 1 and "/dev/full: No space left on device" in done.stderr, (form, done)
    os.mkdir("folder")
    assert "folder: Is a directory" in told("--output=csv:folder")
    assert "hint: name a file, not a folder" in told("--output=csv:folder")
    with open("file", "w", encoding="utf-8") as file:
        file.write("kept")
    assert "file: Not a directory" in told("--output=ctf:file")
    os.link("file", "other")
    assert "another output writes to other, too" in told("--output=csv:file", "--output=json:other")
    with open("file", encoding="utf-8") as file:
        assert file.read() == "kept"
    assert "nowhere/x: No such file or directory" in told("--output=svg:nowhere/x")
    # A pipe whose reader is gone ends the session without an error.
    done = subprocess.run(["bash", "-c", 'set -o pipefail; "$0" --runtime=user --output=json -e "$1" | head -c 1', djstap,
                           "probe timer.ms(1) { println(1) }"], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == "" and done.stdout == "{", done
    main, terminal = pty.openpty()
    done = subprocess.run([djstap, "--runtime=user", "--output=perfetto", "-e", QUICK], stdout=terminal,
                          stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    os.close(terminal)
    os.close(main)
    assert "Perfetto output is binary and not for terminals" in done.stderr, done
    assert "hint: name a file: --output=perfetto:FILE" in done.stderr, done


def expect(what, found, expected):
    assert found == expected, f"{what}:\n{found}\nexpected\n{expected}"


TWICE = """
global n = 100, a, s, of, last
probe begin {
    for (i = 0; i < $1; i++) { n++; a["x", i % 3] += i; s <<< i; of[i % 2] <<< -i }
    last = $1
    printf("counted %d\\n", $1)
    exit()
}
probe never { print(@hist_linear(s, 0, 20, 10)) }
"""


def merged(djstap):
    """What a script has shown in two runs, as one: sums of all that adds up, other values by run, whatever was missing. Globals that the
    script never reads are not printed by each run, too."""
    djrun = os.path.join(os.path.dirname(djstap), "djrun")
    for name, count in ("web1", 10), ("web2", 25):
        done = run(djstap, f"--output=snapshots:{name}.snapshots", "-e", TWICE, str(count))
        expect("snapshots", (done.returncode, done.stdout, done.stderr), (0, "", ""))

    def merge(*files):
        done = subprocess.run([djrun, "--merge", *files], capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout, done.stderr
    values = [*range(10), *range(25)]
    lines = [f"n={100 + len(values)}"]
    lines += [f'a["x",{key}]={number}' for number, key in
              sorted(((sum(each for each in values if each % 3 == key), key) for key in range(3)), reverse=True)]
    lines += [f"s @count=35 @min=0 @max=24 @sum={sum(values)} @avg={sum(values) // 35}", "  0..9: 20", "  10..19: 10", "  20..29: 5"]
    for key in 0, 1:
        of = [-each for each in values if each % 2 == key]
        lines.append(f"of[{key}] @count={len(of)} @min={min(of)} @max={max(of)} @sum={sum(of)} @avg={-(-sum(of) // len(of))}")
    lines += ["last@web1=10", "last@web2=25"]
    printed = ["web1: counted 10", "web2: counted 25"]
    expect("merged", merge("web1.snapshots", "web2.snapshots"), (0, "".join(line + "\n" for line in printed + lines), ""))
    status, text, missing = merge("web1.snapshots", "gone.snapshots")
    expect("a missing one", (status, text.splitlines()[1], missing),
           (1, "n=110", "gone: all of its values are missing: gone.snapshots: cannot open: No such file or directory\n"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--djstap", required=True)
    djstap = os.path.abspath(parser.parse_args().djstap)
    for check in (all_at_once, failures, merged):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            check(djstap)
            os.chdir("/")
    print("all outputs agree")


main()
