#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the syntax files of editors with what scripts/editor-syntax writes, and with what they make of a script.

    editor_syntax.py --djstap build/release/bin/djstap

VS Code's grammar is interpreted here: its patterns are tried as an editor does, the leftmost first. Vim itself shows
what its syntax file makes of the same script, if it is installed.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SCRIPT = """\
# first
global calls, longest = 5 // second
probe vfs.read.return, kernel.function("vfs_write") {
    /* a block
       of lines */
    if (@defined($file) && @count(calls[pid()])) printf("%5d \\n", $1)
    foreach (name+ in calls limit 10) next
}
function half:long(value) %{ return 1; %}
%( kernel_v >= "6.1" %? probe timer.s(0x1f) { exit() } %)
"""
# (line, text in it, group of Vim, scope of VS Code); the group "" and the scope "" are those of plain text.
EXPECTED = [
    (1, "first", "djstapComment", "comment.line.number-sign"),
    (2, "global", "djstapDeclaration", "storage.type"),
    (2, "longest", "", ""),
    (2, "5", "djstapNumber", "constant.numeric"),
    (2, "second", "djstapComment", "comment.line.double-slash"),
    (3, "probe", "djstapDeclaration", "storage.type"),
    (3, "vfs", "djstapPoint", "support.class.probe-point"),
    (3, "vfs_write", "djstapString", "string.quoted.double"),
    (5, "of lines", "djstapComment", "comment.block"),
    (6, "if", "djstapKeyword", "keyword.control"),
    (6, "@defined", "djstapOperator", "keyword.operator.special"),
    (6, "$file", "djstapTarget", "variable.other.target"),
    (6, "@count", "djstapOperator", "keyword.operator.special"),
    (6, "pid", "djstapFunction", "support.function"),
    (6, "printf", "djstapFunction", "support.function"),
    (6, "%5d", "djstapFormat", "constant.other.placeholder"),
    (6, "\\n", "djstapEscape", "constant.character.escape"),
    (6, "$1", "djstapArgument", "variable.parameter.argument"),
    (7, "foreach", "djstapKeyword", "keyword.control"),
    (7, "limit", "djstapKeyword", "keyword.control"),
    (9, "half", "", ""),
    (9, "long", "djstapType", "support.type"),
    (9, "%{", "djstapDelimiter", "punctuation.section.embedded"),
    (10, "%(", "djstapCondition", "keyword.control.conditional.preprocessor"),
    (10, "timer", "djstapPoint", "support.class.probe-point"),
    (10, "0x1f", "djstapNumber", "constant.numeric"),
]


def scopes_of(patterns, text):
    """Returns the innermost scope of each character."""
    scopes = [""] * len(text)

    def color(name, begin, end):
        for at in range(begin, end):
            scopes[at] = name.removesuffix(".djstap")

    def scan(patterns, begin, outer, end_pattern):
        at = begin
        while at < len(text):
            line_end = text.find("\n", at)
            line_end = len(text) if line_end < 0 else line_end
            found = [(match.start(), number, pattern, match) for number, pattern in enumerate(patterns)
                     if (match := pattern.get("regex") and pattern["regex"].search(text, at, line_end))]
            end = end_pattern.search(text, at, line_end) if end_pattern else None
            first = min(found, key=lambda each: each[:2], default=None)
            if end and (not first or end.start() <= first[0]):
                color(outer, at, end.end())
                return end
            if not first:
                color(outer, at, line_end)
                at = line_end + 1
                continue
            begin, _, pattern, match = first
            color(outer, at, begin)
            if "begin" in pattern:
                name = pattern["name"]
                color(name, begin, match.end())
                inner = scan(pattern.get("patterns", []), match.end(), name, pattern["end_regex"])
                stop = inner.end() if inner else len(text)
                for place, captures in ((match, "beginCaptures"), (inner, "endCaptures")):
                    if place and captures in pattern:
                        color(pattern[captures]["0"]["name"], place.start(), place.end())
                at = stop
                continue
            color(pattern.get("name", outer), begin, match.end())
            for group, capture in pattern.get("captures", {}).items():
                color(capture["name"], match.start(int(group)), match.end(int(group)))
            at = max(match.end(), begin + 1)
        return None

    def prepare(patterns):
        for pattern in patterns:
            if "include" in pattern:
                continue
            pattern["regex"] = re.compile(pattern.get("begin") or pattern["match"])
            if "end" in pattern:
                pattern["end_regex"] = re.compile(pattern["end"], re.MULTILINE)
            prepare(pattern.get("patterns", []))

    prepare(patterns)
    scan(patterns, 0, "", None)
    return scopes


def place_of(line, text):
    """Returns the offset in the script, and the column of Vim."""
    begin = sum(len(each) + 1 for each in SCRIPT.split("\n")[:line - 1])
    at = SCRIPT.index(text, begin)
    return at, at - begin + 1


def check_vscode(folder):
    with open(os.path.join(folder, "package.json"), encoding="utf-8") as file:
        extension = json.load(file)
    for grammar in extension["contributes"]["grammars"]:
        with open(os.path.join(folder, grammar["path"]), encoding="utf-8") as file:
            scopes = scopes_of(json.load(file)["patterns"], SCRIPT)
    return [f"VS Code: line {line}, {text}: {scopes[place_of(line, text)[0]]}, expected {scope}"
            for line, text, _, scope in EXPECTED if scopes[place_of(line, text)[0]] != scope]


def check_vim(folder):
    """None: Vim is not installed, or has no syntax."""
    if not shutil.which("vim"):
        return None
    with tempfile.TemporaryDirectory(prefix="djstap-vim-") as scratch:
        script, output = os.path.join(scratch, "a.stp"), os.path.join(scratch, "output")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        commands = os.path.join(scratch, "commands.vim")
        with open(commands, "w", encoding="utf-8") as file:
            file.write(f"set nocompatible\nset runtimepath^={folder}\nfiletype plugin on\nsyntax on\nedit {script}\n"
                       f"call writefile([&filetype, &commentstring, has('syntax')], '{output}', 'a')\n")
            for line, text, _, _ in EXPECTED:
                file.write(f"call writefile([synIDattr(synID({line}, {place_of(line, text)[1]}, 1), 'name')], '{output}', 'a')\n")
            file.write("qall!\n")
        done = subprocess.run(["vim", "-N", "-u", "NONE", "-i", "NONE", "-es", "-S", commands], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, env={**os.environ, "TERM": "dumb"}, check=False)
        if not os.path.exists(output):
            return [f"vim fails: {done.stdout}{done.stderr}"]
        with open(output, encoding="utf-8") as file:
            filetype, comment, syntax, *groups = file.read().splitlines()
    if syntax != "1":
        return None
    failures = [] if filetype == "djstap" else [f"Vim takes the script for {filetype}"]
    if comment != "// %s":
        failures.append(f"Vim writes comments as {comment}")
    return failures + [f"Vim: line {line}, {text}: {group}, expected {wanted}"
                       for (line, text, wanted, _), group in zip(EXPECTED, groups, strict=True) if group != wanted]


def report(failures):
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description="Checks the syntax files of editors.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--djstap", metavar="PATH", help="compare the files with what this djstap has, and check that of VS Code")
    what.add_argument("--vim", action="store_true", help="let Vim show a script; status 77: there is no Vim that can")
    options = parser.parse_args()
    if options.vim:
        failures = check_vim(os.path.join(ROOT, "editors/vim"))
        if failures is None:
            print("there is no Vim with syntax files")
            return 77
        return report(failures)
    written = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/editor-syntax"), "--djstap", options.djstap, "--check"],
                             capture_output=True, text=True, check=False)
    failures = [] if written.returncode == 0 else [written.stdout + written.stderr]
    failures += check_vscode(os.path.join(ROOT, "editors/vscode"))
    return report(failures)


if __name__ == "__main__":
    sys.exit(main())
