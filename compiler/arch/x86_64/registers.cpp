// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/x86_64/registers.h"

#include "arch/arch.h"

#include <array>

namespace djstap::arch {

namespace {

using namespace x86_64;

template <class... Registers> constexpr auto pt_regs(Registers... registers) {
    return std::array{pt_reg(registers)...};
}

// psABI figure 3.36.
constexpr auto by_dwarf_number =
    pt_regs(Rax, Rdx, Rcx, Rbx, Rsi, Rdi, Rbp, Rsp, R8, R9, R10, R11, R12, R13, R14, R15, Rip);
// psABI 3.2.3.
constexpr auto of_arguments = pt_regs(Rdi, Rsi, Rdx, Rcx, R8, R9);
// arch/x86/include/asm/syscall_wrapper.h
constexpr auto of_syscall_arguments = pt_regs(Rdi, Rsi, Rdx, R10, R8, R9);

} // namespace

size_t saved_register_count() {
    return Count;
}

std::span<const PtReg> argument_registers() {
    return of_arguments;
}

PtReg stack_pointer() {
    return pt_reg(Rsp);
}

PtReg instruction_pointer() {
    return pt_reg(Rip);
}

PtReg result_register() {
    return pt_reg(Rax);
}

uint64_t frame_pointer_in_dwarf() {
    constexpr uint64_t rbp = 6;
    return rbp;
}

// push %rbp; mov %rsp, %rbp
int64_t frame_pointer_from_entry() {
    return -static_cast<int64_t>(sizeof(uint64_t));
}

std::optional<PtReg> register_of_dwarf(uint64_t number) {
    return number < by_dwarf_number.size() ? std::optional(by_dwarf_number[number]) : std::nullopt;
}

std::string_view dwarf_register_names() {
    return "rax rdx rcx rbx rsi rdi rbp rsp, r8 to r15, rip";
}

size_t return_address_bytes() {
    return sizeof(uint64_t);
}

std::string_view syscall_wrapper_prefix() {
    return "__x64_sys_";
}

std::span<const PtReg> syscall_argument_registers() {
    return of_syscall_arguments;
}

PtReg syscall_number_register() {
    return pt_reg(OrigRax);
}

} // namespace djstap::arch
