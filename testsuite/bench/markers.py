# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `scripts/bench markers`: static markers (runtime/include/djstap/marker.h), beside the figures of Linux Kernel
Markers 0.19."""
import statistics
import sys

import guest
import kernels
import marker_cost
import marker_macro
import marker_size
import page

LIKELY_BYTES = 5  # at most, of the optimized marker's own instructions

TEXT = """## Static markers

What `DJSTAP_MARK` and `DJSTAP_MARK_GENERIC` (`runtime/include/djstap/marker.h`) cost. Measured with {with_what}. The document is
*Linux Kernel Markers 0.19*, measured on Linux 2.6.17 and a Pentium 4 of 3 GHz: its "optimized" markers are immediate
values and its "generic" ones loads, each before a predicted branch.

### In a loop

A module runs each loop {iterations:,} times with interrupts disabled, in a guest that counts instructions; the table shows
what one iteration takes more than one of the same loop without a marker, of the fastest of {tries} runs. The loop of copies copies 4,096
bytes each time. The markers and the tracepoint pass a number and a pointer (`"%d %p"`). A connected function in C does nothing, or it
adds up the arguments, which it gets as numbers, by `va_arg`, or by `va_arg` while it decodes the format. The benchmark verifies that
every hit reached the function or the script. A script's handlers get numbers: no script takes variable arguments or decodes a format
when a marker is hit.

A connected function is called through the kernel's thunk for indirect calls (retpoline), because the guest's processor needs it. In a
guest of 6.1 that is booted with `mitigations=off`, the call takes two instructions less.
A tracepoint calls a single function directly (a static call). On 6.12 a function that is called indirectly begins with `endbr64`.

The nanoseconds are those of the emulator without instruction counting, in {timed:,} iterations. Only their order is significant;
small differences are not.

"""

NATIVE_TEXT = """### In user space

The same loops in a program on the machine that ran the benchmark (`testsuite/bench/markers/userspace.c`): a no-op stands for the
optimized marker, and a jump for its connected form, as the kernel patches them. Nanoseconds that an iteration takes more than without a
marker, of the fastest of 200 runs. Preemption is not disabled here, and the indirect call needs no thunk.

"""

SIZE_TEXT = """### Size

What one marker with two arguments adds to an object file, in bytes (`testsuite/bench/markers/sized.c`). The function returns its first
argument and calls nothing, so the compiler may have to save a register for it, because it may be needed after the marker's call. The
kernel's tables of text are those by which it unwinds stacks and patches calls.

"""

SYSTEM_TEXT = """### A whole system

The same module without markers (its source is compiled without them), with markers that are not connected, and with markers that
a script of djstap counts (`n++`). Ping flood: a program sends ICMP echo requests to the loopback and reads each reply before the next
request; a netfilter hook with a marker sees both. Compile job: gcc compiles a C file (`gcc -O2 -c`), and callbacks at entries and exits
of system calls, page faults and context switches contain a marker each.

All are run in {turns} turns after one that is not counted, in a guest that counts instructions and in one that does not, by its clock.
Each state is in turn the first, the second and the third of a turn. The table shows the median, and in parentheses the least and the
greatest; the last column is how much more the least number of instructions is. It is the least because the larger
module, with markers, takes some 50 instructions a request more or not, depending on what ran before it, connected or not: more than
its two markers execute when they are connected. What makes this difference is not known.

"""


def verdict(reached):
    return "reached" if reached else page.MISSED


def target_cell(row, values):
    """Returns "≤ 20" and whether it is reached on every kernel."""
    if row.target is None:
        return "–"
    return f"{'≤ ' if row.target > 1 else ''}{row.target}: {verdict(all(round(value) <= row.target for value in values))}"


def cost_table(everything):
    header = ["probe"] + [kernels.series_of(release) for release in everything] + ["target"]
    header += [f"{kernels.series_of(release)}, ns" for release in everything] + ["document, cycles"]
    costs = [each["cost"] for each in everything.values()]
    lines = []
    for number, row in enumerate(costs[0][0]):
        added = [instructions[number] for _, instructions, _ in costs]
        lines.append([row.title, *(f"**{value:.0f}**" for value in added), target_cell(row, added),
                      *(f"{nanoseconds[number]:.1f}" for _, _, nanoseconds in costs), row.document or "–"])
    return page.table(header, lines)


def native_table(natively):
    cells = {kind: {name.removeprefix(f"{kind}_"): f"{max(value, 0):.2f}" for name, value in natively.items()
                    if name.startswith(f"{kind}_")} for kind in ("empty", "copy", "optimized", "generic")}
    rows = [["empty loop, unconnected", cells["empty"]["optimized"], cells["empty"]["generic"]],
            ["loop of copies, unconnected", cells["copy"]["optimized"], cells["copy"]["generic"]]]
    for call, title in marker_cost.CALLS:
        rows.append([f"empty loop, connected: {title}", cells["optimized"][call], cells["generic"][call]])
    return page.table(["", "optimized, ns", "generic, ns"], rows)


def size_table(everything):
    sizes = [(kernels.series_of(release), kind, each["size"][kind]) for release, each in everything.items()
             for kind in marker_size.KINDS]
    header = [""] + [f"{series}, {kind}" for series, kind, _ in sizes] + ["document"]
    rows = [("likely path: the marker's own instructions", lambda size: size.own, "6 optimized, 11 generic"),
            ("their number", lambda size: size.instructions, "–"),
            ("of which load from memory", lambda size: size.loads, "an immediate; 1"),
            ("likely path: to save registers in this function", lambda size: size.saving, "–"),
            ("unlikely path", lambda size: size.unlikely, "32"),
            ("once a file: the call of several functions", lambda size: size.shared, "–"),
            ("data: the tracepoint", lambda size: size.sections.get("data", 0), "–"),
            ("strings: the name and the format", lambda size: size.sections.get("strings", 0), "–"),
            ("strings: the alias that depmod lists, once a marker", lambda size: size.sections.get("alias", 0), "–"),
            ("tables: jump entry", lambda size: size.sections.get("jump entry", 0), "8 + 12 in all"),
            ("tables: pointer to the tracepoint", lambda size: size.sections.get("pointer", 0), ""),
            ("the kernel's tables of text", lambda size: size.sections.get("tables of text", 0), "–")]
    return page.table(header, [[title, *(str(value(size)) for _, _, size in sizes), document] for title, value, document in rows])


def size_target(everything):
    sizes = [each["size"]["optimized"] for each in everything.values()]
    return (f"To reach, optimized and unconnected: 1 instruction and 0 loads: "
            f"{verdict(all((size.instructions, size.loads) == (1, 0) for size in sizes))}; at most {LIKELY_BYTES} bytes in the likely "
            f"path: {verdict(all(size.own <= LIKELY_BYTES for size in sizes))}. (The document: 6 bytes and an immediate load.)\n\n")


def listings(everything):
    text = ""
    for release, each in everything.items():
        for kind in marker_size.KINDS:
            code = "".join(f"    {line}\n" for line in each["size"][kind].listing.splitlines())
            text += f"The function with {'an optimized' if kind == 'optimized' else 'a generic'} marker, Linux " \
                    f"{kernels.series_of(release)}:\n\n{code}\n"
    return text


def spread(values, digits):
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def more(values, base):
    return f"{100 * (min(values) / min(base) - 1):+.2f} %"


def system_tables(everything):
    text = ""
    for release, each in everything.items():
        found, packets, jobs = each["system"], [], []
        for state in marker_macro.STATES:
            flood, job = (found[load, state] for load in marker_macro.LOADS)
            base, base_job = (found[load, "without"].instructions for load in marker_macro.LOADS)
            packets.append([state, spread(flood.instructions, 0), spread([1e9 / value for value in flood.nanoseconds], 0),
                            more(flood.instructions, base)])
            jobs.append([state, spread([value / 1e6 for value in job.instructions], 2),
                         *(spread(values, 2) for values in (job.real, job.user, job.system)), more(job.instructions, base_job)])
        text += f"#### Linux {kernels.series_of(release)}\n\n"
        text += page.table(["ping flood", "instructions a request and its reply", "requests a second", "more"], packets) + "\n"
        text += page.table(["compile job", "million instructions", "real, s", "user, s", "sys, s", "more"], jobs) + "\n"
    return text + ("The document: ping flood 12,601 packets per second without markers and 12,596 with them; a kernel build 8 min 2.4 s "
                   "without and 8 min 1.6 s with them.\n")


def section(everything, natively, djstap):
    text = TEXT.format(with_what=kernels.measured_with(djstap, list(everything)), iterations=marker_cost.ITERATIONS,
                       timed=marker_cost.ITERATIONS_TIMED, tries=marker_cost.TRIES)
    text += cost_table(everything) + "\n" + NATIVE_TEXT + native_table(natively) + "\n" + SIZE_TEXT + size_table(everything) + "\n" + size_target(everything)
    text += listings(everything)
    text += SYSTEM_TEXT.format(turns=marker_macro.TURNS - 1) + system_tables(everything)
    return text


def add_arguments(parser):
    kernels.add_arguments(parser)
    parser.add_argument("--loops-only", action="store_true",
                        help="only the loops and the size, without the whole system; writes no page")


def measure_kernel(release, djstap, loops_only):
    return {"cost": marker_cost.measure(release, djstap), "size": marker_size.measure(release),
            "system": None if loops_only else marker_macro.measure(release, djstap)}


def main(options):
    djstap = kernels.djstap_of(options)
    releases = kernels.releases_of(djstap, options)
    try:
        natively = marker_cost.natively()
        everything = {release: measure_kernel(release, djstap, options.loops_only) for release in releases}
    except (guest.Failed, guest.GuestLost) as problem:
        sys.exit(f"bench: {problem}")
    text = cost_table(everything) + "\n" + native_table(natively) + "\n" + size_table(everything) + "\n" + size_target(everything)
    if not options.loops_only:
        text += system_tables(everything)
    print(text)
    if kernels.both_ran(releases) and not options.loops_only:
        page.put("markers", section(everything, natively, djstap))
    return 1 if page.is_missed(text) else 0
