#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares stacks of a C++ program with what eu-stack of elfutils says about the same process.

`sixty_frames.cpp`, compiled with -O2, makes stacks along random paths, of at least 60 frames, and stops itself (SIGSTOP)
at each. Scripts take the stack at a uprobe in the innermost function, and where it then enters the kernel to
stop; meanwhile eu-stack unwinds the stopped process. All must have the same addresses from the innermost function to the outermost
one. A second guest counts the instructions of the walk, and a third takes a profile of programs with symbols, whose frames must
have names.
"""
import argparse
import bisect
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
import guest # noqa: E402
import kernels # noqa: E402
import packages # noqa: E402

FRAMES = 128
SCRIPT = """
probe process(@1).function("sampled") { printf("uprobe %d %s\\n", tid(), ubacktrace()) }
probe kernel.function("__x64_sys_tkill") { if (execname() == "sixty") printf("call %d %s\\n", tid(), ubacktrace()) }
"""
PROFILE = """
global samples
probe timer.profile.freq.hz(997) { if (user_mode()) samples[execname(), ubacktrace()]++ }
probe end { foreach ([name, stack] in samples) printf("%s %s %d\\n", name, sprint_usyms(stack), samples[name, stack]) }
"""
# Programs of many kinds, in a shell: with all symbols, with those for the dynamic loader only, and libraries.
WORKLOAD = """#!/bin/sh
{program} 60
ls -l /usr/lib/x86_64-linux-gnu /usr/bin | sort -k5 -n | sed 's/[aeiou]/_/g' | md5sum
perl -e 'my %n; $n{{$_ % 977}} .= "x$_" for 1 .. 20000; print length(join ",", map {{ $n{{$_}} }} sort keys %n), "\\n"'
/usr/bin/python3 -c 'import json; print(len(json.dumps([json.loads(json.dumps({{str(n): [n, n / 7, None]}})) for n in range(800)])))'
awk 'BEGIN {{ for (i = 0; i < 200000; i++) n[i % 1000] += i; print n[7] }}'
echo 'int main(void) {{ return 0; }}' | gcc -O2 -x c - -o /dev/null
"""
INSTRUCTIONS = 150  # of a frame, at most
LESS, MORE = 8, 48  # frames of the two scripts whose difference is measured
NAMED = 0.99


def run(command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"user_stacks.py: {' '.join(command)[:300]} failed:\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}")
    return done


def stacks_in(text):
    """Returns the stacks of each kind, in order: {kind: {task: [[address]]}}."""
    found = {"uprobe": {}, "call": {}, "eu-stack": {}}
    task = None
    for line in text.splitlines():
        words = line.split()
        if line.startswith("looks "):
            task = None
        elif re.fullmatch(r"TID \d+:", line):
            task = int(words[1][:-1])
            found["eu-stack"].setdefault(task, []).append([])
        elif line.startswith("#") and task:
            found["eu-stack"][task][-1].append(int(words[1], 16))
        elif words and words[0] in ("uprobe", "call"):
            found[words[0]].setdefault(int(words[1]), []).append([int(word, 16) for word in words[2:]])
    return found


def compare(text, stacks):
    """Returns whether all stacks are the same; prints those that are not."""
    found = stacks_in(text)
    right = {"uprobe": 0, "call": 0}
    lengths = []
    for kind, ours in ((kind, found[kind]) for kind in right):
        for task, samples in ours.items():
            # While a thread makes its stack, the first one, which waits for it, is stopped, too.
            theirs = found["eu-stack"].get(task, [])
            alone = [each for each in theirs if len(theirs) == len(samples) or each[0] == samples[0][0] or len(each) >= 60]
            if len(alone) != len(samples):
                print(f"task {task}: {len(samples)} stacks of {kind}, {len(alone)} of eu-stack")
                continue
            for one, other in zip(samples, alone):
                first = kind == "uprobe"
                lengths.append(len(one))
                if one[first:] == other[first:]:
                    right[kind] += 1
                elif right[kind] > len(lengths) - 6:
                    print(f"{kind}, task {task}:\n  " + " ".join(map(hex, one)) + "\n  " + " ".join(map(hex, other)))
    print(f"stacks: {right['uprobe']} of {stacks} at a uprobe and {right['call']} of {stacks} at a system call are eu-stack's;"
          f" {min(lengths, default=0)} to {max(lengths, default=0)} frames")
    return right == {"uprobe": stacks, "call": stacks} and min(lengths) >= 60


def per_frame(given, program, folder):
    """Returns the guest instructions of a frame, in the steady state."""
    release = kernels.release_of(given.djstap, given.kernel)
    archive = guest.base_archive()
    archive.program(os.path.join(os.path.dirname(given.djstap), "djrun"))
    archive.program(shutil.which("chrt"))
    archive.program(program)
    archive.file(program.lstrip("/"), program)
    script = ""
    for frames in (LESS, MORE):
        name = f"djstap_frames{frames}"
        run([given.djstap, "-r", release, "-p4", "-w", "-D", f"MAXBACKTRACE={frames}", "-m", name, "-e",
             f'probe process("{program}").function("sampled") {{ println(ubacktrace()) }}'], cwd=folder)
        archive.file(f"modules/{name}.ko", os.path.join(folder, name + ".ko"))
        script += (f"djrun -s 16 -o /tmp/out -c 'chrt -f 10 {program} 40' /modules/{name}.ko >/tmp/cost 2>/tmp/log\n"
                   f"echo \"cost $(cat /tmp/cost) frames $(awk '{{ if (NF > most) most = NF }} END {{ print most }}' /tmp/out)\"; cat /tmp/log\n")
    console = guest.run(release, archive, script)
    costs = {int(frames): int(cost) for cost, frames in re.findall(r"^cost (\d+) frames (\d+)$", console, re.MULTILINE)}
    if set(costs) != {LESS, MORE}:
        sys.exit("user_stacks.py: the guest did not measure:\n" + console[-2000:])
    return (costs[MORE] - costs[LESS]) / (MORE - LESS)


def symbols_of(path, known={}):
    """Returns the ranges of the functions of a file, and of its separate debug file."""
    if path not in known:
        ranges = []
        number = re.search(r"Build ID: (\w\w)(\w+)", subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout)
        for file in [path] + ([f"/usr/lib/debug/.build-id/{number[1]}/{number[2]}.debug"] if number else []):
            listed = subprocess.run(["readelf", "-W", "--syms", "--dyn-syms", file], capture_output=True, text=True, errors="replace").stdout
            for _, value, size, kind, section in re.findall(r"^ +(\d+): ([0-9a-f]+) +(\w+) (FUNC|IFUNC|NOTYPE) +\S+ +\S+ +(\w+) ", listed, re.M):
                if section != "UND":
                    ranges.append((int(value, 16), int(value, 16) + max(int(size, 0), 1)))
        known[path] = sorted(ranges)
    return known[path]


def has_symbol(path, address):
    """Returns whether a function of the file is there, or begins less than 16 functions before and contains the address."""
    ranges = symbols_of(path)
    at = bisect.bisect(ranges, (address, 1 << 64))
    return any(begin <= address < end for begin, end in ranges[max(at - 16, 0):at])


def profile(given, program, folder):
    """Takes a profile; returns the share of the frames that have a name among those whose file has a symbol for them."""
    path = os.path.join(folder, "profile.stp")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROFILE)
    with open(os.path.join(folder, "workload"), "w", encoding="utf-8") as file:
        file.write(WORKLOAD.format(program=program))
    found = os.path.join(folder, "folded")
    run([given.djstap, "--guest", "-r", given.kernel, "-w", "-s", "16", "-D", "MAXMAPENTRIES=20000", "-D", "MAXBACKTRACE=64", "-D", "MAXACTION=1000000", "-D", "MAXSYMBOLS=131072", "-D", "MAXSTRINGLEN=4096", f"--output=folded:{found}", path,
         "-c", f"sh {folder}/workload"])
    named = unnamed = without = samples = 0
    with open(found, encoding="utf-8", errors="replace") as file:
        for line in file:
            frames, times = line.rstrip("\n").rsplit(" ", 1)
            samples += int(times)
            for frame in frames.split(";")[1:]:
                raw = re.fullmatch(r"\[(/.*)\+0x([0-9a-f]+)\]", frame)
                if not raw and not frame.startswith("0x"):
                    named += int(times)
                elif raw and has_symbol(raw[1], int(raw[2], 16)):
                    if not unnamed:
                        print(f"no name: {frame}")
                    unnamed += int(times)
                else:
                    without += int(times)
    print(f"profile: {samples} samples; {named} frames have names, {unnamed} have none although there is a symbol, of {without} there is no"
          " symbol")
    return samples, named / max(named + unnamed, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--stacks", type=int, default=1000)
    given = parser.parse_args()
    given.djstap = os.path.abspath(given.djstap)
    eu_stack = shutil.which("eu-stack") or os.path.join(packages.unpacked("elfutils"), "usr/bin/eu-stack")
    if not os.access(eu_stack, os.X_OK):
        print("there is no eu-stack: the package elfutils cannot be fetched")
        return 77
    with tempfile.TemporaryDirectory(prefix="djstap-stacks-", dir="/var/tmp") as folder:
        program = os.path.join(folder, "sixty")
        run(["g++", "-std=c++20", "-O2", "-pthread", "-o", program, os.path.join(HERE, "sixty_frames.cpp")])
        script = os.path.join(folder, "stacks.stp")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        done = run([given.djstap, "--guest", "-r", given.kernel, "-w", "-s", "16", "-D", f"MAXBACKTRACE={FRAMES}", script, program,
                    "-c", f"{program} {given.stacks} {eu_stack} -q -n {FRAMES} -p"])
        good = compare(done.stdout, given.stacks)
        cost = per_frame(given, program, folder)
        print(f"a frame takes {cost:.0f} instructions")
        samples, share = profile(given, program, folder)
    return 0 if good and cost <= INSTRUCTIONS and samples > 100 and share >= NAMED else 1


if __name__ == "__main__":
    sys.exit(main())
