# SPDX-License-Identifier: GPL-2.0-or-later
"""Many changes in one build, each behind a switch (switch.h): a build for each would take most of the time.

In user space $DJSTAP_CHANGE switches one on. A kernel module has the number in its data, from the kit that it is linked from:
choose() writes it there.
"""
import os
import re
import shutil
import struct
import subprocess
import sys

import sources

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = "switch.h"
# Of changes that begin at the same byte, the one that contains the other comes first.
OUTER = {"call dropped": 0, "lock or barrier dropped": 0, "update dropped": 0, "branch never taken": 1, "comparison turned": 2, "constant off by one": 3}
TRIES = 12  # builds without what did not compile
MAGIC = b"djstap's change:"  # as in switch.h
WITH_HEADER = sources.with_header(HEADER, "djs_changed(n) 0") + b"#line 1\n"


def in_one_line(text):
    return re.sub(rb"//[^\n]*", b"", text).replace(b"\n", b" ")


def with_switches(source, changes):
    """The source with each of these [(mutant, number)] behind its switch, also one within the other."""
    ordered = sorted(changes, key=lambda each: (each[0].whole[0], -each[0].whole[1], OUTER[each[0].kind]))

    def written(begin, end, left):
        out, at = [], begin
        while left:
            (mutant, number), left = left[0], left[1:]
            first, last = mutant.whole
            inner = [each for each in left if each[0].whole[0] < last and each[0].whole[1] <= last]
            left = [each for each in left if each[0].whole[0] >= last]
            out.append(source[at:first])
            out.append(switched(mutant, number, first, last, inner))
            at = last
        return b"".join(out) + source[at:end]

    def switched(mutant, number, first, last, inner):
        new, old, asked = mutant.text.encode(), mutant.old.encode(), b"djs_changed(%d)" % number
        if mutant.kind == "comparison turned":
            one = written(first, mutant.begin, [each for each in inner if each[0].whole[1] <= mutant.begin])
            other = written(mutant.end, last, [each for each in inner if each[0].whole[0] >= mutant.end])
            return b"(%s ? (%s%s%s) : (%s%s%s))" % (asked, in_one_line(one), new, in_one_line(other), one, old, other)
        if mutant.kind == "constant off by one":
            return b"(%s ? %s : %s)" % (asked, new, old)
        if mutant.kind == "branch never taken":
            return b"!%s && (%s)" % (asked, written(first, last, inner))
        return b"do { if (!%s) %s; } while (0)" % (asked, written(first, last, inner))

    return written(0, len(source), ordered)


def write_header(tree, path=HEADER):
    with open(os.path.join(HERE, HEADER), "rb") as file:
        tree.write(path, file.read())


def configure(tree):
    """Brings the tree to the state of the project's files. CMake tries its compilers with the header already."""
    os.makedirs(tree.path, exist_ok=True)
    write_header(tree)
    tree.copy()
    tree.configure()


def flags(tree_path):
    """Options of the compiler for such a tree."""
    return "-include " + os.path.join(tree_path, HEADER)


class Switches:
    """The changes of {number: mutant} in a tree. `texts` has the sources without changes; `say` tells what does not compile."""

    def __init__(self, tree, texts, changes, say):
        self.tree, self.texts, self.changes, self.say = tree, texts, dict(changes), say
        self.paths = sorted({each.path for each in self.changes.values()})

    def build(self, programs=(), kernels=()):
        """Builds these programs, or everything, and the runtime for kernels (folders of their headers). Leaves out the changes in
        statements that do not compile with them: `case` labels, initializations that may not narrow."""
        if kernels:
            write_header(self.tree, "runtime/" + HEADER)
            with open(os.path.join(self.tree.root, "runtime/Kbuild"), "rb") as file:
                self.tree.write("runtime/Kbuild", file.read() + b"ccflags-y += -I$(djs-root) -DDJS_CHOSEN=$(or $(DJSTAP_CHANGE),-1) -w\n")
        for _ in range(TRIES):
            self.write()
            with open(self.tree.log, "wb"):
                pass
            built = self.tree.logged(["ninja", "-C", self.tree.build, "-k", "0", *programs]).returncode == 0
            places = self.places_in_log()
            for folder in kernels if any(path.startswith("runtime/") for path in self.paths) else ():
                built = self.compile_runtime(folder, places) and built
            if built:
                return
            kept = {number: each for number, each in self.changes.items()
                    if not any((each.path, line) in places for line in self.lines_of(each))}
            if len(kept) == len(self.changes):
                break
            self.say(f"{len(self.changes) - len(kept)} changes do not compile")
            self.changes = kept
        sys.exit(f"mutate: the sources with their switches do not compile: {self.tree.log}")

    def write(self):
        for path in self.paths:
            own = [(each, number) for number, each in self.changes.items() if each.path == path]
            text = with_switches(self.texts[path], own)
            self.tree.write(path, WITH_HEADER + text if path.startswith("runtime/") else text)

    def places_in_log(self):
        with open(self.tree.log, encoding="utf-8", errors="replace") as file:
            return {(path, int(line)) for path, line in
                    re.findall(r"^\S*?((?:compiler|runtime)/\S+?\.(?:cpp|c)):(\d+):\d+: (?:fatal )?error", file.read(), re.MULTILINE)}

    def compile_runtime(self, folder, places):
        """Compiles all of it for a kernel, in a copy; adds to places where it does not compile. objtool names files alone."""
        copy = os.path.join(self.tree.path, "kbuild")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(os.path.join(self.tree.path, "runtime"), copy)
        done = subprocess.run(["make", "-k", f"-j{os.cpu_count()}", "-C", folder, f"M={copy}", "modules"], capture_output=True, text=True, check=False)
        with open(self.tree.log, "a", encoding="utf-8") as log:
            log.write(done.stdout + done.stderr)
        for path, line in re.findall(r"^(\S+?\.c):(\d+):\d+: error", done.stdout + done.stderr, re.MULTILINE):
            places.add(("runtime/" + os.path.relpath(os.path.join(copy, path), copy), int(line)))
        # djstap takes no kit whose build gives warnings: no test of a kernel would pass.
        warned = {os.path.relpath(os.path.join(copy, path), copy) for path in
                  re.findall(r"^(\S+)\.o: warning: objtool: ", done.stdout + done.stderr, re.MULTILINE)}
        for path in (f"runtime/{each}.c" for each in warned):
            places.update((path, line) for each in self.changes.values() if each.path == path for line in self.lines_of(each))
        shutil.rmtree(copy)
        return done.returncode == 0 and not warned

    def lines_of(self, mutant):
        text = self.texts[mutant.path]
        first = text.count(b"\n", 0, mutant.whole[0]) + 1
        return range(first, first + text.count(b"\n", *mutant.whole) + 1)


def hash_bytes(data):
    """As in compiler/system/hash.cpp."""
    mask = (1 << 64) - 1
    value = 0x9e3779b97f4a7c15 ^ len(data)
    for (word,) in struct.iter_unpack("<Q", data + bytes(8 - len(data) % 8)):
        value = (value ^ word) * 0xff51afd7ed558ccd & mask
        value ^= value >> 32
    return value


def choose(cache, number):
    """Switches a change on (-1: none) in the kits of djstap's cache; modules that were linked from them are removed."""
    shutil.rmtree(os.path.join(cache, "modules"), ignore_errors=True)
    runtime = os.path.join(cache, "runtime")
    for kit in os.listdir(runtime) if os.path.isdir(runtime) else []:
        manifest = os.path.join(runtime, kit, "manifest")
        if os.path.isfile(manifest):
            choose_in_kit(manifest, number)


def choose_in_kit(manifest, number):
    def patched(match):
        path = os.path.join(os.path.dirname(manifest), match[1].decode())
        with open(path, "rb") as file:
            data = file.read()
        new = re.sub(re.escape(MAGIC) + rb"....", lambda _: MAGIC + struct.pack("<i", number), data, flags=re.DOTALL)
        if new == data:
            return match[0]
        with open(path, "wb") as file:
            file.write(new)
        return b"file %s %d %016x\n" % (match[1], len(new), hash_bytes(new))

    with open(manifest, "rb") as file:
        text = file.read()
    body = re.sub(rb"^file (\S+) \d+ [0-9a-f]{16}\n", patched, text, flags=re.MULTILINE)
    # With this command djstap compiles further parts.
    body = re.sub(rb"-DDJS_CHOSEN=-?\d+", b"-DDJS_CHOSEN=%d" % number, body[:body.rindex(b"end ")])
    with open(manifest, "wb") as file:
        file.write(body + b"end %016x\n" % hash_bytes(body))
