#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that what is specific to an architecture is named only in its folders: compiler/arch/NAME and
runtime/arch/NAME.

Comments count, too: a comment about an instruction elsewhere is about that architecture. Each pattern is first tried
on a line written for it, which must be found outside such a folder and ignored inside of one.
"""
import os
import re
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
TREES = ("compiler", "runtime")
SOURCES = (".c", ".h", ".cpp", ".def", ".S", ".inc", ".txt", "Kbuild", "Kbuild.include")

# The patterns, each with a line that matches.
PATTERNS = [
    ("a register", r"\b[re][abcd]x\b", "movq %rax, %rcx"),
    ("a register", r"\br(?:si|di|bp|sp|ip)\b", "std::array arguments{Register::rdi};"),
    ("a register", r"\be(?:si|di|bp|sp|ip)\b", '"testl $1, %esp"'),
    ("a register", r"\br(?:[89]|1[0-5])d?\b", "// r10 is free there"),
    ("a register", r"\b(?:orig_)?[re]flags\b", "regs.eflags"),
    ("a register", r"%(?:gs|fs|cs|ds|es|ss|cr\d|[abcd]l|[abcd]x)\b", '"incq %gs:0"'),
    ("a register of struct pt_regs", r"\bregs(?:->|\.)(?:[abcd]x|[sd]i|bp|sp|ip|flags|orig_ax|r\d+)\b",
     "unsigned long ip = regs->ip;"),
    ("a flag of the processor", r"\bX86_", "flags & X86_EFLAGS_IF"),
    ("a landing pad", r"(?i:endbr)", "static const u8 endbr[4];"),
    ("a relocation", r"\bR_X86_64_", "case R_X86_64_PC32:"),
    ("a machine of ELF files", r"\bEM_(?:X86_64|386)\b", "header.e_machine == EM_X86_64"),
    ("LLVM's names", r"\bX86::|LLVMInitializeX86|\bx86(?:codegen|asmparser|desc|info)\b", "llvm::X86::RAX"),
    ("LLVM's names", r"x86_64-[a-z]+-linux", 'module.setTargetTriple("x86_64-pc-linux-gnu");'),
    ("LLVM's names", r"[+-](?:sse|avx|mmx|x87)\b", '"-mmx,-sse"'),
    ("inline assembly", r"\b(?:__)?asm(?:__)?\b(?:\s+(?:__)?(?:volatile|inline|goto)(?:__)?)*\s*\(", 'asm volatile("" ::: "memory");'),
    ("inline assembly", r"\bInlineAsm\b", "llvm::InlineAsm::get(type, text, constraints);"),
    ("an opcode", r"\b0x(?:e8|e9|cc|eb|c3|90)\b", "text[0] == 0xe8"),
    ("an opcode", r"\b0x0f,\s*0x(?:1e|1f|b9|0b)\b", "{0x0f, 0x1f, 0x44, 0x00, 0x00}"),
    ("an opcode", r"\\x(?:f3\\x0f|0f\\x1f|66\\x90|e8|e9|cc)", r'"\xf3\x0f\x1e\xfa"'),
    ("a thunk", r"__x86_(?!64__)", '"jmp __x86_return_thunk"'),
    ("the time-stamp counter", r"rdtsc|\btsc_khz\b|asm/tsc\.h", "u64 now = rdtsc_ordered();"),
    ("an instruction of the compiler's", r"\b_mm\d*_|__m(?:128|256)i?\b|\b__builtin_ia32_", "_mm_lfence();"),
    ("an instruction of the compiler's", r"\b(?:[a-z]mm|x86)intrin\.h|\bimmintrin\b", "#include <emmintrin.h>"),
]


def sources(tree):
    """Yields (path below the tree, text) of what is not in an architecture's own folder."""
    for path, folders, names in os.walk(tree):
        if os.path.basename(path) == "arch" and os.path.dirname(path) == tree:
            folders.clear()
        for name in sorted(names):
            if name.endswith(SOURCES):
                place = os.path.join(path, name)
                with open(place, encoding="utf-8") as file:
                    yield os.path.relpath(place, os.path.dirname(tree)), file.read()


def find(tree, patterns):
    """Returns (number of sources, [what was found where])."""
    count, found = 0, []
    for place, text in sources(tree):
        count += 1
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern, _ in patterns:
                match = re.search(pattern, line)
                if match:
                    found.append(f"{place}:{number}: {what}, '{match[0]}': {line.strip()}")
    return count, found


def control():
    """Returns the patterns that do not find their line, or find it in an architecture's folder."""
    missed = []
    for planted in PATTERNS:
        with tempfile.TemporaryDirectory() as root:
            tree = os.path.join(root, "compiler")
            for folder in ("arch/x86_64", "codegen"):
                os.makedirs(os.path.join(tree, folder))
                with open(os.path.join(tree, folder, "planted.cpp"), "w", encoding="utf-8") as file:
                    file.write(f"\n{planted[2]}\n")
            _, found = find(tree, [planted])
        if len(found) != 1 or not found[0].startswith("compiler/codegen/planted.cpp:2: "):
            missed.append(f"{planted[0]}, {planted[1]}: {found or 'nothing'}")
    return missed


def main():
    failed = 0
    for each in control():
        print(f"architecture.py: a line made for it was not found, or not there alone: {each}")
        failed = 1
    for name in TREES:
        count, found = find(os.path.join(ROOT, name), PATTERNS)
        if count < 50:
            print(f"architecture.py: only {count} sources in {name}/: is this the project?")
            failed = 1
        for each in found:
            print(each)
            failed = 1
    print("failed" if failed else "nothing outside of the architectures' folders")
    return failed


if __name__ == "__main__":
    sys.exit(main())
