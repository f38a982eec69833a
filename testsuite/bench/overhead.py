# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `scripts/bench overhead`."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
import guest
import kernels
import measure
import page
import report

CALLS = 2000  # a run: short enough to fall between two timer interrupts
CALLS_TIMED = 20000  # a run that is measured by a real clock
PEERS = ["bpftrace", "systemtap"]


def all_cases():
    return cases.COST + list(cases.mechanism_cases().values())


def install_peers():
    missing = [name for name in PEERS if not shutil.which("stap" if name == "systemtap" else name)]
    if missing:
        print(f"installing {' and '.join(missing)} …", flush=True)
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *missing], check=True,
                       stdout=subprocess.DEVNULL, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))


def systemtap_problem(release):
    """Why SystemTap's figures are not here."""
    if not shutil.which("stap"):
        return "not run here, it is not installed (--with-peers installs it)"
    version = re.search(r"version ([0-9.]+)", kernels.first_line(["stap", "-V"]))
    name = f"SystemTap {version[1] if version else ''}".strip()
    debug = f"+:{guest.KERNELS}/{release}/usr/lib/debug:/usr/lib/debug"
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, SYSTEMTAP_DIR=folder, SYSTEMTAP_DEBUGINFO_PATH=debug)
        command = ["stap", "-p4", "-m", "bench_stap", "-r", release, "-e", f"global n probe {cases.POINT} {{ n++ }}"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return f"{name} builds its modules here; they are not run by this command yet"
    error = re.search(r"([^/\s]+):\d+:\d+: error: (.*)", done.stderr)
    why = f"its runtime's `{error[1]}` does not compile: {error[2]}" if error else "its pass 4 fails"
    return f"{name} does not build here ({why})".replace("‘", "'").replace("’", "'")


def peers_of(release, djstap, count_instructions=True):
    """({key: Outcome}, "") of bpftrace's programs, or ({}, why there are none)."""
    bpftrace = shutil.which("bpftrace")
    if not bpftrace:
        return {}, "not run here, it is not installed (--with-peers installs it)"
    print(f"  bpftrace on {release} …", flush=True)
    try:
        outcomes = measure.peers_in_guest(release, djstap, bpftrace, CALLS, count_instructions)
    except guest.GuestLost as lost:
        return {}, "not run here, its guest was lost: " + str(lost).strip().split("\n")[-1]
    outcomes["version"] = measure.Outcome(log=kernels.first_line([bpftrace, "--version"]))
    return outcomes, ""


def measure_kernel(release, djstap):
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        print(f"  djstap on {release}, counting instructions …", flush=True)
        instructions = measure.in_guest(release, djstap, all_cases(), folder, CALLS, True)
        print(f"  djstap on {release}, by the clock …", flush=True)
        times = measure.in_guest(release, djstap, all_cases(), folder, CALLS_TIMED, False)
    peers, problem = peers_of(release, djstap)
    return report.Results(release, instructions, times, peers, problem, systemtap_problem(release))


def show(results):
    """Prints what was measured; yields how many cases failed."""
    base = results.instructions["unprobed"]
    after = results.instructions["unprobed-after"]
    print(f"\n{results.release}: {base.average:.1f} instructions without a probe"
          f" ({after.average:.1f} after all probes)" if base.samples and after.samples else results.release)
    failed = 0
    for case in all_cases():
        value = results.added(case.key)
        failed += value is None
        title = f"{case.title}: {case.body}" if case not in cases.COST else case.title
        what = f"{value:8.1f}" if value is not None else f"       – {results.instructions[case.key].problem}"
        target = report.target_cell(case, results).replace("*", "")
        print(f"  {title[:64]:<64} {what}  {target if case.targets else ''}".rstrip())
    for peer in cases.PEERS if results.peers else []:
        print(f"  bpftrace {peer.title:<55} {results.cell(peer.key, results.peers):>8}")
    if results.peers_problem:
        print(f"  bpftrace: {results.peers_problem}")
    print(f"  SystemTap: {results.systemtap}")
    return failed


def on_this_machine(djstap):
    problem = measure.why_not_native(djstap)
    if problem:
        print(f"modules cannot be measured on this machine: {problem}")
        return 1
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        outcomes = measure.natively(djstap, all_cases(), folder, CALLS_TIMED)
    results = report.Results(os.uname().release, outcomes, outcomes, {}, "not run by --on-this-machine", "not run here")
    base = outcomes["unprobed"]
    if base.problem:
        print(f"gtodbench does not run: {base.problem}")
        return 1
    print(f"{os.uname().release}: {base.average:.1f} ns without a probe; nanoseconds added by a hit:")
    failed = 0
    for case in all_cases():
        value = results.added(case.key)
        failed += value is None
        title = f"{case.title}: {case.body}" if case not in cases.COST else case.title
        print(f"  {title[:64]:<64} {results.cell(case.key)}")
    return 1 if failed else 0


def add_arguments(parser):
    kernels.add_arguments(parser)
    parser.add_argument("--with-peers", action="store_true", help="install bpftrace and SystemTap where they are missing")
    parser.add_argument("--on-this-machine", action="store_true", help="run on this machine's kernel, in nanoseconds")


def main(options):
    djstap = kernels.djstap_of(options)
    if options.on_this_machine:
        return on_this_machine(djstap)
    if options.with_peers:
        install_peers()
    releases = kernels.releases_of(djstap, options)
    everything = []
    try:
        for release in releases:
            everything.append(measure_kernel(release, djstap))
    except guest.GuestLost as lost:
        sys.exit(f"bench: the guest was lost:\n{lost}")
    failed = sum(show(results) for results in everything)
    if kernels.both_ran(releases):
        page.put("overhead", report.text(everything, kernels.measured_with(djstap, releases), CALLS), report.charts(everything))
    return 1 if failed else 0
