#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the variables at random places of real programs with what gdb prints at the same hits.

Takes Python (C), the package manager cupt and the network simulator ns (C++) from Debian, with their debug packages; gcc compiled Python with -O3
and optimized it at link time, and the others with -O2. Places are the beginnings of functions, and of statements anywhere in them, also in inlined functions; drawn are those that a command
passes, but not more than {HOT} times. The command then runs in a guest twice with the same addresses: once with uprobes whose
handlers print all variables of the place ($$vars), once in gdb with breakpoints. All values must be the same at each hit. If one is not, both
run once more: what differs between two runs of one, such as a time or the order of a set of objects, is not compared. gdb comes from its package,
the programs are unpacked without being installed.
"""
import argparse
import bisect
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
import packages # noqa: E402

HITS = 3  # of a place, that are compared
HOT = 40
__doc__ = __doc__.format(HOT=HOT)
PACKAGES = ("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "python3.11-dbg", "cupt", "libcupt4-2", "libcupt-common",
            "cupt-dbg", "ns2", "ns2-dbg", "libotcl1", "libtclcl1")
# Which files are probed, a command that passes many of their functions, and libraries that it needs. {folder}: where the programs are.
PROGRAMS = {
    "python3.11": (["python3.11"], ["python3.11", "-I", "-S", "-c", """
import json, re, collections, functools, string, struct, textwrap, decimal
class Shape:
    def __init__(self, n): self.n = n
    def __repr__(self): return f'<{self.n:>4}>'
    def __lt__(self, other): return self.n < other.n
def numbers(n):
    for i in range(n):
        try:
            if i % 3 == 0: raise ValueError(i)
            yield i ** 3 // 7
        except ValueError as error: yield str(error)
print(sorted(Shape(n) for n in (5, 3, 4)), list(numbers(6)), {1, 2} | {3}, 2 ** 200, 1.5e300 * 3, -7 // 2)
print(json.loads(json.dumps({'a': [1, 2.5, None, True], 'b': 'x\\u00e9'})), re.sub(r'(\\w+)@(\\w+)', r'\\2 at \\1', 'one@two, three@four'))
print(collections.Counter('hello').most_common(2), struct.pack('<IhQ', 1, -2, 3), textwrap.fill('some words ' * 5, 20))
print(decimal.Decimal('1.10') + 3, bytes(range(5)).hex(), 'abc'.translate({97: 'z'}), compile('a = b + 1', 'x', 'exec').co_consts)
with open('/etc/services') as file: print(len([line.split() for line in file if line[:1] != '#'][:20]))
"""], []),
    "cupt": (["cupt", "libcupt4.so.2"], ["cupt", "-s", "install", "dash"], []),
    # Of its functions a simulation passes few: --candidates 9000 finds 700 of their places.
    "ns": (["ns"], ["ns", f"{HERE}/network.tcl"], ["libotcl.so.1", "libtclcl.so.1"]),
}
ENVIRONMENT = ["HOME=/nowhere", "LC_ALL=C", "PYTHONHASHSEED=0", "LD_LIBRARY_PATH={folder}"]

IN_GDB = r'''
import gdb, json, re
given = json.load(open("{folder}/wanted.json"))
out = open(given["out"], "w")
numbers = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_REF,
           gdb.TYPE_CODE_RVALUE_REF)
def values_at(pc, frame):
    """The variables that are visible at an address: those of the innermost block that has one of the name."""
    found, block = {{}}, gdb.block_for_pc(pc)
    while block and not block.is_static and not block.is_global:
        for symbol in block:
            if not (symbol.is_argument or symbol.is_variable) or symbol.print_name in found:
                continue
            if symbol.addr_class == gdb.SYMBOL_LOC_STATIC:
                found[symbol.print_name] = "static"
                continue
            try:
                value = symbol.value(frame)
                kind = value.type.strip_typedefs()
                if kind.code not in numbers:
                    found[symbol.print_name] = "other"
                elif value.is_optimized_out:
                    found[symbol.print_name] = "?"
                else:
                    value.fetch_lazy()
                    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
                        found[symbol.print_name] = f"{{int(value.referenced_value().address):#x}}/64"
                    else:
                        bits = 8 * kind.sizeof
                        found[symbol.print_name] = f"{{int(value) & ((1 << bits) - 1):#x}}/{{bits}}"
            except (gdb.error, ValueError, OverflowError):
                found[symbol.print_name] = "?"
        if block.function and block.function.symtab and not given["outer"]:
            break
        block = block.superblock
    return found
class Hit(gdb.Breakpoint):
    def __init__(self, address, place):
        super().__init__("*" + hex(address), internal=True)
        self.address, self.place, self.hits = address, place, 0
    def stop(self):
        self.hits += 1
        if self.hits > given["most"]:
            self.enabled = False
            out.write(f"{{self.place}} hot\n")
        elif given["values"] and self.hits <= {hits}:
            frame = gdb.newest_frame()
            while frame.type() == gdb.INLINE_FRAME:
                frame = frame.older()
            values = values_at(self.address, frame)
            out.write(f"{{self.place}} {{self.hits}} {{' '.join(name + '=' + value for name, value in values.items())}}\n")
        elif not given["values"]:
            out.write(f"{{self.place}} hit\n")
        return False
for line in ("set confirm off", "set pagination off", "set disable-randomization on", "set exec-wrapper env -i "
             + " ".join(given["environment"]), "set debuginfod enabled off", "set print thread-events off", "set python print-stack full", "set breakpoint always-inserted on", "set displaced-stepping on",
             "handle all nostop noprint pass", "set breakpoint pending off", "set detach-on-fork on", "break main", "set inferior-tty /dev/null", "run"):
    gdb.execute(line)
bases = {{}}
for line in gdb.execute("info proc mappings", to_string=True).splitlines():
    words = line.split()
    if len(words) >= 6 and words[-1].startswith("/"):
        bases.setdefault(words[-1].rsplit("/", 1)[-1], int(words[0], 16))
gdb.execute("delete")
points = [Hit(int(place.split("+")[1], 16) + (bases[place.split("+")[0]] if place.split("+")[0] in given["moved"] else 0), place)
          for place in given["places"]]
gdb.execute("continue")
out.close()
gdb.execute("quit")
'''


def run(command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", **options)
    if done.returncode:
        sys.exit(f"program_values.py: {' '.join(command)[:300]} failed:\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}")
    return done.stdout


def fetch(folder, programs):
    """Puts these programs, each with its debug information, into the folder; returns whether they are all there."""
    roots = [packages.unpacked(name) for name in PACKAGES]
    if not all(roots) or not shutil.which("eu-unstrip"):
        return False

    def path_of(name):
        return next(path for root in roots for where in ("bin", "lib", "lib/*-linux-gnu") for path in glob.glob(f"{root}/usr/{where}/{name}"))

    for names, _, libraries in (PROGRAMS[program] for program in programs):
        for library in libraries:
            shutil.copy(path_of(library), folder)
        for name in names:
            path = path_of(name)
            number = re.search(r"Build ID: (\w+)", run(["readelf", "-n", path]))[1]
            debug = [file for root in roots for file in glob.glob(f"{root}/usr/lib/debug/.build-id/{number[:2]}/{number[2:]}.debug")]
            if not debug:
                print(f"{name}: its debug package is of another build")
                return False
            run(["eu-unstrip", path, debug[0], "-o", f"{folder}/{name}"])
    return True


def places_of(path):
    """Returns the addresses where functions begin, and those where statements do."""
    lines = [line.split() for line in run(["nm", "-S", path]).splitlines()]
    functions = sorted((int(words[0], 16), int(words[0], 16) + int(words[1], 16)) for words in lines if len(words) == 4 and words[2] in "tTW")
    starts = [begin for begin, _ in functions]
    # Of functions that the linker has left out, rows remain that lead anywhere, also into instructions.
    instructions = {int(line.split(":")[0], 16) for line in run(["objdump", "-d", "--no-show-raw-insn", path]).splitlines()
                    if re.match(r" +[0-9a-f]+:\t", line)}
    statements = set()
    for line in run(["readelf", "--debug-dump=decodedline", path]).splitlines():
        words = line.split()
        if len(words) >= 4 and words[-1] == "x" and words[2].startswith("0x"):
            address = int(words[2], 16)
            at = bisect.bisect(starts, address) - 1
            if at >= 0 and address < functions[at][1] and address in instructions:
                statements.add(address)
    return set(starts) & statements, statements - set(starts)


def values_of(text):
    """Returns the values of the variables, by place and hit."""
    return {(words[0], int(words[1])): dict(word.split("=", 1) for word in words[2:] if "=" in word)
            for words in map(str.split, text.splitlines()) if len(words) > 1 and "+0x" in words[0] and words[1].isdigit()}


def in_gdb(work, folder, command, places, values, moved, guest=None):
    """Returns what gdb says of the places; `guest`: the command that runs a shell's line in a guest."""
    environment = [word.format(folder=folder) for word in ENVIRONMENT]
    with open(f"{work}/wanted.json", "w", encoding="utf-8") as file:
        json.dump({"out": f"{work}/gdb", "places": places, "values": values, "most": HITS if values else HOT, "environment": environment,
                   "moved": moved, "outer": True}, file)
    with open(f"{work}/in_gdb.py", "w", encoding="utf-8") as file:
        file.write(IN_GDB.format(folder=work, hits=HITS))
    line = f"sh {work}/gdb.sh"
    with open(f"{work}/gdb.sh", "w", encoding="utf-8") as file:
        words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in command)
        file.write(f"cd {work} && rm -f gdb && gdb -nx -batch -x in_gdb.py --args {words} > log 2>&1 < /dev/null; tail -3 log >&2; cat gdb\n")
    return run([*guest, "-e", "probe begin {}", "-c", line] if guest else line.split())


COUNTED = ("hits", "equal", "wrong", "unknown to both", "unknown to djstap", "unknown to gdb", "of other types", "vary", "hits in gdb only")


def outcome(value, mine):
    """Returns what a value of gdb is beside djstap's, which may be None."""
    if value in ("other", "static") or (mine and mine[0] in "{["):
        return "of other types"
    if value == "?" or mine in ("?", None):
        return "unknown to gdb" if mine not in ("?", None) else "unknown to both" if value == "?" else "unknown to djstap"
    number, bits = value.split("/")
    same = re.fullmatch(r"-?(0x)?[0-9a-f]+", mine) and (int(number, 0) ^ int(mine, 0)) & ((1 << int(bits)) - 1) == 0
    return "equal" if same else "wrong"


def differences(name, ours, theirs, once_more):
    """Counts and prints what differs between djstap's values and gdb's. `once_more`: returns both of another run."""
    counts = dict.fromkeys(COUNTED, 0)
    sites, again = set(), None
    for key, values in theirs.items():
        if key not in ours:
            counts["hits in gdb only"] += 1
            continue
        counts["hits"] += 1
        sites.add(key[0])
        for variable, value in values.items():
            mine = ours[key].get(variable)
            found = outcome(value, mine)
            if found in ("wrong", "unknown to djstap", "unknown to gdb"):
                again = once_more() if again is None else again
                if [each.get(key, {}).get(variable) for each in again] != [mine, value]:
                    found = "vary"
                else:
                    print(f"{name}: {key[0]}, hit {key[1]}: {variable} is {value} in gdb and {mine} in djstap")
            counts[found] += 1
    return counts, sites


def judge(given, name, folder, work, random_numbers):
    """Returns the counts of a program, and how many places were hit."""
    files, command, _ = PROGRAMS[name]
    command = [f"{folder}/{command[0]}"] + command[1:]
    moved = [file for file in files if "DYN" in run(["readelf", "-h", f"{folder}/{file}"])]
    candidates = []
    for file in files:
        for places, share in zip(places_of(f"{folder}/{file}"), (1, 2)):
            chosen = random_numbers.sample(sorted(places), min(len(places), given.candidates * share // len(files)))
            candidates += [f"{file}+{place:#x}" for place in chosen]
    said = in_gdb(work, folder, command, candidates, False, moved)
    hit = {line.split()[0] for line in said.splitlines() if line.endswith(" hit")} - {
        line.split()[0] for line in said.splitlines() if line.endswith(" hot")}
    chosen = sorted(hit)
    random_numbers.shuffle(chosen)
    chosen = chosen[:given.sites]
    print(f"{name}: {len(candidates)} places drawn, {len(hit)} of them are passed 1 to {HOT} times, {len(chosen)} are probed", flush=True)
    with open(f"{work}/values.stp", "w", encoding="utf-8") as file:
        # gdb has its breakpoints when main() begins: constructors run before.
        file.write(f'global hits, begun\nprobe process("{command[0]}").function("main").call {{ begun = 1 }}\n')
        for place in chosen:
            path, address = place.split("+")
            file.write(f'probe process("{folder}/{path}").statement({address}) ? {{\n    if (!begun) next\n    n = ++hits["{place}"]\n'
                       f'    if (n <= {HITS}) printf("{place} %d %s\\n", n, $$vars) }}\n')
    with open(f"{work}/start", "w", encoding="utf-8") as file:
        words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in
                         [each.format(folder=folder) for each in ENVIRONMENT] + command)
        file.write(f"#!/bin/sh\nsetarch -R env -i {words} > /dev/null 2>&1 < /dev/null\nexit 0\n")
    os.chmod(f"{work}/start", 0o755)
    guest = [given.djstap, "--guest", "-r", given.kernel, "-w", "--guest-root"]
    with_probes = [*guest, "-s", "16", "-D", "MAXSTRINGLEN=4096", "-D", "MAXMAPENTRIES=8192", f"{work}/values.stp", "-c", f"{work}/start"]

    def both():
        return values_of(run(with_probes)), values_of(in_gdb(work, folder, command, chosen, True, moved, guest))
    return differences(name, *both(), both)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--candidates", type=int, default=4000, help="places of a program that are drawn, at functions; twice as many in them")
    parser.add_argument("--sites", type=int, default=700, help="of those that are passed, so many are compared in each program")
    parser.add_argument("--least", type=int, default=1000, help="places that must have been compared")
    parser.add_argument("--seed", type=int, default=20261126)
    # gdb does not get through cupt with more than some 80 breakpoints in a guest.
    parser.add_argument("--programs", nargs="*", default=["python3.11", "ns"], help=", ".join(PROGRAMS))
    parser.add_argument("--keep", metavar="FOLDER", help="leave the files there")
    given = parser.parse_args()
    given.djstap = os.path.abspath(given.djstap)
    with tempfile.TemporaryDirectory(prefix="djstap-values-", dir="/var/tmp") as work:
        if given.keep:
            work = os.path.abspath(given.keep)
            os.makedirs(work, exist_ok=True)
        folder = f"{work}/programs"
        os.makedirs(folder, exist_ok=True)
        if not shutil.which("gdb") or not fetch(folder, given.programs):
            print("gdb, or the programs with their debug packages, are not available")
            return 77
        random_numbers = random.Random(given.seed)
        good, total = True, 0
        for name in given.programs:
            counts, sites = judge(given, name, folder, work, random_numbers)
            print(f"{name}: {len(sites)} places, " + ", ".join(f"{count} {what}" for what, count in counts.items()), flush=True)
            good &= not counts["wrong"]
            total += len(sites)
    return 0 if good and total >= given.least else 1


if __name__ == "__main__":
    sys.exit(main())
