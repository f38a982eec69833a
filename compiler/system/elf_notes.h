// SPDX-License-Identifier: GPL-2.0-or-later
// The notes of ELF files, which may contain anything.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace djstap {

struct ElfNote {
    uint32_t type = 0;
    std::string_view owner; // with its terminating 0
    std::string_view content;
};

// Takes the first note from the front of `notes`. Returns nothing if there is none, or if it is
// longer than `notes`.
std::optional<ElfNote> take_note(std::string_view& notes);

// Returns the bytes of the GNU build-id among notes, which are part of `notes`.
std::optional<std::string_view> gnu_build_id(std::string_view notes);

// Returns two digits for each byte.
std::string hexadecimal(std::string_view bytes);

} // namespace djstap
