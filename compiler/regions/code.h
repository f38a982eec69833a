// SPDX-License-Identifier: GPL-2.0-or-later
// The code of a file, with what is known of each of its bytes.
#pragma once
#include "image/elf_file.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace djstap::regions {

// Traits of an instruction, at its first byte.
enum Trait : uint16_t {
    FixedTrap = 1 << 0,
    FixedRelative = 1 << 1,
    FixedAdjacent = 1 << 2,
    Calls = 1 << 3,
    Leaves = 1 << 4, // the next instruction does not follow it
    Filler = 1 << 5,
    KernelRefuses = 1 << 6,
    Faults = 1 << 7, // an entry of the exception table names it
    ReturnThunk = 1 << 8,
    HasPrefix = 1 << 9,
    Breakpoint = 1 << 10,
    Accesses = 1 << 11, // memory that may not be there
    // Of a program: a trap that is executed only if the function called before it returns.
    TrapAfterCall = 1 << 12
};

// Who may enter at a byte other than from the instruction before.
enum Entry : uint16_t {
    ByJump = 1 << 0,
    ByOwnJump = 1 << 1,   // the same, as the kernel sees it: from within the symbol
    ByOtherJump = 1 << 2, // from code that belongs to no function, or may be data
    ByCall = 1 << 3,
    ByTable = 1 << 4,
    ByAddress = 1 << 5,      // its address is taken, by a relocation, an instruction or data
    ByException = 1 << 6,    // an exception of C++ continues there
    ByFixup = 1 << 7,        // the kernel's exception table
    ByJumpLabel = 1 << 8,    // the jump that a jump label becomes
    ByLandingPad = 1 << 9,   // an instruction that marks targets of indirect branches
    BySymbol = 1 << 10,      // a symbol or a function begins
    ByPatchedCall = 1 << 11, // a call that the kernel shortens returns there
    ByBlock = 1 << 12,       // the line program says that a basic block begins
    ByGo = 1 << 13           // Go's runtime continues there
};

// Who writes to a byte while the system runs, or before it does.
enum Written : uint8_t {
    ByFtrace = 1 << 0,
    AsJumpLabel = 1 << 1,
    AsStaticCall = 1 << 2,
    AsAlternative = 1 << 3,
    NoProbes = 1 << 4,  // not written: the kernel allows no probe there
    ByLoader = 1 << 5,  // an address in an instruction of a module, before it runs
    InSequence = 1 << 6 // not written: the kernel looks for a thread there
};

// An index counts the bytes of all sections with code.
using Index = uint32_t;

struct CodeSection {
    uint64_t address = 0;
    std::string_view bytes;
    Index first = 0;

    Index end() const { return first + static_cast<Index>(bytes.size()); }
};

// A direct jump.
struct Edge {
    Index from = 0, to = 0;
};

struct IndirectJump {
    Index at = 0;
    bool through_slot = false; // to what is in memory at a fixed address
    bool through_thunk = false;
};

class Code {
  public:
    // Fails if the file has no code, or more than an Index counts. `live`: the bytes that are in
    // memory of the section .text (if there is none, of the first one with code); empty: those of
    // the file.
    static Result<Code> of(const ElfFile& file, std::string_view live = {});

    const ElfFile& file() const { return *file_; }
    const std::vector<CodeSection>& sections() const { return sections_; }
    bool is_live() const { return live_end_ > live_first_; }
    bool is_live_at(uint64_t address) const {
        return address >= live_first_ && address < live_end_;
    }
    Index size() const { return static_cast<Index>(lengths.size()); }
    std::optional<Index> index(uint64_t address) const;
    uint64_t address(Index index) const;
    const CodeSection& section_at(Index index) const;
    // Returns the bytes from there to the end of the section.
    std::string_view bytes(Index index) const;
    bool begins_instruction(Index index) const { return lengths[index] != 0; }
    // Returns the index if an instruction begins at the address.
    std::optional<Index> instruction(uint64_t address) const;
    // Does nothing if the address is not in the code.
    void enter(uint64_t address, Entry entry);
    void write(uint64_t address, size_t bytes, Written written);
    // Returns the jumps from [first, end).
    std::pair<const Edge*, const Edge*> jumps_from(Index first, Index end) const;

    // For each byte: the length of the instruction that begins there or 0, Traits, Entries,
    // Writers.
    std::vector<uint8_t> lengths;
    std::vector<uint16_t> traits;
    std::vector<uint16_t> entries;
    std::vector<uint8_t> written;

    // Indirect branches must lead to landing pads, which therefore stay where they are.
    bool needs_landing_pads = false;
    std::vector<Edge> jumps; // in the order of `from`
    std::vector<IndirectJump> indirect_jumps;

  private:
    const ElfFile* file_ = nullptr;
    uint64_t live_first_ = 0, live_end_ = 0; // of the text from memory
    std::vector<CodeSection> sections_;
    uint64_t low_ = 0, high_ = 0; // the addresses from the first section to the end of the last
};

} // namespace djstap::regions
