# SPDX-License-Identifier: GPL-2.0-or-later
"""Evaluates location expressions, as llvm-dwarfdump prints them, over registers and memory that a kprobe saved."""
import re

# Of DWARF's register numbers, the word in struct pt_regs.
WORDS = {0: 10, 1: 12, 2: 11, 3: 5, 4: 13, 5: 14, 6: 4, 7: 19, 8: 9, 9: 8, 10: 7, 11: 6, 12: 3, 13: 2, 14: 1, 15: 0}
NAMES = {"RAX": 0, "RDX": 1, "RCX": 2, "RBX": 3, "RSI": 4, "RDI": 5, "RBP": 6, "RSP": 7,
         **{"R%d" % i: i for i in range(8, 16)}}
MASK = (1 << 64) - 1
# The System V calling convention, by DWARF's register numbers.
ARGUMENTS = (5, 4, 1, 2, 8, 9)
STACK = 7


class Unavailable(Exception):
    """The place has no value of the variable, or none that the saved registers tell."""


class Place:
    """What an expression denotes: a value, or memory at a register (a word in pt_regs; -1: none) plus an offset."""

    def __init__(self, value=None, memory=None):
        self.value, self.memory = value, memory


def signed(value, bits=64):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def frame_address(rule):
    """(register, offset) of a rule for the call frame address: "RSP+16"."""
    found = re.fullmatch(r"([A-Z0-9]+)([+-]\d+)?", rule or "")
    if not found or found.group(1) not in NAMES:
        raise Unavailable("relative to a frame that has no simple rule")
    return NAMES[found.group(1)], int(found.group(2) or 0)


def operations(text):
    """Splits at the commas that are outside parentheses."""
    depth, start = 0, 0
    for at, each in enumerate(text + ","):
        depth += (each == "(") - (each == ")")
        if each == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1


def evaluate(text, registers, rule, is_entry):
    """Returns the Place of a location. registers(number) is the value of one of DWARF's registers.

    An address is kept as register plus offset as long as it is one, so that the memory there can be requested before
    the registers' values are known.
    """
    if text.startswith("const "):
        found = re.match(r"const (-?(?:0x)?[0-9a-f]+)$", text)
        if not found:
            raise Unavailable("a constant that is not a number")
        return Place(value=int(found.group(1), 0) & MASK)
    stack, is_value = [], False

    def number(item):
        register, offset = item
        return ((registers(register) if register is not None else 0) + offset) & MASK

    all_operations = list(operations(text))
    for position, operation in enumerate(all_operations):
        name, _, argument = operation.partition(" ")
        if is_value:
            raise Unavailable("split over several locations")
        found = re.fullmatch(r"DW_OP_reg(\d+)", name)
        if found:
            if len(all_operations) > 1:
                raise Unavailable("split over several locations")
            return Place(value=registers(register_number(int(found.group(1)))))
        found = re.fullmatch(r"DW_OP_breg(\d+)", name)
        if found:
            offset = re.search(r"([+-]\d+)$", argument)
            stack.append((register_number(int(found.group(1))), int(offset.group(1))))
        elif name in ("DW_OP_fbreg", "DW_OP_call_frame_cfa"):
            register, offset = frame_address(rule)
            stack.append((register, offset + (int(argument) if name == "DW_OP_fbreg" else 0)))
        elif name == "DW_OP_addr":
            stack.append((None, int(argument, 16)))
        elif re.fullmatch(r"DW_OP_lit\d+", name):
            stack.append((None, int(name[9:])))
        elif re.fullmatch(r"DW_OP_const(\d?[us])", name):
            stack.append((None, int(re.sub(r"^\+", "", argument), 0)))
        elif name == "DW_OP_plus_uconst":
            register, offset = stack.pop()
            stack.append((register, offset + int(argument, 0)))
        elif name in ("DW_OP_plus", "DW_OP_minus"):
            right, left = stack.pop(), stack.pop()
            if name == "DW_OP_plus" and left[0] is None:
                left, right = right, left
            if right[0] is None:
                stack.append((left[0], left[1] + (right[1] if name == "DW_OP_plus" else -right[1])))
            else:
                value = number(left) + (number(right) if name == "DW_OP_plus" else -number(right))
                stack.append((None, value))
        elif name in BINARY:
            right, left = number(stack.pop()), number(stack.pop())
            if name in ("DW_OP_div", "DW_OP_mod") and right == 0:
                raise Unavailable("a division by zero")
            stack.append((None, BINARY[name](left, right) & MASK))
        elif name in UNARY:
            stack.append((None, UNARY[name](number(stack.pop())) & MASK))
        elif name == "DW_OP_dup":
            stack.append(stack[-1])
        elif name == "DW_OP_over":
            stack.append(stack[-2])
        elif name == "DW_OP_drop":
            stack.pop()
        elif name == "DW_OP_swap":
            stack[-1], stack[-2] = stack[-2], stack[-1]
        elif name.startswith(("DW_OP_entry_value", "DW_OP_GNU_entry_value")):
            found = re.search(r"\(DW_OP_reg(\d+)", operation)
            if not is_entry or not found:
                raise Unavailable("only its value at the function's entry is known")
            stack.append((register_number(int(found.group(1))), 0))
        elif name == "DW_OP_implicit_value":
            data = [int(each, 16) for each in argument.split()[1:]]
            if len(data) > 8:
                raise Unavailable("a constant wider than 8 bytes")
            return Place(value=int.from_bytes(bytes(data), "little"))
        elif name == "DW_OP_stack_value":
            is_value = True
        elif name in ("DW_OP_piece", "DW_OP_bit_piece"):
            raise Unavailable("split over several locations")
        elif "implicit_pointer" in name:
            raise Unavailable("points to an object that was optimized away")
        elif name.startswith("DW_OP_deref"):
            raise Unavailable("read from memory by its expression")
        else:
            raise Unavailable("computed with " + name)
    if len(stack) != 1:
        raise Unavailable("an expression with %d results" % len(stack))
    register, offset = stack[0]
    if is_value:
        return Place(value=number(stack[0]))
    return Place(memory=(WORDS[register] if register is not None else -1,
                         signed(offset) if register is None else offset))


def register_number(number):
    if number not in WORDS:
        raise Unavailable("in register %d" % number)
    return number


BINARY = {
    "DW_OP_and": lambda a, b: a & b, "DW_OP_or": lambda a, b: a | b, "DW_OP_xor": lambda a, b: a ^ b,
    "DW_OP_mul": lambda a, b: a * b,
    "DW_OP_shl": lambda a, b: a << b if b < 64 else 0, "DW_OP_shr": lambda a, b: a >> b if b < 64 else 0,
    "DW_OP_shra": lambda a, b: signed(a) >> min(b, 63),
    "DW_OP_div": lambda a, b: int(signed(a) / signed(b)), "DW_OP_mod": lambda a, b: a % b,
    "DW_OP_eq": lambda a, b: a == b, "DW_OP_ne": lambda a, b: a != b,
    "DW_OP_lt": lambda a, b: signed(a) < signed(b), "DW_OP_le": lambda a, b: signed(a) <= signed(b),
    "DW_OP_gt": lambda a, b: signed(a) > signed(b), "DW_OP_ge": lambda a, b: signed(a) >= signed(b),
}
UNARY = {"DW_OP_not": lambda a: ~a, "DW_OP_neg": lambda a: -a, "DW_OP_abs": lambda a: abs(signed(a))}


def by_convention(parameters, result):
    """Locations of a function's arguments by the System V calling convention, in the form of DWARF's expressions.

    `parameters`: (kind, size) of each; `result`: of the result.
    """
    free = list(ARGUMENTS)
    if result[0] == "aggregate" and result[1] > 16:
        free.pop(0)
    behind, found = 8, []
    for kind, size in parameters:
        words = max((size + 7) // 8, 1)
        if kind in ("unknown", "float", "void"):
            return found + [None] * (len(parameters) - len(found))
        if words <= 2 and words <= len(free):
            found.append("DW_OP_reg%d" % free[0] if kind != "aggregate" else None)
            del free[:words]
        else:
            found.append("DW_OP_breg7 RSP+%d" % behind)
            behind += words * 8
    return found
