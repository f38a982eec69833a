#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what `djstap regions` calls safe with where a kernel's executed branches lead.

A plugin of the emulator (taken_branches.c) notes the target of each jump, call and return that a guest's kernel
executes while it boots, loads a module and runs a workload (workload.py). None of them may be inside a region that is called
safe, behind its first byte, by either model. The same holds for modules: the guest's root folder is on overlay, and the workload also runs
in a file system of xfs on a loop device (if mkfs.xfs is available). Where control comes back from an interrupt or a fault, the
instruction before was no branch: these places are counted apart, since whoever plants a jump waits until no task is
inside the region.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import regions

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
import packages # noqa: E402
LOW, MODULES_FROM = 0xFFFFFFFF80000000, 0xFFFFFFFFC0000000
JUMP_BYTES = 5
# A guest's state is saved after it has booted: without a state of this run's own, the boot would not be seen.
ARGUMENTS = "-plugin {plugin},targets={folder}/targets,resumed={folder}/resumed,code={folder}/code"
# Programs that make a file system of xfs, and the libraries that they may need.
MAKE_XFS = ("xfsprogs", "libinih1", "liburcu8")
# The module, and how many targets must have been seen in it; xfs is not mounted everywhere.
MODULES = (("overlay", 300), ("loop", 30), ("xfs", 30))
COMMANDS = """
python3 {here}/workload.py
modprobe loop
modprobe xfs
truncate -s 320M /tmp/disk
if [ -n "{make}" ] && {make} -q /tmp/disk && mount -t xfs -o loop /tmp/disk /mnt; then
    python3 {here}/workload.py /mnt
    umount /mnt
    mount -t xfs -o loop /tmp/disk /mnt && umount /mnt
    echo mounted
fi
for module in {modules}; do
    echo "module $module $(cat /sys/module/$module/sections/.text)"
done
python3 {dump} {modules}
"""


def places_in(path):
    """Returns the addresses whose bits are set."""
    found, size = [], 4096
    with open(path, "rb") as file:
        for start, chunk in enumerate(iter(lambda: file.read(size), b"")):
            if chunk.count(0) == len(chunk):
                continue
            for number, byte in enumerate(chunk, start * size):
                if byte:
                    found += [LOW + number * 8 + bit for bit in range(8) if byte >> bit & 1]
    return found


def make_xfs():
    """Returns the command that makes a file system of xfs; "" if there is none."""
    folders = [packages.unpacked(package) for package in MAKE_XFS]
    if not all(folders):
        return ""
    libraries = ":".join(os.path.join(each, "usr/lib/x86_64-linux-gnu") for each in folders[1:])
    return f"env LD_LIBRARY_PATH={libraries} {folders[0]}/sbin/mkfs.xfs"


def trace(options, folder):
    """Runs the guest, and returns what it printed."""
    script = os.path.join(folder, "workload.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(COMMANDS.format(here=HERE, make=make_xfs(), dump=regions.write_dump(folder),
                                   modules=" ".join(name for name, _ in MODULES)))
    environment = dict(os.environ, DJSTAP_CACHE=os.path.join(folder, "cache"),
                       DJSTAP_QEMU_ARGUMENTS=ARGUMENTS.format(plugin=options.plugin, folder=folder))
    command = [options.djstap, f"--guest={options.kernel}", "--guest-root", "-w", "-c", f"sh {script}", "-e", "probe begin { }"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"taken_branches.py: the guest failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def answers(options, subject, model, addresses, folder):
    """Returns {address: the answer of --at}, where an instruction of a function begins."""
    names = os.path.join(folder, "places")
    with open(names, "w", encoding="utf-8") as file:
        file.write("\n".join(map(hex, sorted(addresses))))
    command = [options.djstap, "regions", "--json", f"--model={model}", *subject, "--at", f"@{names}"]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return {int(each["address"], 16): each for each in json.loads(text)["places"] if "safe" in each}


def wrong_places(answered, targets, verdict="safe"):
    """Returns [(the place, the target)]: the targets inside of regions that are called safe, or by the kernel's rule."""
    wrong = []
    for target in targets:
        for place in range(target - JUMP_BYTES + 1, target):
            # A short jump has two bytes.
            if place in answered and answered[place][verdict] and (target == place + 1 or "space" not in answered[place]):
                wrong.append((answered[place]["place"], target))
    # Where a short jump leads, nothing is executed, and what is moved for it is entered at its beginning only.
    reached = set(targets)
    for answer in answered.values() if verdict == "safe" else ():
        space = int(answer.get("space", "0"), 16)
        first = int(answer["room"], 16) + 1 if "room" in answer else space
        wrong += [(answer["place"], target) for target in range(first, space + JUMP_BYTES) if space and target in reached]
    return wrong


def executed(folder, address, text):
    """Returns whether it was these bytes that were executed: before the module was loaded, other code may have been there."""
    with open(os.path.join(folder, "code"), "rb") as file:
        file.seek(address - MODULES_FROM)
        found = file.read(8)
    return all(not one or one == other for one, other in zip(found, text))


def judge(options, name, subject, seen, least, folder):
    """Compares what was seen (targets, resumed) with the answers about a subject; returns whether they fit."""
    targets, resumed = seen
    near = {place for target in targets + resumed for place in range(target - JUMP_BYTES + 1, target + 1)}
    failed = len(targets) < least
    for model in ("short", "relocate", "kernel"):
        answered = answers(options, subject, model, near, folder)
        in_functions = [target for target in targets if target in answered]
        wrong = wrong_places(answered, targets)
        for place, target in wrong[:50]:
            print(f"{place} is called safe, but a branch led to {target:#x}")
        print(f"{name}, model {model}: {len(targets)} targets of executed branches, {len(in_functions)} of them in "
              f"functions, {len(wrong)} inside of regions called safe; {len(resumed)} places where control came back from "
              f"an interrupt or a fault, {len(wrong_places(answered, resumed))} of them inside of such regions; the kernel's "
              f"own rule allows {len(wrong_places(answered, targets, 'kernel'))} wrong places")
        failed |= bool(wrong)
    return not failed


def main():
    parser = argparse.ArgumentParser(description="Compares djstap regions with the branches that a kernel executes.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--plugin", help="default: taken_branches.so beside djstap")
    parser.add_argument("--least", type=int, default=30000, help="targets that must have been seen in the kernel")
    options = parser.parse_args()
    options.plugin = options.plugin or os.path.join(os.path.dirname(options.djstap), "taken_branches.so")
    if not os.path.exists(options.plugin):
        print(f"there is no {options.plugin}")
        return 77
    good = True
    with tempfile.TemporaryDirectory(prefix="djstap-branches-") as folder:
        output = trace(options, folder)
        seen = [places_in(os.path.join(folder, name)) for name in ("targets", "resumed")]
        of_kernel = [[each for each in places if each < MODULES_FROM] for places in seen]
        good &= judge(options, options.kernel, ["-r", options.kernel], of_kernel, options.least, folder)
        _, files, _ = regions.kernel_files(options)
        for name, least in MODULES if files else ():
            options.module = name
            path, first, size = regions.module_file(options, folder, files)
            loaded = int(re.search(rf"^module {name} 0x([0-9a-f]+)$", output, re.MULTILINE)[1], 16)
            # At the addresses that djstap gives to the module.
            text = regions.dumped(output, name)
            of_module = [[each - loaded + first for each in places
                          if loaded <= each < loaded + size and executed(folder, each, text[each - loaded:])]
                         for places in seen]
            if name == "xfs" and "mounted" in output.split():
                least *= 100
            good &= judge(options, f"{options.kernel}, module {name}", [path], of_module, least, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
