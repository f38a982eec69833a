# SPDX-License-Identifier: GPL-2.0-or-later
"""What a marker adds to an object file: markers/sized.c, its functions' text and its sections."""
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field

import guest
import marker_cost

KINDS = ("optimized", "generic")
LEAVES = re.compile(r"^(ret|jmp .*__x86_return_thunk)")
NOP = re.compile(r"^(nop|xchg +%ax,%ax)")
# Sections of a marker, by what they hold. Those that are not named are the kernel's tables of text: to unwind and to patch it.
SECTIONS = {"__tracepoints": "data", ".djstap.marks": "strings", ".modinfo": "alias", "__jump_table": "jump entry",
            "__tracepoints_ptrs": "pointer"}
TEXT = (".text", ".text.unlikely")


@dataclass
class Instruction:
    address: int
    offset: int  # within the function
    size: int
    text: str


@dataclass
class Size:
    """Bytes that one marker adds, and the function with it."""
    own: int = 0  # its instructions in the likely path
    instructions: int = 0  # their number
    loads: int = 0
    saving: int = 0  # the rest that the likely path grows by
    unlikely: int = 0
    shared: int = 0  # once for all markers of a file
    sections: dict = field(default_factory=dict)
    listing: str = ""


def _with_symbol(code, relocation, function):
    """An instruction as objdump shows it, with the name of what it refers to."""
    code = re.sub(r"\s*#.*", "", re.sub(r"\s+", " ", code)).strip()
    symbol = re.search(r"R_X86_64_\w+\s+([^\s+-]+)", relocation)
    name = symbol[1].replace(".text.unlikely", f"{function}.cold") if symbol else ""
    if name and re.match(r"(call|j\w+) ", code):
        return f"{code.split()[0]} {name}"
    if name and "0x0(%rip)" in code:
        return code.replace("0x0(%rip)", f"{name}(%rip)")
    return re.sub(rf"^(j\w+) [0-9a-f]+ <{function}\+0x([0-9a-f]+)>", r"\1 \2", code)


def _instructions(path, function):
    """[Instruction] of a function."""
    listing = subprocess.run(["objdump", "-dr", "-w", f"--disassemble={function}", path], capture_output=True, text=True,
                             check=True).stdout
    found = []
    for match in re.finditer(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t([^\t\n]+)(.*)$", listing, re.MULTILINE):
        address = int(match[1], 16)
        begins = found[0].address if found else address
        found.append(Instruction(address, address - begins, len(match[2].split()), _with_symbol(match[3], match[4], function)))
    return found


def _symbol_sizes(path):
    listing = subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout
    return {match[2]: int(match[1], 16) for match in re.finditer(r"^[0-9a-f]+ ([0-9a-f]+) \w (\S+)$", listing, re.MULTILINE)}


def _section_sizes(path):
    """{section: bytes} of those that are loaded; no relocations."""
    listing = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    found = {}
    for match in re.finditer(r"\] (\S+) +\w+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +([A-Z]*)", listing):
        if "A" in match[3]:
            found[match[1]] = found.get(match[1], 0) + int(match[2], 16)
    return found


def _likely(instructions):
    """The instructions up to the one that leaves the function."""
    end = next(i for i, each in enumerate(instructions) if LEAVES.match(each.text))
    return instructions[:end + 1]


def _own(kind, likely):
    """The marker's own instructions in the likely path."""
    if kind == "optimized":
        return [each for each in likely if NOP.match(each.text)]
    load = next(i for i, each in enumerate(likely) if "__tracepoints" in each.text)
    return likely[load:next(i for i in range(load, len(likely)) if likely[i].text.startswith("j")) + 1]


def _listing(instructions, size):
    return "".join(f"{each.offset:4x}: {each.text}\n" for each in instructions if each.offset < size)


def _size_of(kind, path, without, with_one):
    """The Size of a kind: `path` has both, `without` none, `with_one` this one."""
    sizes, name = _symbol_sizes(path), f"sized_{kind}"
    likely = _likely(_instructions(path, name))
    base = sum(each.size for each in _likely(_instructions(path, "sized_none")))
    own = _own(kind, likely)
    took = sum(each.size for each in likely)
    size = Size(sum(each.size for each in own), len(own), sum("(%rip)" in each.text for each in own))
    size.saving = took - base - size.own
    size.unlikely = sizes[name] - took + sizes.get(name + ".cold", 0)
    size.shared = sum(bytes_ for symbol, bytes_ in sizes.items() if symbol.startswith("__djstap_call_all"))
    for section, bytes_ in with_one.items():
        added = bytes_ - without.get(section, 0)
        if section not in TEXT and added:
            what = SECTIONS.get(section, "tables of text")
            size.sections[what] = size.sections.get(what, 0) + added
    size.listing = _listing(_instructions(path, name), sizes[name])
    if not own or size.own > took:
        raise guest.Failed(f"the marker's instructions are not found:\n{size.listing}")
    return size


def measure(release):
    """Returns {kind: Size}."""
    objects = {}
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        for marked in range(4):
            objects[marked] = os.path.join(folder, str(marked))
            os.mkdir(objects[marked])
            marker_cost.build(release, objects[marked], f"-DMARKED={marked}", ["sized.o"])
        sections = {marked: _section_sizes(f"{path}/sized.o") for marked, path in objects.items()}
        return {kind: _size_of(kind, f"{objects[3]}/sized.o", sections[0], sections[number])
                for number, kind in enumerate(KINDS, start=1)}
