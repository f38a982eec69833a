// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/source_files.h"

#include "lines/header.h"

#include <cstring>
#include <dwarf.h>
#include <gelf.h>

namespace djstap {

namespace {

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
    ByteReader section(sections.line.substr(offset));
    auto header =
        lines::Header::read(lines::take_unit(section), {sections.line_strings, sections.strings});
    if (!header)
        return files;
    const std::string_view unit_folder = attribute_text(unit, DW_AT_comp_dir);
    if (header->version < 5)
        header->files[0].name = attribute_text(unit, DW_AT_name);
    for (const lines::File& file : header->files) {
        std::string path(file.name);
        if (!path.starts_with('/') && file.folder != 0 && file.folder < header->folders.size())
            path = std::string(header->folders[file.folder]) + "/" + path;
        files.push_back(normal_source_path(path, unit_folder, sections.root));
    }
    return files;
}

} // namespace djstap
