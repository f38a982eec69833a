// SPDX-License-Identifier: GPL-2.0-or-later
// What an architecture must give to the compiler: its names, its registers and calling conventions,
// what its instructions and relocations look like. What takes LLVM's types is in arch/codegen.h;
// what readers do inline is told at the end. An architecture is a folder that defines all of these
// (compiler/arch/x86_64; the CMake variable DJSTAP_ARCH chooses it), and nothing outside it names a
// register, an instruction or a relocation.
#pragma once
#include "arch/location.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::arch {

// ---- names

struct Names {
    const char* title;       // in messages: "x86-64"
    const char* machine;     // as uname -m and scripts have it: "x86_64"
    const char* kernel;      // its folder in the kernel's arch/: "x86"
    const char* boot_image;  // where in the kernel's build folder the image to boot is
    const char* linker;      // ld's emulation
    const char* interpreter; // in the path of a program interpreter, which static programs lack
    const char* emulator;    // QEMU's program
    const char* emulator_package;
};
const Names& names();

// e_machine of its ELF files, which have 64 bits and little-endian numbers.
uint16_t elf_machine();

// ---- registers

// How many words struct pt_regs has.
size_t saved_register_count();

// Those that a function's first numbers and addresses are passed in, in order. At most seven: see
// ArgumentShape for what does not fit.
std::span<const PtReg> argument_registers();
PtReg stack_pointer();
PtReg instruction_pointer();
// Where a function leaves its result.
PtReg result_register();

// By DWARF's number; nothing for those that pt_regs does not have.
std::optional<PtReg> register_of_dwarf(uint64_t number);
// The names of those that have one, for a hint.
std::string_view dwarf_register_names();

inline bool is_argument(PtReg reg) {
    const std::span<const PtReg> all = argument_registers();
    return std::find(all.begin(), all.end(), reg) != all.end();
}

// A direct call at a function's entry leaves these to what it calls as they were: those of
// arguments, and the stack pointer.
inline bool is_seen_by_direct_call(PtReg reg) {
    return reg == stack_pointer() || is_argument(reg);
}

// What a call leaves on the stack for its callee: the bytes of the return address, 0 where a
// register holds it.
size_t return_address_bytes();

// ---- calling conventions

struct ArgumentShape {
    uint64_t size = 0;
    bool aggregate = false; // struct, union or array by value
    bool floating = false;
    bool known = true; // false: the type is not complete
};

// Where a function's arguments are at its entry, one location an argument. From the first argument
// whose place depends on what is not known on, nothing.
std::vector<Location> argument_locations(const std::vector<ArgumentShape>& arguments,
                                         const ArgumentShape& result);

// What the kernel puts before NAME of a system call's wrapper, whose one argument is a struct
// pt_regs *.
std::string_view syscall_wrapper_prefix();
// The registers in that structure that hold the system call's arguments, in order.
std::span<const PtReg> syscall_argument_registers();

// ---- the kernel's code

// The instruction that an indirect branch must meet, where the kernel has hardware check that: at
// the entry of a function, before its fentry site. Empty where there is no such thing.
std::string_view landing_pad();
// The option of the kernel's configuration, without CONFIG_, that asks for it.
std::string_view landing_pad_option();

// True where a CPU runs code of the function with this symbol while it can take no exception: no
// probe is safe there, by any mechanism. It comes up, resumes, or hands the machine over. A
// breakpoint is fatal there, and so is what a handler behind a direct call would be forgiven
// anywhere else: the fault of a read that may fail, somebody's breakpoint in a function that it
// calls. A part that the compiler split off ("f.cold") is held to what is said of f.
bool runs_without_exceptions(std::string_view symbol);

// ---- objects

// As elf.h has it, or "relocation type 99".
std::string relocation_name(uint32_t type);
// What the kernel's loader of modules handles.
bool is_loadable_relocation(uint32_t type);
// Compilers mark direct calls and jumps with it; all others take an address.
bool is_branch_relocation(uint32_t type);
// How many bytes of an absolute address are put in place: 0 for relocations of other kinds.
size_t absolute_relocation_bytes(uint32_t type);

// What the compiler calls, by itself, in place of a return or an indirect branch, so that the
// kernel can choose its mitigation when it boots.
enum class Thunk { None, Return, Indirect };
Thunk thunk_of(std::string_view symbol);
// How many bytes at most stand before the distance in a branch to one.
uint64_t longest_branch_opcode();

// ---- readers

// Inline, as readers do it for each record: the folder's include/arch_reader.h, which
// <arch_reader.h> finds.
//
// The clock of the records:
//     uint64_t cycles();
// The same, after all that the program has read before:
//     uint64_t cycles_in_order();
// A multiple of 8 bytes:
//     void clear_words(void* at, uint32_t bytes);
// All sixteen digits, the most significant first:
//     void put_hex_digits(char* out, uint64_t value);

} // namespace djstap::arch
