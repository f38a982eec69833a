# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `scripts/bench tools`: djstap's tools beside bpftrace's of the same purpose, under one workload.

Each tool runs as it is packaged, on few and on many rounds of the workload (toolload.c). What it finds in the additional
rounds is compared. Its cost is the CPU time, in instructions, that additional rounds of one part of the workload take, of
the workload and of the tool's own processes, less those without a tool. Starting the tool is the same in both runs.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import compiled_script
import guest
import kernels
import packages
import page

HERE = os.path.dirname(os.path.abspath(__file__))
# Of the parts: the fewer instructions a round takes, the more rounds. The CPU time of starting a tool differs from run to run.
ROUNDS = {"all": (20, 120), "memory": (10, 30), "programs": (50, 350), "syncs": (100, 20100)}
PART_ROUNDS = 100, 2100  # of the others
BPFTRACE_TOOLS = "/usr/sbin"

# $1: the key, $2: the part of the workload, $3: rounds; then the command. Its output is in /tmp/out.
RUN = """#!/bin/sh
key=$1 part=$2 rounds=$3
shift 3
: >/tmp/out
toolload --cost "$@" >/tmp/log 2>&1 </dev/null ||
    echo "@problem $key $(grep -i -m 1 error /tmp/log || grep -v '^@cost' /tmp/log | tail -n 1)"
cat /tmp/log >>/tmp/out
grep -h -i -m 1 -E 'lost [0-9]+ events|records? w.* lost|skipped' /tmp/out | sed "s/^/@problem $key /"
echo "@run $key $part $rounds $(sed -n 's/^@cost //p' /tmp/log) $(sh /counts/$key </tmp/out)"
"""
BEGIN = """
mkdir -p /cgroup /tmp/toolload
mount -t cgroup2 cgroup /cgroup && echo +memory >/cgroup/cgroup.subtree_control
mkdir /cgroup/toolload && echo 2M >/cgroup/toolload/memory.max
echo 1 >/proc/sys/kernel/printk
ip link set lo up
"""


@dataclass
class Tool:
    """One of djstap's tools, and bpftrace's. The counts are shell commands that read an output."""
    name: str
    arguments: str
    count: str
    peer: str
    peer_count: str
    what: str  # is counted
    part: str  # of the workload, for the cost
    expected: object = None  # in a round of all parts, if the workload alone determines it
    differs: str = ""  # why the counts may differ
    all: str = "all"  # the part for the counts
    costs: bool = True  # False: the part itself varies by more than a tool adds


def lines(pattern):
    return f"grep -c -E '{pattern}'"


def total(column, pattern):
    """Adds up a column of the lines that a pattern matches."""
    return f"grep -E '{pattern}' | awk '{{ s += ${column} }} END {{ print s + 0 }}'"


# A histogram of bpftrace, `[8, 16)   12 |@@@ |`, and the number that djstap prints above its own.
_HISTOGRAM = r"sed -n 's/^[[(].*[])] *\([0-9]*\) |.*/\1/p' | awk '{ s += $1 } END { print s + 0 }'"
_VFS = r"vfs_(open|fsync_range|getattr|statx|fstatat)"
TOOLS = (
    Tool("opens", "", lines("^toolload "), "opensnoop", lines("^[0-9]+ +toolload "), "files that the workload opens", "opens", 15),
    Tool("execs", "", lines("/bin/toolload 0$"), "execsnoop", lines("/bin/toolload 0 *$"), "programs that it starts", "programs", 1),
    Tool("signals", "", lines("^toolload +[0-9]+ USR1 "), "killsnoop", lines("^[0-9:]+ +[0-9]+ +toolload +10 "),
         "signals that it sends by kill()", "signals", 5),
    Tool("syscalls", "--rows 1000", total(1, "^ *[0-9]+ toolload "), "syscount", total(2, r"^@process\[toolload\]"),
         "its system calls", "syncs"),
    Tool("capabilities", "", total("NF", "^toolload "), "capable", lines("^[0-9:]+ +[0-9]+ +[0-9]+ +toolload "),
         "capabilities that it needs", "checks", 5),
    Tool("fsync", "", lines(r"^toolload\("), "syncsnoop", lines("^[0-9:]+ +[0-9]+ +toolload "), "fsyncs", "syncs", 3),
    Tool("counts", "'vfs_*'", total(1, f"^ *[0-9]+ {_VFS}$"), "vfscount", total(2, rf"^@\[{_VFS}\]"),
         "calls of `vfs_open`, `vfs_fsync_range`, `vfs_getattr`, `vfs_statx` and `vfs_fstatat`, of all processes", "syncs"),
    Tool("lookups", "", total(2, "^toolload "), "dcsnoop", lines("^[0-9]+ +[0-9]+ +toolload +R"),
         "components of paths that it looks up", "opens"),
    Tool("tcp-connects", "", lines("^toolload +[0-9]+ connect "), "tcpconnect", lines("^[0-9:]+ +[0-9]+ +toolload "),
         "connections that it opens", "connections", 1),
    Tool("tcp-connects", "", lines("^toolload +[0-9]+ accept "), "tcpaccept", lines("^[0-9:]+ +[0-9]+ +toolload "),
         "connections that it accepts", "connections", 1),
    Tool("tcp", "", lines(" CLOSE$"), "tcplife", lines("^[0-9]+ +toolload .*127.0.0.1"), "ends of connections", "connections", 2),
    Tool("run-queue", "", r"sed -n 's/^\([0-9]*\) waits, .*/\1/p'", "runqlat", _HISTOGRAM, "waits for a CPU, of all tasks", "exchanges",
         differs="each tool's own processes wait, too"),
    Tool("oom", "", lines("toolload +[0-9]+ toolload "), "oomkill", lines("OOM kill of PID .*toolload"),
         "processes that the kernel kills because they need too much memory", "memory", 1, all="memory", costs=False),
)
NEAR = 0.02  # of counts that may differ


SOURCES = "env BPFTRACE_KERNEL_SOURCE=/ksource BPFTRACE_KERNEL_BUILD=/kbuild "
NEED_SOURCES = ("runqlat",)  # the types of its kernel alone do not suffice: it includes a header


@dataclass
class Outcome:
    """What a tool finds in a round, and in one of its part, and the instructions that such a round takes."""
    found: float = 0
    in_part: float = 0
    cost: float = 0
    problem: str = ""


def closure(compiler, flags, header):
    """Returns the headers that a header includes, as a compiler finds them."""
    done = subprocess.run([compiler, "-M", *flags, "-x", "c", "-"], input=f"#include <{header}>\n", capture_output=True, text=True)
    return {os.path.normpath(word) for word in done.stdout.replace("\\\n", " ").split()[1:] if word.startswith("/")}


def add_headers(archive, release):
    """Adds what bpftrace's tools include: sys/socket.h of user space, and the kernel's linux/sched.h in /kbuild and /ksource,
    where bpftrace finds it with SOURCES in its environment."""
    for path in closure("gcc", [], "sys/socket.h"):
        archive.file(path.lstrip("/"), path)
    roots = [(os.path.realpath(f"{guest.KERNELS}/{release}/lib/modules/{release}/{name}"), "k" + name) for name in ("source", "build")]
    folders = [f"{name}{generated}{api}" for api in ("", "/uapi") for name in ("arch/x86/include", "include")
               for generated in ("", "/generated")]
    flags = ["-nostdinc", "-D__KERNEL__", "-D__BPF_TRACING__", "-include", f"{roots[0][0]}/include/linux/kconfig.h",
             *(f"-I{root}/{folder}" for folder in folders for root, _ in roots)]
    headers = closure("clang-19", flags, "linux/sched.h") | closure("gcc", flags, "linux/sched.h")
    for root, short in roots:
        for path in headers:
            if path.startswith(root + "/"):
                archive.file(f"{short}/{os.path.relpath(path, root)}", path)
        for folder in ("include", "arch/x86/include"):
            archive.folder(f"{short}/{folder}")


def program(folder):
    """Compiles the workload."""
    path = os.path.join(folder, "toolload")
    subprocess.run(["gcc", "-O1", "-static", "-o", path, os.path.join(HERE, "toolload.c")], check=True)
    return path


def module(djstap, release, folder, tool):
    """Returns (path, "") of a tool's module, or (None, why there is none)."""
    name = "tool_" + tool.name.replace("-", "_")
    path = os.path.join(folder, name + ".ko")
    if os.path.exists(path):
        return path, ""
    return compiled_script.module_or_why(djstap, release, folder, name, "--example", tool.name, "--", *re.findall(r"[^\s']+", tool.arguments))


def keys(tool):
    """Returns (key of djstap's runs, key of bpftrace's): each pair has its own."""
    return f"djstap-{tool.peer}", f"bpftrace-{tool.peer}"


def rounds_of(part):
    return ROUNDS.get(part, PART_ROUNDS)


def added(runs, part):
    """Returns (instructions, count) that an additional round of a part adds, or None."""
    few, many = rounds_of(part)
    if not all((part, rounds) in runs for rounds in (few, many)):
        return None
    return tuple((after - before) / (many - few) for before, after in zip(runs[part, few], runs[part, many]))


def read(console, chosen, problems):
    """Returns ({key: Outcome}, {part: instructions of a round without a tool}) from the guest's output."""
    runs, outcomes = {}, {key: Outcome(problem=why) for key, why in problems.items()}
    failed = dict(re.findall(r"^@problem (\S+) (.*)$", console, re.MULTILINE))
    for key, part, rounds, cost, count in re.findall(r"^@run (\S+) (\w+) (\d+) (\d*) ?(\d*)$", console, re.MULTILINE):
        runs.setdefault(key, {})[part, int(rounds)] = (int(cost or 0) * 1000, int(count or 0))
    bases = {tool.part: result[0] for tool in chosen for result in [added(runs.get("none", {}), tool.part)] if result}
    for tool in chosen:
        for key in keys(tool):
            if key in outcomes:
                continue
            counted, costed = added(runs.get(key, {}), tool.all), added(runs.get(key, {}), tool.part)
            if key in failed:
                outcomes[key] = Outcome(problem=failed[key].strip())
            elif not counted or not costed or tool.part not in bases:
                outcomes[key] = Outcome(problem="it did not end")
            else:
                outcomes[key] = Outcome(counted[1], costed[1], costed[0] - bases[tool.part])
    return outcomes, bases


def run_lines(key, parts, command):
    """Returns the runs of a command on few and many rounds of parts. The first one only warms up."""
    script = ""
    for part in dict.fromkeys(parts):
        load = "" if part == "all" else " " + part
        for rounds in (rounds_of(part)[0], *rounds_of(part)) if not script else rounds_of(part):
            script += f"run {key} {part} {rounds} {command.format(load=f'toolload {rounds}{load}')}\n"
    return script


def measure_kernel(release, djstap, chosen=TOOLS, show_console=False):
    """Returns what read() returns."""
    archive, problems, script = guest.base_archive(), {}, BEGIN + "export BPFTRACE_PERF_RB_PAGES=4096\n"
    archive.text("bin/run", RUN)
    archive.text("counts/none", "cat >/dev/null\n")
    archive.program(os.path.join(os.path.dirname(djstap), "djrun"))
    archive.program(shutil.which("bpftrace"))
    add_headers(archive, release)
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        archive.file("bin/toolload", program(folder))
        script += run_lines("none", ["all", *(tool.part for tool in chosen)], "{load}")
        for tool in chosen:
            own, peer = keys(tool)
            path, why = module(djstap, release, folder, tool)
            if path:
                archive.file("modules/" + os.path.basename(path), path)
                archive.text(f"counts/{own}", tool.count + "\n")
                script += run_lines(own, (tool.all, tool.part),
                                    f"djrun -s 16 -o /tmp/out -c '/bin/{{load}}' /modules/{os.path.basename(path)}")
            else:
                problems[own] = why
            archive.file(f"bt/{tool.peer}.bt", f"{BPFTRACE_TOOLS}/{tool.peer}.bt")
            archive.text(f"counts/{peer}", tool.peer_count + "\n")
            sources = SOURCES if tool.peer in NEED_SOURCES else ""
            script += run_lines(peer, (tool.all, tool.part), f"{sources}bpftrace -o /tmp/out -c '/bin/{{load}}' /bt/{tool.peer}.bt")
        print(f"  running {len(chosen)} tools beside bpftrace's on {release} …", flush=True)
        console = guest.run(release, archive, script, memory_mb=3072, timeout=3000)
    if show_console:
        print(console)
    return read(console, chosen, problems)


def counts_agree(tool, own, peer):
    """Returns what is to be said of a pair's counts."""
    if tool.expected is not None and own.found != tool.expected:
        return f"{page.MISSED}: the workload makes {tool.expected}"
    if own.found == peer.found:
        return "the same"
    near = tool.differs and abs(own.found - peer.found) <= NEAR * peer.found
    return tool.differs if near else page.MISSED


def cost_cell(outcome):
    return f"{outcome.cost / outcome.in_part:,.0f}" if outcome.in_part else "–"


def row_of(tool, outcomes):
    """Returns a row of the table: tool, bpftrace's, what is counted, the counts, and the costs."""
    own, peer = (outcomes[key] for key in keys(tool))
    row = [" ".join(filter(None, (tool.name, tool.arguments))), f"{tool.peer}.bt", tool.what]
    if own.problem:
        return row + [f"not available: {own.problem}", "", page.MISSED, "", "", ""]
    if peer.problem:
        return row + [f"{own.found:g}", f"not available: {peer.problem}", "", cost_cell(own) if tool.costs else "–", "–", ""]
    row += [f"{own.found:g}", f"{peer.found:g}", counts_agree(tool, own, peer)]
    if not tool.costs:
        return row + ["–", "–", "the kernel's own work varies by more than either adds"]
    ratio = peer.cost / own.cost if own.cost > 0 else 0
    return row + [cost_cell(own), cost_cell(peer), f"{ratio:.1f} ×" if ratio > 1 else page.MISSED]


TEXT = """## Tools beside bpftrace's

Tools of djstap and of bpftrace ({bpftrace}, as packaged) that answer the same question observe one workload. A round of it opens
{opened} files, {missing} of them missing, sends 5 signals, needs 5 capabilities, calls fsync 3 times, exchanges 10 bytes with another task by
pipes, opens and accepts a connection, and starts a program; in a workload of its own the kernel kills a process that needs too much
memory. The counts are those of one round, of {rounds} that are compared with {few}.

The costs are instructions that each of these events takes with the tool: its handlers, and its process, which reads, formats and prints what
they record. They are the CPU time of the workload and of the tool's processes in a guest with one CPU where QEMU counts instructions
(`-icount shift=0,sleep=off`), in additional rounds of the part of the workload that the tool is about, less the time without a tool,
divided by what the tool finds there. Runs differ by about 1 % of the time without a tool. Starting a tool is not included: bpftrace
compiles its program in the guest, djstap's module is compiled outside of it. `capabilities` and `lookups` count in the kernel what capable.bt and
dcsnoop.bt print line by line, which is most of their advantage; `tcp` prints each change of a connection's state, tcplife.bt only its end. Measured with {with_what}.

"""


def section(everything, djstap):
    few, many = ROUNDS["all"]
    text = TEXT.format(bpftrace=kernels.first_line(["bpftrace", "--version"]), opened=15, missing=5, rounds=many, few=few,
                       with_what=kernels.measured_with(djstap, [release for release, _ in everything]))
    for release, (outcomes, _) in everything:
        text += f"### Linux {kernels.series_of(release)}\n\n" + page.table(
            ["djstap", "bpftrace", "what is counted", "djstap finds", "bpftrace finds", "", "instructions, djstap", "bpftrace", ""],
            [row_of(tool, outcomes) for tool in TOOLS]) + "\n"
    return text


def add_arguments(parser):
    kernels.add_arguments(parser)
    parser.add_argument("--with-peers", action="store_true", help="install bpftrace where it is missing")
    parser.add_argument("--tools", metavar="REGEX", help="only beside bpftrace's tools whose whole name matches; writes no page")
    parser.add_argument("--console", action="store_true", help="show the guest's output, too")


def main(options):
    djstap = kernels.djstap_of(options)
    if options.with_peers:
        packages.install({"bpftrace": "bpftrace"})
    if not shutil.which("bpftrace") or not os.path.exists(f"{BPFTRACE_TOOLS}/opensnoop.bt"):
        sys.exit("bench: bpftrace is not installed: --with-peers installs it")
    chosen = [tool for tool in TOOLS if re.fullmatch(options.tools or ".*", tool.peer)]
    releases = kernels.releases_of(djstap, options)
    try:
        everything = [(release, measure_kernel(release, djstap, chosen, options.console)) for release in releases]
    except guest.GuestLost as lost:
        sys.exit(f"bench: the guest was lost:\n{lost}")
    failed = False
    for release, (outcomes, bases) in everything:
        print(f"\n{release}, instructions of a round without a tool: " + ", ".join(f"{part} {cost:,.0f}" for part, cost in bases.items()))
        for tool in chosen:
            row = row_of(tool, outcomes)
            print("  " + "  ".join(cell for cell in row if cell))
            failed |= any(map(page.is_missed, row))
    if kernels.both_ran(releases) and not options.tools:
        page.put("tools", section(everything, djstap))
    return 1 if failed else 0
