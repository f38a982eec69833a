// SPDX-License-Identifier: GPL-2.0-or-later
#include "lines/header.h"

#include <algorithm>
#include <dwarf.h>
#include <utility>

namespace djstap::lines {

namespace {

constexpr size_t most_entries = 65536;

// What describes an entry of a table of DWARF 5: a content type (DW_LNCT) and a form.
using Format = std::vector<std::pair<uint64_t, uint64_t>>;

// Folders and files, where strings are needed.
class Tables {
  public:
    Tables(const Strings& strings, bool is_64_bit, Header& out)
        : strings_(strings), is_64_bit_(is_64_bit), out_(out) {}

    // DWARF 2 to 4.
    void terminated(ByteReader& header) {
        out_.folders.emplace_back();
        while (!header.failed() && out_.folders.size() < most_entries) {
            const std::string_view name = header.string();
            if (name.empty())
                break;
            out_.folders.push_back(name);
        }
        out_.files.emplace_back();
        while (!header.failed() && out_.files.size() < most_entries) {
            const std::string_view name = header.string();
            if (name.empty())
                break;
            out_.files.push_back({name, header.uleb()});
            header.uleb(); // time of the last change
            header.uleb(); // size
        }
    }

    // DWARF 5: the tables describe themselves. Returns false if there is a form of another version.
    bool described(ByteReader& header) {
        for (const bool files : {false, true}) {
            Format format;
            for (auto count = header.fixed<uint8_t>(); count; count--) {
                const uint64_t type = header.uleb();
                format.emplace_back(type, header.uleb());
            }
            const uint64_t count = header.uleb();
            // Each takes a byte at least.
            if (count > std::min(most_entries, format.empty() ? 0 : header.rest().size()))
                return false;
            for (uint64_t i = 0; i < count; i++) {
                File entry;
                if (!read(header, format, entry))
                    return false;
                if (files)
                    out_.files.push_back(entry);
                else
                    out_.folders.push_back(entry.name);
            }
        }
        return true;
    }

  private:
    bool read(ByteReader& header, const Format& format, File& entry) const {
        for (const auto& [type, form] : format) {
            std::string_view text;
            uint64_t number = 0;
            switch (form) {
            case DW_FORM_string:
                text = header.string();
                break;
            case DW_FORM_line_strp:
                text = text_at(strings_.line_strings, header.offset(is_64_bit_));
                break;
            case DW_FORM_strp:
                text = text_at(strings_.strings, header.offset(is_64_bit_));
                break;
            case DW_FORM_udata:
                number = header.uleb();
                break;
            case DW_FORM_data1:
                number = header.fixed<uint8_t>();
                break;
            case DW_FORM_data2:
                number = header.fixed<uint16_t>();
                break;
            case DW_FORM_data4:
                number = header.fixed<uint32_t>();
                break;
            case DW_FORM_data8:
                number = header.fixed<uint64_t>();
                break;
            case DW_FORM_data16:
                header.bytes(16);
                break;
            case DW_FORM_block:
                header.bytes(header.uleb());
                break;
            default:
                return false;
            }
            if (type == DW_LNCT_path)
                entry.name = text;
            else if (type == DW_LNCT_directory_index)
                entry.folder = number;
        }
        return !header.failed();
    }

    const Strings& strings_;
    bool is_64_bit_;
    Header& out_;
};

} // namespace

std::string_view text_at(std::string_view strings, uint64_t offset) {
    if (offset >= strings.size())
        return {};
    const std::string_view text = strings.substr(offset, most_path_bytes + 1);
    return text.substr(0, text.find('\0'));
}

Unit take_unit(ByteReader& section) {
    constexpr uint32_t is_64_bit = 0xffffffff;
    uint64_t length = section.fixed<uint32_t>();
    const bool wide = length == is_64_bit;
    if (wide)
        length = section.fixed<uint64_t>();
    return {section.bytes(length), wide};
}

std::optional<Header> Header::read(const Unit& unit, const Strings& strings) {
    ByteReader bytes(unit.bytes);
    Header found;
    found.version = bytes.fixed<uint16_t>();
    if (found.version < 2 || found.version > 5)
        return std::nullopt;
    if (found.version >= 5)
        bytes.bytes(2); // sizes of addresses and of segment selectors
    ByteReader header(bytes.bytes(bytes.offset(unit.is_64_bit)));
    found.program = bytes.rest();
    found.least_instruction = header.fixed<uint8_t>();
    if (found.version >= 4)
        header.bytes(1); // operations of an instruction: one on the supported processors
    header.bytes(1);     // is_stmt
    found.line_base = header.fixed<int8_t>();
    found.line_range = header.fixed<uint8_t>();
    found.first_special = header.fixed<uint8_t>();
    for (unsigned opcode = 1; opcode < found.first_special; opcode++)
        found.operands.push_back(header.fixed<uint8_t>());
    if (!found.line_range || header.failed())
        return std::nullopt;
    Tables tables(strings, unit.is_64_bit, found);
    if (found.version >= 5) {
        if (!tables.described(header))
            return std::nullopt;
    } else {
        tables.terminated(header);
    }
    if (header.failed())
        return std::nullopt;
    return found;
}

} // namespace djstap::lines
