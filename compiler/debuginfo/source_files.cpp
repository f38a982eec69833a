// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/source_files.h"

#include "cache/cache.h"

#include <cstring>
#include <dwarf.h>
#include <gelf.h>

namespace djstap {

namespace {

// Reads numbers from a section; after an overrun every read returns 0 and ok() is false.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    bool ok() const { return ok_; }
    uint64_t fixed(size_t size) {
        uint64_t value = 0;
        if (!take(size))
            return 0;
        std::memcpy(&value, bytes_.data() + at_ - size, size);
        return value;
    }
    uint64_t uleb() {
        uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            uint64_t byte = fixed(1);
            value |= (byte & 0x7f) << shift;
            if (!(byte & 0x80))
                break;
        }
        return value;
    }
    std::string_view text() {
        size_t end = at_ < bytes_.size() ? bytes_.find('\0', at_) : std::string_view::npos;
        if (end == std::string_view::npos) {
            ok_ = false;
            return {};
        }
        std::string_view found = bytes_.substr(at_, end - at_);
        at_ = end + 1;
        return found;
    }
    void skip(uint64_t size) { take(size); }

  private:
    bool take(uint64_t size) {
        if (!ok_ || size > bytes_.size() - at_) {
            ok_ = false;
            return false;
        }
        at_ += size;
        return true;
    }
    std::string_view bytes_;
    size_t at_ = 0;
    bool ok_ = true;
};

struct EntryFormat {
    uint64_t content, form;
};

struct Entry {
    std::string_view path;
    uint64_t directory = 0;
};

Entry read_entry(Reader& reader, const std::vector<EntryFormat>& formats,
                 const LineSections& sections, size_t offset_size) {
    Entry entry;
    for (const EntryFormat& format : formats) {
        std::string_view text;
        uint64_t number = 0;
        switch (format.form) {
        case DW_FORM_string:
            text = reader.text();
            break;
        case DW_FORM_line_strp:
            text = pool_string(sections.line_strings, reader.fixed(offset_size));
            break;
        case DW_FORM_strp:
            text = pool_string(sections.strings, reader.fixed(offset_size));
            break;
        case DW_FORM_udata:
            number = reader.uleb();
            break;
        case DW_FORM_data1:
            number = reader.fixed(1);
            break;
        case DW_FORM_data2:
            number = reader.fixed(2);
            break;
        case DW_FORM_data4:
            number = reader.fixed(4);
            break;
        case DW_FORM_data8:
            number = reader.fixed(8);
            break;
        case DW_FORM_data16:
            reader.skip(16);
            break;
        case DW_FORM_block:
            reader.skip(reader.uleb());
            break;
        default:
            reader.skip(UINT64_MAX);
            break;
        }
        if (format.content == DW_LNCT_path)
            entry.path = text;
        else if (format.content == DW_LNCT_directory_index)
            entry.directory = number;
    }
    return entry;
}

std::vector<Entry> read_table(Reader& reader, const LineSections& sections, size_t offset_size) {
    std::vector<EntryFormat> formats(reader.fixed(1));
    for (EntryFormat& format : formats) {
        format.content = reader.uleb();
        format.form = reader.uleb();
    }
    std::vector<Entry> entries;
    for (uint64_t count = reader.uleb(); count > 0 && reader.ok(); count--)
        entries.push_back(read_entry(reader, formats, sections, offset_size));
    return entries;
}

std::string_view attribute_text(Dwarf_Die* die, unsigned name) {
    Dwarf_Attribute attribute;
    const char* text = dwarf_formstring(dwarf_attr(die, name, &attribute));
    return text ? text : "";
}

} // namespace

LineSections LineSections::of(Dwarf* dwarf) {
    LineSections sections;
    sections.root = source_root(dwarf);
    Elf* elf = dwarf_getelf(dwarf);
    size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return sections;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        const char* name = elf_strptr(elf, names, header.sh_name);
        std::string_view* wanted = !name                                   ? nullptr
                                   : std::strcmp(name, ".debug_line") == 0 ? &sections.line
                                   : std::strcmp(name, ".debug_line_str") == 0
                                       ? &sections.line_strings
                                   : std::strcmp(name, ".debug_str") == 0 ? &sections.strings
                                                                          : nullptr;
        Elf_Data* data = wanted ? elf_rawdata(section, nullptr) : nullptr;
        if (data)
            *wanted = {static_cast<const char*>(data->d_buf), data->d_size};
    }
    return sections;
}

std::string source_root(Dwarf* dwarf) {
    Dwarf_Off next = 0;
    size_t header = 0;
    Dwarf_Die unit;
    if (dwarf_nextcu(dwarf, 0, &next, &header, nullptr, nullptr, nullptr) != 0 ||
        !dwarf_offdie(dwarf, header, &unit))
        return {};
    const std::string_view path = attribute_text(&unit, DW_AT_name);
    const size_t folder = path.rfind("/arch/");
    return std::string(path.starts_with('/') && folder != std::string_view::npos
                           ? path.substr(0, folder)
                           : std::string_view());
}

std::string normal_source_path(std::string_view path, std::string_view unit_folder,
                               std::string_view root) {
    bool absolute = path.starts_with('/');
    for (const std::string_view folder : {root, unit_folder}) {
        if (!absolute || folder.size() < 2 || !path.starts_with(folder) ||
            path.size() == folder.size() || path[folder.size()] != '/')
            continue;
        path.remove_prefix(folder.size());
        absolute = false;
    }
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        std::string_view part = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(path.size(), part.size() + 1));
        if (part == ".." && !parts.empty())
            parts.pop_back();
        else if (!part.empty() && part != "." && part != "..")
            parts.push_back(part);
    }
    size_t first = 0;
    // Debian's kernels with PREEMPT_RT are built from a patched copy of the tree.
    if (parts.size() > 3 && parts[0] == "debian" && parts[1] == "build" &&
        parts[2].starts_with("source"))
        first = 3;
    // Distributions build in a folder named after the package: "linux-6.1.192".
    for (size_t i = 0; absolute && i + 1 < parts.size(); i++) {
        if (parts[i].starts_with("linux-") || parts[i] == "linux") {
            first = i + 1;
            break;
        }
    }
    std::string normal = absolute && first == 0 ? "/" : "";
    for (size_t i = first; i < parts.size(); i++)
        normal.append(i > first ? "/" : "").append(parts[i]);
    return normal;
}

std::vector<std::string> source_files(const LineSections& sections, Dwarf_Die* unit) {
    std::vector<std::string> files;
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &offset) != 0 ||
        offset >= sections.line.size())
        return files;
    std::string_view unit_folder = attribute_text(unit, DW_AT_comp_dir);
    Reader reader(sections.line.substr(offset));
    size_t offset_size = 4;
    if (reader.fixed(4) == 0xffffffff) {
        offset_size = 8;
        reader.skip(8);
    }
    uint64_t version = reader.fixed(2);
    // sizes of an address and of a segment selector
    if (version >= 5)
        reader.skip(2);
    reader.skip(offset_size + 1 + (version >= 4 ? 1 : 0) + 1 + 1 + 1);
    uint64_t opcodes = reader.fixed(1);
    reader.skip(opcodes > 0 ? opcodes - 1 : 0);
    std::vector<Entry> directories, names;
    if (version >= 5) {
        directories = read_table(reader, sections, offset_size);
        names = read_table(reader, sections, offset_size);
    } else {
        directories.push_back({unit_folder, 0});
        for (std::string_view text = reader.text(); !text.empty(); text = reader.text())
            directories.push_back({text, 0});
        names.push_back({attribute_text(unit, DW_AT_name), 0});
        for (std::string_view text = reader.text(); !text.empty(); text = reader.text()) {
            names.push_back({text, reader.uleb()});
            reader.uleb(); // time
            reader.uleb(); // length
        }
    }
    if (!reader.ok())
        return files;
    for (const Entry& entry : names) {
        std::string path(entry.path);
        if (!path.starts_with('/') && entry.directory != 0 && entry.directory < directories.size())
            path = std::string(directories[entry.directory].path) + "/" + path;
        files.push_back(normal_source_path(path, unit_folder, sections.root));
    }
    return files;
}

} // namespace djstap
