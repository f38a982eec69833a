# SPDX-License-Identifier: GPL-2.0-or-later
"""Small changes of meaning, found in a syntax tree, and how some of them are drawn."""
import dataclasses
import random
import re

import sources
from clang.cindex import CursorKind

TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOCKS = re.compile(r"(^|_)(un|try)?lock(ed|s)?(_|$)|barrier|^smp_|^[rw]?mb$|irq_(save|restore|disable|enable)|preempt_|fence|synchronize")
# A message to people or to the kernel's log is not meaning.
WORDS = re.compile(r"^(pr_(warn|info|err|debug|notice)\w*|printk|static_assert|BUILD_BUG_ON\w*|MODULE_\w+)$")
BLOCKS = {CursorKind.COMPOUND_STMT}
BODIES = {CursorKind.IF_STMT, CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT, CursorKind.CXX_FOR_RANGE_STMT,
          CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT}


@dataclasses.dataclass(frozen=True)
class Mutant:
    """Text of a file from `begin` to `end` (bytes) replaced by `text`."""
    path: str
    line: int
    function: str
    kind: str
    begin: int
    end: int
    old: str
    text: str
    before: str  # what stands before it in its line, and behind it
    behind: str
    whole: tuple[int, int]  # begin and end of what it is evaluated with: of a comparison, both operands

    def key(self):
        """The same one in another state of the sources: a place by name and text, not by number."""
        return f"{self.path}: {self.function}: {self.kind}: " + " ".join(f"{self.before}«{self.old}»{self.behind}".split())

    def place(self):
        """Identifies it in this state of the sources."""
        return f"{self.path}:{self.begin}:{self.kind}"

    def apply(self, source):
        assert source[self.begin:self.end].decode() == self.old
        return source[:self.begin] + self.text.encode() + source[self.end:]


def macro_free(cursor, source):
    """The bytes of what is written; None where a macro gave some of it."""
    begin, end = cursor.extent.start.offset, cursor.extent.end.offset
    if end <= begin or cursor.extent.start.file is None or cursor.extent.end.file is None:
        return None
    if cursor.extent.start.file.name != cursor.extent.end.file.name:
        return None
    return source[begin:end]


def operator_between(left, right, source):
    """(offset, text) of the comparison between two operands."""
    begin, end = left.extent.end.offset, right.extent.start.offset
    match = re.fullmatch(rb"\s*(<=|>=|==|!=|<|>)\s*", source[begin:end]) if begin < end else None
    return (begin + match.start(1), match[1].decode()) if match else None


class Finder:
    def __init__(self, path, source):
        self.path, self.source, self.found = path, source, []

    def add(self, function, kind, begin, end, text, whole=None):
        old = self.source[begin:end].decode()
        line = self.source.count(b"\n", 0, begin) + 1
        before = self.source[self.source.rfind(b"\n", 0, begin) + 1:begin].decode()
        behind = self.source[end:].split(b"\n", 1)[0].decode()
        self.found.append(Mutant(self.path, line, function, kind, begin, end, old, text, before, behind, whole or (begin, end)))

    def statement(self, cursor, function):
        """A statement that is an expression alone."""
        written = macro_free(cursor, self.source)
        end = cursor.extent.end.offset
        if written is None or self.source[end:end + 1] != b";":
            return
        begin = cursor.extent.start.offset
        # A macro's own statements have the place of the macro, which may be within an expression.
        if not re.search(rb"([;{}):]|\b(else|do))\s*$", re.sub(rb"//.*|/\*.*?\*/", b"", self.source[max(begin - 300, 0):begin])):
            return
        inner = cursor
        while inner.kind == CursorKind.UNEXPOSED_EXPR:
            children = list(inner.get_children())
            if len(children) != 1:
                break
            inner = children[0]
        if inner.kind == CursorKind.CALL_EXPR or re.fullmatch(rb"[A-Za-z_]\w*\(.*\)", written, re.DOTALL):
            name = inner.spelling or written.split(b"(")[0].decode()
            if not WORDS.match(name):
                locks = LOCKS.search(name)
                self.add(function, "lock or barrier dropped" if locks else "call dropped", begin, end, "(void)0")
        elif inner.kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR or (
                inner.kind == CursorKind.UNARY_OPERATOR and (b"++" in written or b"--" in written)):
            self.add(function, "update dropped", begin, end, "(void)0")

    def visit(self, cursor, function):
        children = list(cursor.get_children())
        kind = cursor.kind
        if kind in BLOCKS | BODIES:
            for child in children:
                if child.kind.is_expression() and sources.inside(child, cursor.translation_unit.spelling):
                    self.statement(child, function)
        if kind == CursorKind.IF_STMT:
            # constexpr, an initialization, a declaration: what stands in the parentheses is no expression alone
            match = re.match(rb"if\s*\(", self.source[cursor.extent.start.offset:])
            condition = children[0]
            if match and condition.kind.is_expression():
                begin = cursor.extent.start.offset + match.end()
                end = condition.extent.end.offset
                if condition.extent.start.offset == begin and re.match(rb"\s*\)", self.source[end:end + 8]):
                    self.add(function, "branch never taken", begin, end, "false && (" + self.source[begin:end].decode() + ")"
                             if self.path.endswith(".cpp") else "0 && (" + self.source[begin:end].decode() + ")")
        if kind == CursorKind.BINARY_OPERATOR and len(children) == 2:
            between = operator_between(*children, self.source)
            if between:
                at, text = between
                self.add(function, "comparison turned", at, at + len(text), TURNED[text],
                         (cursor.extent.start.offset, cursor.extent.end.offset))
        if kind == CursorKind.INTEGER_LITERAL:
            written = macro_free(cursor, self.source)
            match = re.fullmatch(rb"(0[xX][0-9a-fA-F]+|0|[1-9]\d*)([uUlL]*)", written) if written else None
            if match:
                value = int(match[1], 0) + 1
                text = (hex(value) if match[1][:2] in (b"0x", b"0X") else str(value)) + match[2].decode()
                self.add(function, "constant off by one", cursor.extent.start.offset, cursor.extent.end.offset, text)
        for child in children:
            if sources.inside(child, cursor.translation_unit.spelling) and child.kind != CursorKind.CASE_STMT or kind == CursorKind.COMPOUND_STMT:
                self.visit(child, function)


def in_file(unit, path, source):
    """All mutants of a file."""
    finder = Finder(path, source)
    for function in sources.functions(unit):
        for child in function.get_children():
            if child.kind == CursorKind.COMPOUND_STMT:
                finder.visit(child, function.spelling)
    return sorted(set(finder.found), key=lambda each: (each.begin, each.kind))


class Draw:
    """An endless draw: a file by its lines, then one of its mutants, each once. The core (runtime and code generation)
    has the share that is asked for; it and the rest have orders of their own, which do not depend on what is given back when."""

    def __init__(self, seed, by_file, lines, core_share):
        self.left, self.random = {}, {}
        for core in (False, True):
            self.left[core] = {path: list(found) for path, found in sorted(by_file.items()) if found and sources.is_core(path) == core}
            self.random[core] = random.Random(f"{seed} {core}")
        self.lines = lines
        self.core_share = core_share
        self.drawn, self.core = 0, 0

    def next(self):
        """None when all are drawn."""
        core = self.core < self.core_share * (self.drawn + 1)
        core = core if self.left[core] else not core
        left = self.left[core]
        if not left:
            return None
        path = self.random[core].choices(list(left), [self.lines[each] for each in left])[0]
        mutant = left[path].pop(self.random[core].randrange(len(left[path])))
        if not left[path]:
            del left[path]
        self.drawn += 1
        self.core += core
        return mutant

    def give_back(self, mutant):
        """It does not count, another is to be drawn."""
        self.drawn -= 1
        self.core -= sources.is_core(mutant.path)
