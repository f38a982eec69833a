#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows CONTRIBUTING.md with a probe family and a library function that were written for the purpose.

testsuite/contributing/ has a folder for each: the new files at their paths, and `rows`, what is added to existing
files. They are added to a copy of the sources, where only files may be touched that the numbered steps of the
chapter name. djstap is built from the copy, and must know the family and run a script that uses both, in this
process and, with --kernel, in a guest.

    contributing.py                 checks the names in CONTRIBUTING.md only
    contributing.py --build         also builds
    contributing.py --build --kernel 6.1

A name counts if it is a path: every file and folder that a step names must exist, except those that the chapter says
to write, whose names contain NAME. With --contributing FILE the steps are read from that file.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
EXERCISES = os.path.join(ROOT, "testsuite/contributing")
# The folder of each exercise, its chapter of CONTRIBUTING.md, and what NAME stands for in the steps.
CHAPTERS = {"probe-family": ("How to add a probe family", "metronome"),
            "library-function": ("How to add a library function", "bit_position")}
SHAPE = "metronome.bpm(NUMBER)"
SCRIPT = """
global beats
probe metronome.bpm(6000) {
    try { println(bit_position(beats)) } catch (message) { println(message) }
    if (++beats > 4) exit()
}
"""
# The second line: bit_position() of 0 fails.
OUTPUT = "bit_position(): the number has no bit that is set\n0\n1\n0\n2\n"
PATH = re.compile(r"[\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:md|txt|py|cpp|c|h|def|stp|list)")


class Wrong(Exception):
    pass


def chapters(text):
    """Returns {title: its numbered steps} of the chapters that have such steps."""
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, body = part.split("\n", 1)
        steps = re.findall(r"^\d+\. .*(?:\n   .*)*", body, re.MULTILINE)
        if steps:
            found[title] = "\n".join(steps)
    return found


def names_of(steps):
    """Returns the paths that the steps name in backticks; a command counts by its first word."""
    spans = re.findall(r"`([^`]+)`", re.sub(r"\s*\n\s*", " ", steps))
    return sorted({span.split()[0] for span in spans if PATH.fullmatch(span.split()[0])})


def check_names(text):
    """Raises Wrong if a step names a file that does not exist; returns the chapters."""
    found = chapters(text)
    for title, _ in CHAPTERS.values():
        if title not in found:
            raise Wrong(f"CONTRIBUTING.md has no chapter with numbered steps '{title}'")
    for title, steps in found.items():
        for name in names_of(steps):
            existing = re.sub(r"[^/]*NAME.*", "", name)
            path = os.path.join(ROOT, existing)
            if not (os.path.isdir(path) if existing.endswith("/") else os.path.isfile(path)):
                raise Wrong(f"'{title}' names {name}, which does not exist")
    return found


def is_named(path, names, what):
    """True if the steps name the file, or a folder that contains it (not only a folder above that one)."""
    allowed = {name.replace("NAME", what) for name in names}
    return path in allowed or os.path.dirname(path) + "/" in allowed


def rows_of(exercise):
    """Yields (path, word or None, text) of the exercise's `rows`: the text follows that word, else ends the file."""
    path = None
    with open(os.path.join(EXERCISES, exercise, "rows"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            row = re.fullmatch(r"(?:append|after (\S+)): (.*)", line)
            if row:
                yield path, row[1], row[2]
            elif line:
                path = line


def new_files(exercise):
    folder = os.path.join(EXERCISES, exercise)
    for path, _, files in os.walk(folder):
        for name in files:
            if path != folder and not name.startswith("."):
                yield os.path.relpath(os.path.join(path, name), folder)


def follow(exercise, steps, copy):
    """Adds the exercise to the copy of the sources. Returns the files that were touched."""
    title, what = CHAPTERS[exercise]
    names = names_of(steps)
    touched = set()

    def touch(path):
        if not is_named(path, names, what):
            raise Wrong(f"the {what} needs {path}, which no step of '{title}' names")
        touched.add(path)
        return os.path.join(copy, path)

    for path in new_files(exercise):
        place = touch(path)
        if os.path.exists(place):
            raise Wrong(f"{path} exists")
        shutil.copyfile(os.path.join(EXERCISES, exercise, path), place)
    for path, word, added in rows_of(exercise):
        with open(touch(path), encoding="utf-8") as file:
            text = file.read()
        if word is None:
            text += added + "\n"
        else:
            text, count = re.subn(rf"(?<!\S){re.escape(word)}(?!\S)", lambda found: f"{found[0]} {added}", text, count=1)
            if not count:
                raise Wrong(f"{path} does not contain {word}")
        with open(os.path.join(copy, path), "w", encoding="utf-8") as file:
            file.write(text)
    return sorted(touched)


def copy_sources(copy):
    for name in ("compiler", "runtime", "tapsets", "grammar", "testsuite/bench"):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(copy, name),
                        ignore=shutil.ignore_patterns("__pycache__", ".cache"))
    for name in ("CMakeLists.txt", "CMakePresets.json"):
        shutil.copy(os.path.join(ROOT, name), copy)


def build(copy):
    """Builds djstap and djrun; returns djstap's path."""
    # Paths below the copy's folder are relative for ccache, which then knows what an earlier run compiled.
    environment = dict(os.environ, CCACHE_BASEDIR=copy, CCACHE_NOHASHDIR="1")
    folder = os.path.join(copy, "build/release")
    for command in (["cmake", "-S", ".", "--preset", "release", "-DDJSTAP_TESTS=OFF", "-DDJSTAP_STATIC_LLVM=OFF"],
                    ["cmake", "--build", folder, "--parallel", str(os.cpu_count()), "--target", "djstap", "djrun"]):
        done = subprocess.run(command, cwd=copy, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode:
            raise Wrong(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}")
    return os.path.join(folder, "bin/djstap")


def run(djstap, arguments, expected):
    """Raises Wrong unless the output is the expected one."""
    done = subprocess.run([djstap, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=600)
    if done.returncode or not expected(done.stdout):
        raise Wrong(f"djstap {' '.join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}")


def build_and_run(found, kernel):
    with tempfile.TemporaryDirectory(prefix="djstap-contributing-") as copy:
        copy = os.path.realpath(copy)
        copy_sources(copy)
        for exercise, (title, _) in CHAPTERS.items():
            touched = follow(exercise, found[title], copy)
            print(f"{title}: {len(touched)} files: {', '.join(touched)}")
        djstap = build(copy)
        run(djstap, ["--dump-probe-types"], lambda output: SHAPE in output.splitlines())
        for where in ["--runtime=user"] + ([f"--guest={kernel}"] if kernel else []):
            run(djstap, [where, "-e", SCRIPT], lambda output: output == OUTPUT)


def control(text):
    """Checks that another name for any file that a step names is noticed."""
    for title, steps in chapters(text).items():
        for name in names_of(steps):
            changed = re.sub(rf"`{re.escape(name)}(?=[`\s])", "`compiler/there-is-none.h", text)
            try:
                check_names(changed)
            except Wrong:
                continue
            raise Wrong(f"'{title}': that {name} does not exist would not be noticed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--kernel")
    parser.add_argument("--contributing", default=os.path.join(ROOT, "CONTRIBUTING.md"))
    options = parser.parse_args()
    with open(options.contributing, encoding="utf-8") as file:
        text = file.read()
    try:
        found = check_names(text)
        control(text)
        if options.build:
            build_and_run(found, options.kernel)
    except Wrong as wrong:
        print(f"contributing.py: {wrong}")
        return 1
    print(f"followed {sum(len(names_of(steps)) for steps in found.values())} names of {len(found)} chapters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
