# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares output with what a case expects.

An expected line is literal text in which {{REGULAR EXPRESSION}} parts stand for what varies. A line
`...` stands for any number of lines, none included.
"""
import difflib
import re

ANY_LINES = "..."


def line_pattern(expected):
    """The compiled pattern of one expected line."""
    parts = re.split(r"\{\{(.*?)\}\}", expected)
    text = "".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts))
    return re.compile(text)


def line_fits(expected, actual):
    return line_pattern(expected).fullmatch(actual) is not None


def fits(expected, actual):
    """Do the actual lines (a list) match the expected ones?"""
    # reachable: how many expected lines may be used up so far.
    patterns = [None if line == ANY_LINES else line_pattern(line) for line in expected]

    def skip_gaps(states):
        out = set()
        for state in states:
            out.add(state)
            while state < len(patterns) and patterns[state] is None:
                state += 1
                out.add(state)
        return out

    states = skip_gaps({0})
    for line in actual:
        reached = set()
        for state in states:
            if state < len(patterns) and patterns[state] is None:
                reached.add(state)
            elif state < len(patterns) and patterns[state].fullmatch(line):
                reached.add(state + 1)
        states = skip_gaps(reached)
    return len(patterns) in states


def difference(expected, actual, name):
    """A unified difference for people."""
    return "\n".join(difflib.unified_diff(expected, actual, f"expected {name}", f"actual {name}", lineterm=""))


def updated(expected, actual):
    """The actual lines, each written as the expected one that it fits, so that patterns stay."""
    kept = []
    rest = [line for line in expected if "{{" in line]
    for line in actual:
        pattern = next((each for each in rest if line_fits(each, line)), None)
        kept.append(pattern if pattern is not None else line)
    return kept
