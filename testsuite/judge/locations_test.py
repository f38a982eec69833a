#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge's own arithmetic: location expressions whose values are known."""
import sys

import dwarf_store
import locations

REGISTERS = {number: 0x1000 * (number + 1) for number in locations.WORDS}
VALUES = {
    "DW_OP_reg5 RDI": 0x6000,
    "DW_OP_breg4 RSI-16, DW_OP_stack_value": 0x4ff0,
    "DW_OP_breg4 RSI+0, DW_OP_breg5 RDI+0, DW_OP_minus, DW_OP_stack_value": (0x5000 - 0x6000) & locations.MASK,
    "DW_OP_lit5, DW_OP_breg5 RDI+0, DW_OP_plus, DW_OP_stack_value": 0x6005,
    "DW_OP_const1u 0xff, DW_OP_breg5 RDI+1, DW_OP_and, DW_OP_stack_value": 1,
    "DW_OP_breg5 RDI+0, DW_OP_lit4, DW_OP_shr, DW_OP_lit1, DW_OP_minus, DW_OP_stack_value": 0x5ff,
    "DW_OP_const1s -8, DW_OP_lit1, DW_OP_shra, DW_OP_stack_value": (-4) & locations.MASK,
    "DW_OP_breg5 RDI+0, DW_OP_lit0, DW_OP_ne, DW_OP_stack_value": 1,
    "DW_OP_breg5 RDI+0, DW_OP_neg, DW_OP_not, DW_OP_stack_value": 0x5fff,
    "DW_OP_breg5 RDI+0, DW_OP_plus_uconst 0x8, DW_OP_stack_value": 0x6008,
    "DW_OP_addr 0xffffffff82a1a020, DW_OP_stack_value": 0xffffffff82a1a020,
    "DW_OP_implicit_value 0x8 0x10 0x00 0x00 0x00 0x00 0x00 0x00 0x91": 0x9100000000000010,
    "DW_OP_entry_value(DW_OP_reg1 RDX), DW_OP_stack_value": 0x2000,
    "const 0x1d": 0x1d,
}
MEMORY = {
    "DW_OP_fbreg -24": (19, -8), # the frame's address is RSP+16 below
    "DW_OP_fbreg +8": (19, 24),
    "DW_OP_breg3 RBX+40": (5, 40),
    "DW_OP_addr 0xffffffff82a1a020": (-1, 0xffffffff82a1a020 - (1 << 64)),
    "DW_OP_call_frame_cfa": (19, 16),
}
UNAVAILABLE = (
    "DW_OP_reg5 RDI, DW_OP_piece 0x8, DW_OP_reg4 RSI, DW_OP_piece 0x8", "DW_OP_breg13 R13+0, DW_OP_deref, DW_OP_stack_value",
    "DW_OP_implicit_pointer 0x12 +0", "DW_OP_reg17 XMM0", "DW_OP_breg5 RDI+0, DW_OP_lit0, DW_OP_div, DW_OP_stack_value",
    "DW_OP_breg3 RBX+0, DW_OP_convert (0x001478eb) \"long unsigned int\", DW_OP_stack_value",
)
# Of a list, the location that holds at 0x20; the first place behind a range is outside of it.
LISTED = {b"location": b"0x10: \n[0x10, 0x20): DW_OP_reg5 RDI\n[0x20, 0x20): DW_OP_reg4 RSI\n"
                       b"[0x20, 0x28): DW_OP_entry_value(DW_OP_reg5 RDI), DW_OP_stack_value)"}
CONVENTIONS = (
    ([("integer", 4)] * 8, ("integer", 4), [5, 4, 1, 2, 8, 9, "8", "16"]),
    ([("pointer", 8), ("aggregate", 16), ("integer", 8)], ("void", 0), [5, None, 2]),
    ([("pointer", 8), ("aggregate", 40), ("integer", 8)], ("aggregate", 24), [4, "8", 1]),
    ([("integer", 8)] * 5 + [("aggregate", 16), ("integer", 8)], ("void", 0), [5, 4, 1, 2, 8, "8", 9]),
    ([("integer", 8), ("float", 8), ("integer", 8)], ("void", 0), [5, None, None]),
)


def main():
    failed = []
    for text, value in VALUES.items():
        place = locations.evaluate(text, REGISTERS.get, "RSP+16", True)
        if place.value != value:
            failed.append("%s: %r instead of %x" % (text, place.value, value))
    for text, memory in MEMORY.items():
        place = locations.evaluate(text, REGISTERS.get, "RSP+16", True)
        if place.memory != memory:
            failed.append("%s: %r instead of %r" % (text, place.memory, memory))
    for text in UNAVAILABLE:
        try:
            locations.evaluate(text, REGISTERS.get, "RSP+16", True)
            failed.append("%s has a value" % text)
        except locations.Unavailable:
            pass
    for address, text in ((0xf, None), (0x10, b"DW_OP_reg5 RDI"), (0x1f, b"DW_OP_reg5 RDI"),
                          (0x20, b"DW_OP_entry_value(DW_OP_reg5 RDI), DW_OP_stack_value"), (0x28, None)):
        if dwarf_store.location_at(LISTED, address) != text:
            failed.append("at %x: %r" % (address, dwarf_store.location_at(LISTED, address)))
    for parameters, result, expected in CONVENTIONS:
        texts = [None if each is None else "DW_OP_breg7 RSP+%s" % each if isinstance(each, str) else "DW_OP_reg%d" % each
                 for each in expected]
        found = locations.by_convention(parameters, result)
        if found != texts:
            failed.append("%r: %r instead of %r" % (parameters, found, texts))
    print("\n".join(failed) or "%d expressions" % (len(VALUES) + len(MEMORY) + len(UNAVAILABLE)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
