#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the targets that `djstap regions` finds in programs with those that the linker knows.

Builds bzip2, lua and sqlite from Debian's source packages with gcc and clang, -O2 and -O3, and links each of them twice: once with
-Wl,-q, which keeps the relocations. They tell all addresses of code in data, also the entries of jump tables. djstap gets the other
file, which has none of them. Every address must be a place where control may enter, and none may be inside a region that is called safe.

The sources come from `apt-get source` with a list of its own, which names the source packages of --mirror.
"""
import argparse
import bisect
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import taken_branches # noqa: E402
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
import packages # noqa: E402

# The source package, the files of C, options, commands that make the files, and how many targets there are at least.
PROGRAMS = {
    "bzip2": ("bzip2", ["blocksort.c", "huffman.c", "crctable.c", "randtable.c", "compress.c", "decompress.c", "bzlib.c", "bzip2.c"],
              [], [], 20),
    "lua": ("lua5.4", ["src/l*.c"], ["-lm"], [["rm", "src/luac.c"]], 300),
    "sqlite": ("sqlite3", ["sqlite3.c", "shell.c"], ["-lm", "-lpthread", "-ldl"],
               [["./configure", "--disable-tcl", "--disable-readline"], ["make", "sqlite3.c", "shell.c"]], 1000)}
COMPILERS, LEVELS = ("gcc", "clang-19"), ("-O2", "-O3")


def sources(package, mirror):
    """Returns the folder of a package's source, which it downloads to the cache; "" if it is unavailable."""
    folder = packages.cache("sources", package)
    if not glob.glob(f"{folder}/*.dsc"):
        with tempfile.TemporaryDirectory() as apt:
            for name in ("lists/partial", "cache/archives/partial"):
                os.makedirs(os.path.join(apt, name))
            with open(os.path.join(apt, "sources.list"), "w", encoding="utf-8") as file:
                file.write("deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] " + mirror + " main\n")
            options = [f"Dir::Etc::SourceList={apt}/sources.list", "Dir::Etc::SourceParts=/dev/null", f"Dir::State::Lists={apt}/lists",
                       f"Dir::Cache={apt}/cache", "APT::Sandbox::User=root"]
            words = [word for option in options for word in ("-o", option)]
            for command in (["update"], ["source", "--download-only", package]):
                done = subprocess.run(["apt-get", *words, *command], cwd=folder, capture_output=True, text=True)
                if done.returncode:
                    print(f"{package}: {done.stderr.strip()}")
                    return ""
    return folder


def own_mirror():
    """Returns the address and the release of the machine's own packages, as a line of apt's sources has them."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"],
                            capture_output=True, text=True, check=True).stdout
    return next((line for line in listed.splitlines() if re.match(r"\S*/debian/* ", line)), "")


def unpacked(package, folder, work):
    """Unpacks a source, and returns its folder."""
    path = os.path.join(work, package)
    subprocess.run(["dpkg-source", "--no-check", "--skip-patches", "-x", glob.glob(f"{folder}/*.dsc")[0], path], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"sources.py: {' '.join(command)} failed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def true_targets(path):
    """Returns the addresses in data, by the relocations that the linker kept."""
    section, named, sites = "", [], []
    for line in run(["readelf", "-rW", path], ".").splitlines():
        if found := re.match(r"Relocation section '(\S+)'", line):
            section = found[1].removeprefix(".rela")
        found = re.match(r"([0-9a-f]{16})\s+\S+\s+R_X86_64_(PC32|64)\s+([0-9a-f]{16})\s+\S+ ([+-]) ([0-9a-f]+)$", line)
        if not found or section.startswith((".dyn", ".plt", ".debug", ".eh_frame", ".gcc_except")):
            continue
        place, value = int(found[1], 16), int(found[3], 16) + int(found[4] + found[5], 16)
        if section.startswith(".text"):
            if found[2] == "PC32":
                named.append(value + 4)
        else:
            sites.append((place, value, found[2] == "PC32"))
    named.sort()
    targets = set()
    for place, value, relative in sites:
        # An entry is relative to its table, the relocation to the entry.
        table = bisect.bisect(named, place)
        if relative and table:
            targets.add(value - (place - named[table - 1]))
        elif not relative:
            targets.add(value)
    # Others are of symbols that are defined nowhere.
    return {each for each in targets if each > taken_branches.JUMP_BYTES}


def check(options, name, compiler, level, source, work):
    """Builds a program and compares; returns whether all is well."""
    _, patterns, libraries, _, least = PROGRAMS[name]
    files = [file for pattern in patterns for file in sorted(glob.glob(os.path.join(source, pattern)))]
    objects = os.path.join(work, f"{name}{level}")
    os.makedirs(objects)
    run([compiler, "-w", level, "-fPIE", "-D_GNU_SOURCE", "-DLUA_USE_POSIX", "-c", *files], objects)
    linked = [os.path.join(objects, kind) for kind in ("plain", "kept")]
    for path, more in zip(linked, ([], ["-Wl,-q"])):
        run([compiler, "-pie", "-o", path, *sorted(glob.glob(f"{objects}/*.o")), *libraries, *more], objects)
    targets = true_targets(linked[1])
    near = {place for target in targets for place in range(target - taken_branches.JUMP_BYTES + 1, target + 1)}
    good = True
    for model in ("short", "relocate"):
        answered = taken_branches.answers(options, [linked[0]], model, near, work)
        in_code = sorted(target for target in targets if target in answered)
        missed = [answered[target]["place"] for target in in_code if not answered[target]["leader"]]
        wrong = taken_branches.wrong_places(answered, in_code)
        print(f"{name}, {compiler} {level}, model {model}: {len(in_code)} targets, {len(missed)} not found, "
              f"{len(wrong)} inside of regions called safe")
        for each in missed[:20]:
            print(f"  {each} is a target")
        for place, target in wrong[:20]:
            print(f"  {place} is called safe, but {target:#x} is a target")
        good &= not missed and not wrong and len(in_code) >= least
    shutil.rmtree(objects)
    return good


def main():
    parser = argparse.ArgumentParser(description="Compares djstap regions with the relocations of programs.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--mirror", help="address and release, those of the machine's packages unless given")
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), help=f"of {', '.join(PROGRAMS)}")
    options = parser.parse_args()
    mirror = options.mirror or own_mirror()
    compilers = [each for each in COMPILERS if shutil.which(each)]
    good, built = True, 0
    with tempfile.TemporaryDirectory(prefix="djstap-sources-") as work:
        for name in options.programs:
            package, _, _, commands, _ = PROGRAMS[name]
            folder = sources(package, mirror)
            if not folder:
                continue
            source = unpacked(package, folder, work)
            for command in commands:
                run(command, source)
            for compiler in compilers:
                for level in LEVELS:
                    good &= check(options, name, compiler, level, source, work)
                    built += 1
    if not built:
        print("no source or no compiler is available")
        return 77
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
