// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/name_search.h"

#include <algorithm>
#include <cstring>
#include <dwarf.h>
#include <gelf.h>
#include <set>

namespace djstap {

namespace {

// A name has one place in .debug_str unless it ends other strings, too.
constexpr size_t most_places = 4;
constexpr size_t place_bytes = sizeof(uint32_t);

// Returns the bytes of a section of a final file; nothing if it is missing or compressed.
std::optional<std::string_view> section_of(Elf* elf, const char* wanted) {
    size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return std::nullopt;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        const char* name = elf_strptr(elf, names, header.sh_name);
        if (!name || std::strcmp(name, wanted) != 0)
            continue;
        Elf_Data* data = header.sh_flags & SHF_COMPRESSED ? nullptr : elf_rawdata(section, nullptr);
        if (!data || !data->d_buf)
            return std::nullopt;
        return std::string_view(static_cast<const char*>(data->d_buf), data->d_size);
    }
    return std::nullopt;
}

// Reads numbers of .debug_abbrev.
class Cursor {
  public:
    explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
    bool at_end() const { return at_ >= bytes_.size(); }
    uint64_t number() { // a LEB128, of which the sign does not matter here
        uint64_t value = 0;
        for (unsigned shift = 0; !at_end(); shift += 7) {
            const auto byte = static_cast<unsigned char>(bytes_[at_++]);
            if (shift < 64)
                value |= uint64_t(byte & 0x7f) << shift;
            if (!(byte & 0x80))
                break;
        }
        return value;
    }
    void skip() { at_++; }

  private:
    std::string_view bytes_;
    size_t at_ = 0;
};

// Returns whether entries contain all that they refer to by name within their unit and the string
// sections: no unit includes another, and no form leads out of the unit or its file.
bool is_self_contained(std::string_view abbreviations) {
    static const std::set<uint64_t> inside{
        DW_FORM_addr,         DW_FORM_block,          DW_FORM_block1,    DW_FORM_block2,
        DW_FORM_block4,       DW_FORM_data1,          DW_FORM_data2,     DW_FORM_data4,
        DW_FORM_data8,        DW_FORM_data16,         DW_FORM_exprloc,   DW_FORM_flag,
        DW_FORM_flag_present, DW_FORM_implicit_const, DW_FORM_line_strp, DW_FORM_loclistx,
        DW_FORM_ref1,         DW_FORM_ref2,           DW_FORM_ref4,      DW_FORM_ref8,
        DW_FORM_ref_udata,    DW_FORM_rnglistx,       DW_FORM_sdata,     DW_FORM_sec_offset,
        DW_FORM_string,       DW_FORM_strp,           DW_FORM_udata};
    for (Cursor cursor(abbreviations); !cursor.at_end();) {
        if (cursor.number() == 0) // the end of a unit's table
            continue;
        const uint64_t tag = cursor.number();
        if (tag == DW_TAG_partial_unit || tag == DW_TAG_imported_unit ||
            tag == DW_TAG_skeleton_unit || tag == DW_TAG_type_unit)
            return false;
        cursor.skip(); // whether there are children
        for (;;) {
            const uint64_t attribute = cursor.number(), form = cursor.number();
            if (attribute == 0 && form == 0)
                break;
            if (!inside.contains(form) || cursor.at_end())
                return false;
            if (form == DW_FORM_implicit_const)
                cursor.number();
        }
    }
    return true;
}

// Calls `found` with every place of `number` in `bytes`. The blocks are compared without branches.
template <class Found> void find_number(std::string_view bytes, uint32_t number, Found found) {
    constexpr size_t block = 4096;
    using Number [[gnu::aligned(1), gnu::may_alias]] = uint32_t;
    for (size_t begin = 0; begin + place_bytes <= bytes.size(); begin += block) {
        const size_t last = std::min(begin + block, bytes.size() - place_bytes + 1);
        bool any = false;
        for (size_t phase = 0; phase < place_bytes && begin + phase < last; phase++) {
            const auto* numbers = reinterpret_cast<const Number*>(bytes.data() + begin + phase);
            const size_t count = (last - begin - phase + place_bytes - 1) / place_bytes;
            uint32_t equal = 0;
            for (size_t i = 0; i < count; i++)
                equal |= numbers[i] == number;
            any |= equal != 0;
        }
        if (!any)
            continue;
        for (size_t at = begin; at < last; at++) {
            uint32_t value = 0;
            std::memcpy(&value, bytes.data() + at, sizeof value);
            if (value == number)
                found(at);
        }
    }
}

} // namespace

std::optional<NameSearch> NameSearch::open(const std::string& path) {
    auto file = DwarfFile::open(path);
    if (!file)
        return std::nullopt;
    NameSearch search;
    search.file_ = std::move(*file);
    Dwarf* dwarf = search.file_->get();
    Elf* elf = dwarf_getelf(dwarf);
    GElf_Ehdr header;
    if (!elf || !gelf_getehdr(elf, &header) || header.e_type == ET_REL)
        return std::nullopt; // strings are known by relocations only
    const auto info = section_of(elf, ".debug_info"), strings = section_of(elf, ".debug_str"),
               abbreviations = section_of(elf, ".debug_abbrev");
    if (!info || !strings || !abbreviations || strings->size() > UINT32_MAX ||
        section_of(elf, ".gnu_debugaltlink") || section_of(elf, ".debug_types") ||
        !is_self_contained(*abbreviations))
        return std::nullopt;
    search.info_ = *info;
    search.strings_ = *strings;
    search.units_ = unit_offsets(dwarf);
    if (search.units_.empty())
        return std::nullopt;
    return search;
}

// The linker lets strings share their ends: every place where the name ends a string may be used.
std::vector<uint32_t> NameSearch::places_of(std::string_view name) const {
    std::vector<uint32_t> places;
    const std::string text = std::string(name) + '\0';
    for (size_t at = 0; (at = strings_.find(text, at)) != std::string_view::npos; at++)
        places.push_back(at);
    return places;
}

std::optional<std::vector<uint64_t>> NameSearch::units_with(std::string_view name) const {
    const std::vector<uint32_t> places = places_of(name);
    if (places.size() > most_places || name.size() < place_bytes)
        return std::nullopt;
    std::vector<uint64_t> units;
    const auto add = [&](size_t at) {
        const auto after = std::upper_bound(units_.begin(), units_.end(), at);
        if (after != units_.begin())
            units.push_back(*std::prev(after));
    };
    for (const uint32_t place : places)
        find_number(info_, place, add);
    // A name may also stand in the entry itself.
    const std::string text = std::string(name) + '\0';
    uint32_t begin = 0;
    std::memcpy(&begin, text.data(), sizeof begin);
    find_number(info_, begin, [&](size_t at) {
        if (info_.substr(at, text.size()) == text)
            add(at);
    });
    std::sort(units.begin(), units.end());
    units.erase(std::unique(units.begin(), units.end()), units.end());
    // Reading an eighth of them takes about as long as the search.
    if (units.size() > std::max<size_t>(units_.size() / 8, 1))
        return std::nullopt;
    return units;
}

} // namespace djstap
