# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/benchmarks.md: a page of sections, each of which is written by a command of its own."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "benchmarks.md")
FOLDER = os.path.join(ROOT, "docs", "benchmarks")

# The order on the page.
SECTIONS = ["overhead", "irqs-off", "longest", "two-cpus", "always-on", "tools", "records", "scale", "markers"]


def mark(name):
    return f"<!-- written by scripts/bench {name} -->"


def sections_of(text):
    """{name: its text} of a page."""
    pieces = re.split(r"<!-- written by scripts/bench ([a-z-]+) -->\n", text)
    return {name: body.strip("\n") + "\n" for name, body in zip(pieces[1::2], pieces[2::2])}


def table(header, rows):
    """Formats a table for the page."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def put(name, text, charts=None):
    """Replaces a section of the page. charts: {file name: SVG}, written to docs/benchmarks/."""
    old = ""
    if os.path.exists(PAGE):
        with open(PAGE, encoding="utf-8") as file:
            old = file.read()
    sections = sections_of(old) | {name: text.strip("\n") + "\n"}
    os.makedirs(FOLDER, exist_ok=True)
    for chart, svg in (charts or {}).items():
        with open(os.path.join(FOLDER, chart), "w", encoding="utf-8") as file:
            file.write(svg)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write("\n".join(f"{mark(each)}\n{sections[each]}" for each in SECTIONS if each in sections))
    print(f"\nwrote {os.path.relpath(PAGE, ROOT)}")


MISSED = "**missed**"


def aim(text, met):
    """Returns an aim for its column of a table, marked if it is missed."""
    return text if met else f"{text}: {MISSED}"


def is_missed(text):
    """Returns whether a text says that a target is missed. The benchmark then ends with status 1."""
    return MISSED in text
