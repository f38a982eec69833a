# SPDX-License-Identifier: GPL-2.0-or-later
"""The changes that no test noticed when an audit made them, and the tests that have to notice each since.

    audit.py          checks that each change can still be made: its text occurs once in its file

`scripts/mutate --audit` makes one after the other in a tree of its own, and asks these tests.
"""
import dataclasses
import os
import re
import sys

sys.dont_write_bytecode = True


@dataclasses.dataclass
class Change:
    what: str
    path: str
    old: str
    new: str
    tests: list  # CTest's names; some of those of a program of unit tests as program:filter


# What a change leaves without a use would not compile: calls stay behind conditions that never hold.
CHANGES = [
    Change("no lock excludes another CPU", "runtime/globals/locks.h",
           "return holders == 0 && atomic_try_cmpxchg_acquire(&lock->holders, &holders, -1);",
           "return holders == 0 || atomic_try_cmpxchg_acquire(&lock->holders, &holders, -1);",
           ["parallel.kernel.exclusion.6.1"]),
    Change("lost records are not counted", "runtime/record/ring.c",
           "else\n\t\tthis_cpu_inc(djs_cpu.lost);", "else\n\t\tthis_cpu_inc(djs_cpu.oversized);", ["kernel.ring-full.6.1"]),
    Change("kretprobe misses are reported as 0", "runtime/kprobe/registered.c",
           "return missed.nested + missed.without_instance;", "return 0;", ["unit_runtime:*Registered*", "kernel.kretprobe-default.6.1"]),
    Change(".maxactive is ignored", "runtime/kprobe/kretprobe.c",
           "kretprobe->maxactive = site->maxactive ?: default_instances();", "kretprobe->maxactive = default_instances();",
           ["kernel.kretprobe-default.6.1"]),
    Change("MAXSKIPPED never ends a session", "runtime/context/enter.c",
           "if (atomic_inc_return(&djs_locked_skips) == djs_script.max_skipped + 1)\n\t\tdjs_request_exit(true);",
           "if (atomic_inc_return(&djs_locked_skips) == 0)\n\t\tdjs_request_exit(true);", ["unit_runtime:Contexts.*", "kernel.max-skipped.6.1"]),
    Change("failed writes to kernel memory are silent", "runtime/access/access.c",
           "if (unlikely(!djs_write_number(address, size, value)))\n\t\tdjs_fail_number(ctx, \"write\", address, size, djs_is_user(address), place);",
           "djs_write_number(address, size, value);", ["kernel.writes.6.1"]),
    Change("timers stay armed when their condition is false", "runtime/timer/timer.c",
           "djs_sites[i].armed &&\n\t\t    !djs_sites[i].wanted)\n\t\t\tdetach_timer(&djs_sites[i]);\n}\n\nconst",
           "djs_sites[i].armed &&\n\t\t    !djs_sites[i].wanted && i > 0xffff)\n\t\t\tdetach_timer(&djs_sites[i]);\n}\n\nconst", ["kernel.disarmed.6.12"]),
    Change("tracepoints stay armed", "runtime/tracepoint/tracepoint.c",
           "if (!run->armed || run->wanted)\n\t\t\tcontinue;", "continue;", ["kernel.disarmed.6.12"]),
    Change("kretprobes stay armed", "runtime/kprobe/registered.c",
           "follow_wanted(kind, false);", "", ["kernel.disarmed.6.12"]),
    Change("perf events stay armed", "runtime/perf/perf.c",
           "detach_perf(&djs_sites[i]);\n\tfree_detached();\n}\n\nconst", "if (i > 0xffff)\n\t\t\tdetach_perf(&djs_sites[i]);\n\tfree_detached();\n}\n\nconst", ["kernel.disarmed.6.12"]),
    Change("netfilter hooks stay armed", "runtime/netfilter/netfilter.c",
           "djs_sites[i].armed &&\n\t\t    !djs_sites[i].wanted)\n\t\t\tdetach_hook(&djs_sites[i]);\n}\n\nconst",
           "djs_sites[i].armed &&\n\t\t    !djs_sites[i].wanted && i > 0xffff)\n\t\t\tdetach_hook(&djs_sites[i]);\n}\n\nconst", ["kernel.disarmed.6.12"]),
    Change("a recorder's part is used again while a record in it is open", "runtime/record/recorder.c",
           "if (!size)\n\t\t\treturn false;", "if (!size)\n\t\t\treturn true;", ["kernel.recorder-open-record.6.1"]),
    Change("an NMI adds to the statistic that it interrupted", "runtime/globals/globals.c",
           "if (djs_in_nmi())\n\t\tcopy += statistic->stride;\n\tepoch",
           "if (djs_in_nmi() && !copy)\n\t\tcopy += statistic->stride;\n\tepoch", ["unit_runtime:StatisticInNmi.*", "kernel.safety-nmi.6.1"]),
    Change("task_ppid is the task's own process", "tapsets/task.stp",
           "return task_pid(task_parent(task))", "return task_pid(task)", ["kernel.task-values.6.1"]),
    Change("task_nice is one too high", "runtime/context/process.c",
           "struct task_struct, static_prio));", "struct task_struct, static_prio)) + 1;", ["kernel.task-values.6.1"]),
    Change("user_uint32 reads two bytes", "tapsets/memory.stp",
           "function user_uint32:long(address:long) { try { return @uderef(4, address) } catch { return 0 } }",
           "function user_uint32:long(address:long) { try { return @uderef(2, address) } catch { return 0 } }", ["kernel.memory-values.6.1"]),
    Change("$return of an int is not sign-extended", "compiler/probes/access.cpp",
           "step.is_signed = type.is_signed && bit_size_ == 0;",
           "step.is_signed = type.is_signed && bit_size_ == 0 && access_.base != Access::Base::ReturnValue;", ["kernel.narrow-values.6.1"]),
    Change("MAXACTION is undercounted in long blocks", "compiler/codegen/body.cpp",
           "if (++pending_actions_ >= max_pending || now)\n        settle_actions(range);",
           "if (++pending_actions_ >= max_pending)\n        pending_actions_ = 1;\n    if (now)\n        settle_actions(range);",
           ["conformance.beside"]),
    Change("`next` without a further overload yields 0", "compiler/codegen/body.cpp",
           "fail(overloads_exhausted, function.range); // the caller knows the place", "builder_.CreateBr(exit_);", ["conformance.beside"]),
    Change("the nesting count is not given back after a caught error", "compiler/codegen/expressions.cpp",
           "builder_.CreateStore(builder_.CreateSub(nesting, script_.u32(1)), nesting_at);",
           "Value failed = builder_.CreateIsNotNull(load_field(offsetof(djs_ctx, error), script_.types.pointer, \"error\"));\n"
           "        builder_.CreateStore(builder_.CreateSelect(failed, nesting, builder_.CreateSub(nesting, script_.u32(1))), nesting_at);",
           ["conformance.statements"]),
    Change("the hash of array keys is constant", "runtime/map/keys.h",
           "return (u32)(djs_map_spread(hash) >> 32);", "return (u32)(djs_map_spread(map->front.seed) >> 32);", ["unit_runtime:*Chain*"]),
]


def problems(root):
    """Returns a line for each change that can no longer be made."""
    found = []
    for change in CHANGES:
        with open(os.path.join(root, change.path), encoding="utf-8") as file:
            times = file.read().count(change.old)
        if times != 1:
            found.append(f"{change.path}: the text of '{change.what}' occurs {times} times")
    return found


def command_of(tree, test):
    """Returns the command that runs a test in the tree's build."""
    program, _, names = test.partition(":")
    if names:
        return [os.path.join(tree.build, "bin", program), f"--gtest_filter={names}"]
    return ["ctest", "--test-dir", tree.build, "--no-tests=error", "--output-on-failure", "-C", "nightly", "-FA", ".*", "-R", f"^{re.escape(test)}$"]


def run(tree, only, say):
    """Makes each change whose text fits `only`, and asks its tests; returns the exit status: 1 if one is not noticed.

    A test that fails twice without a change is not asked.
    """
    failing = problems(tree.root)
    if failing:
        say("\n".join(failing))
        return 1

    def notices(test):
        return tree.run(command_of(tree, test), 900)[0] != 0

    changes = [change for change in CHANGES if re.search(only, change.what)]
    useless = [test for test in sorted({test for change in changes for test in change.tests}) if notices(test) and notices(test)]
    for test in useless:
        say(f"{test} fails without a change")
    noticed = 0
    for change in changes:
        with open(os.path.join(tree.root, change.path), "rb") as file:
            text = file.read()
        try:
            tree.write(change.path, text.replace(change.old.encode(), change.new.encode()))
            compiles = tree.compile()
            killers = [test for test in change.tests if test not in useless and notices(test)] if compiles else []
        finally:
            tree.write(change.path, text)
        say(f"{change.what}: {'noticed by ' + ', '.join(killers) if killers else 'NOT NOTICED' if compiles else 'does not compile'}")
        noticed += bool(killers)
    say(f"{noticed} of {len(changes)} changes of the audit are noticed")
    return 1 if noticed < len(changes) or useless or not changes else 0


def main():
    found = problems(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
