// SPDX-License-Identifier: GPL-2.0-or-later
// Static probes of programs: the notes that <sys/sdt.h> and its imitations leave in the section
// .note.stapsdt.
#pragma once
#include "arch/location.h"
#include "image/image.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap {

struct SdtArgument {
    Location location;
    uint8_t size = 8; // 1, 2, 4, 8
    bool is_signed = false;
};

struct SdtMark {
    std::string provider, name;
    uint64_t address = 0;   // link-time
    uint64_t semaphore = 0; // its offset in the file; 0: none
    std::vector<SdtArgument> arguments;
};

// Returns the marks of a program, in the order of its notes. Notes that are damaged, or whose
// places are outside the program, are left out.
std::vector<SdtMark> sdt_marks(const Image& program);

// Reads arguments in the notation of these notes, SIZE@OPERAND each: "8@$3 -4@$-1".
std::vector<SdtArgument> sdt_arguments(std::string_view text, const Image& program);

} // namespace djstap
