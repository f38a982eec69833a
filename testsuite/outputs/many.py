#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Has each format write many events, reads them back and counts them. The memory of the writer must not grow with their
number. Prints the time, which is not judged.

    many.py --program build/release/bin/many_events [--events 1000000]
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import readers  # noqa: E402

GROWTH = 1.3        # what ten times as many events may take more
SLACK_KB = 8 * 1024


def count_of(form, path):
    if form == "text":
        with open(path, "rb") as file:
            return sum(1 for _ in file)
    if form == "json":
        return sum(each["type"] == "printf" for each in readers.json_lines(path))
    if form == "ctf":
        # Counting millions of lines needs no copy of them.
        run = subprocess.run(["sh", "-c", f"babeltrace2 '{path}' | wc -l"], capture_output=True, text=True, check=True)
        if run.stderr:
            raise ValueError(run.stderr)
        return int(run.stdout)
    found = readers.READERS[form](path)
    if form == "svg":
        return found["all", 0, 0]
    return sum(found.values()) if isinstance(found, dict) else len(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--events", type=int, default=1000000)
    options = parser.parse_args()
    failed = False
    print(f"{'format':10}{'events':>10}{'ms':>8}{'KB':>9}{'KB of a tenth':>15}{'MB written':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for form in ["text", *readers.READERS]:
            memory = {}
            for count in (options.events // 10, options.events):
                path = os.path.join(folder, f"{form}-{count}")
                run = subprocess.run([options.program, str(count), form, path], capture_output=True, text=True, check=True)
                milliseconds, memory[count] = map(int, run.stdout.split())
            size = (sum(os.path.getsize(os.path.join(path, each)) for each in os.listdir(path))
                    if os.path.isdir(path) else os.path.getsize(path))
            tenth, whole = memory.values()
            print(f"{form:10}{count:10}{milliseconds:8}{whole:9}{tenth:15}{size / 1e6:12.1f}", flush=True)
            found = count_of(form, path)
            if found != count:
                failed = True
                print(f"{form}: {count} events were written, {found} read")
            if whole > GROWTH * tenth + SLACK_KB:
                failed = True
                print(f"{form}: the memory grew from {tenth} to {whole} KB")
            subprocess.run(["rm", "-rf", path], check=True)
    sys.exit(failed)


main()
