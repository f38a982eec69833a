# SPDX-License-Identifier: GPL-2.0-or-later
r"""Compares output with what a case expects.

An expected line is literal text in which {{REGULAR EXPRESSION}} parts match what varies. A line `...` matches any
number of lines, including none; the line `...` itself is {{\.\.\.}}.
"""
import difflib
import re

ANY_LINES = "..."


def line_pattern(expected):
    """Returns the compiled pattern of one expected line."""
    parts = re.split(r"\{\{(.*?)\}\}", expected)
    text = "".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts))
    return re.compile(text)


def line_fits(expected, actual):
    return line_pattern(expected).fullmatch(actual) is not None


def fits(expected, actual):
    """Returns whether the actual lines (a list) match the expected ones."""
    # reachable: how many expected lines may be consumed so far.
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
    """Returns a unified diff for display."""
    return "\n".join(difflib.unified_diff(expected, actual, f"expected {name}", f"actual {name}", lineterm=""))


def updated(expected, actual):
    """Returns the actual lines, each written as the expected one that it matches, so that patterns are kept."""
    kept = []
    rest = [line for line in expected if "{{" in line]
    for line in actual:
        pattern = next((each for each in rest if line_fits(each, line)), None)
        kept.append(pattern if pattern is not None else line)
    return kept
