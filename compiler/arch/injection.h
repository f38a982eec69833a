// SPDX-License-Identifier: GPL-2.0-or-later
// What an architecture must provide to probes inside a program (injection/): the code of a site's
// stub, instructions that run elsewhere, and what a tracer does with a stopped thread.
#pragma once
#include "arch/instructions.h"
#include "diagnostics/result.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace djstap::arch {

// ---- instructions that run elsewhere

// Returns the code that does at `to` what the instruction, decoded from `bytes` at `from`, does
// there: it continues behind itself, or where the instruction leads. A call pushes the address that
// it would push at `from`. Fails if what the instruction names is too far from `to`.
Result<std::string> moved_instruction(std::string_view bytes, const Instruction& decoded,
                                      uint64_t from, uint64_t to);
// Returns a jump of planted_jump_bytes(); "" if `to` is too far away.
std::string planted_jump(uint64_t from, uint64_t to);
// The farthest that a jump or a named address may be away.
uint64_t jump_reach();

// ---- stubs

// The stub of a site compares the thread with the owner of its slot, lets it claim one if it has
// none, and calls the handlers of the site; it changes no register. What follows it continues in
// the function.
struct StubTargets {
    uint64_t owner = 0;    // the word with the base of the first slot's owner
    uint64_t claim = 0;    // djs_slot_entry
    uint64_t handlers = 0; // the trampoline
    // What the handlers find on the stack above their return address, before what the stub has
    // there.
    std::optional<uint32_t> argument = {};
};
struct Stub {
    std::string code;
    size_t entry_at = 0;  // the offset to which the place jumps
    size_t return_at = 0; // the offset to which the trampoline returns
};
Stub stub_code(const StubTargets& targets, uint64_t at);
// The bytes that a stub has on the stack, above the return address, when it calls the handlers.
size_t stub_stack_bytes();
// Returns what continues with the stub's entry if control arrives at the beginning of its code.
std::string stub_approach(const Stub& stub);
// The most bytes of three stubs in a row with the instructions that were moved behind them.
size_t stub_room();
// Whether this processor and kernel have what stubs need.
bool has_stub_instructions();

// ---- stopped threads

// Returns whether a word of a stack is where a signal has interrupted the thread, as the kernel
// saves it: a signal's handler returns there. What functions leave on a stack is not.
bool is_interrupted_place(std::span<const uint64_t> stack, size_t word);
// Returns the stack pointer of what was interrupted at such a place: a signal's handler may have a
// stack of its own.
uint64_t interrupted_stack_pointer(std::span<const uint64_t> stack, size_t word);

// The instruction at which a thread stops when it executes it; and the one that enters the kernel.
std::string_view stop_instruction();
std::string_view kernel_call_instruction();

// The code of a system call that a tracer has a thread execute, and of the way back: behind the
// call, the thread goes on as it was, without its tracer.
std::string_view visit_code();
// Whether a jump that is planted at the address would be in the way of that code, which is written
// to the program's entry, and what is said of such a place.
bool is_in_way_of_visits(uint64_t address, uint64_t entry);
constexpr const char* in_way_of_visits =
    "it is at the program's entry, where djstap has threads execute system calls";
// What that code needs on the thread's stack.
struct WayBack {
    uint64_t stack_pointer = 0;
    std::string words; // from there on
};

// The registers of a thread that a tracer has stopped.
class StoppedRegisters {
  public:
    // Fails with errno's text.
    static Result<StoppedRegisters> of(pid_t thread);
    Status store(pid_t thread) const;
    uint64_t instruction_pointer() const;
    void set_instruction_pointer(uint64_t address);
    // Returns the way back to where the thread is, with this mask of signals. A system call that
    // was interrupted is repeated.
    WayBack way_back(uint64_t blocked) const;
    void set_stack_pointer(uint64_t address);
    // For a system call, and what it returned.
    void set_call(long number, const std::array<uint64_t, 6>& arguments);
    int64_t result() const;
    // Whether something else uses what stubs use to find a thread's slot.
    uint64_t stack_pointer() const;
    // Whether it executes the instruction before it once more: a system call that was interrupted.
    bool repeats_call() const;
    bool has_slot_base() const;
    void set_slot_base(uint64_t distance);

  private:
    std::array<uint64_t, 32> words_{};
};

} // namespace djstap::arch
