#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges djstap -l 'kernel.function("*")' by llvm-dwarfdump.

    listing.py --djstap PROGRAM --kernel 6.1
    listing.py --djstap PROGRAM --sample    a kernel of some functions that is made for this, in a second

Another reader of DWARF says which functions a vmlinux contains, where they are declared, where their code is and where
they are inlined. What djstap lists must be exactly that, except for classes of functions that docs/language.md names as
not probeable; each of them is recognized from the symbols and tables of the vmlinux as readelf prints them. A single
function that is missing, additional or declared elsewhere is a failure.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

import dwarf_store
from kernel_image import KernelImage, release_of, vmlinux_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
POINT = re.compile(r'kernel\.function\("([^"@]+)(?:@([^":]+)(?::(\d+))?)?"\)(\.inline)?$')

INIT = "initialization code, which the kernel frees after boot"
REPLACED = "weak definitions that a strong one replaces: no symbol is at their code"
FORBIDDEN = "without an fentry site, in code that the kernel forbids to kprobes"
NO_IDT = "what a CPU runs while it cannot take an exception (compiler/arch/x86_64/without_idt.cpp)"
TRACERS = "what the kernel's function tracers run before they notice a recursion (compiler/arch/x86_64/uncalled.cpp), for kprobes"
REPLACED_AT_RUN = "the code begins with the instruction of a static branch or static call, where the kernel refuses kprobes"
NO_CODE = "inline instances that no code is left of"
ALIAS = "other names of code that is listed under one of its names (memmove, __memmove)"


def reviewed(source, names, beginnings):
    """The reviewed lists in a source: exact names, and beginnings of names."""
    with open(os.path.join(ROOT, "compiler/arch/x86_64", source)) as file:
        text = file.read()
    exact, rest = text.split(names + "{")[1].split(beginnings + "[]")
    return set(re.findall(r'"([^"]+)"', exact)), tuple(re.findall(r'"([^"]+)"', rest.split("};")[0]))


class Walk:
    """What djstap should list, and why it should not list the rest."""

    def __init__(self, database, image):
        self.image = image
        self.without_idt = reviewed("without_idt.cpp", "listed_functions", "listed_beginnings")
        self.tracers = reviewed("uncalled.cpp", "tracers", "tracer_beginnings")
        self.expected = {}
        self.classes = collections.defaultdict(dict)
        self.entries = {}
        self.replaced = set()
        named = set() # entries that have a name; their entries in DWARF are sorted by name, as djstap's index is
        for die, name, file, line, begin in sorted(self._functions(database), key=lambda each: (each[1], each[0])):
            reason = self.reason_of_function(die, name, begin)
            self.take((name, file, line, False), ALIAS if reason is None and begin in named else reason)
            named.add(begin)
        for name, file, line, entry, function in database.execute(
                "select name, file, line, entry, function from instance"):
            self.take((name, file, line, True), self.reason_of_instance(entry, function))
        for kind in self.classes.values():
            for point in list(kind):
                if point in self.expected:
                    del kind[point]

    def take(self, point, reason):
        if reason is None:
            self.expected[point] = True
        else:
            self.classes[reason][point] = True

    def _functions(self, database):
        ranges = collections.defaultdict(list)
        for function, begin, end in database.execute("select function, begin, end from range order by function, number"):
            if begin < end and begin:
                ranges[function].append(dwarf_store.unsigned64(begin))
        for die, name, file, line in database.execute("select die, name, file, line from function"):
            begins = [each for each in ranges[die]
                      if not any(symbol.endswith(".cold") for symbol in self.image.symbols.get(each, []))]
            if begins and name:
                yield die, name, file, line, begins[0]

    def is_listed(self, address, lists):
        names, beginnings = lists
        around = self.image.function_at(address)
        symbols = self.image.symbols.get(around[0] if around else address, [])
        return any(symbol.split(".")[0] in names or symbol.startswith(beginnings) for symbol in symbols)

    def reason_of_function(self, die, name, entry):
        self.entries[die] = entry
        if not self.image.in_section(".text", entry):
            return INIT
        if entry not in self.image.symbols:
            self.replaced.add(die)
            return REPLACED
        if self.is_listed(entry, self.without_idt):
            return NO_IDT
        if self.image.has_fentry(entry) is None and self.image.kprobe_forbidden(entry):
            return FORBIDDEN
        if self.image.has_fentry(entry) is None and self.is_listed(entry, self.tracers):
            return TRACERS
        if self.image.has_fentry(entry) is None and entry in self.image.replaced:
            return REPLACED_AT_RUN
        return None

    def reason_of_instance(self, address, function):
        if address is None:
            return NO_CODE
        address = dwarf_store.unsigned64(address)
        if function not in self.entries:
            return NO_CODE # in the abstract copy of a function
        if not self.image.in_section(".text", address):
            return INIT
        if function in self.replaced:
            return REPLACED
        if self.is_listed(address, self.without_idt):
            return NO_IDT
        if self.image.kprobe_forbidden(address):
            return FORBIDDEN
        if self.is_listed(address, self.tracers):
            return TRACERS
        return REPLACED_AT_RUN if address in self.image.replaced else None


def listed_by(djstap, kernel, cache=None):
    environment = dict(os.environ, DJSTAP_CACHE=cache) if cache else None
    run = subprocess.run([djstap, "-r", kernel, "-l", 'kernel.function("*")'], capture_output=True, text=True,
                         env=environment)
    if run.returncode != 0:
        sys.exit("djstap failed: " + run.stderr)
    points = set()
    for line in run.stdout.splitlines():
        found = POINT.match(line)
        if not found:
            sys.exit("unexpected line of the listing: " + line)
        points.add((found.group(1), found.group(2) or "", int(found.group(3) or 0), bool(found.group(4))))
    return points


SAMPLE_LAYOUT = """SECTIONS {
    . = 0xffffffff81000000;
    .text : {
        _stext = .; *(.text) __noinstr_text_start = .; *(.noinstr.text) __noinstr_text_end = .; *(.text.unlikely) _etext = .;
    }
    . = ALIGN(4096);
    .init.text : { *(.init.text) }
    .data : { __start_kprobe_blacklist = .; *(.data) __stop_kprobe_blacklist = .; }
}
"""


def make_sample(folder):
    """A folder that djstap takes for a kernel's build tree. Returns its vmlinux."""
    os.makedirs(os.path.join(folder, "include/config"))
    for name, text in (("include/config/kernel.release", "6.1.0-sample\n"), (".config", "CONFIG_HZ=100\n"),
                       ("layout.ld", SAMPLE_LAYOUT)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    for name in ("sample", "sample_strong"):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".c")
        with open(source) as file, open(os.path.join(folder, name + ".c"), "w") as copy:
            copy.write(file.read())
        subprocess.run(["gcc", "-g", "-gdwarf-5", "-O2", "-c", name + ".c", "-o", name + ".o", "-ffreestanding", "-mcmodel=kernel",
                        "-fno-pie", "-fno-stack-protector", "-fcf-protection=none", "-fno-asynchronous-unwind-tables"],
                       cwd=folder, check=True)
    subprocess.run(["ld", "--build-id", "-e", "0", "-T", "layout.ld", "-o", "vmlinux", "sample.o", "sample_strong.o"],
                   cwd=folder, check=True)
    return os.path.join(folder, "vmlinux")


def text_of(point):
    name, file, line, inline = point
    return name + ("@" + file if file else "") + (":%d" % line if line else "") + (".inline" if inline else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--store", default=os.path.join(ROOT, "build", "judge"), help="the folder of the databases")
    parser.add_argument("--show", type=int, default=20, help="so many of the differences")
    options = parser.parse_args()
    if options.sample:
        with tempfile.TemporaryDirectory(prefix="judge-") as folder:
            vmlinux = make_sample(os.path.join(folder, "kernel"))
            return judge("the sample", os.path.dirname(vmlinux), vmlinux, os.path.join(folder, "store"), options,
                         SAMPLE_CLASSES)
    release = release_of(options.kernel)
    if not release:
        print("no kernel %s is installed" % options.kernel)
        return 77
    return judge("kernel " + release, options.kernel, vmlinux_of(release), options.store, options, ())


# Of the sample: each class has a function, so that the sample cannot stop to test one of them.
SAMPLE_CLASSES = INIT, REPLACED, FORBIDDEN


def judge(title, kernel, vmlinux, store, options, classes):
    walk = Walk(dwarf_store.open_store(vmlinux, store), KernelImage(vmlinux))
    listed = listed_by(options.djstap, kernel, os.path.join(store, "cache") if options.sample else None)
    expected = set(walk.expected)
    print("%s: llvm-dwarfdump finds %d functions with code of their own and %d that are inlined; djstap lists %d and %d" % (
        title, sum(not p[3] for p in expected), sum(p[3] for p in expected),
        sum(not p[3] for p in listed), sum(p[3] for p in listed)))
    for reason, points in sorted(walk.classes.items()):
        print("left out, %d: %s" % (len(points), reason))
    failed = not expected
    for reason in classes:
        if not walk.classes.get(reason):
            print("the sample has no " + reason)
            failed = True
    for title, points in (("missing in djstap's list", expected - listed), ("not in llvm-dwarfdump's", listed - expected)):
        print("%s: %d" % (title, len(points)))
        for point in sorted(points)[:options.show]:
            print("    " + text_of(point), next((r for r, each in walk.classes.items() if point in each), ""))
        failed |= bool(points)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
