# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `scripts/bench irqs-off`: the cost of handlers that run with interrupts enabled, and of those that count
their own time."""
import os
import re
import tempfile
from dataclasses import dataclass

import cases
import guest
import kernels
import measure
import page


@dataclass
class Place:
    """The place where a handler runs, the probe points before and after it, and a shell script that reaches it."""
    key: str
    title: str
    point: str
    before: str
    after: str
    load: str


SYSTEM_CALLS = "gtodbench -n 20000 -q"
PLACES = [
    Place("entry", "function", cases.POINT, cases.TRACEPOINT, 'kernel.trace("sys_exit")', SYSTEM_CALLS),
    Place("off", "function, interrupts off", 'kernel.function("__send_signal_locked")', 'kernel.function("send_signal_locked")',
          'kernel.function("signal_wake_up_state")',
          "trap : USR1\ni=0\nwhile [ $i -lt 3000 ]; do kill -USR1 $$; i=$((i + 1)); done"),
    Place("breakpoint", "breakpoint", cases.STATEMENT, cases.TRACEPOINT, 'kernel.trace("sys_exit")', SYSTEM_CALLS),
    Place("timer", "timer", "timer.us(100)", 'kernel.trace("hrtimer_expire_entry")', 'kernel.function("hrtimer_forward")',
          "gtodbench -n 400000 -q"),
]
EMPTY = "empty"
BODIES = [(EMPTY, "", cases.EMPTY), ("count", "`n++`", cases.COUNT), ("map", "`a[pid()]++`", "a[pid()]++"),
          ("text", "`printf` of pid and execname", r'printf("%d %s\n", pid(), execname())')]

TEXT = """## Where interrupts are off

The sampling timer does not see handlers that run with interrupts disabled. For [overload
protection](safety.md#overload-protection) they measure their own time by reading the clock when they begin and when they end. The
table shows the instructions that a handler adds to an empty one in the same place, in a guest with one CPU that counts instructions:
on a function that is called with interrupts enabled (`{entry}`) and with interrupts disabled (`{off}`), at a breakpoint, and in a
timer. Another script reads the clock before and after; the most frequent difference counts. `n++` is exempt. "Cost per hit", above,
shows the cost of a handler together with its mechanism.

"""


def stopwatch(place):
    """Returns a script that prints the most frequent number of cycles between two points."""
    return (f"global since, seen probe {place.before} {{ since = get_cycles() }} "
            f"probe {place.after} {{ if (since) seen[get_cycles() - since]++ since = 0 }} "
            "probe end { foreach (v in seen- limit 1) println(v) }")


def compile_all(builder, archive):
    """Adds the modules of all places to the guest; returns the shell script that runs them."""
    script = ""
    for place in PLACES:
        archive.text(f"bin/load-{place.key}", "#!/bin/sh\n" + place.load + "\n")
        watch = cases.Case(f"watch-{place.key}", "", place.before, "", ["-D", "MAXMAPENTRIES=60000"])
        modules = [(watch, stopwatch(place))]
        for key, _, body in BODIES:
            case = cases.Case(f"{place.key}-{key}", "", place.point, body)
            modules.append((case, case.script))
        for case, text in modules:
            path, problem = builder.module_of(case, text)
            if problem:
                raise guest.Failed(problem)
            archive.file(f"modules/{case.key}.ko", path)
        for key, _, _ in BODIES:
            name = f"{place.key}-{key}"
            archive.text(f"bin/run-{name}", f"#!/bin/sh\ndjrun -s 16 -o /tmp/out -c 'sh /bin/load-{place.key}' /modules/{name}.ko\n")
            script += (f"djrun -s 16 -o /tmp/watch -c 'sh /bin/run-{name}' /modules/watch-{place.key}.ko >/tmp/log 2>&1\n"
                       f"echo \"@{name} $? $(cat /tmp/watch)\"; grep -E 'lost|missed|skipped|ERROR|WARN' /tmp/log\n")
    return script


def measure_kernel(release, djstap):
    """Returns {(place, body): instructions in addition to an empty handler's}."""
    archive = guest.base_archive()
    for program in ("djrun", "gtodbench"):
        archive.program(os.path.join(os.path.dirname(djstap), program))
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        script = compile_all(measure.Builder(djstap, release, folder), archive)
        console = guest.run(release, archive, script)
    if re.search(r"\blost\b|\bmissed\b|\bskipped\b|ERROR|WARN", console):
        raise guest.Failed(console)
    found = {name: int(cycles) for name, cycles in re.findall(r"^@(\S+) 0 (\d+)$", console, re.MULTILINE)}
    added = {}
    for place in PLACES:
        for key, title, _ in BODIES[1:]:
            if not {f"{place.key}-{key}", f"{place.key}-{EMPTY}"} <= found.keys():
                raise guest.Failed(console)
            added[place.key, key] = found[f"{place.key}-{key}"] - found[f"{place.key}-{EMPTY}"]
            print(f"  {release} {place.title}: {title}: {added[place.key, key]}", flush=True)
    return added


def section(everything):
    text = TEXT.format(entry=cases.FUNCTION, off="__send_signal_locked")
    header = ["script body"] + [f"{kernels.series_of(release)}: {place.title}" for release, _ in everything for place in PLACES]
    lines = [[title] + [str(added[place.key, key]) for _, added in everything for place in PLACES]
             for key, title, _ in BODIES[1:]]
    return text + page.table(header, lines)


def main(options):
    return kernels.measured(options, "irqs-off", measure_kernel, section)
