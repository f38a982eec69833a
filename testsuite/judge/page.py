#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs both judges on both kernels and writes what they say into README.md.

    page.py --djstap PROGRAM [--keep]

--keep: what a judge has already said (in the folder of --store) is not asked again. An option of a judge follows its
name: --values '--seed 7'.
"""
import argparse
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

INTRODUCTION = """<!-- Written by testsuite/judge/page.py: change it there. -->
# Eight judges

Which functions a kernel has, and where their parameters are, djstap learns from debug information. Here another reader of the
same debug information, LLVM's `llvm-dwarfdump`, and kprobes of a module written for this purpose say what is right. The judges
share no code with djstap.

- `listing.py` compares `djstap -l 'kernel.function("*")'` with every function that has code of its own and every inlined
  function of the vmlinux: names, files and lines of the declarations. What djstap leaves out must belong to a class that is
  recognized from the symbols and tables of the vmlinux.
- `values.py` draws functions and inline instances at random from those that `workload.py` calls, and compares `$$parms` at each
  hit with the registers and the memory that the module in `witness/` saves at the same place. At the entry of a function that is
  no optimizer's clone the System V calling convention says where a parameter is, elsewhere llvm-dwarfdump's location list. A
  single value that differs is a failure.
- `regions.py` arms kprobes at 1,500 random places in a guest, by the module in `regions-module/`, and compares the kernel's list of
  those that became jumps with the column K of `djstap regions --model=kernel`. 99.7 % must agree: the kernel patches some places at
  boot, where the file has other instructions.
- `taken_branches.py` boots a guest with a plugin of the emulator (`taken_branches.c`) that notes where every executed jump, call and
  return of the kernel and of three modules leads, and runs `workload.py` in it. No target may be inside a region that
  `djstap regions` calls safe.
- `sources.py` builds bzip2, lua and sqlite from Debian's source packages, and compares what `djstap regions` finds in them with the
  relocations that the linker keeps in another file (`-Wl,-q`): all addresses of code in data, jump tables included.
- `user_stacks.py` compares 1,000 stacks of an optimized C++ program, 60 to 110 frames deep (`sixty_frames.cpp`: virtual functions, exceptions,
  signals, coroutines, threads, frames of variable size), with what `eu-stack` of elfutils says about the process, which stops itself at each of
  them. It also counts the instructions of a frame, and looks in a profile of several programs for frames without a name.
- `program_values.py` draws functions and statements at random in Debian's `python3.11` (C) and `cupt` (C++) and compares all variables there with
  what gdb reads at the same hits. The programs and their debug packages are unpacked, not installed. What only one of both knows is printed
  and no failure: gdb evaluates DW_OP_entry_value in the caller, and shows variables of blocks without code in the block around them.
- `static_probes.py` compares the static probes of Python, the C and C++ libraries, PostgreSQL and Java with `readelf`'s list of their notes, and
  runs commands that pass those of the first three: the arguments are what gdb reads at the same hits, and what the commands say that they are.
  Debian's C library has no notes; it is built once more from its source package (`noted_libc.py`).
- `locations_test.py` tests the judge's own arithmetic.

`judge.listing.sample` and `judge.locations` run always, the whole kernels with `scripts/test --nightly`. What llvm-dwarfdump
says about a kernel, some 5 GB of text, is kept as a database in the build's folder.

## What they found

- Listings of `*` of 6.1 lacked 437 inlined functions whose first inline instance cannot be probed.
- An alias without a size hid the blacklisted `arch_ftrace_ops_list_func` from the check of inline instances.
- At the entry of functions that assign to a parameter in their first statement, or whose variables gcc does not track, gcc's
  location is that of the value after the assignment, or of a register that the prologue fills.
- Lambdas, other functions of local classes and nested functions of C were not found.
- Parameters of clones in programs that the linker optimizes (`f.isra.0`) were read where the calling convention puts those of `f`.

## What they do not judge

- Inline instances of functions that are inlined at more than 40 places, and two instances of one function at one address.
- Parameters whose location llvm-dwarfdump prints as read from memory by the expression; djstap has no value for them, either.
- Two places of a batch at one address: djstap prints the hits of both under it ("2 hits instead of 1").
- Hits in interrupts, which the two recordings may see in another order.

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--store", default=os.path.join(ROOT, "build", "judge"))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--values", default="", help="options of values.py")
    options = parser.parse_args()
    os.makedirs(options.store, exist_ok=True)
    page, failed = [INTRODUCTION], False
    for title, name in (("The list", "listing"), ("The values", "values")):
        page.append("## %s\n\n" % title)
        for kernel in ("6.1", "6.12"):
            kept = os.path.join(options.store, "%s-%s.txt" % (name, kernel))
            if not options.keep or not os.path.exists(kept):
                ran = subprocess.run([sys.executable, os.path.join(HERE, name + ".py"), "--djstap", options.djstap, "--kernel", kernel,
                                      "--store", options.store, *(shlex.split(options.values) if name == "values" else [])],
                                     stdout=subprocess.PIPE, text=True)
                failed |= ran.returncode != 0
                with open(kept, "w") as file:
                    file.write(ran.stdout)
            with open(kept) as file:
                page.append("```\n" + file.read().rstrip() + "\n```\n\n")
    with open(os.path.join(HERE, "README.md"), "w") as file:
        file.write("".join(page).rstrip() + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
