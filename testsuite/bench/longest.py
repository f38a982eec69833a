# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `scripts/bench longest`: the cost of each construct of the language at the largest size that is allowed in
a handler that keeps interrupts disabled."""
import os
import re
import tempfile
from dataclasses import dataclass

import cases
import guest
import kernels
import measure
import page

HITS = 3
CALLS = f"gtodbench -n {HITS} -q"
WRITES = f"printf '%0511d\\n' 0 >/tmp/line; i=0; while [ $i -lt {HITS} ]; do dd if=/tmp/line of=/dev/ttyS0 bs=512; i=$((i + 1)); done"
LONG = "abcdefgh" * 63 + "abcdefg"  # 511 bytes


@dataclass
class Construct:
    key: str
    title: str
    code: str
    globals: str = ""
    setup: str = ""
    point: str = cases.POINT
    load: str = CALLS

    @property
    def script(self):
        declared = ", ".join(filter(None, ["longest = -1", self.globals]))
        return f"""global {declared}
            probe begin {{ {self.setup} }}
            probe {self.point} {{
                if (execname() != "gtodbench" && execname() != "dd") next
                since = get_cycles()
                {self.code}
                took = get_cycles() - since
                if (took > longest) longest = took
            }}
            probe end {{ printf("\\nlongest %d\\n", longest) }}"""


NUMBERS = "for (i = 0; i < 16384; i++) a[i] = (i * 7919) % 16384"
MANY = "for (i = 0; i < 262144; i++) a[i] = (i * 7919) % 262144"
# Each better than all before it: in a selection, it takes the place of the worst one.
RISING = "for (i = 0; i < 262144; i++) a[i] = i"
MOST_RISING = "for (i = 0; i < 524288; i++) a[i] = i"
STATISTICS = "for (i = 0; i < 174762; i++) c[i] <<< i"
PAIRS = "for (i = 0; i < 131072; i++) b[i, 1] = i"
# Rising, too, and alike in all but their last bytes.
PATHS = f'''x = "{"abcdefgh" * 63}"; for (i = 0; i < 7598; i++) p[sprintf("%s%07d", x, i)] = i'''
PATHS_TO_SORT = PATHS.replace("7598", "4096")
TEXTS = 'for (i = 0; i < 4096; i++) t[sprintf("%d of the texts", (i * 7919) % 4096)] = i'
TEXT = f'x = "{LONG}"'
# What takes quadratic time if each place is looked at alone.
SAME = f"""x = "{'a' * 511}"; part = "{'a' * 255}b"; delimiters = "{'b' * 511}\""""
# MAXACTION limits the iterations of a foreach, ten statements at a time.
TURNS = "if (++turns >= 300) break"

CONSTRUCTS = [
    Construct("sort-numbers", "`foreach (k in a-)`, 16,384 elements, 300 turns", f"foreach (k in a-) {TURNS}", "a[16384]", NUMBERS),
    Construct("sort-texts", "`foreach (k+ in t)`, 4,096 strings as keys, 300 turns", f"foreach (k+ in t) {TURNS}", "t[4096]", TEXTS),
    Construct("sort-paths", "`foreach (k- in p)`, 4,096 strings of 511 bytes that differ in the last ones, 300 turns",
              f"foreach (k- in p) {TURNS}", "p[4096], x", PATHS_TO_SORT),
    Construct("select", "`foreach (k in a- limit 256)`, of 262,144 elements", "foreach (k in a- limit 256) turns++", "a[262144]", MANY),
    Construct("select-rising", "`foreach (k in a- limit 256)`, of 262,144 elements in rising order",
              "foreach (k in a- limit 256) turns++", "a[262144]", RISING),
    Construct("select-few", "`foreach (k in a- limit 15)`, of 524,288 elements in rising order", "foreach (k in a- limit 15) turns++",
              "a[524288]", MOST_RISING),
    Construct("select-statistics", "`foreach (k in c- limit 256)`, of 174,762 statistics in rising order",
              "foreach (k in c- limit 256) turns++", "c[174762]", STATISTICS),
    Construct("select-paths", "`foreach (k- in p limit 256)`, of 7,598 strings of 511 bytes in rising order",
              "foreach (k- in p limit 256) turns++", "p[7598], x", PATHS),
    Construct("sort-again", "`foreach (k in a- limit 10)`, 16,384 elements, as often as one handler may", "for (i = 0; i < 32; i++) "
              "foreach (k in a- limit 10) turns++", "a[16384]", NUMBERS),
    Construct("walk-slice", "`foreach ([i, j] in b[*, 2])`, none of 131,072 elements", "foreach ([i, j] in b[*, 2]) turns++",
              "b[131072]", PAIRS),
    Construct("in-slice", "`[*, 2] in b`, none of 131,072 elements", "found = [*, 2] in b", "b[131072], found", PAIRS),
    Construct("delete-slice", "`delete b[*, 1]`, all of 131,072 elements", "delete b[*, 1]", "b[131072]", PAIRS),
    Construct("delete-slices", "`delete b[*, 2]`, none of 131,072 elements, twice: as often as one handler may",
              "delete b[*, 2]; delete b[*, 2]", "b[131072]", PAIRS),
    Construct("delete", "`delete a`, 16,384 elements", "delete a", "a[16384]", NUMBERS),
    Construct("delete-large", "`delete a`, 500,000 elements", "delete a", "a[500000]",
              "for (i = 0; i < 500000; i++) a[i] = i"),
    Construct("histogram", "`print(@hist_linear(s, 0, 2000, 1))`", "print(@hist_linear(s, 0, 2000, 1))", "s",
              "for (i = 0; i < 2000; i++) s <<< i"),
    Construct("histogram-text", "`sprint(@hist_linear(s, 0, 4000, 1))`", "y = sprint(@hist_linear(s, 0, 4000, 1))", "s, y",
              "for (i = 0; i < 4000; i++) s <<< i"),
    Construct("concatenate", "`x . x`, 511 bytes", "y = x . x", "x, y", TEXT),
    Construct("replace", "`str_replace()`, 511 bytes", 'y = str_replace(x, "a", "bc")', "x, y", TEXT),
    Construct("find-same", "`isinstr()` of `aa…ab` in 511 times `a`", "found = isinstr(x, part)", "x, part, delimiters, found", SAME),
    Construct("replace-same", "`str_replace()` of `aa…ab` in 511 times `a`", 'y = str_replace(x, part, "")', "x, part, delimiters, y", SAME),
    Construct("regex", "`=~`, 511 bytes", 'turns = x =~ "(a|b)*(c|d)+.*[a-f]+(xy|gz)?$"', "x", TEXT),
    Construct("regex-groups", "`=~ \"((a\\|a*b))*\"` and `ngroups()`, 511 times `a`", 'if (x =~ "((a|a*b))*" && ngroups() == 9) longest = 0',
              "x, part, delimiters", SAME),
    Construct("tokenize", "`tokenize()`, 511 bytes", 'y = tokenize(x, "z")', "x, y", TEXT),
    Construct("tokenize-same", "`tokenize()`, 511 bytes, 511 delimiters", "y = tokenize(x, delimiters)", "x, part, delimiters, y", SAME),
    Construct("print-texts", "`printf` of eight strings of 511 bytes", 'printf("%s%s%s%s%s%s%s%s", x, x, x, x, x, x, x, x)', "x", TEXT),
    Construct("backtrace", "`backtrace()`", "y = backtrace()", "y", point='kernel.function("uart_write")', load=WRITES),
    Construct("print-backtrace", "`print_backtrace()`", "print_backtrace()", point='kernel.function("uart_write")', load=WRITES),
    Construct("sprint-backtrace", "`sprint_backtrace()`", "y = sprint_backtrace()", "y", point='kernel.function("uart_write")',
              load=WRITES),
    Construct("user-string", "`user_string()`, 511 bytes", "y = user_string2($buf, \"\")", "y", point='kernel.function("vfs_write")',
              load=WRITES),
    Construct("structure", "`$file$$`", "y = $file$$", "y", point='kernel.function("vfs_write")', load=WRITES),
    Construct("parameters", "`$$parms$$`", "y = $$parms$$", "y", point='kernel.function("vfs_write")', load=WRITES),
    Construct("whole", "a whole handler: MAXACTION statements (1,000) with `str_replace()` of 511 bytes in all",
              'for (i = 0; i < 490; i++) y = str_replace(x, "a", "bc")', "x, y", TEXT),
    Construct("whole-backtrace", "a whole handler: MAXACTION statements (1,000) with `sprint_backtrace()` in all",
              "for (i = 0; i < 490; i++) y = sprint_backtrace()", "y", point='kernel.function("uart_write")', load=WRITES),
    Construct("whole-groups", "a whole handler: 100 times `=~ \"((a\\|a*b))*\"`, most of MAXACTION",
              'for (i = 0; i < 100; i++) if (x =~ "((a|a*b))*" && ngroups() == 9) longest = 0', "x, part, delimiters", SAME),
]

TEXT_OF_SECTION = """## The longest with interrupts off

A handler with locks keeps interrupts disabled from its beginning to its end. The table shows the guest instructions of each potentially
long construct at the largest size that such a handler allows with the default limits. Iteration over larger arrays is split into
pieces, in timers, procfs files and the session's own probes, or refused ([decision 11](decisions/0011-walks-in-pieces.md)). A current
CPU takes about a millisecond for one to three million instructions, depending on its cache misses.

"""


def measure_kernel(release, djstap):
    """Returns {construct's key: instructions}."""
    archive = guest.base_archive()
    for program in ("djrun", "gtodbench"):
        archive.program(os.path.join(os.path.dirname(djstap), program))
    script = ""
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        builder = measure.Builder(djstap, release, folder)
        for construct in CONSTRUCTS:
            options = ["-D", "MAXACTION_INTERRUPTIBLE=100000000", "-D", "STP_NO_OVERLOAD=1"]
            case = cases.Case(construct.key, construct.title, construct.point, "", options)
            path, problem = builder.module_of(case, construct.script)
            if problem:
                raise guest.Failed(f"{construct.key}: {problem}")
            archive.file(f"modules/{construct.key}.ko", path)
            archive.text(f"bin/load-{construct.key}", "#!/bin/sh\n" + construct.load + "\n")
            script += (f"djrun -s 16 -o /tmp/out -c 'sh /bin/load-{construct.key}' /modules/{construct.key}.ko >/tmp/log 2>&1\n"
                       f"echo; echo \"@{construct.key} $? $(sed -n 's/^longest //p' /tmp/out)\"; grep -E 'lost|missed|skipped|ERROR|WARN' /tmp/log\n")
        console = guest.run(release, archive, script)
    if re.search(r"\blost\b|\bmissed\b|\bskipped\b|ERROR|WARN", console):
        raise guest.Failed(console)
    found = {key: int(count) for key, count in re.findall(r"^@(\S+) 0 (\d+)$", console, re.MULTILINE)}
    if missing := [each.key for each in CONSTRUCTS if each.key not in found]:
        raise guest.Failed(f"nothing of {', '.join(missing)}:\n{console}")
    for construct in CONSTRUCTS:
        print(f"  {release} {construct.title}: {found[construct.key]:,}", flush=True)
    return found


def section(everything):
    header = ["construct"] + [kernels.series_of(release) for release, _ in everything]
    return TEXT_OF_SECTION + page.table(header, [[each.title] + [f"{found[each.key]:,}" for _, found in everything]
                                                 for each in CONSTRUCTS])


def main(options):
    return kernels.measured(options, "longest", measure_kernel, section)
