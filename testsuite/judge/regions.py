#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what `djstap regions --model=kernel` says with what the kernel does.

Chooses places in the kernel at random, arms a kprobe at each of them in a guest, by a module of its own
(regions-module/), and compares the kernel's list of kprobes, where [OPTIMIZED] marks those that became jumps, with the
column K of `djstap regions --at`. Places where the kernel would plant a jump and must not are left out, and so are
places near another one: a jump cannot be planted over a probe.

Differences remain where the kernel patches its text at boot (alternatives, paravirtualized calls): the file has other
instructions there. With --live there are none: the text is read from the memory of the guest, whose kernel runs at its
link-time addresses.

With --module the places are in a module, which the guest loads; with --live also, its text is read from memory.
"""
import argparse
import base64
import bisect
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
# Bytes between two places: the jump, and the longest instruction that it cuts.
APART = 20
# Waits until as many kprobes are jumps as expected, or until the number stays the same for long.
COMMANDS = """
mount -t debugfs none /sys/kernel/debug 2>/dev/null
moved=0
if [ -n "{module}" ]; then
    modprobe {module} || exit 1
    text=$(cat /sys/module/{module}/sections/.text)
    moved=$(printf %u $((0x${{text#0xffffffff}} - {text})))
    echo "moved $moved"
fi
insmod {folder}/regions_judge.ko moved=$moved || exit 1
list=/sys/kernel/debug/kprobes/list
before=0 same=0
while [ $same -lt 30 ]; do
    now=$(grep -c OPTIMIZED $list)
    [ $now -ge {expected} ] && [ $same -ge 3 ] && break
    if [ $now = $before ]; then same=$((same + 1)); else same=0; fi
    before=$now
    sleep 1
done
cat $list
grep -w _printk /proc/kallsyms
rmmod regions_judge
"""


# Prints what is in memory of the kernel from _text to _etext, or of modules' sections .text from where they are loaded
# on, as the kernel's own core file shows it.
DUMP = """
import base64, re, struct, sys, zlib
ranges = {}
for name in sys.argv[1:]:
    first = int(open(f"/sys/module/{name}/sections/.text").read(), 16)
    size = int(next(line for line in open("/proc/modules") if line.split()[0] == name).split()[1])
    ranges[name] = first, first + size
if not ranges:
    addresses = {name: int(address, 16) for address, _, name, *_ in map(str.split, open("/proc/kallsyms"))
                 if name in ("_text", "_etext")}
    ranges["kernel"] = addresses["_text"], addresses["_etext"]
with open("/proc/kcore", "rb") as core:
    header = core.read(64)
    offset, = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    core.seek(offset)
    segments = [struct.unpack_from("<IIQQQQ", core.read(size)) for _ in range(count)]
    for name, (first, end) in ranges.items():
        for kind, _, at, virtual, _, bytes_there in segments:
            if kind == 1 and virtual <= first < virtual + bytes_there:
                core.seek(at + first - virtual)
                bytes_here = core.read(min(end, virtual + bytes_there) - first)
                print("text", name, base64.b64encode(zlib.compress(bytes_here)).decode())
                break
        else:
            sys.exit(f"no segment has the text of {name}")
"""


def write_dump(folder):
    """Returns the path of a program for the guest, whose arguments are modules; without any, it dumps the kernel's text."""
    script = os.path.join(folder, "dump.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(DUMP)
    return script


def dumped(output, name):
    """Returns what a guest's dump printed of a module, or of "kernel"."""
    return zlib.decompress(base64.b64decode(re.search(rf"^text {name} (\S+)$", output, re.MULTILINE)[1]))


def dump_text(options, folder):
    """Writes the text of the guest's kernel, or of a module, to a file, and returns its path."""
    path = os.path.join(folder, "text")
    command = f"python3 {write_dump(folder)}"
    if options.module:
        command = f"sh -c 'modprobe {options.module} && {command} {options.module}'"
    with open(path, "wb") as file:
        file.write(dumped(run_guest(options, command), options.module or "kernel"))
    return path


def regions(options, *words):
    command = [options.djstap, "regions", "--json", "--model=kernel",
               *([options.file] if options.module else ["-r", options.kernel]), *words]
    if options.text:
        command += ["--text", options.text]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def module_file(options, folder, root):
    """Returns (a module's file, where djstap's addresses of its .text begin, how many bytes that has)."""
    found = subprocess.run(["find", os.path.join(root, "kernel"), "-name",
                            re.sub("[-_]", "[-_]", options.module) + ".ko*"], stdout=subprocess.PIPE, text=True, check=True).stdout
    path, unpacked = found.split("\n", maxsplit=1)[0], os.path.join(folder, "unpacked.ko")
    with open(unpacked, "wb") as file:
        subprocess.run(["xz", "-dcf", path], stdout=file, check=True)
    text = subprocess.run(["readelf", "-SsW", unpacked], stdout=subprocess.PIPE, text=True, check=True).stdout
    number, size = re.search(r"\[ *(\d+)\] \.text +PROGBITS +\S+ \S+ (\S+)", text).groups()
    symbols = re.findall(r": ([0-9a-f]+) +\d+ FUNC +\w+ +\w+ +(\w+) (\S+)$", text, re.MULTILINE)
    names = [name for _, _, name in symbols]
    value, name = next((value, name) for value, section, name in symbols if section == number and names.count(name) == 1)
    answer = subprocess.run([options.djstap, "regions", "--json", "--at", name, path], stdout=subprocess.PIPE, check=True).stdout
    first = int(json.loads(answer)["places"][0]["address"], 16) - int(value, 16)
    return path, first, int(size, 16)


def choose(options, folder):
    """Returns [place], as `--at` describes them."""
    functions = [each for each in regions(options)["functions"]
                 if each["I"] > 1 and each["reasons"].get("no-probes", 0) < each["I"]]
    if options.module:
        _, first, size = options.module_text
        functions = [each for each in functions if first <= int(each["address"], 16) < first + size]
    starts = sorted(int(each["address"], 16) for each in functions)
    numbers = random.Random(options.seed)
    tried = set()
    for each in numbers.choices(functions, weights=[each["I"] for each in functions], k=options.places * 2):
        start = int(each["address"], 16)
        following = bisect.bisect(starts, start)
        size = each["I"] * 4  # about
        if following < len(starts):
            size = min(size, starts[following] - start)
        tried.update(start + numbers.randrange(max(size, 1)) for _ in range(3))
    names = os.path.join(folder, "places")
    with open(names, "w", encoding="utf-8") as file:
        file.write("\n".join(map(hex, sorted(tried))))
    places = [each for each in regions(options, "--at", f"@{names}")["places"] if "kernel" in each]
    unsafe = {each["address"] for each in regions(options, "--unsafe")["unsafe"]}
    numbers.shuffle(places)
    chosen, taken = [], []
    for each in places:
        address = int(each["address"], 16)
        at = bisect.bisect(taken, address)
        near = [other for other in taken[max(at - 1, 0):at + 1] if abs(other - address) < APART]
        if near or each["address"] in unsafe:
            continue
        taken.insert(at, address)
        chosen.append(each)
        if len(chosen) == options.places:
            break
    return chosen


def kernel_files(options):
    """Returns (the folder to build modules in, that of the kernel's modules, the address of _printk in vmlinux)."""
    text = subprocess.run([options.djstap, "regions", "--json", "-r", options.kernel, "--at", "_printk"],
                          stdout=subprocess.PIPE, check=True).stdout
    printk = json.loads(text)["places"][0]["address"]
    info = subprocess.run([options.djstap, "--info", "-r", options.kernel], capture_output=True, text=True).stdout
    release = re.search(r"Compiling for kernel (\S+)", info)[1]
    root = os.environ.get("DJSTAP_KERNELS") or "/var/lib/djstap/kernels"
    for base in (os.path.join(root, release), ""):
        modules = f"{base}/lib/modules/{release}"
        build = os.path.realpath(f"{modules}/build")
        if os.path.isdir(build):
            return build, modules, printk
    return "", "", printk


def build_module(build, printk, places, folder):
    for name in ("regions_judge.c", "Kbuild"):
        shutil.copy(os.path.join(HERE, "regions-module", name), folder)
    with open(os.path.join(folder, "places.h"), "w", encoding="utf-8") as file:
        file.write(f"#define JUDGE_PRINTK {printk}UL\n#define JUDGE_PLACES " +
                   ", ".join(each["address"] + "UL" for each in places) + "\n")
    done = subprocess.run(["make", "-C", build, f"M={folder}", "modules"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"regions.py: the module cannot be built:\n{done.stdout}{done.stderr}")


def in_guest(options, folder, expected):
    """Returns what the guest printed."""
    script = os.path.join(folder, "judge.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(COMMANDS.format(folder=folder, expected=expected, module=options.module,
                                   text=options.module_text[1] & 0xffffffff if options.module else 0))
    return run_guest(options, f"sh {script}")


def run_guest(options, command):
    """Returns what a command prints in a guest."""
    done = subprocess.run([options.djstap, f"--guest={options.kernel}", "--guest-root", "-w", "-c", command, "-e",
                           "probe begin { }"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"regions.py: the guest failed:\n{done.stdout[-2000:]}{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description="Compares djstap regions with the kernel's optimizer of kprobes.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--places", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=99.7, help="percent of the places that must agree")
    parser.add_argument("--module", default="", help="the places are in this module of the kernel")
    parser.add_argument("--live", action="store_true",
                        help="judge the text that the guest's kernel has in memory instead of that of its file")
    options = parser.parse_args()
    options.text = ""
    with tempfile.TemporaryDirectory(prefix="djstap-regions-") as folder:
        if options.live:
            options.text = dump_text(options, folder)
        build, modules, printk = kernel_files(options)
        if not build:
            print(f"the headers of {options.kernel} are not installed")
            return 77
        if options.module:
            options.module_text = module_file(options, folder, modules)
            options.file = options.module_text[0]
        places = choose(options, folder)
        build_module(build, printk, places, folder)
        output = in_guest(options, folder, sum(each["kernel"] for each in places))
    if options.module:
        bias = int(re.search(r"^moved (\d+)$", output, re.MULTILINE)[1])
        bias -= (1 << 64) if bias >> 63 else 0
    else:
        bias = int(re.search(r"^([0-9a-f]{16}) T _printk$", output, re.MULTILINE)[1], 16) - int(printk, 16)
    listed = {int(address, 16) - bias: flags
              for address, flags in re.findall(r"^([0-9a-f]{16})\s+k\s+\S+(.*)$", output, re.MULTILINE)}
    armed = differing = jumps = 0
    for each in places:
        flags = listed.get(int(each["address"], 16))
        if flags is None:
            continue
        armed += 1
        jumps += "[OPTIMIZED]" in flags
        if ("[OPTIMIZED]" in flags) != each["kernel"]:
            differing += 1
            print(f"{each['place']}: djstap says {'a jump' if each['kernel'] else 'no jump'}, the kernel's list: "
                  f"{flags.strip() or 'no flag'}; {each['reason']}")
    agreeing = 100 * (armed - differing) / max(armed, 1)
    print(f"{options.kernel}{options.module and f', module {options.module}'}: {len(places)} places, {armed} armed, {jumps} became jumps, {differing} differ "
          f"({agreeing:.2f} % agree)")
    # Nearly every place must be armed: else nothing was compared.
    return 0 if agreeing >= options.least and armed >= 0.9 * options.places else 1


if __name__ == "__main__":
    sys.exit(main())
