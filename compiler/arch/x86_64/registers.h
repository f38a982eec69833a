// SPDX-License-Identifier: GPL-2.0-or-later
// The registers of x86-64, in the order of struct pt_regs.
#pragma once
#include "arch/location.h"

namespace djstap::arch::x86_64 {

enum Register : uint8_t {
    R15,
    R14,
    R13,
    R12,
    Rbp,
    Rbx,
    R11,
    R10,
    R9,
    R8,
    Rax,
    Rcx,
    Rdx,
    Rsi,
    Rdi,
    OrigRax,
    Rip,
    Cs,
    Eflags,
    Rsp,
    Ss,
    Count
};

constexpr PtReg pt_reg(Register reg) {
    return PtReg{reg};
}

} // namespace djstap::arch::x86_64
