#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the library with the names that SystemTap's manual documents: its pages function::NAME, probe::NAME and
macro::NAME (Debian's systemtap-doc), with the numbers of arguments of the functions, and the variables of the probes.

    documented.py --djstap build/release/bin/djstap [--list]

A name that the library lacks has to be in documented.list, with the reason, and a name in that list has to be missing. A
function that has the name but not the number of arguments is `arity NAME/NUMBER` there, a variable `variable PROBE:NAME`.
--list prints the missing ones. The status is 77 if the manual is not installed.
"""
import argparse
import fnmatch
import gzip
import json
import os
import re
import subprocess
import sys

MANUAL = "/usr/share/man/man3"
EXCEPTIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "documented.list")
KINDS = {"function": "--dump-functions", "probe": "--dump-probe-aliases", "macro": None, "arity": "--dump-functions", "variable": None}


def sections(kind, name):
    """Returns {title: text} of a page, without the formatting of words."""
    with gzip.open(f"{MANUAL}/{kind}::{name}.3stap.gz", "rt", encoding="utf-8") as file:
        text = re.sub(r"\\f[IBR]|\\&", "", file.read())
    parts = re.split(r'^\.SH "(.*)"\n', text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def documented_arities():
    for name in documented("function"):
        synopsis = sections("function", name).get("SYNOPSIS", "")
        for arguments in re.findall(rf"^\s*(?:\d+\) )?{re.escape(name)}\s*(?::\w+)?\s*\((.*?)\)", synopsis, re.MULTILINE):
            yield f"{name}/{len([each for each in arguments.split(',') if each.strip()])}"


def documented_variables():
    for name in documented("probe"):
        for words in re.findall(r"^\.PP\n(.+)\n\.RS", sections("probe", name).get("VALUES", ""), re.MULTILINE):
            yield from (f"{name}:{word}" for word in re.findall(r"\w+", words) if word != "None")


def defined_variables(djstap):
    families = {name.split(".")[0] for name in documented("probe")} & {name.split(".")[0] for name in defined(djstap, "probe")}
    for family in sorted(families):
        listed = subprocess.run([djstap, "--json", "-L", f"{family}**"], capture_output=True, text=True, check=False).stdout
        for point in map(json.loads, listed.splitlines()):
            yield from (f"{point['point']}:{each.split(':')[0]}" for each in point["variables"])


def documented(kind):
    """Returns the names of a kind's pages."""
    if kind in ("arity", "variable"):
        return set(documented_arities() if kind == "arity" else documented_variables())
    found = (re.fullmatch(rf"{kind}::(.+)\.3stap\.gz", name) for name in os.listdir(MANUAL))
    return {match[1] for match in found if match}


def defined(djstap, kind):
    """Returns the library's names of a kind."""
    if kind == "variable":
        return set(defined_variables(djstap))
    if kind == "macro":
        folder = os.path.join(os.path.dirname(EXCEPTIONS), "..", "..", "tapsets")
        texts = [open(os.path.join(folder, name), encoding="utf-8").read() for name in os.listdir(folder) if name.endswith(".stpm")]
        return set(re.findall(r"^@define (\w+)", "\n".join(texts), re.MULTILINE))
    listed = subprocess.run([djstap, KINDS[kind]], capture_output=True, text=True, check=True).stdout
    if kind == "arity":
        pairs = re.findall(r"^(\w+)\S* \((.*)\)$", listed, re.MULTILINE)
        return {f"{name}/{len(arguments.split(',')) if arguments else 0}" for name, arguments in pairs}
    return {re.match(r"(?:probe )?([\w.]+)", line)[1] for line in listed.splitlines() if re.match(r"(?:probe )?[\w.]+", line)}


def exceptions():
    """Returns [(kind, pattern, line)]."""
    rows = []
    with open(EXCEPTIONS, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            kind, pattern, reason = line.split(maxsplit=2)
            assert kind in KINDS and reason.strip(), f"documented.list:{number}"
            rows.append((kind, pattern, number))
    return rows


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--djstap", default="build/release/bin/djstap")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if not os.path.isdir(MANUAL) or not documented("function"):
        print("systemtap-doc is not installed")
        return 77
    bad, used = 0, set()
    for kind in KINDS:
        names, have = documented(kind), defined(options.djstap, kind)
        if kind in ("arity", "variable"):  # those of what is missing altogether are not counted again
            whole = {"arity": "function", "variable": "probe"}[kind]
            there = defined(options.djstap, whole)
            names = {each for each in names if re.split("[/:]", each)[0] in there}
        missing = names - have
        excepted = 0
        for name in sorted(missing):
            rows = [number for row_kind, pattern, number in exceptions() if row_kind == kind and fnmatch.fnmatchcase(name, pattern)]
            used.update(rows)
            excepted += bool(rows)
            if options.list or not rows:
                print(f"{kind} {name}{'' if rows else ': missing, and not in documented.list'}")
            bad += not rows
        print(f"{'arities' if kind == 'arity' else kind + 's'}: {len(names)} documented, {len(names - missing)} here, {excepted} in documented.list")
    for kind, pattern, number in exceptions():
        if number not in used:
            print(f"documented.list:{number}: {kind} {pattern} is not missing")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
