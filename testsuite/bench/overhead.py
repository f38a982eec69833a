# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `scripts/bench overhead`."""
import os
import re
import sys
import tempfile

import cases
import guest
import kernels
import measure
import packages
import page
import peers
import report

CALLS = 2000  # per run: short enough to fit between two timer interrupts
CALLS_TIMED = 20000  # for a run that is measured by a real clock


def all_cases():
    return cases.COST + list(cases.mechanism_cases().values())


def selected_cases(pattern):
    """Returns the cases whose key matches; None: all."""
    return [case for case in all_cases() if not pattern or re.fullmatch(pattern, case.key)]


def measure_kernel(release, djstap, with_peers, chosen):
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        print(f"  djstap on {release}, counting instructions …", flush=True)
        instructions = measure.in_guest(release, djstap, chosen, folder, CALLS, True)
        if len(chosen) < len(all_cases()):
            return report.Results(release, instructions, instructions, {})
        print(f"  djstap on {release}, by the clock …", flush=True)
        times = measure.in_guest(release, djstap, chosen, folder, CALLS_TIMED, False)
        ran = {tool: peers.run(tool, release, djstap, CALLS, folder) for tool in cases.PEERS if with_peers}
    return report.Results(release, instructions, times, ran)


def show(results, chosen):
    """Prints the measurements; returns how many cases failed, or exceeded their limit."""
    base = results.instructions["unprobed"]
    after = results.instructions["unprobed-after"]
    print(f"\n{results.release}: {base.average:.1f} instructions without a probe"
          f" ({after.average:.1f} after all probes)" if base.samples and after.samples else results.release)
    failed = 0
    for case in chosen:
        value = results.added(case.key)
        failed += value is None or page.is_missed(report.target_cell(case, results))
        title = f"{case.title}: {case.body}" if case not in cases.COST else case.title
        what = f"{value:8.1f}" if value is not None else f"       – {results.instructions[case.key].problem}"
        target = report.target_cell(case, results).replace("*", "")
        print(f"  {title[:64]:<64} {what}  {target if case.targets else ''}".rstrip())
    show_peers(results)
    return failed


def show_peers(results):
    for tool, run in results.peers.items():
        print(f"  {tool}: {run.problem or run.note}")
        for peer in cases.PEERS[tool] if run.outcomes else []:
            print(f"  {tool} {peer.title:<55} {results.cell(peer.key, run.outcomes):>8}")


def on_this_machine(djstap):
    problem = measure.why_not_native(djstap)
    if problem:
        print(f"modules cannot be measured on this machine: {problem}")
        return 1
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        outcomes = measure.natively(djstap, all_cases(), folder, CALLS_TIMED)
        ran = peers.natively(djstap, CALLS_TIMED, folder)
    results = report.Results(os.uname().release, outcomes, outcomes, ran)
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
    show_peers(results)
    return 1 if failed else 0


def add_arguments(parser):
    kernels.add_arguments(parser)
    packages.add_arguments(parser)
    parser.add_argument("--cases", metavar="REGEX", help="measure only the cases whose whole key matches, without peers")
    parser.add_argument("--on-this-machine", action="store_true", help="run on this machine's kernel, in nanoseconds")


def main(options):
    djstap = kernels.djstap_of(options)
    chosen = selected_cases(options.cases)
    if not chosen:
        sys.exit(f"bench: no case's key matches {options.cases}: " + " ".join(case.key for case in all_cases()))
    with_peers = not options.without_peers and not options.cases
    if options.with_peers:
        packages.install()
    if options.on_this_machine:
        return on_this_machine(djstap)
    releases = kernels.releases_of(djstap, options)
    everything = []
    try:
        for release in releases:
            everything.append(measure_kernel(release, djstap, with_peers, chosen))
    except guest.GuestLost as lost:
        sys.exit(f"bench: the guest was lost:\n{lost}")
    failed = sum(show(results, chosen) for results in everything)
    if kernels.both_ran(releases) and with_peers:
        page.put("overhead", report.text(everything, kernels.measured_with(djstap, releases), CALLS), report.charts(everything))
    return 1 if failed else 0
