# SPDX-License-Identifier: GPL-2.0-or-later
"""What `scripts/bench overhead` measures: handlers on one function, the targets, and the report of 2005."""
from dataclasses import dataclass, field

FUNCTION = "__x64_sys_gettimeofday"
POINT = f'kernel.function("{FUNCTION}")'
TRACEPOINT = 'kernel.trace("sys_enter")'
STATEMENT = f'kernel.statement("{FUNCTION}@kernel/time/time.c+3")'

# $regs stands for each of the four arguments: a system call's function has one, in a register, and the cost of an
# argument does not depend on the register.
RECORD = r'printf("%d %x %x %x %x\n", pid(), $regs, $regs, $regs, $regs)'
# A return probe could only use $regs by saving it at entry; its record contains the same number of numbers.
RECORD_AT_RETURN = r'printf("%d %x %x %x %x\n", pid(), 1, 2, 3, 4)'
COUNT = "n++"
MAP_COUNT = 's <<< @cast(task_current(), "task_struct", "kernel")->mm->map_count'
# What a handler counted: `next` alone counts nothing; it is only known that no hit was missed.
COUNTED = {
    COUNT: " probe end { println(n) }",
    "s <<< pid()": " probe end { println(@count(s)) }",
    "s <<< user_long($tv)": " probe end { println(@count(s)) }",
    "s <<< $tv": " probe end { println(@count(s)) }",
    MAP_COUNT: " probe end { println(@count(s)) }",
    "a[pid()]++": " probe end { foreach (p in a) all += a[p]; println(all) }",
    "a[backtrace()]++": " probe end { foreach (p in a) all += a[p]; println(all) }",
    "a[execname()]++": " probe end { foreach (p in a) all += a[p]; println(all) }",
    'a[user_string_n($tv, 8)]++': " probe end { foreach (p in a) all += a[p]; println(all) }",
    "a[execname(), probefunc()]++": " probe end { foreach ([p, f] in a) all += a[p, f]; println(all) }",
}
SPAN = "h <<< gettimeofday_ns() - @entry(gettimeofday_ns())"
COUNTED[SPAN] = " probe end { if (@sum(h) < 0) print(@hist_log(h)); println(@count(h)) }"
EMPTY = "next"  # an empty body is dropped with a warning; this one is kept and does nothing


# The kernel's own walk over the same stack, called from a handler of embedded C.
WALK = """%{
#include <linux/stacktrace.h>
static unsigned long entries[20];
%}
function walk() %{ BODY %}
probe POINT { walk() }""".replace("POINT", POINT)

# The usual measurement of a function's duration: two probes.
LATENCY = "if (tid() in t) { h <<< gettimeofday_ns() - t[tid()]; delete t[tid()] }"


def latency(point):
    """Returns the script whose entry probe stores when each task called the function."""
    return (f"global t, h probe {point} {{ t[tid()] = gettimeofday_ns() }} probe {point}.return {{ {LATENCY} }} "
            "probe end { println(@count(h)) }")


@dataclass
class Case:
    """One script and what to check about it."""
    key: str
    title: str  # for the tables
    probe: str
    body: str
    options: list = field(default_factory=list)
    mechanism: str = ""  # the mechanism that djrun must report; "": any
    targets: tuple = ()  # upper limits, on kernel 6.1 and on 6.12
    whole: str = ""  # the script, if it is not `probe` and `body`

    @property
    def declared(self):
        if self.body.endswith(" n++"):
            return "global n "
        return f"global {self.body[0]} " if self.body[:2] in ("n+", "s ", "a[", "t[", "h ") else ""

    @property
    def script(self):
        if self.whole:
            return self.whole
        if self.body == LATENCY:
            return latency(self.probe)
        return f"{self.declared}probe {self.probe} {{ {self.body} }}{COUNTED.get(self.body, '')}"

    @property
    def counts(self):
        """Returns whether it prints at its end how many hits it handled."""
        return self.body in COUNTED or self.body == LATENCY

    @property
    def records(self):
        return self.body.startswith(("printf", "print_backtrace"))


# The scripts of the table "Cost per hit".
COST = [
    Case("empty", "`next` (nothing, kept)", POINT, EMPTY, mechanism="djprobe", targets=(2, 3)),
    Case("count", "`n++`", POINT, COUNT, mechanism="djprobe", targets=(3, 4)),
    Case("target", "`if (pid() == target()) n++`, for another process", POINT, "if (pid() == target()) n++", mechanism="djprobe",
         targets=(5, 6)),
    Case("statistic", "`s <<< pid()`", POINT, "s <<< pid()", mechanism="djprobe", targets=(40, 40)),
    Case("map", "`a[pid()]++`", POINT, "a[pid()]++", mechanism="djprobe", targets=(60, 60)),
    Case("map-name", "`a[execname()]++`", POINT, "a[execname()]++", mechanism="djprobe", targets=(140, 140)),
    Case("map-names", "`a[execname(), probefunc()]++`", POINT, "a[execname(), probefunc()]++", mechanism="djprobe",
         targets=(200, 200)),
    Case("map-stack", "`a[backtrace()]++`", POINT, "a[backtrace()]++", mechanism="djprobe",
         targets=(2000, 2100)),
    Case("print-stack", "`print_backtrace()`", POINT, "print_backtrace()", mechanism="djprobe", targets=(2000, 2100)),
    Case("record-stack", "`printf` of sprint_backtrace()", POINT, r'printf("%s\n", sprint_backtrace())', mechanism="djprobe",
         targets=(2000, 2100)),
    Case("record-symbol", "`printf` of symname() of the address", POINT, r'printf("%s\n", symname(addr()))', mechanism="djprobe"),
    Case("walk-none", "embedded C that does nothing", POINT, "", ["-g"], mechanism="djprobe",
         whole=WALK.replace("BODY", "")),
    Case("walk", "embedded C: `stack_trace_save()` of 20 addresses", POINT, "", ["-g"], mechanism="djprobe",
         whole=WALK.replace("BODY", "stack_trace_save(entries, 20, 0);")),
    Case("map-user", "`a[user_string_n($tv, 8)]++`", 'kernel.function("sys_gettimeofday")', "a[user_string_n($tv, 8)]++",
         mechanism="djprobe", targets=(300, 300)),
    Case("map-clock", "`t[tid()] = gettimeofday_ns()`", POINT, "t[tid()] = gettimeofday_ns()", mechanism="djprobe",
         targets=(110, 110)),
    Case("latency", "entry `t[tid()] = …`, return `h <<< … - t[tid()]; delete t[tid()]`: both", POINT, LATENCY,
         targets=(260, 260)),
    Case("record", "`printf` of pid and four arguments", POINT, RECORD, mechanism="djprobe", targets=(40, 45)),
    Case("record-text", "`printf` of pid and execname", POINT, r'printf("%d %s\n", pid(), execname())',
         mechanism="djprobe", targets=(60, 60)),
    Case("record-task", "`printf` of pid, tid, cpu and uid", POINT,
         r'printf("%d %d %d %d\n", pid(), tid(), cpu(), uid())', mechanism="djprobe", targets=(70, 70)),
    Case("record-parent", "`printf` of pid, tid, cpu, uid and ppid", POINT,
         r'printf("%d %d %d %d %d\n", pid(), tid(), cpu(), uid(), ppid())', mechanism="djprobe", targets=(70, 70)),
    Case("read-user", "`s <<< user_long($tv)`: a number of the process", 'kernel.function("sys_gettimeofday")',
         "s <<< user_long($tv)", mechanism="djprobe"),
    Case("read", "`s <<< $tv`: one read through a pointer", 'kernel.function("sys_gettimeofday")', "s <<< $tv",
         mechanism="djprobe", targets=(25, 25)),
    Case("read-twice", "`s <<<` the current task's `->mm->map_count`: two reads", POINT, MAP_COUNT, mechanism="djprobe",
         targets=(30, 30)),
    Case("record-first", "`printf` of execname, pid, `$tv` and `$tz`", 'kernel.function("sys_gettimeofday")',
         r'printf("%s(%d) tv=%p tz=%p\n", execname(), pid(), $tv, $tz)', mechanism="djprobe", targets=(80, 80)),
    Case("record-names", "`printf` of `$tv` and `$tz`", 'kernel.function("sys_gettimeofday")',
         r'printf("%p %p\n", $tv, $tz)', mechanism="djprobe"),
    Case("return-count", "`.return { n++ }`", POINT + ".return", COUNT, mechanism="return-djprobe", targets=(30, 30)),
    Case("return-record", "`.return { printf(\"%d\", $return) }`", POINT + ".return", r'printf("%d\n", $return)',
         mechanism="return-djprobe", targets=(65, 65)),
    Case("return-span", "`.return { h <<< gettimeofday_ns() - @entry(gettimeofday_ns()) }` with `@hist_log`", POINT + ".return",
         SPAN, mechanism="return-djprobe", targets=(130, 130)),
    Case("tracepoint-count", '`kernel.trace("sys_enter")`, `n++`', TRACEPOINT, COUNT, mechanism="tracepoint",
         targets=(66, 71)),
    Case("tracepoint-record", '`kernel.trace("sys_enter")`, `printf` of pid and the call', TRACEPOINT,
         r'printf("%d %d\n", pid(), $id)', mechanism="tracepoint", targets=(100, 105)),
    Case("statement", "`kernel.statement` on a line within, `n++`", STATEMENT, COUNT, mechanism="kprobe-int3"),
]

# The mechanisms of the evaluation: name in the tables, probe point, option. The first one is that of COST.
MECHANISMS = [
    ("djprobe", "djprobe (direct call)", POINT, "djprobe"),
    ("ftrace", "ftrace_ops", POINT, "ftrace"),
    ("kprobe-ftrace", "kprobe on ftrace", POINT, "kprobe-ftrace"),
    ("kprobe-jump", "kprobe, jump-optimized", POINT, "kprobe-jump"),
    ("kprobe-int3", "kprobe, breakpoint", POINT, "kprobe-int3"),
    ("return-djprobe", "return djprobe", POINT + ".return", "return-djprobe"),
    ("kretprobe", "kretprobe", POINT + ".return", "kretprobe"),
]
JUMP_TARGETS = (110, 110)


def mechanism_cases():
    """Returns {(mechanism, "empty" | "count" | "record"): Case}."""
    cases = {}
    for name, title, probe, option in MECHANISMS:
        record = RECORD if probe == POINT else RECORD_AT_RETURN
        for what, body in (("empty", EMPTY), ("count", COUNT), ("record", record)):
            targets = JUMP_TARGETS if (name, what) == ("kprobe-jump", "count") else ()
            cases[name, what] = Case(f"{name}-{what}", title, probe, body, [f"--mechanism={option}"], option, targets)
    return cases


@dataclass
class Peer:
    """A peer's program. `beside`: the key of the case that does the same."""
    key: str
    title: str
    program: str
    beside: str


_PARENT = (r'printf("%d %d %d %d %d\n", pid, tid, cpu, uid, '
           '((struct task_struct *)curtask)->real_parent->tgid)')
_FIVE = r'printf("%d %x %x %x %x\n", pid, args->regs, args->regs, args->regs, args->regs)'
BPFTRACE = [
    Peer("kfunc-empty", "kfunc `{ }`", f"kfunc:{FUNCTION} {{ }}", "empty"),
    Peer("kfunc-count", "kfunc `@ = count()`", f"kfunc:{FUNCTION} {{ @ = count() }}", "count"),
    Peer("kfunc-increment", "kfunc `@++`", f"kfunc:{FUNCTION} {{ @++ }}", "count"),
    Peer("kfunc-stats", "kfunc `@ = stats(pid)`", f"kfunc:{FUNCTION} {{ @ = stats(pid) }}", "statistic"),
    Peer("kfunc-map", "kfunc `@[pid]++`", f"kfunc:{FUNCTION} {{ @[pid]++ }}", "map"),
    Peer("kfunc-map-name", "kfunc `@[comm]++`", f"kfunc:{FUNCTION} {{ @[comm]++ }}", "map-name"),
    # A kfunc has no `func`.
    Peer("kfunc-map-names", "kfunc `@[comm, probe]++`", f"kfunc:{FUNCTION} {{ @[comm, probe]++ }}", "map-names"),
    Peer("kfunc-map-stack", "kfunc `@[kstack]++`", f"kfunc:{FUNCTION} {{ @[kstack]++ }}", "map-stack"),
    Peer("kfunc-map-user", "kfunc `@[str(…->di, 8)]++`", f"kfunc:{FUNCTION} {{ @[str(args->regs->di, 8)]++ }}", "map-user"),
    Peer("kfunc-target", "kfunc `/pid == …/ { @++ }`", f"kfunc:{FUNCTION} /pid == 1/ {{ @++ }}", "target"),
    Peer("kfunc-task", "kfunc `printf`, pid, tid, cpu and uid",
         f'kfunc:{FUNCTION} {{ printf("%d %d %d %d\\n", pid, tid, cpu, uid) }}', "record-task"),
    Peer("kfunc-parent", "kfunc `printf`, the same and the parent", f"kfunc:{FUNCTION} {{ {_PARENT} }}", "record-parent"),
    Peer("kfunc-read-user", "kfunc `@ = stats(*uptr(…->di))`",
         f"kfunc:{FUNCTION} {{ @ = stats(*(uint64 *)uptr(args->regs->di)) }}", "read-user"),
    Peer("kfunc-map-clock", "kfunc `@[tid] = nsecs`", f"kfunc:{FUNCTION} {{ @[tid] = nsecs }}", "map-clock"),
    Peer("kfunc-latency", "kfunc and kretfunc, the same",
         f"kfunc:{FUNCTION} {{ @t[tid] = nsecs }} "
         f"kretfunc:{FUNCTION} /@t[tid]/ {{ @h = hist(nsecs - @t[tid]); delete(@t[tid]) }}", "latency"),
    Peer("kfunc-record", "kfunc `printf`, five values", f"kfunc:{FUNCTION} {{ {_FIVE} }}", "record"),
    Peer("kfunc-text", "kfunc `printf`, pid and comm", f'kfunc:{FUNCTION} {{ printf("%d %s\\n", pid, comm) }}',
         "record-text"),
    Peer("kfunc-read", "kfunc `@ = stats(…->di)`", f"kfunc:{FUNCTION} {{ @ = stats(args->regs->di) }}", "read"),
    Peer("kfunc-read-twice", "kfunc `@ = stats(curtask->mm->map_count)`",
         f"kfunc:{FUNCTION} {{ @ = stats(((struct task_struct *)curtask)->mm->map_count) }}", "read-twice"),
    Peer("kfunc-first", "kfunc `printf`, comm, pid and two values",
         f'kfunc:{FUNCTION} {{ printf("%s(%d) tv=%p tz=%p\\n", comm, pid, args->regs->di, args->regs->si) }}',
         "record-first"),
    Peer("kretfunc-count", "kretfunc `@++`", f"kretfunc:{FUNCTION} {{ @++ }}", "return-count"),
    Peer("kretfunc-record", "kretfunc `printf(retval)`", f'kretfunc:{FUNCTION} {{ printf("%d\\n", retval) }}',
         "return-record"),
    Peer("kprobe-empty", "kprobe `{ }`", f"kprobe:{FUNCTION} {{ }}", "kprobe-ftrace-empty"),
    Peer("kprobe-count", "kprobe `@ = count()`", f"kprobe:{FUNCTION} {{ @ = count() }}", "kprobe-ftrace-count"),
    Peer("kprobe-record", "kprobe `printf`, five values",
         f'kprobe:{FUNCTION} {{ printf("%d %x %x %x %x\\n", pid, arg0, arg0, arg0, arg0) }}', "kprobe-ftrace-record"),
    Peer("kretprobe-empty", "kretprobe `{ }`", f"kretprobe:{FUNCTION} {{ }}", "kretprobe-empty"),
    Peer("rawtracepoint-count", "rawtracepoint `@ = count()`", "rawtracepoint:sys_enter { @ = count() }",
         "tracepoint-count"),
    Peer("tracepoint-count", "tracepoint `@ = count()`", "tracepoint:raw_syscalls:sys_enter { @ = count() }",
         "tracepoint-count"),
    Peer("tracepoint-record", "tracepoint `printf(pid, args->id)`",
         r'tracepoint:raw_syscalls:sys_enter { printf("%d %d\n", pid, args->id) }', "tracepoint-record"),
    Peer("tracepoint-names", "tracepoint `printf`, tv and tz by name",
         r'tracepoint:syscalls:sys_enter_gettimeofday { printf("%p %p\n", args->tv, args->tz) }', "record-names"),
]

# Compiled with -u, which keeps a body that does nothing. SystemTap 4.8 finds no sys_gettimeofday on these kernels, and therefore
# no $tv and $tz: they are members of $regs.
SYSTEMTAP = [
    Peer("stap-empty", "`{ }`", f"probe {POINT} {{ }}", "empty"),
    Peer("stap-count", "`n++`", f"global n probe {POINT} {{ n++ }}", "count"),
    Peer("stap-stats", "`s <<< pid()`", f"global s probe {POINT} {{ s <<< pid() }}", "statistic"),
    Peer("stap-map", "`a[pid()]++`", f"global a probe {POINT} {{ a[pid()]++ }}", "map"),
    Peer("stap-map-name", "`a[execname()]++`", f"global a probe {POINT} {{ a[execname()]++ }}", "map-name"),
    Peer("stap-map-names", "`a[execname(), probefunc()]++`", f"global a probe {POINT} {{ a[execname(), probefunc()]++ }}",
         "map-names"),
    Peer("stap-map-stack", "`a[backtrace()]++`", f"global a probe {POINT} {{ a[backtrace()]++ }}", "map-stack"),
    Peer("stap-map-user", "`a[user_string_n($regs->di, 8)]++`",
         f"global a probe {POINT} {{ a[user_string_n($regs->di, 8)]++ }}", "map-user"),
    Peer("stap-target", "`if (pid() == target()) n++`", f"global n probe {POINT} {{ if (pid() == target()) n++ }}", "target"),
    Peer("stap-task", "`printf` of pid, tid, cpu and uid",
         f'probe {POINT} {{ printf("%d %d %d %d\\n", pid(), tid(), cpu(), uid()) }}', "record-task"),
    Peer("stap-parent", "`printf` of the same and ppid",
         f'probe {POINT} {{ printf("%d %d %d %d %d\\n", pid(), tid(), cpu(), uid(), ppid()) }}', "record-parent"),
    Peer("stap-read-user", "`s <<< user_long($regs->di)`",
         f"global s probe {POINT} {{ s <<< user_long($regs->di) }}", "read-user"),
    Peer("stap-map-clock", "`t[tid()] = gettimeofday_ns()`",
         f"global t probe {POINT} {{ t[tid()] = gettimeofday_ns() }}", "map-clock"),
    Peer("stap-latency", "the same", latency(POINT), "latency"),
    Peer("stap-record", "`printf` of pid and four arguments", f"probe {POINT} {{ {RECORD} }}", "record"),
    Peer("stap-read", "`s <<< $regs->di`", f"global s probe {POINT} {{ s <<< $regs->di }}", "read"),
    Peer("stap-read-twice", "`s <<<` the current task's `->mm->map_count`",
         f"global s probe {POINT} {{ {MAP_COUNT} }}", "read-twice"),
    Peer("stap-first", "`printf` of execname, pid, `$regs->di` and `$regs->si`",
         f'probe {POINT} {{ printf("%s(%d) tv=%p tz=%p\\n", execname(), pid(), $regs->di, $regs->si) }}',
         "record-first"),
    Peer("stap-return", "`.return { n++ }`", f"global n probe {POINT}.return {{ n++ }}", "return-count"),
    Peer("stap-return-record", '`.return { printf("%d", $return) }`',
         f'probe {POINT}.return {{ printf("%d\\n", $return) }}', "return-record"),
    Peer("stap-trace", '`kernel.trace("sys_enter")`, `n++`', f"global n probe {TRACEPOINT} {{ n++ }}",
         "tracepoint-count"),
    Peer("stap-statement", "`kernel.statement`, `n++`", f"global n probe {STATEMENT} {{ n++ }}", "statement"),
]

# LTTng's events, each with the PID: the arguments of enable-event.
LTTNG = [
    Peer("lttng-kprobe", "kprobe", f"--probe={FUNCTION} hit", "record"),
    Peer("lttng-kretprobe", "kretprobe (entry and return: two events)", f"--function={FUNCTION} hit", "return-record"),
    Peer("lttng-syscall", "system call's tracepoints (entry and exit: two events)", "--syscall gettimeofday",
         "tracepoint-record"),
]
PEERS = {"bpftrace": BPFTRACE, "SystemTap": SYSTEMTAP, "LTTng": LTTNG}

# M. Hiramatsu, "Overhead Evaluation about Kprobes and Djprobe (Direct Jump Probe)", Hitachi, 13 July 2005: nanoseconds
# in addition to the unprobed Linux 2.6.12.
REPORT_2005 = [
    ("Pentium 4 3.06 GHz, HT (SMP)", "1064.75", "1613.5", "28", "1169", "1709.5", "114", "69"),
    ("Pentium 4 3.06 GHz, HT off (UP)", "1016.25", "1578", "30.25", "1101.5", "1666", "106.75", "64.75"),
    ("Athlon64 2400+ (32 bit)", "1771", "632.5", "24.25", "461", "649.75", "72", "60.75"),
    ("Pentium M 1600", "2191.5", "781.75", "-115", "719.5", "940.75", "58.5", "101.5"),
]
REPORT_2005_UNPROBED = [("262", "230", "2230", "2514"), ("261", "231", "2256", "2334")]

FUNCTIONALITY_2005 = [
    ("installable point", "almost anywhere", "function entry", "function entry (at least 5 bytes replaced)"),
    ("handlers", "before, after, break, fault", "before", "before"),
    ("a handler gets", "the kprobe, `pt_regs`", "the function's arguments",
     "the djprobe, `pt_regs` with general registers, flags and stack pointer only"),
]

FUNCTIONALITY = [
    ("djprobe", "functions with an fentry site (six of seven)", "before",
     "argument registers, stack pointer; names by DWARF", "one direct call a function, kernel-wide"),
    ("ftrace_ops", "the same", "before", "all registers", "shares with everybody"),
    ("kprobe on ftrace", "the same", "before", "all registers", "shares with everybody"),
    ("kprobe, jump-optimized", "instructions whose 5 bytes nothing jumps into", "before", "all registers",
     "forced only, until such places can be proved"),
    ("kprobe, breakpoint", "almost any instruction", "before", "all registers; locals by DWARF",
     "shares with other kprobes"),
    ("tracepoint", "the kernel's tracepoints", "there", "its arguments by name", "shares with everybody"),
    ("return djprobe", "returns of functions whose arguments are all in registers and that do not sleep by design", "after",
     "return value; argument registers and numbers saved at the entry", "one direct call a function, kernel-wide"),
    ("kretprobe", "function returns", "after", "return value; arguments saved at the entry",
     "a limited number at once; missed ones are counted"),
]
