#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the parameters of functions of real programs with what gdb prints at the same hits.

Takes functions of the C library at random, whose debug information is in Debian's libc6-dbg, and runs programs in a guest twice, at
the same addresses: once with uprobes of djstap, once in gdb with breakpoints. In each program, the first hits of each function count.
Where both have a value of a parameter, it must be the same. gdb is no part of what scripts/setup installs: without it, or without the
debug information, nothing is compared (status 77).
"""
import argparse
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

LIBRARY = "/lib/x86_64-linux-gnu/libc.so.6"
HITS = 3 # of a function in a program
PROGRAMS = {
    "sort": "/usr/bin/sort -n -k2 -t: /etc/passwd",
    "ls": "/usr/bin/ls -lR /etc/default /usr/share/perl5",
    "sed": "/usr/bin/sed -E s/[a-z]+([0-9]*)/x\\\\1/g;s/(.)(.)/\\\\2\\\\1/ /etc/services",
    "find": "/usr/bin/find /etc -name *.conf -printf %p:%s:%t\\n",
    "tar": "/usr/bin/tar -cf /dev/null --sort=name /etc/apt",
    "date": "/usr/bin/date -d 2020-02-03 +%c",
    "perl": "/usr/bin/perl -e print(join(',',map{sprintf('%.3f',$_**0.5)}1..9),scalar(localtime(0)),`/bin/echo`)",
    "dash": "/usr/bin/dash -c for i in 1 2 3; do echo $((i * 7)) | cat; done; ulimit -a; trap : USR1; kill -USR1 $$",
    "getent": "/usr/bin/getent passwd root daemon",
    "python3": "/usr/bin/python3 -S -c import time,os,math;print(time.strftime('%c',time.gmtime(0)),math.sin(1),os.getpid()>1,float('1e3'))",
}
# Scalars: gdb's values of others have no number.
SCALAR = re.compile(r"^\$\w+:(?!struct |union |.*\[|.*\bdouble\b|.*\bfloat\b).*$|^\$\w+:.*\*$")

IN_GDB = r'''
import gdb
wanted = {{{wanted}}}
class Hit(gdb.Breakpoint):
    def __init__(self, address, name):
        super().__init__("*" + hex(address), internal=True)
        self.function, self.hits = name, 0
    def stop(self):
        self.hits += 1
        if self.hits > {hits}:
            self.enabled = False
            return False
        frame, values = gdb.newest_frame(), []
        block = frame.block()
        while block and not block.function:
            block = block.superblock
        for symbol in block or ():
            if symbol.is_argument:
                try:
                    value = symbol.value(frame)
                    kind = value.type.strip_typedefs()
                    if kind.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_CHAR):
                        bits = 8 * kind.sizeof
                        values.append(f"{{symbol.name}}={{int(value) & ((1 << bits) - 1):#x}}/{{bits}}")
                except (gdb.error, ValueError):
                    values.append(f"{{symbol.name}}=?/64")
        out.write(f"{{self.function}} {{self.hits}} {{' '.join(values)}}\n")
        return False
out = open("{out}", "w")
for line in ("set confirm off", "set pagination off", "set startup-with-shell off", "set disable-randomization on", "set detach-on-fork on",
             "set follow-fork-mode parent", "set debuginfod enabled off", "handle all nostop noprint pass", "unset environment",
             "set print thread-events off", "catch load libc"):
    gdb.execute(line)
gdb.execute("run > /dev/null 2>&1 < /dev/null" if False else "run")
gdb.execute("delete")
points = [Hit(address, name) for address, name in wanted.items()]
gdb.execute("continue")
out.close()
gdb.execute("quit")
'''


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"program_values.py: {' '.join(command)[:300]} failed:\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}")
    return done.stdout


def functions_of(djstap, kernel):
    """Returns the functions of the library all of whose parameters are numbers or pointers, by "name@file:line"."""
    listed = run([djstap, "-r", kernel, "-L", f'process("{LIBRARY}").function("*").call'])
    found = []
    for line in listed.splitlines():
        point = re.search(r'\.function\("([^"]+:\d+)"\)\.call ((?:\$[^#]*)?)', line)
        variables = re.findall(r"\$\w+:[^$#]*", point[2]) if point else []
        if variables and all(SCALAR.match(variable.strip()) for variable in variables):
            found.append(point[1])
    return sorted(set(found))


def values_of(text):
    """Returns the values by function and hit, and the addresses of functions."""
    values, addresses = {}, {}
    for line in text.splitlines():
        hit = re.match(r"(\S+@\S+:\d+) (\d+) (?:at (0x[0-9a-f]+) )?(.*)", line)
        if hit:
            values[hit[1], int(hit[2])] = dict(word.split("=", 1) for word in hit[4].split() if "=" in word)
            if hit[3]:
                addresses[hit[1]] = int(hit[3], 16)
    return values, addresses


def words_of(command):
    """The words of a command, of which -c and -e take the rest as one."""
    head, option, rest = re.match(r"(.*?)(?: (-[ce]) (.*))?$", command).groups()
    return head.split() + ([option, rest] if option else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--functions", type=int, default=1500, help="so many of the library's, of which some are hit")
    parser.add_argument("--sites", type=int, default=1000, help="at least so many hits are to be compared")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", nargs="*", default=list(PROGRAMS))
    given = parser.parse_args()
    if subprocess.run(["which", "gdb"], capture_output=True, check=False).returncode or not glob.glob("/usr/lib/debug/.build-id/*"):
        print("gdb or libc6-dbg is not installed")
        return 77
    functions = functions_of(given.djstap, given.kernel)
    random.Random(given.seed).shuffle(functions)
    chosen = functions[:given.functions]
    print(f"{len(functions)} functions have parameters, {len(chosen)} of them are probed")
    work = tempfile.mkdtemp(prefix="djstap-values-")
    points = ",\n".join(f'process("{LIBRARY}").function("{name}").call ?' for name in chosen)
    script = f'''global hits
probe {points} {{
    if (hits[pp()]++ >= {HITS}) next
    printf("%s %d at 0x%x %s\\n", tokenize(substr(pp(), strpos(pp(), ".function(") + 11, 200), "\\""), hits[pp()], uaddr(), $$parms)
}}
'''
    with open(f"{work}/values.stp", "w", encoding="utf-8") as file:
        file.write(script)
    compared = wrong = lacking = unknown = 0
    for program in given.programs:
        words = words_of(PROGRAMS[program])
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        with open(f"{work}/start", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec env -i setarch -R {quoted} > /dev/null 2>&1 < /dev/null\n")
        os.chmod(f"{work}/start", 0o755)
        seen, addresses = values_of(run([given.djstap, "--guest", "-r", given.kernel, "-w", "-D", "MAXSTRINGLEN=1024", "--guest-root", f"{work}/values.stp",
                                         "-c", f"{work}/start"]))
        with open(f"{work}/in_gdb.py", "w", encoding="utf-8") as file:
            file.write(IN_GDB.format(wanted=", ".join(f"{at:#x}: {name!r}" for name, at in addresses.items()), hits=HITS, out=f"{work}/gdb"))
        with open(f"{work}/gdb.sh", "w", encoding="utf-8") as file:
            file.write(f"cd {work} && gdb -nx -batch -x in_gdb.py --args {quoted} > log 2>&1 < /dev/null; cat gdb; tail -3 log >&2\n")
        right, _ = values_of(run([given.djstap, "--guest", "-r", given.kernel, "-w", "--guest-root", "-e", "probe begin {}", "-c", f"sh {work}/gdb.sh"]))
        for key, theirs in right.items():
            ours = seen.get(key)
            if ours is None:
                lacking += 1
                continue
            for name, value in theirs.items():
                number, bits = value.split("/")
                mine = ours.get(name, "?")
                if number == "?" or mine == "?":
                    unknown += number != mine
                    continue
                compared += 1
                if int(number, 0) != int(mine, 0) & ((1 << int(bits)) - 1):
                    wrong += 1
                    print(f"{program}: {key[0]}, hit {key[1]}: {name} is {number} in gdb and {mine} in djstap")
        print(f"{program}: {len(addresses)} functions, {len(seen)} hits, {len(right)} in gdb", flush=True)
    print(f"{compared} values compared, {wrong} differ; {unknown} are known to one of both; {lacking} hits in gdb alone")
    return int(wrong > 0 or compared < given.sites)


if __name__ == "__main__":
    sys.exit(main())
