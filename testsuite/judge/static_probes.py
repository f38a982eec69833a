#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the static probes (SDT notes) of real programs with readelf's list of them, and their arguments with gdb's.

All notes of each file must be listed, each with as many arguments as its note has. Then a command that passes many of them runs in a guest twice with
the same addresses: once with a probe on mark("*"), once in gdb with a breakpoint at each probe, whose arguments gdb reads by its own parser
of notes. Each place must be hit equally often, with equal arguments at each of the first {HITS} hits; what differs between two runs of gdb, such as
how often a lock is waited for, is not compared. The commands also say what they know of the arguments (known NAME VALUE …): addresses and numbers that they pass,
names of functions and modules as Python's own hooks tell them. Each must be among the hits. What is not hit must be in the
table UNREACHED, which tells the reason.

Debian's C library has no notes, so it is built from Debian's glibc-source with --enable-systemtap (some ten minutes, once) unless --libc FOLDER
names a build; without its packages the C library is left out. QEMU of Debian has none, either; PostgreSQL's and Java's, which are
listed if they are installed, are more than those of the others together.
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import noted_libc # noqa: E402

HITS = 20
PRINTED = 30000 # of each place, for what programs know of them
MOST = 200 # a probe that gdb sees more often is counted no further
__doc__ = __doc__.format(HITS=HITS)
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
ENVIRONMENT = ["HOME=/nowhere", "LC_ALL=C", "PYTHONHASHSEED=0",
               "GLIBC_TUNABLES=glibc.malloc.tcache_count=6:glibc.malloc.tcache_max=500:glibc.malloc.tcache_unsorted_limit=9"]
PYTHON = r"""
import gc, sys
told = []
class Finder:
    def find_spec(name, path, target=None): told.append(f'known import__find__load__start "{name}')
sys.meta_path.insert(0, Finder)
def collected(phase, about):
    told.append(f'known gc__start {about["generation"]:#x}' if phase == 'start' else f'known gc__done {about["collected"] + about["uncollectable"]:#x}')
gc.callbacks.append(collected)
sys.addaudithook(lambda name, arguments: told.append(f'known audit "{name}') if ' ' not in name else None)
import colorsys, sched
def closed():
    yield 1
for _ in range(3): next(closed())
told.append('known function__entry "<string> "closed')
told.append('known function__return "<string> "closed')
def traced():
    return 1 + 2
def trace(frame, event, argument):
    if event == 'line': told.append(f'known line "{frame.f_code.co_filename} "{frame.f_code.co_name} {frame.f_lineno:#x}')
    return trace
sys.settrace(trace)
traced()
sys.settrace(None)
for generation in 0, 1, 2:
    ring = []
    ring.append(ring)
    del ring
    gc.collect(generation)
sys.audit('own.event', 5)
print('\n'.join(told))
"""
# What no workload here passes, and why. ("PROVIDER:NAME")
UNREACHED = {
    "libc:memory_arena_reuse_wait": "all arenas must be locked at one moment",
    "rtld:lll_lock_wait": "two threads must be in the dynamic loader at one moment",
    "rtld:lll_lock_wait_private": "two threads must be in the dynamic loader at one moment",
    "rtld:longjmp": "the loader leaves a function so only before the program runs, and then ends it",
    "rtld:longjmp_target": "the loader leaves a function so only before the program runs, and then ends it",
}
IN_GDB = r'''
import gdb, json
given = json.load(open("{work}/wanted.json"))
out = open(given["out"], "w")
hits = {{}}
def values():
    try:
        return [hex(int(gdb.parse_and_eval(f"$_probe_arg{{n}}")) & ((1 << 64) - 1)) for n in range(int(gdb.parse_and_eval("$_probe_argc")))]
    except gdb.error: # one of the arguments names a symbol, such as 112+mp_(%rip)
        return ["?"]
class Hit(gdb.Breakpoint):
    def __init__(self, name):
        super().__init__("-probe-stap " + name, internal=True)
        self.name = name
    def stop(self):
        pc = gdb.selected_frame().pc()
        hits[pc] = hits.get(pc, 0) + 1
        if hits[pc] <= {hits}:
            out.write(f"{{self.name}} {{pc:#x}} {{hits[pc]}} {{' '.join(values())}}\n")
        if hits[pc] > {most}:
            self.enabled = False
        return False
for line in ("set confirm off", "set pagination off", "set breakpoint pending on", "set debuginfod enabled off", "set python print-stack full",
             "handle all nostop noprint pass", "set exec-wrapper env -i " + " ".join(given["environment"]), "starti"):
    gdb.execute(line)
for name in given["names"]:
    Hit(name)
gdb.execute("continue")
for pc, count in hits.items():
    out.write(f"total {{pc:#x}} {{count}}\n")
out.close()
'''


def run(command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False, **options)
    if done.returncode:
        sys.exit(f"static_probes.py: {' '.join(command)[:300]} failed:\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}")
    return done.stdout


def notes_of(path):
    """Returns the notes of a file: [(provider, name, address, number of arguments)]."""
    found = re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location: (0x\w+), Base: (0x\w+), Semaphore: 0x\w+\s+Arguments: ?(.*)", run(["readelf", "-n", path]))
    base = re.search(r"\.stapsdt\.base\s+PROGBITS\s+(\w+)", run(["readelf", "-SW", path]))
    moved = lambda stated: int(base[1], 16) - int(stated, 16) if base else 0 # prelink moves the section, not what the notes state
    return [(provider, name, int(at, 16) + moved(stated), len(re.findall(r"\S+@", arguments))) for provider, name, at, stated, arguments in found]


def check_listing(djstap, path):
    """Compares listings with the notes; returns the notes, and whether they agree."""
    notes = notes_of(path)
    point = f'process("{path}").provider("*").mark("*")'
    sites = collections.Counter(re.findall(r'\.provider\("([^"]+)"\)\.mark\("([^"]+)"\)', run([djstap, "-p2", "-e", f"probe {point} {{}}"])))
    wanted = collections.Counter((provider, name) for provider, name, _, _ in notes)
    listed = {(provider, name, len(re.findall(r"\$arg\d+:", rest))) for provider, name, rest in
              re.findall(r'\.provider\("([^"]+)"\)\.mark\("([^"]+)"\)(.*)', run([djstap, "-L", point]))}
    arguments = {(provider, name, count) for provider, name, _, count in notes}
    for key in sorted((sites - wanted) | (wanted - sites)):
        print(f"{path}: {':'.join(key)}: {sites[key]} places in djstap, {wanted[key]} in readelf")
    for key in sorted(listed ^ arguments):
        print(f"{path}: {key[0]}:{key[1]} with {key[2]} arguments is only in {'djstap' if key in listed else 'readelf'}")
    print(f"{path}: {len(notes)} notes of {len(wanted)} probes, {sum(count for *_, count in notes)} arguments: "
          f"{'all listed' if sites == wanted and listed == arguments else 'the listing differs'}", flush=True)
    return notes, sites == wanted and listed == arguments


def in_gdb(work, command, names, guest):
    """Returns the hits as gdb sees them: {(name, place): [arguments of each hit]}, {place: how many}."""
    with open(f"{work}/wanted.json", "w", encoding="utf-8") as file:
        json.dump({"out": f"{work}/gdb", "names": names, "environment": ENVIRONMENT}, file)
    with open(f"{work}/in_gdb.py", "w", encoding="utf-8") as file:
        file.write(IN_GDB.format(work=work, hits=HITS, most=MOST))
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in command)
    with open(f"{work}/gdb.sh", "w", encoding="utf-8") as file:
        file.write(f"cd {work} && rm -f gdb && gdb -nx -batch -x in_gdb.py --args {quoted} > log 2>&1 < /dev/null; tail -3 log >&2; cat gdb\n")
    return hits_in(run([*guest, "-e", "probe begin {}", "-c", f"sh {work}/gdb.sh"]))


def hits_in(text):
    """Returns the arguments of the hits, by name and place, and how often each place was hit."""
    arguments, totals = collections.defaultdict(list), {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "total":
            totals[int(words[1], 16)] = int(words[2])
        elif len(words) > 2 and ":" in words[0] and words[1].startswith("0x") and words[2].isdigit():
            arguments[words[0], int(words[1], 16)].append([word for word in words[3:] if word.startswith("0x") or word == "?"])
    return arguments, totals


def texts_in(text):
    """Returns what follows the arguments of each hit: the texts to which the first two point, by name."""
    found = collections.defaultdict(list)
    for line in text.splitlines():
        words = line.split(" ", 3)
        if len(words) == 4 and ":" in words[0] and words[1].startswith("0x"):
            numbers, *texts = words[3].split(" |")
            found[words[0].split(":", 1)[1]].append(([int(word, 16) for word in numbers.split()], texts))
    return found


def is_known(said, hits):
    """Returns whether one of the hits has the arguments that a program knows."""
    def fits(word, n, numbers, texts):
        if word.startswith('"'):
            return n < len(texts) and texts[n] == word[1:]
        return word == "-" or n < len(numbers) and numbers[n] == int(word, 16)
    return any(all(fits(word, n, *hit) for n, word in enumerate(said)) for hit in hits)


def check_hits(given, name, command, files, wanted, work):
    """Runs the command in the guest with djstap and with gdb, with probes whose names match; returns whether they agree."""
    notes_in = {path: [note for note in notes_of(path) if re.fullmatch(wanted, note[1])] for path in files}
    notes = [note for each in notes_in.values() for note in each]
    names = sorted({f"{provider}:{note}" for provider, note, _, _ in notes})
    guest = [given.djstap, f"--guest={given.kernel}", "-w", "--guest-root"]
    with open(f"{work}/notes.stp", "w", encoding="utf-8") as file:
        file.write("global hits\nfunction text:string(address:long) { try { return user_string_n(address, 60) } catch { return \"\" } }\n")
        for path, those in notes_in.items():
            file.write("probe " + ",\n".join(f'process("{path}").provider("{provider}").mark("{note}")' for provider, note in
                                             sorted({each[:2] for each in those})) + " {\n")
            file.write(f'    n = ++hits[uaddr()]\n    if (n > {PRINTED}) next\n    printf("%s:%s %#x %d", $$provider, $$name, uaddr(), n)\n')
            for n in range(1, 1 + max(count for *_, count in those)):
                file.write(f'    if (@defined($arg{n})) printf(" %#x", $arg{n})\n')
            file.write('    printf(" |%s |%s\\n", text(@choose_defined($arg1, 0)), text(@choose_defined($arg2, 0)))\n}\n')
        file.write('probe end { foreach (at in hits) printf("total %#x %d\\n", at, hits[at]) }\n')
    with open(f"{work}/start", "w", encoding="utf-8") as file:
        words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in [*ENVIRONMENT, *command])
        file.write(f"#!/bin/sh\nsetarch -R env -i {words} > {work}/said < /dev/null 2>&1\ncat {work}/said\nexit 0\n")
    os.chmod(f"{work}/start", 0o755)
    said = run([*guest, "-s", "16", f"{work}/notes.stp", "-c", f"{work}/start"])
    ours, our_totals = hits_in(said)
    theirs, totals = in_gdb(work, command, names, guest)
    again, again_totals = in_gdb(work, command, names, guest)
    counts = collections.Counter()
    good = True
    for key in sorted({*ours, *theirs}):
        same_total = our_totals.get(key[1]) == totals.get(key[1]) or totals.get(key[1], 0) > MOST
        for n in range(min(HITS, max(len(ours[key]), len(theirs[key])))):
            mine, gdbs, once_more = (each[key][n] if n < len(each[key]) else None for each in (ours, theirs, again))
            counts["hits"] += 1
            if mine and gdbs == ["?"]:
                counts["unread"] += 1
                continue
            if mine == gdbs:
                counts["equal"] += 1
                counts["values"] += len(mine)
            elif gdbs != once_more:
                counts["vary"] += 1
            else:
                good = False
                print(f"{name}: {key[0]} at {key[1]:#x}, hit {n + 1}: {mine} in djstap, {gdbs} in gdb")
        if not same_total and totals.get(key[1]) == again_totals.get(key[1]):
            good = False
            print(f"{name}: {key[0]} at {key[1]:#x}: {our_totals.get(key[1])} hits in djstap, {totals.get(key[1])} in gdb")
    hit = {key[0] for key in ours}
    texts = texts_in(said)
    known = [each for each in re.findall(r"^known (\S+) ?(.*)$", said, re.MULTILINE) if re.fullmatch(wanted, each[0])]
    for what, arguments in known:
        if not is_known(arguments.split(" "), texts[what]):
            good = False
            print(f"{name}: no hit of {what} has the arguments {arguments}: {texts[what][:3]}")
    missed = set(names) - hit
    for each in sorted(missed):
        print(f"{name}: not hit: {each}: {UNREACHED.get(each, 'without a reason in this program')}")
    good &= missed <= set(UNREACHED)
    places = {key[1] for key in ours}
    print(f"{name}: {len(hit)} of {len(names)} probes hit at {len(places)} of {len(notes)} places, {counts['hits']} hits compared, "
          f"{counts['equal']} with equal arguments ({counts['values']}), {counts['unread']} that gdb cannot read, {counts['vary']} vary in gdb; {len(known)} arguments known from outside", flush=True)
    return good and counts["equal"] > 0 and bool(known)


def programs(given, work):
    """Returns the commands, the files whose probes they pass, and a pattern of their names: {name: (command, files, names)}."""
    python = ["/usr/bin/python3.11"]
    # Where there is a probe on "line", Python is in its slow way of tracing, and passes the others at more places.
    found = {"python3.11": ([*python, "-I", "-S", "-c", PYTHON], python, "(?!line).*"),
             "python3.11's line": ([*python, "-I", "-S", "-c", PYTHON], python, "line")}
    run(["g++", "-g", "-O1", "-o", f"{work}/throws", f"{HERE}/throws.cpp"])
    found["libstdc++.so.6"] = ([f"{work}/throws"], [f"{LIBRARIES}/libstdc++.so.6"], ".*")
    libc = given.libc or noted_libc.built()
    if libc:
        run(["gcc", "-g", "-O1", "-o", f"{work}/passes_notes", f"{HERE}/passes_notes.c", f"-Wl,--dynamic-linker={libc}/ld-linux-x86-64.so.2",
             f"-Wl,-rpath,{libc}"])
        found["libc.so.6"] = ([f"{work}/passes_notes", f"{LIBRARIES}/libz.so.1"], [f"{libc}/libc.so.6", f"{libc}/ld-linux-x86-64.so.2"], ".*")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--djstap", required=True, type=os.path.abspath)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--libc", metavar="FOLDER", help="a C library with static probes: libc.so.6 and ld-linux-x86-64.so.2")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="only these programs")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the files there")
    given = parser.parse_args()
    if not shutil.which("gdb") or not os.path.exists("/usr/bin/python3.11"):
        print("gdb or python3.11 is not installed")
        return 77
    good = True
    with tempfile.TemporaryDirectory(prefix="djstap-notes-", dir="/var/tmp") as work:
        work = given.keep and os.path.abspath(given.keep) or work
        os.makedirs(work, exist_ok=True)
        all_programs = programs(given, work)
        only_listed = [*glob.glob("/usr/lib/postgresql/*/bin/postgres"), *glob.glob("/usr/lib/jvm/*/lib/server/libjvm.so"),
                       *glob.glob(f"{LIBRARIES}/libpython3.*.so.1.0")]
        files = list({path: True for name, (_, files, _) in all_programs.items() for path in files if not given.only or name in given.only})
        for path in files + ([] if given.only else sorted(set(map(os.path.realpath, only_listed)))):
            good &= check_listing(given.djstap, path)[1]
        for name, (command, files, names) in all_programs.items():
            if not given.only or name in given.only:
                good &= check_hits(given, name, command, files, names, work)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
