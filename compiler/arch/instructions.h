// SPDX-License-Identifier: GPL-2.0-or-later
// What an architecture must provide to the analysis of compiled code (regions/): what an
// instruction does to the flow of control, which addresses it names, and whether it runs elsewhere.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace djstap::arch {

// How control continues after an instruction.
enum class Flow : uint8_t {
    Next,
    Branch, // to `target`, or with the next instruction
    Jump,   // to `target`
    Call,   // to `target`
    IndirectJump,
    IndirectCall,
    Return,
    Trap // an exception that is handled by the address where it occurs
};

// Why an instruction cannot run anywhere but at its own address.
enum class Fixed : uint8_t {
    No,
    Trap,     // it raises an exception whose handler looks up its address
    Relative, // its relative operand has no longer form
    Adjacent  // it is only right beside the instruction before or after it
};

// An address that an instruction names.
struct NamedAddress {
    enum class Use : uint8_t {
        Computed,  // a register receives it, relative to the instruction
        Immediate, // the same, or memory does, as a constant
        Read       // memory there, or there plus a register, is an operand
    };
    uint64_t address = 0;
    Use use = Use::Computed;
};

struct Instruction {
    uint8_t length = 0;
    Flow flow = Flow::Next;
    Fixed fixed = Fixed::No;
    // The kernel's optimizer of kprobes copies it; newer kernels copy more groups of instructions.
    bool kernel_copies = false, newer_kernel_copies = false;
    bool breakpoint = false;
    bool filler = false; // may stand between functions: a no-op or a breakpoint
    bool landing_pad = false;
    // It accesses memory that may not be there: neither the stack, nor at a fixed place, nor what
    // Go's functions read of their goroutine at the entry.
    bool accesses = false;
    bool jumps_through_slot = false; // an indirect jump to what is in memory at a fixed address
    uint8_t prefixes = 0;            // bytes before the operation that a jump may skip
    uint64_t target = 0;             // of a Branch, a Jump or a Call
    uint8_t named_count = 0;
    std::array<NamedAddress, 2> names{};

    std::span<const NamedAddress> named() const { return {names.data(), named_count}; }
    bool is_direct_jump() const { return flow == Flow::Branch || flow == Flow::Jump; }
    bool is_call() const { return flow == Flow::Call || flow == Flow::IndirectCall; }
};

// What an instruction does to general registers, which have numbers below 64.
struct RegisterUse {
    uint64_t written = ~uint64_t{0}; // those that it may change, as bits
    // The register to which a number of less than a page is added to address the memory that is
    // accessed; `always`: the access happens.
    std::optional<unsigned> base;
    bool always = false;
    // The register that receives an address less than a page above what is in `from`, or one of
    // memory that is there: of the stack, or at a fixed distance.
    std::optional<unsigned> to, from;
    bool is_there = false;
    // It accesses memory at the sum of two registers, or a page or more above a register's value.
    bool accesses_elsewhere = false;
    // The register that it compares with zero, and which way a branch continues if that was zero.
    std::optional<unsigned> compared;
    enum class IfZero : uint8_t { Unknown, Branches, Continues } if_zero = IfZero::Unknown;
};

// Registers, as bits, in functions that Go's compiler has compiled.
struct GoRegisters {
    uint64_t always = 0;  // lead to memory: to the goroutine
    uint64_t context = 0; // also at the entry, if the function reads it
    uint64_t result = 0;  // receives a pointer that a function returns
};
GoRegisters go_registers();

// Decodes instructions. Not to be shared between threads.
class InstructionDecoder {
  public:
    // Returns null if this LLVM lacks the architecture.
    static std::unique_ptr<InstructionDecoder> create();
    virtual ~InstructionDecoder() = default;
    // Decodes the instruction at the beginning of the bytes; its length is 0 if there is none.
    virtual Instruction decode(std::string_view bytes, uint64_t address) = 0;
    virtual RegisterUse registers(std::string_view bytes, uint64_t address) = 0;
    // Returns it as an assembler writes it; "" if there is none.
    virtual std::string text(std::string_view bytes, uint64_t address) = 0;
};

// The bytes that a jump to any place takes, which replaces the instructions of a region.
size_t planted_jump_bytes();

// The bytes of a jump that only reaches what is near, and whether one at `from` reaches `to`. It
// may lead to a jump to any place.
size_t short_jump_bytes();
bool short_jump_reaches(uint64_t from, uint64_t to);

// The byte with which Go fills the space between functions.
uint8_t space_between_functions();

// The instruction that a kernel puts where the compiler wrote a jump to the return thunk.
std::string_view return_instruction();

// The kernel replaces a call of an indirect thunk by a shorter call where no mitigation is needed.
// Returns the length of that call; 0 if `symbol` is no such thunk.
size_t shorter_call_bytes(std::string_view symbol);

} // namespace djstap::arch
