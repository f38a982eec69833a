#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what `djstap regions` calls safe with where a kernel's executed branches lead.

A plugin of the emulator (taken_branches.c) notes the target of each jump, call and return that a guest's kernel
executes while it boots, loads a module and runs a workload (workload.py). None of them may be inside a region that is called
safe, behind its first byte, by either model. Where control comes back from an interrupt or a fault, the
instruction before was no branch: these places are counted apart, since whoever plants a jump waits until no task is
inside the region.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LOW = 0xFFFFFFFF80000000
JUMP_BYTES = 5
# A guest's state is saved after it has booted: without a state of this run's own, the boot would not be seen.
ARGUMENTS = "-plugin {plugin},targets={folder}/targets,resumed={folder}/resumed"


def places_in(path):
    """Returns the addresses whose bits are set."""
    found = []
    with open(path, "rb") as file:
        for number, byte in enumerate(file.read()):
            if byte:
                found += [LOW + number * 8 + bit for bit in range(8) if byte >> bit & 1]
    return found


def trace(options, folder):
    """Runs the guest."""
    environment = dict(os.environ, DJSTAP_CACHE=os.path.join(folder, "cache"),
                       DJSTAP_QEMU_ARGUMENTS=ARGUMENTS.format(plugin=options.plugin, folder=folder))
    command = [options.djstap, f"--guest={options.kernel}", "-w", "-c", f"python3 {HERE}/workload.py", "-e", "probe begin { }"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"taken_branches.py: the guest failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def answers(options, model, addresses, folder):
    """Returns {address: the answer of --at}, where an instruction of a function begins."""
    names = os.path.join(folder, "places")
    with open(names, "w", encoding="utf-8") as file:
        file.write("\n".join(map(hex, sorted(addresses))))
    command = [options.djstap, "regions", "--json", f"--model={model}", "-r", options.kernel, "--at", f"@{names}"]
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


def main():
    parser = argparse.ArgumentParser(description="Compares djstap regions with the branches that a kernel executes.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--plugin", help="default: taken_branches.so beside djstap")
    parser.add_argument("--least", type=int, default=30000, help="targets that must have been seen")
    options = parser.parse_args()
    options.plugin = options.plugin or os.path.join(os.path.dirname(options.djstap), "taken_branches.so")
    if not os.path.exists(options.plugin):
        print(f"there is no {options.plugin}")
        return 77
    with tempfile.TemporaryDirectory(prefix="djstap-branches-") as folder:
        trace(options, folder)
        targets, resumed = (places_in(os.path.join(folder, name)) for name in ("targets", "resumed"))
        near = {place for target in targets + resumed for place in range(target - JUMP_BYTES + 1, target + 1)}
        failed = len(targets) < options.least
        for model in ("short", "relocate", "kernel"):
            answered = answers(options, model, near, folder)
            in_functions = [target for target in targets if target in answered]
            wrong = wrong_places(answered, targets)
            for place, target in wrong[:50]:
                print(f"{place} is called safe, but a branch led to {target:#x}")
            print(f"{options.kernel}, model {model}: {len(targets)} targets of executed branches, {len(in_functions)} of them in "
                  f"functions, {len(wrong)} inside of regions called safe; {len(resumed)} places where control came back from "
                  f"an interrupt or a fault, {len(wrong_places(answered, resumed))} of them inside of such regions; the kernel's "
                  f"own rule allows {len(wrong_places(answered, targets, 'kernel'))} wrong places")
            failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
