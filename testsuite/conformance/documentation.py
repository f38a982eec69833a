#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that tapsets/ documents itself, by reading the comments apart from djstap, and that djstap shows all of it.

    documentation.py --djstap build/release/bin/djstap

Every public function, alias, macro and global has a comment of the form that tapsets/README.md describes; each name of such a
comment is defined in the file; each variable of an alias is described, and each one that is described exists; the type of
each is known. Every kind of probe point has a text, every name a manual page. The check is first tried on a tapset that breaks each rule.
"""
import argparse
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
DEFINITION = re.compile(r"^(?:private )?function (\w+)|^@define (\w+)|^probe ((?:[\w.]+ \+?= )+)|^global (.*)$", re.MULTILINE)
NAME = r"@?[\w*]+(?:\.[\w*]+)*|\.\w+(?:\.\w+)*"
HEAD = re.compile(rf"((?:{NAME})(?:\([^)]*\))?(?:, (?:{NAME})(?:\([^)]*\))?)*):(?: |$)")
ITEM = re.compile(r"(\w+(?:, \w+)*): \S")
LEAST = 1200  # names

BROKEN = """// SPDX-License-Identifier: GPL-2.0-or-later
// A tapset that breaks the rules.
//   everywhere: is in no alias

function without_comment:long() { return 1 }
// no_such_name(): what is not defined.
function other:long() { return 2 }
// other(n): a function.
//   n: is no parameter
// broken.alias: an alias.
//   missing: is not assigned
//   known: is assigned
probe broken.alias = begin { known = 1 undescribed = 2 untyped = untyped_before }
// bare: a global.
//   part: is no parameter
global bare, other_bare = 1
// private_name(): needs no comment, but may have one.
private function private_name:long() { return 3 }
"""
BROKEN_RULES = ["'without_comment' has no comment", "'no_such_name' is not defined", "'everywhere' is no variable of",
                "'n' is no parameter of other", "'missing' is no variable of broken.alias",
                "'undescribed' of broken.alias is not described", "the type of 'untyped' of broken.alias is not known",
                "'part' is no parameter of bare", "'other_bare' has no comment"]


def definitions(text, is_macros):
    """Returns all names that a file defines, public ones or not; private macros of a .stp file are none."""
    found = []
    for match in DEFINITION.finditer(text):
        if match[1]:
            found.append((match[1], match[0].startswith("private")))
        elif match[2] and is_macros:
            found.append(("@" + match[2], False))
        elif match[4]:
            found += [(name, False) for name in re.findall(r"(?:^|,)\s*(\w+)", match[4])]
        elif match[3]:
            found += [(name, False) for name in re.split(r" \+?= ", match[3]) if name]
    return found


def heads_of(words):
    """Returns the names of a comment's first words, or nothing."""
    match = HEAD.match(words)
    if not match:
        return []
    names, last = [], None
    for name in re.split(r", (?![^(]*\))", match[1]):
        name = re.sub(r"\(.*", "", name)
        if name.startswith("."):
            if last is None:
                return []
            name = last + name
        else:
            last = name
        names.append(name)
    return names


def entries_of(text, defined):
    """Returns [(line, names, [item])] of a file's comments, and the items of the file itself."""
    entries, own, current = [], [], None
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.startswith("//") and "SPDX" not in line), 0)
    in_first, at = True, first
    while at < len(lines):
        line = lines[at]
        if not line.startswith("//"):
            current, in_first = None, False
            at += 1
            continue
        words = line[3:] if line.startswith("// ") and not line.startswith("//  ") else ""
        while words.endswith(",") and lines[at + 1].startswith("// "):
            at += 1
            words += " " + lines[at][3:]
        names = heads_of(words)
        # What looks like a name in a sentence is none: "Note: …".
        if names and (fnmatch.filter(defined, names[0]) or re.match(r"@?\w+\(|\w+\.[\w.*]+(,|:)", words)):
            current = (at + 1, names, [])
            entries.append(current)
        item = ITEM.match(line[5:]) if re.match(r"//   \w", line) else None
        if item and (current or in_first):
            (current[2] if current else own).extend(item[1].split(", "))
        at += 1
    return entries, own


def problems_of(path, told):
    """Yields what is wrong in a file. `told` is what djstap tells of its names: {name: [object]}."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    all_names = definitions(text, path.endswith(".stpm"))
    defined = {name for name, _ in all_names}
    public = [name for name, private in all_names if not private and not re.match(r"@?__", name)]
    entries, own = entries_of(text, defined)
    patterns = [name for _, names, _ in entries for name in names]

    def variables(name):
        return {each["name"] for one in told.get(name, []) for each in one.get("variables", [])}

    for name in dict.fromkeys(public):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            yield f"'{name}' has no comment"
        if name not in told or not all(each["text"] for each in told[name]):
            yield f"djstap tells nothing of '{name}'"
    for line, names, items in entries:
        meant = [name for name in defined if any(fnmatch.fnmatchcase(name, each) for each in names)]
        for name in names:
            if not fnmatch.filter(defined, name):
                yield f"line {line}: '{name}' is not defined"
        if not [name for name in meant if name in public]:
            continue
        for item in items:
            aliases = [name for name in meant if told.get(name, [{}])[0].get("kind") == "alias"]
            if aliases and not any(item in variables(name) for name in aliases):
                yield f"line {line}: '{item}' is no variable of {', '.join(sorted(aliases))}"
            signatures = " ".join(each for name in meant for one in told.get(name, []) for each in one["signatures"])
            if not aliases and not re.search(rf"[(, ]{item}[:,)]", signatures):
                yield f"line {line}: '{item}' is no parameter of {', '.join(sorted(meant))}"
    for item in own:
        if not any(item in variables(name) for name in public):
            yield f"'{item}' is no variable of the aliases of this file"
    for name in dict.fromkeys(public):
        for one in told.get(name, []):
            for each in one.get("variables", []) if one["kind"] == "alias" else []:
                if not each["text"]:
                    yield f"'{each['name']}' of {name} is not described"
                if not each["type"]:
                    yield f"the type of '{each['name']}' of {name} is not known"


def ask(djstap, *options):
    done = subprocess.run([djstap, "--json", *options, "--help", "*"], capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        sys.exit(f"djstap --json --help '*': status {done.returncode}, {done.stderr}")
    told, words = {}, []
    for line in done.stdout.splitlines():
        name = json.loads(line)
        if "file" in name:
            told.setdefault(name["file"], {}).setdefault(name["name"], []).append(name)
        else:
            words.append(name)
    return told, words


def control(djstap):
    """Returns whether each mistake of a broken tapset is found."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "broken.stp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(BROKEN)
        told, _ = ask(djstap, "-I", folder)
        found = list(problems_of(path, told.get(path, {})))
    missed = [rule for rule in BROKEN_RULES if not any(rule in each for each in found)]
    for rule in missed:
        print(f"documentation.py: not found in a tapset made for it: {rule}")
    return not missed


def problems_of_manual(djstap, told):
    """Yields the names without a manual page, and pages that lead nowhere."""
    prefix = {"function": "function", "alias": "probe", "macro": "macro", "global": "variable"}
    wanted = {f"{prefix[one['kind']]}::{name.lstrip('@')}.3stap": name
              for names in told.values() for name, several in names.items() for one in several}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(ROOT, "scripts/tapset-docs"), "--djstap", djstap, "--man", folder], check=True)
        pages = {}
        for path in glob.glob(f"{folder}/man3/*"):
            with open(path, encoding="utf-8") as file:
                pages[os.path.basename(path)] = file.read()
    for page, name in wanted.items():
        text = pages.get(page, "")
        if text.startswith(".so man3/"):
            text = pages.get(text[len(".so man3/"):].strip(), "")
        if not re.search(r"^\.SH NAME\n.*" + re.escape(page[:-len(".3stap")].replace("-", "\\-")) + r"[, ]", text, re.MULTILINE):
            yield f"{name} has no manual page {page}"
    for page in pages.keys() - wanted.keys():
        yield f"the manual page {page} is about nothing"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--djstap", required=True)
    options = parser.parse_args()
    failed = not control(options.djstap)
    told, words = ask(options.djstap)
    told = {os.path.realpath(path): names for path, names in told.items()}
    count = 0
    for path in sorted(glob.glob(f"{ROOT}/tapsets/**/*.stp*", recursive=True)):
        names = told.get(path, {})
        count += len(names)
        for problem in problems_of(path, names):
            print(f"{os.path.relpath(path, ROOT)}: {problem}")
            failed = True
    for problem in problems_of_manual(os.path.abspath(options.djstap), told):
        print(problem)
        failed = True
    if count < LEAST:
        print(f"only {count} names: is this the project?")
        failed = True
    points = subprocess.run([options.djstap, "--dump-probe-types"], capture_output=True, text=True, check=True).stdout.split("\n")
    described = {point for word in words for point in word.get("points", [])}
    own = {name for names in told.values() for name in names}
    for point in filter(None, points):
        if point not in described and point not in own:
            print(f"compiler/documentation/language.def: no row is about {point}")
            failed = True
    for word in words:
        if not word["text"].endswith("."):
            print(f"compiler/documentation/language.def: the text of {word['name']} is no sentence")
            failed = True
        if word["kind"] == "probe point" and not word.get("points") and word["name"] != "process":
            print(f"compiler/documentation/language.def: there is no probe point {word['name']}")
            failed = True
    print("failed" if failed else f"{count} names of the library and {len(words)} of the language are documented")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
