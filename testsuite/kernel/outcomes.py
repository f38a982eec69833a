# SPDX-License-Identifier: GPL-2.0-or-later
"""What the ends of a case's guests say of the case: each that is not meant is a failure, unless the emulator is to blame."""
import re

# What the kernel turns an instruction into when it patches it: a no-op, a call or a jump.
PATCHED = [bytes.fromhex(text) for text in ("0f1f440000", "e8", "e9", "6690", "eb")]


def fault_while_patched(log):
    """Returns the place of the kernel's first fault, if its text no longer contains the cause: a breakpoint that was
    gone by the time of the log, one that a processor keeps hitting although it is gone, or an opcode of which only a
    part was new. None: any other fault."""
    fault = re.search(r"(int3|invalid opcode): 0000 \[#1\]|BUG: (soft lockup)", log)
    text = log[fault.end():] if fault else ""
    place, code = re.search(r"RIP: 0010:(\S+)", text), re.search(r"Code: ((?:[0-9a-f]{2} )*)<([0-9a-f]{2})>((?: [0-9a-f]{2})*)", text)
    if not place or not code:
        return None
    before, behind = bytes.fromhex(code[1]), bytes.fromhex(code[2] + code[3])
    if fault[1] == "int3":  # it traps behind its byte
        before, behind = before[:-1], before[-1:] + behind
    forms = PATCHED
    if fault[2]:  # a loop may have calls and jumps, but none stops at a no-op, and for a breakpoint at that
        forms = PATCHED[:1] if "asm_exc_int3" in text else []
    return place[1] if any(behind.startswith(each) for each in forms) else None


def fell_before_modules(guest):
    """Returns whether all that the kernel complains about is a crash of a program, before it loaded a module of ours."""
    complaint = guest.get("complaint", "")
    programs = re.findall(r"^\[ *[\d.]+\] traps: \S+\[\d+\] ", complaint, re.MULTILINE)
    return len(programs) == len(complaint.splitlines()) > 0 and "out-of-tree module" not in guest.get("log", "")


def end_of(guest):
    """Returns how a guest ended, as a case's `ends` names it."""
    return "complained" if guest["end"] == "exited" and guest["complaint"] else guest["end"]


def emulators_fault(guest, parallel):
    """Returns why the emulator is to blame for a guest's end; None if it is not."""
    if guest["end"] == "emulator-died":
        return f"the emulator died: {guest['reason']}"
    if not parallel:
        return None
    if place := fault_while_patched(guest.get("complaint", "") + guest.get("log", "")):
        return f"the emulator ran code while it was patched: {place}"
    if guest["end"] == "not-started":
        return "the guest did not boot; no module had been loaded"
    if fell_before_modules(guest):
        return "a program of the guest crashed; no module had been loaded"
    return None


def judge(guests, meant, parallel):
    """Returns the guests whose end is a failure, and what the emulator is to blame for, in the order of djstap's report.
    `meant`: the ends that the case is about. The emulator's fault in one guest excuses no other guest."""
    failed, faults = [], []
    for guest in guests:
        if end_of(guest) == "exited" or end_of(guest) in meant:
            continue
        if fault := emulators_fault(guest, parallel):
            faults.append(fault)
        else:
            failed.append(guest)
    return failed, faults
