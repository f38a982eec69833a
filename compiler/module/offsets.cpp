// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/offsets.h"

#include "module/elf.h"
#include "system/file.h"

#include <algorithm>
#include <charconv>

namespace djstap::module {

namespace {

// Parses lines of "NAME VALUE" or "NAME:SYMBOL ADDEND", in decimal.
Status read_lines(std::string_view text, std::vector<KitOffset>& offsets) {
    while (!text.empty()) {
        size_t end = std::min(text.find_first_of(std::string_view("\n\0", 2)), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty())
            continue;
        size_t blank = line.find(' ');
        KitOffset offset;
        bool valid = blank != std::string_view::npos && blank > 0;
        if (valid) {
            offset.name = line.substr(0, blank);
            size_t colon = offset.name.find(':');
            if (colon != std::string::npos) {
                offset.symbol = offset.name.substr(colon + 1);
                offset.name.resize(colon);
                valid = !offset.symbol.empty() && !offset.name.empty();
            }
            std::string_view value = line.substr(blank + 1);
            auto [stop, error] =
                std::from_chars(value.data(), value.data() + value.size(), offset.value);
            valid = valid && error == std::errc() && stop == value.data() + value.size();
        }
        if (!valid)
            return Failure{"the runtime's section .djstap.offsets contains an invalid line: " +
                               std::string(line.substr(0, 80)),
                           ""};
        offsets.push_back(offset);
    }
    return Done{};
}

} // namespace

Result<std::vector<KitOffset>> find_offsets(const std::vector<std::string>& objects) {
    std::vector<KitOffset> offsets;
    for (const std::string& path : objects) {
        auto bytes = read_file(path);
        if (!bytes)
            return bytes.failure();
        auto object = ElfObject::read(*bytes, path);
        if (!object)
            return object.failure();
        const ObjectSection* section = object->section(".djstap.offsets");
        if (!section)
            continue;
        if (Status ok = read_lines(section->bytes, offsets); !ok)
            return ok.failure();
    }
    std::sort(offsets.begin(), offsets.end(),
              [](const KitOffset& a, const KitOffset& b) { return a.name < b.name; });
    auto twice =
        std::adjacent_find(offsets.begin(), offsets.end(),
                           [](const KitOffset& a, const KitOffset& b) { return a.name == b.name; });
    if (twice != offsets.end())
        return Failure{"the runtime defines the offset " + twice->name + " twice", ""};
    return offsets;
}

} // namespace djstap::module
