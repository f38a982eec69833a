// SPDX-License-Identifier: GPL-2.0-or-later
// Unwind information: the functions that it describes, where the caller's frame is, and where
// exceptions of C++ continue.
#pragma once
#include "image/elf_file.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace djstap::regions {

// What the frames of functions with the same prologue have in common (a CIE).
struct FrameCommon {
    uint64_t code_alignment = 1;
    int64_t data_alignment = 1;
    std::string_view program;         // instructions
    uint8_t address_encoding = 0;     // DW_EH_PE_*
    uint8_t handlers_encoding = 0xff; // of the address of a function's handlers; omitted
    bool augmented = false;
    bool understood = false;
};

// A range of code with its unwind rules (an FDE).
struct Frame {
    uint64_t address = 0, size = 0;
    std::string_view program;
    uint32_t common = 0;   // its index
    uint64_t handlers = 0; // the address of its table of call sites; 0 if it has none
};

class Frames {
  public:
    // Reads .eh_frame, or .debug_frame if there is none. What is damaged is left out.
    static Frames of(const ElfFile& file);

    // Those of the file, by address.
    const std::vector<Frame>& all() const { return frames_; }
    // What is on the stack at an instruction: nothing of the function's own, something, or unknown.
    enum class Stack : uint8_t { Unknown, Empty, Used };
    Stack stack_at(uint64_t address) const;
    // Returns whether the stack pointer at an instruction is where the function's caller left it,
    // so that a jump from there to a function leaves this one.
    bool stack_is_empty(uint64_t address) const;
    // Returns the addresses where exceptions continue (the landing pads of the LSDA).
    std::vector<uint64_t> handlers(const ElfFile& file) const;

  private:
    void read(std::string_view bytes, uint64_t address, bool eh);

    std::vector<FrameCommon> common_;
    std::vector<Frame> frames_;
};

} // namespace djstap::regions
