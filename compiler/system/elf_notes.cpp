// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/elf_notes.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace djstap {

std::optional<ElfNote> take_note(std::string_view& notes) {
    const auto aligned = [](size_t size) { return (size + 3) & ~size_t{3}; };
    Elf64_Nhdr header;
    if (notes.size() < sizeof header)
        return std::nullopt;
    std::memcpy(&header, notes.data(), sizeof header);
    const std::string_view rest = notes.substr(sizeof header);
    const size_t owner_bytes = aligned(header.n_namesz), bytes = aligned(header.n_descsz);
    if (owner_bytes > rest.size() || header.n_descsz > rest.size() - owner_bytes)
        return std::nullopt;
    notes = rest.substr(std::min(rest.size(), owner_bytes + bytes));
    return ElfNote{header.n_type, rest.substr(0, header.n_namesz),
                   rest.substr(owner_bytes, header.n_descsz)};
}

std::optional<std::string_view> gnu_build_id(std::string_view notes) {
    constexpr std::string_view gnu{"GNU\0", 4};
    while (const auto note = take_note(notes))
        if (note->type == NT_GNU_BUILD_ID && note->owner == gnu)
            return note->content;
    return std::nullopt;
}

std::string hexadecimal(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

} // namespace djstap
