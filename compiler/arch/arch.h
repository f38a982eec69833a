// SPDX-License-Identifier: GPL-2.0-or-later
// What an architecture must provide to the compiler: its names, its registers and calling
// conventions, its instructions and relocations. arch/codegen.h has what takes LLVM's types,
// arch/instructions.h the decoder; what readers inline is described at the end. An architecture is
// a folder that defines all of these (compiler/arch/x86_64; the CMake variable DJSTAP_ARCH selects
// it), and nothing outside it names a register, an instruction or a relocation.
#pragma once
#include "arch/location.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::arch {

// ---- names

struct Names {
    const char* title;      // in messages: "x86-64"
    const char* machine;    // in scripts and uname -m: "x86_64"
    const char* kernel;     // its folder in the kernel's arch/: "x86"
    const char* boot_image; // path of the boot image in the kernel's build folder
    const char* linker;     // ld's emulation
    // part of the path of a program interpreter, which static programs lack
    const char* interpreter;
    const char* emulator; // QEMU's program
    const char* emulator_package;
};
const Names& names();

// e_machine of its ELF files, which are 64-bit and little-endian.
uint16_t elf_machine();

// ---- registers

// Number of words in struct pt_regs.
size_t saved_register_count();

// The registers that pass a function's first integer and pointer arguments, in order. At most
// seven: ArgumentShape describes what is passed otherwise.
std::span<const PtReg> argument_registers();
PtReg stack_pointer();
PtReg instruction_pointer();
// The register that holds a function's result.
PtReg result_register();

// DWARF's number of the register that points to a function's frame where the stack pointer does
// not.
uint64_t frame_pointer_in_dwarf();
// How far from the stack pointer at a function's entry its frame pointer will point, if its
// prologue sets one.
int64_t frame_pointer_from_entry();
// Maps DWARF's register number; nothing for registers that pt_regs does not contain.
std::optional<PtReg> register_of_dwarf(uint64_t number);
// The names of the registers with a DWARF number, for a hint.
std::string_view dwarf_register_names();

inline bool is_argument(PtReg reg) {
    const std::span<const PtReg> all = argument_registers();
    return std::find(all.begin(), all.end(), reg) != all.end();
}

// True for the registers that a direct call at a function's entry passes on unchanged: argument
// registers and the stack pointer.
inline bool is_seen_by_direct_call(PtReg reg) {
    return reg == stack_pointer() || is_argument(reg);
}

// The bytes that a call pushes on the stack: the return address, or 0 if a register holds it.
size_t return_address_bytes();

// Returns the address of a symbol; nothing if it is unknown.
using SymbolAddress = std::function<std::optional<uint64_t>(std::string_view)>;
// Returns the location that an operand in the assembler's syntax stands for, as compilers write it
// into the notes of static probes: a register, a number, or memory.
Location location_of_operand(std::string_view operand, const SymbolAddress& symbol_address);

// Returns the address of the word that holds a function's address, if the code at `address` is a
// stub of a program's procedure linkage table, which jumps there.
std::optional<uint64_t> slot_of_stub(std::string_view code, uint64_t address);

// ---- calling conventions

struct ArgumentShape {
    uint64_t size = 0;
    bool aggregate = false; // struct, union or array by value
    bool floating = false;
    bool known = true;         // false: the type is incomplete, or how it is passed is unknown
    bool by_reference = false; // a class whose address is passed
};

// The locations of a function's arguments at its entry. Nothing from the first argument on whose
// place depends on an unknown type.
std::vector<Location> argument_locations(const std::vector<ArgumentShape>& arguments,
                                         const ArgumentShape& result);

// Returns whether result_register() holds a result's address instead of the result.
bool is_returned_in_memory(const ArgumentShape& result);

// The prefix that the kernel adds to NAME of a system call's wrapper, whose only argument is a
// struct pt_regs *.
std::string_view syscall_wrapper_prefix();
// The registers in that structure that hold the system call's arguments, in order.
std::span<const PtReg> syscall_argument_registers();
// The one that holds its number, from its beginning to its end.
PtReg syscall_number_register();

// ---- the kernel's code

// The landing pad: the instruction that an indirect branch must target if the hardware checks that,
// at the entry of a function, before its fentry site. Empty if the architecture has none.
std::string_view landing_pad();
// The option of the kernel's configuration, without CONFIG_, that enables it.
std::string_view landing_pad_option();

// True if a CPU runs code of the function with this symbol while it cannot take an exception: while
// it starts, resumes, or hands the machine over. No mechanism can probe it safely. A breakpoint is
// fatal there, and so is what a handler behind a direct call may do anywhere else: the fault of a
// read that may fail, or a breakpoint in a function that it calls. A part that the compiler split
// off ("f.cold") counts as f.
bool runs_without_exceptions(std::string_view symbol);

// True if the function is entered by one task and left by another.
bool is_between_tasks(std::string_view symbol);

// True if the function may be left without returning by a task that goes on: exchanged return
// addresses are kept in the order of calls, and a function that called it would return to where it
// should have returned. A part that the compiler split off counts as its function.
bool is_left_without_return(std::string_view symbol);

// True if the symbol names code that control enters otherwise than by a call: there is no return
// address where a function has one. By its name, for images that do not tell functions from labels;
// a function with an fentry site may have the same name in another kernel.
bool is_uncalled(std::string_view symbol);

// True if the function tracers run the code of the symbol before they notice that they were called
// by themselves. If the kernel's code for breakpoints is traced, a breakpoint there hits itself;
// and some of the code is copied, which its breakpoint would be as well. A part that the compiler
// split off counts as its function.
bool is_in_tracers(std::string_view symbol);

// True if a CPU that handles the fault of a read (codegen.h: guarded_load) calls this function or
// tracepoint before it continues at the read's fixup: a handler there that faults hits itself.
bool handles_faults(std::string_view name);

// ---- objects

// The name in elf.h, or "relocation type 99".
std::string relocation_name(uint32_t type);
// True if the kernel's module loader handles it.
bool is_loadable_relocation(uint32_t type);
// True for the type that compilers use for direct calls and jumps; all others take an address.
bool is_branch_relocation(uint32_t type);
// The size of the absolute address that is stored: 0 for relocations of other kinds.
size_t absolute_relocation_bytes(uint32_t type);
// The size of the distance that is stored, from the place to the address: 0 for relocations of
// other kinds, and those that only the linker handles.
size_t distance_relocation_bytes(uint32_t type);
// True if the dynamic linker stores the load address plus the addend.
bool is_relative_relocation(uint32_t type);

// A direct call or jump, whose target is part of the instruction.
struct DirectBranch {
    uint64_t address = 0, target = 0;
};
// Returns what the bytes before `end`, the last longest_direct_branch() of code, can be if they end
// with a direct jump (or else: with a direct call).
std::vector<DirectBranch> direct_branches_before(uint64_t end, std::string_view bytes, bool jump);
size_t longest_direct_branch();

// The code that the compiler calls instead of emitting a return or an indirect branch, so that the
// kernel can select its mitigation at boot.
enum class Thunk { None, Return, Indirect };
Thunk thunk_of(std::string_view symbol);
// The most bytes that precede the displacement in a branch to a thunk.
uint64_t longest_branch_opcode();

// ---- readers

// Functions that readers inline for each record. They are in the folder's include/arch_reader.h,
// which is found as <arch_reader.h>.
//
// The clock of the records:
//     uint64_t cycles();
// The same, ordered after all earlier reads of the program:
//     uint64_t cycles_in_order();
// Zeroes a multiple of 8 bytes:
//     void clear_words(void* at, uint32_t bytes);
// Writes all sixteen digits, the most significant first:
//     void put_hex_digits(char* out, uint64_t value);

} // namespace djstap::arch
