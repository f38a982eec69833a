# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the programs of cases.PEERS in guests of the same kind."""
import os
import re
import shutil
from dataclasses import dataclass, field

import cases
import guest
import kernels
import lttng
import measure
import packages
import systemtap


@dataclass
class PeerRun:
    """The cost of one peer on one kernel."""
    tool: str
    outcomes: dict = field(default_factory=dict)  # {key: Outcome}; including "unprobed"
    problem: str = ""  # why there are none
    note: str = ""  # its version, and what was changed to make it run


def _guest(release, djstap, calls, archive, plan, before=""):
    measure.add_samples(archive, djstap, calls)
    console = guest.run(release, archive, "export T=/tmp B=/bin M=/modules\n" + before + plan.text, memory_mb=3072, timeout=1800)
    return plan.outcomes(console)


def _lines_remark(calls):
    """Returns a remark if fewer lines were printed than there were hits."""
    hits = calls * measure.MIN_HITS
    return lambda log, lines, first: "" if lines >= hits else f"it lost {hits - lines:,} of {hits:,} lines"


def _bpftrace_plan(calls):
    plan = measure.Plan(calls)
    plan.add("unprobed", "sh $B/samples")
    for peer in cases.BPFTRACE:
        plan.add(peer.key, f"env BPFTRACE_PERF_RB_PAGES=4096 bpftrace -B full -o $T/out -c '/bin/sh '$B/samples -e '{peer.program}'",
                 remark=_lines_remark(calls) if "printf" in peer.program else None)
    return plan


def _bpftrace(release, djstap, calls, folder):
    if not shutil.which("bpftrace"):
        return PeerRun("bpftrace", problem=packages.NOT_INSTALLED)
    archive = guest.base_archive()
    archive.program(shutil.which("bpftrace"))
    return PeerRun("bpftrace", _guest(release, djstap, calls, archive, _bpftrace_plan(calls)),
                   note=kernels.first_line(["bpftrace", "--version"]))


def _systemtap_plan(release, calls, folder):
    """Returns (Plan or None, paths of modules, {key: Outcome} of what does not compile, a note, or why there is no plan)."""
    first = cases.SYSTEMTAP[0]
    note, own_runtime = systemtap.version(), ""
    path, why = systemtap.module(release, folder, "stap_try", first.program, "")
    if not path:
        own_runtime = systemtap.runtime()
        note += f", its runtime corrected ({systemtap.CORRECTION}; as packaged it {why})"
        path, why = systemtap.module(release, folder, "stap_try", first.program, own_runtime)
        if not path:
            return None, [], {}, f"{note}, {why}"
    plan, modules, refused = measure.Plan(calls), [], {}
    plan.add("unprobed", "sh $B/samples")
    for peer in cases.SYSTEMTAP:
        name = peer.key.replace("-", "_")
        path, why = systemtap.module(release, folder, name, peer.program, own_runtime)
        if not path:
            refused[peer.key] = measure.Outcome(problem=why)
            continue
        modules.append(path)
        plan.add(peer.key, f"staprun -b 16 -o $T/out -c '/bin/sh '$B/samples $M/{name}.ko",
                 remark=_lines_remark(calls) if "printf" in peer.program else None)
    return plan, modules, refused, note


def _systemtap(release, djstap, calls, folder):
    if not shutil.which("stap"):
        return PeerRun("SystemTap", problem=packages.NOT_INSTALLED)
    plan, modules, refused, note = _systemtap_plan(release, calls, folder)
    if not plan:
        return PeerRun("SystemTap", problem=note)
    archive = guest.base_archive()
    systemtap.add(archive)
    for path in modules:
        archive.file("modules/" + os.path.basename(path), path)
    return PeerRun("SystemTap", _guest(release, djstap, calls, archive, plan) | refused, note=note)


def _lttng(release, djstap, calls, folder):
    if not shutil.which("lttng"):
        return PeerRun("LTTng", problem=packages.NOT_INSTALLED)
    root, why = lttng.build(release)
    if not root:
        return PeerRun("LTTng", problem=f"{lttng.version()} {why}")
    hits = calls * measure.MIN_HITS

    def check(log, lines, first):
        written = re.search(r"^recorded (\d+) bytes", log, re.MULTILINE)
        if "discarded 0" not in log or not written:
            return "events were discarded"
        return "" if int(written[1]) >= 12 * hits else f"{written[1]} bytes for {hits} hits"

    plan = measure.Plan(calls)
    plan.add("unprobed", "sh $B/samples")
    for peer in cases.LTTNG:
        plan.add(peer.key, f"lttng-record '-t pid' '{peer.program}' sh $B/samples", check)
    archive = guest.base_archive()
    lttng.add(archive, root)
    return PeerRun("LTTng", _guest(release, djstap, calls, archive, plan, "lttng-begin\n"),
                   note=f"{lttng.version()}, a copy of lttng-modules corrected for this kernel (testsuite/bench/lttng.py)")


RUN = {"bpftrace": _bpftrace, "SystemTap": _systemtap, "LTTng": _lttng}


def run(tool, release, djstap, calls, folder):
    """Returns the PeerRun of a tool of cases.PEERS; reports a guest that was lost."""
    print(f"  {tool} on {release} …", flush=True)
    try:
        return RUN[tool](release, djstap, calls, folder)
    except guest.GuestLost as lost:
        return PeerRun(tool, problem="not run here, its guest was lost: " + str(lost).strip().split("\n")[-1])


def natively(djstap, calls, folder):
    """Returns {tool: PeerRun} on the running kernel, as far as possible: the copy of LTTng's modules is built for guests."""
    runs = {"LTTng": PeerRun("LTTng", problem="run in guests only")}
    for tool, program in (("bpftrace", "bpftrace"), ("SystemTap", "stap")):
        if not shutil.which(program):
            runs[tool] = PeerRun(tool, problem=packages.NOT_INSTALLED)
    if "bpftrace" not in runs:
        runs["bpftrace"] = PeerRun("bpftrace", measure.run_natively(djstap, _bpftrace_plan(calls), folder),
                                   note=kernels.first_line(["bpftrace", "--version"]))
    if "SystemTap" not in runs:
        plan, _, refused, note = _systemtap_plan(os.uname().release, calls, folder)
        runs["SystemTap"] = (PeerRun("SystemTap", measure.run_natively(djstap, plan, folder) | refused, note=note)
                             if plan else PeerRun("SystemTap", problem=note))
    return {tool: runs[tool] for tool in cases.PEERS}
