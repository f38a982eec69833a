#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual pages that scripts/manual-pages writes have every option and every probe point, and groff finds no fault in them.

    manual_pages.py --djstap PROGRAM
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FEWEST_OPTIONS = {"djstap": 50, "djrun": 12, "djstap-run": 3}


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def plain(text):
    return text.replace("\\-", "-").replace("\\e", "\\").replace("\\fB", "").replace("\\fP", "").replace("\\&", "")


def problems(djstap, folder):
    djrun, djstap_run = (os.path.join(os.path.dirname(djstap), name) for name in ("djrun", "djstap-run"))
    subprocess.run([os.path.join(ROOT, "scripts/manual-pages"), "--djstap", djstap, "--djrun", djrun,
                    "--djstap-run", djstap_run, "--man", folder], check=True)
    for name, program in (("djstap", djstap), ("djrun", djrun), ("djstap-run", djstap_run)):
        with open(f"{folder}/man1/{name}.1", encoding="utf-8") as file:
            tags = re.findall(r"^\.TP\n(.*)$", plain(file.read()), re.MULTILINE)
        options = re.findall(r"^  (-{1,2}[A-Za-z][\w-]*)", output_of(program, "--help"), re.MULTILINE)
        if len(options) < FEWEST_OPTIONS[name]:
            yield f"{name} --help has only {len(options)} options"
        for option in options:
            if not any(re.match(re.escape(option) + r"(?![\w-])", tag) for tag in tags):
                yield f"{name}.1 lacks {option}"
    with open(f"{folder}/man7/djstapprobes.7", encoding="utf-8") as file:
        sections = set(re.findall(r"^\.SS (.*)$", plain(file.read()), re.MULTILINE))
    for line in output_of(djstap, "--json", "--help", "*").splitlines():
        entry = json.loads(line)
        if entry["kind"] == "probe point" and entry["name"] not in sections:
            yield f"djstapprobes.7 lacks {entry['name']}"
    if shutil.which("groff"):
        for page in ("man1/djstap.1", "man1/djrun.1", "man1/djstap-run.1", "man7/djstapprobes.7"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z", f"{folder}/{page}"], capture_output=True, text=True,
                                  check=False)
            for line in done.stderr.splitlines():
                yield f"groff: {line}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--djstap", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(problems(os.path.abspath(options.djstap), folder))
    for each in found:
        print(each)
    if not found and not shutil.which("groff"):
        print("skipped: groff, which reads the pages, is not installed")
        return 77
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
