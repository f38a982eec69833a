# SPDX-License-Identifier: GPL-2.0-or-later
"""What a marker costs in a loop, unconnected and connected, beside other probes: markers/micro.c in a guest."""
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field

import compiled_script
import guest
import page

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "markers")
TRIES = 5  # of markers/micro.c, which reports the fastest
ITERATIONS = 1000
ITERATIONS_TIMED = 10000

SETUP = """
insmod /modules/micro.ko iterations=%(iterations)d
cd /sys/module/micro/parameters
"""
# $1: the loop. Its result ends up in a file, because djrun's command prints between the records.
RUN = "#!/bin/sh\necho $1 >/sys/module/micro/parameters/run && cat /sys/module/micro/parameters/took >/tmp/took\n"


@dataclass
class Row:
    """A loop, what is connected to it, and what to compare it with."""
    title: str
    loop: str
    base: str
    call: str = ""  # a C function of markers/micro.c
    point: str = ""  # of a djstap script, within the module
    body: str = ""
    options: list = field(default_factory=list)
    mechanism: str = ""  # that djrun must report
    target: int | None = None  # instructions, at most
    document: str = ""  # cycles of a Pentium 4

    @property
    def script(self):
        declared = "global n " if self.body == "n++" else ""
        end = " probe end { println(n) }" if self.body == "n++" else ""
        return f"{declared}probe module(@1).{self.point} {{ {self.body} }}{end}"


RECORD = r'printf("%d %p\n", $arg1, $arg2)'
KINDS = [("optimized", "optimized"), ("optimized_nopreempt", "optimized, preemption disabled before"), ("generic", "generic"),
         ("generic_nopreempt", "generic, preemption disabled before")]
CALLS = [("empty", "an empty C function"), ("typed", "C, the arguments as numbers"), ("variable", "C, by `va_arg`"),
         ("decoded", "C, by `va_arg` as the format tells at run time")]
# The document's "optimized" and "generic" markers.
UNCONNECTED_IN_DOCUMENT = {("empty", "optimized"): "2.50", ("empty", "generic"): "1.17", ("copy", "optimized"): "0.074",
                           ("copy", "generic"): "2.123"}
CONNECTED_IN_DOCUMENT = {"empty": "48.11", "variable": "+ 8.03", "decoded": "+ 8.03 + 40.48"}


def unconnected_rows():
    rows = []
    for work, title in (("empty", "empty loop"), ("copy", "loop of copies")):
        for kind, kind_title in (KINDS[0], KINDS[2], ("tracepoint", "tracepoint")):
            rows.append(Row(f"{title}: {kind_title}", f"{work}_{kind}", f"{work}_none",
                            target=1 if kind == "optimized" else None,
                            document=UNCONNECTED_IN_DOCUMENT.get((work, kind), "")))
    return rows + [Row("a function's fentry no-op (djprobe, not attached)", "call_function", "call_none"),
                   Row("nothing (int3 kprobe, not attached)", "call_none", "call_none")]


def connected_rows():
    rows = []
    for kind, title in KINDS + [("tracepoint", "tracepoint")]:
        for call, call_title in CALLS:
            if kind == "tracepoint" and call in ("variable", "decoded"):
                continue  # the kernel has no tracepoints of this kind
            rows.append(Row(f"{title}: {call_title}", f"empty_{kind}", "empty_none", call,
                            document=CONNECTED_IN_DOCUMENT.get(call, "") if kind == "optimized" else ""))
    for kind, title in (KINDS[0], KINDS[2]):
        rows.append(Row(f"loop of copies, {title}: an empty C function", f"copy_{kind}", "copy_none", "empty"))
    return rows


def script_rows():
    rows = []
    for kind, title in KINDS:
        for body in ("n++", RECORD):
            rows.append(Row(f"{title}: `{body}`", f"empty_{kind}", "empty_none", point=f'mark("empty_{kind}")', body=body,
                            mechanism="marker", target=20 if (kind, body) == ("optimized", "n++") else None))
    for body in ("n++", RECORD.replace("$arg1", "$value").replace("$arg2", "$pointer")):
        rows.append(Row(f"tracepoint: `{body}`", "empty_tracepoint", "empty_none", point='trace("bench_point")', body=body,
                        mechanism="tracepoint"))
    for mechanism, title in (("djprobe", "djprobe"), ("kprobe-int3", "int3 kprobe")):
        for body in ("n++", RECORD.replace("$arg1", "$value").replace("$arg2", "$pointer")):
            rows.append(Row(f"{title} on a function: `{body}`", "call_function", "call_none", point='function("probed")',
                            body=body, mechanism=mechanism, options=[f"--mechanism={mechanism}"]))
    return rows


def all_rows():
    return unconnected_rows() + connected_rows() + script_rows()


def build(release, folder, flags="", goals=("modules",)):
    """Builds markers/ in `folder`."""
    for name in os.listdir(FOLDER):
        if name.endswith(".c") or name == "Kbuild":
            with open(os.path.join(FOLDER, name), encoding="utf-8") as source, \
                    open(os.path.join(folder, name), "w", encoding="utf-8") as copy:
                copy.write(source.read())
    build_folder = f"{guest.KERNELS}/{release}/lib/modules/{release}/build"
    done = subprocess.run(["make", "-s", "-C", build_folder, f"M={folder}", f"DJSTAP_INCLUDE={page.ROOT}/runtime/include",
                           f"KCFLAGS={flags}", *goals], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise guest.Failed(f"{FOLDER} does not build:\n{done.stdout}{done.stderr}")


def program(folder, name):
    """Compiles a program of markers/ and returns its path."""
    path = os.path.join(folder, name)
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, os.path.join(FOLDER, name + ".c")], check=True)
    return path


def natively():
    """Returns {row of markers/userspace.c: nanoseconds} on this machine."""
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        done = subprocess.run([program(folder, "userspace")], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def commands_of(rows):
    """The shell commands of all rows: "@row NUMBER", "@took TICKS NANOSECONDS", and what shows that nothing is missed."""
    text = "".join(f"run {base} && echo \"@base {base} $(cat /tmp/took)\"\n" for base in sorted({row.base for row in rows}))
    for kind, _ in KINDS + [("tracepoint", "")]:
        text += (f"echo counted >connect; echo 0 >hits; run empty_{kind}; echo \"@hits {kind} $(cat hits)\"\n"
                 "echo none >connect\n")
    for number, row in enumerate(rows):
        text += f"echo '@row {number}'; rm -f /tmp/took\n"
        if row.call:
            text += f"echo {row.call} >connect; run {row.loop}; echo none >connect\n"
        elif row.point:
            text += (f"djrun -v -s 16 -o /tmp/out -c 'run {row.loop}' /modules/row{number}.ko >/tmp/log 2>&1\n"
                     "echo \"@log $(tr '\\n' ' ' </tmp/log | head -c 500)\"\n"
                     "echo \"@lines $(wc -l </tmp/out) $(grep -v '^$' /tmp/out | head -n 1)\"\n")
        else:
            text += f"run {row.loop}\n"
        text += "echo \"@took $(cat /tmp/took)\"\n"
    return text


def check(row, part, iterations):
    """Raises Failed unless every iteration of a script's row was handled, by the mechanism that it names."""
    hits = TRIES * iterations
    log, lines = re.search(r"^@log (.*)$", part, re.MULTILINE), re.search(r"^@lines (\d+) ?(.*)$", part, re.MULTILINE)
    counted = lines and (lines[2].strip() == str(hits) if row.body == "n++" else int(lines[1]) >= hits)
    if not log or not counted or f": {row.mechanism}" not in log[1] or re.search(r"\blost\b|\bmissed\b|\bskipped\b", log[1]):
        raise guest.Failed(f"{row.title}: not every one of {hits} hits was handled by {row.mechanism}:\n{part}")


def results_of(rows, console, iterations, column):
    """Returns what each row adds to an iteration: instructions (column 0) or nanoseconds (column 1)."""
    bases = {match[1]: (int(match[2]), int(match[3]))
             for match in re.finditer(r"^@base (\w+) (\d+) (\d+)$", console, re.MULTILINE)}
    hits = re.findall(r"^@hits \w+ (\d+)$", console, re.MULTILINE)
    if len(hits) != len(KINDS) + 1 or set(hits) != {str(TRIES * iterations)}:
        raise guest.Failed(f"the connected function was not called {TRIES * iterations} times: {hits}\n{console[-2000:]}")
    found = []
    parts = re.split(r"^@row \d+\n", console, flags=re.MULTILINE)[1:]
    for row, part in zip(rows, parts):
        took = re.search(r"^@took (\d+) (\d+)$", part, re.MULTILINE)
        if not took or row.base not in bases:
            raise guest.Failed(f"{row.title}: {part}")
        if row.point:
            check(row, part, iterations)
        found.append((int(took[1 + column]) - bases[row.base][column]) / iterations)
    if len(found) != len(rows):
        raise guest.Failed(f"{len(found)} of {len(rows)} rows ran:\n{console[-2000:]}")
    return found


def measure(release, djstap):
    """Returns (rows, instructions of each, nanoseconds of each)."""
    rows = all_rows()
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        build(release, folder)
        module = os.path.join(folder, "micro.ko")
        scripts = {f"modules/row{number}.ko": compiled_script.module(djstap, release, folder, f"row{number}", *row.options, "-e",
                                                                     row.script, module)
                   for number, row in enumerate(rows) if row.point}
        results = []
        for column, iterations in enumerate((ITERATIONS, ITERATIONS_TIMED)):
            print(f"  markers on {release}, {'by the clock' if column else 'counting instructions'} …", flush=True)
            archive = guest.base_archive()
            archive.program(os.path.join(os.path.dirname(djstap), "djrun"))
            archive.text("bin/run", RUN)
            for name, path in {"modules/micro.ko": module, **scripts}.items():
                archive.file(name, path)
            console = guest.run(release, archive, SETUP % {"iterations": iterations} + commands_of(rows), not column)
            results.append(results_of(rows, console, iterations, column))
    return rows, *results
