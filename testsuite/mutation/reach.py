# SPDX-License-Identifier: GPL-2.0-or-later
"""Which test runs which block of the sources.

A copy of the sources gets a note in each block (reach.h). In user space the notes go to a file that all processes of a test
share, so that nothing is lost where one is killed; modules, and programs in guests, print them into the kernel's log, which a
second serial port brings to a file.
"""
import os
import re

import sources
from clang.cindex import CursorKind

LABELS = {CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT}
BODIES = {CursorKind.IF_STMT, CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.CXX_FOR_RANGE_STMT, CursorKind.DO_STMT}
PLAIN = {CursorKind.RETURN_STMT, CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT, CursorKind.GOTO_STMT}
HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reach.h")


class Marks:
    """The blocks of a file: first and last byte, numbered from 0."""

    def __init__(self):
        self.blocks = []

    def mark(self, begin, end):
        self.blocks.append((begin, end))
        return f" DJS_REACHED(@{len(self.blocks) - 1}); "


def smallest(blocks, offset):
    """The number of the smallest block that holds this byte, or None."""
    holding = [(end - begin, number) for number, (begin, end) in enumerate(blocks) if begin <= offset < end]
    return min(holding)[1] if holding else None


def is_constant(function, source):
    head = source[function.extent.start.offset:function.extent.start.offset + 200]
    return re.match(rb"(template\s*<[^{]*?>\s*)?(\[\[\w+\]\] |static |inline )*(constexpr|consteval)\b", head) is not None


def of_unit(unit, source):
    """([(offset, order, text)], blocks) of a file; the texts name the blocks by @NUMBER."""
    found = []
    marks = Marks()
    main = unit.spelling

    def block(cursor, children):
        first = next((each for each in children if each.kind != CursorKind.DECL_STMT), None)
        if first is None or first.kind in LABELS or not sources.inside(first, main):
            return
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        if source[begin:begin + 1] == b"{" and begin < first.extent.start.offset < end:
            found.append((first.extent.start.offset, 1, marks.mark(begin, end)))

    def body(child):
        begin, end = child.extent.start.offset, child.extent.end.offset
        match = re.match(rb"\s*;", source[end:end + 40])
        if child.kind not in PLAIN and not child.kind.is_expression() or not match or end <= begin or not sources.inside(child, main):
            return
        end += match.end()
        found.append((begin, 0, "{" + marks.mark(begin, end)))
        found.append((end, 0, " }"))

    def label(children):
        inner = children[-1]
        if inner.kind in LABELS or inner.kind == CursorKind.COMPOUND_STMT or not sources.inside(inner, main):
            return
        begin = inner.extent.start.offset
        if re.search(rb":\s*$", source[max(begin - 80, 0):begin]):
            found.append((begin, 1, marks.mark(begin, inner.extent.end.offset)))

    def visit(cursor):
        children = list(cursor.get_children())
        if cursor.kind == CursorKind.COMPOUND_STMT:
            block(cursor, children)
        elif cursor.kind in LABELS and children:
            label(children)
        elif cursor.kind in BODIES:
            for child in children:
                start = child.extent.start.offset
                before = source[max(cursor.extent.start.offset, 0):start]
                if child.kind != CursorKind.COMPOUND_STMT and re.search(rb"(\)|\belse|\bdo)\s*$", before):
                    body(child)
        for child in children:
            if sources.inside(child, main):
                visit(child)

    for function in sources.functions(unit):
        if not is_constant(function, source):
            for child in function.get_children():
                if child.kind == CursorKind.COMPOUND_STMT:
                    visit(child)
    return sorted(set(found)), marks.blocks


def instrumented(source, found, first):
    """The source with these texts inserted, its blocks numbered from `first`."""
    parts, last = [], 0
    for offset, _, text in found:
        parts += [source[last:offset], re.sub("@(\\d+)", lambda match: str(first + int(match[1])), text).encode()]
        last = offset
    return b"".join(parts + [source[last:]])


# A unit test includes the source in a program that keeps its records itself.
PRINTS = """
#ifdef DJS_REACH_LINE
module_init(%(init)s);
module_exit(%(exit)s);
#else
#define DJS_REACH_LINE(out) printk("\\001" "4djstap-reach: %%s\\n", out)
#include "reach.h"
static int __init djs_reach_init(void) { int error = %(init)s(); if (error) djs_reach_print(0); return error; }
static void __exit djs_reach_exit(void) { %(exit)s(); djs_reach_print(0); }
module_init(djs_reach_init);
module_exit(djs_reach_exit);
#endif
"""


WITH_HEADER = sources.with_header("reach.h", "DJS_REACHED(n)")


def make_tree(tree, files):
    """Writes the sources with their notes below tree, a copy of the sources. files: {path: (insertions, blocks)};
    {path: number of its first block}."""
    firsts, total = {}, 0
    for path, (found, blocks) in sorted(files.items()):
        firsts[path] = total
        with open(os.path.join(tree, path), "rb") as file:
            text = instrumented(file.read(), found, total)
        total += len(blocks)
        if path == "runtime/control/module.c":
            names = {what: re.search(rb"module_%s\((\w+)\);\n" % what.encode(), text) for what in ("init", "exit")}
            for match in names.values():
                text = text.replace(match[0], b"")
            text += (PRINTS % {what: match[1].decode() for what, match in names.items()}).encode()
        if path.startswith("runtime/"):
            text = WITH_HEADER + text
        with open(os.path.join(tree, path), "wb") as file:
            file.write(text)
    # The header is part of all sources, which are not to be compiled again for a block more.
    total = -(-total // 4096) * 4096
    with open(HEADER, encoding="utf-8") as file:
        header = f"#define DJS_REACH_BLOCKS {total}\n" + file.read()
    for place in ("reach.h", "runtime/reach.h"):
        with open(os.path.join(tree, place), "w", encoding="utf-8") as file:
            file.write(header)
    with open(os.path.join(tree, "runtime/Kbuild"), "a", encoding="utf-8") as file:
        file.write("ccflags-y += -I$(djs-root) -Wno-declaration-after-statement\n")
    return firsts, total


def of_file(path):
    """The blocks that the processes noted in their shared file."""
    with open(path, "rb") as file:
        return {number for number, byte in enumerate(file.read()) if byte}


def of_log(text):
    """The blocks that modules and programs in guests printed."""
    found = set()
    for first, digits in re.findall(r"djstap-reach: (\d+) ([0-9a-f]+)", text):
        for i, digit in enumerate(digits):
            bits = int(digit, 16)
            found.update(int(first) + 4 * i + bit for bit in range(4) if bits >> bit & 1)
    return found
