// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/elf_file.h"

#include "arch/arch.h"
#include "system/elf_notes.h"

#include <cstring>

namespace djstap {

namespace {

bool is_ours(std::string_view bytes, Elf64_Ehdr& header) {
    if (bytes.size() < sizeof header)
        return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_machine == arch::elf_machine();
}

} // namespace

Result<std::unique_ptr<ElfFile>> ElfFile::open(const std::string& path) {
    auto file = MappedFile::open(path);
    if (!file)
        return file.failure();
    auto elf = std::make_unique<ElfFile>();
    elf->path_ = path;
    elf->file_ = std::move(*file);
    if (Status read = elf->read(elf->file_->bytes()); !read)
        return read.failure();
    return elf;
}

Result<std::unique_ptr<ElfFile>> ElfFile::hold(std::string bytes, const std::string& path) {
    auto elf = std::make_unique<ElfFile>();
    elf->path_ = path;
    elf->held_ = std::move(bytes);
    if (Status read = elf->read(elf->held_); !read)
        return read.failure();
    return elf;
}

Status ElfFile::read(std::string_view bytes) {
    Elf64_Ehdr header;
    if (!is_ours(bytes, header))
        return Failure{path_ + ": is not a 64-bit " + arch::names().title + " ELF file", ""};
    type_ = header.e_type;
    entry_ = header.e_entry;
    Failure truncated{path_ + ": is truncated or damaged", "download it again"};
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff % alignof(Elf64_Shdr) != 0 ||
        header.e_shoff > bytes.size() ||
        header.e_shnum > (bytes.size() - header.e_shoff) / sizeof(Elf64_Shdr) ||
        header.e_shstrndx >= header.e_shnum)
        return truncated;
    std::span<const Elf64_Shdr> headers(
        reinterpret_cast<const Elf64_Shdr*>(bytes.data() + header.e_shoff), header.e_shnum);
    auto content = [&](const Elf64_Shdr& section) -> std::optional<std::string_view> {
        if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL)
            return std::string_view{};
        if (section.sh_offset > bytes.size() || section.sh_size > bytes.size() - section.sh_offset)
            return std::nullopt;
        return bytes.substr(section.sh_offset, section.sh_size);
    };
    if (header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phoff % alignof(Elf64_Phdr) == 0 &&
        header.e_phoff <= bytes.size() &&
        header.e_phnum <= (bytes.size() - header.e_phoff) / sizeof(Elf64_Phdr))
        program_headers_ = {reinterpret_cast<const Elf64_Phdr*>(bytes.data() + header.e_phoff),
                            header.e_phnum};
    auto names = content(headers[header.e_shstrndx]);
    if (!names)
        return truncated;
    for (const Elf64_Shdr& section : headers) {
        auto section_bytes = content(section);
        if (!section_bytes)
            return truncated;
        sections_.push_back({pool_string(*names, section.sh_name), section.sh_addr, section.sh_size,
                             *section_bytes, section.sh_flags, section.sh_type, section.sh_link,
                             section.sh_info});
    }
    for (const ElfSection& section : sections_) {
        if (section.type != SHT_SYMTAB || section.link >= sections_.size())
            continue;
        if (reinterpret_cast<uintptr_t>(section.bytes.data()) % alignof(Elf64_Sym) != 0)
            return truncated;
        symbols_ = {reinterpret_cast<const Elf64_Sym*>(section.bytes.data()),
                    section.bytes.size() / sizeof(Elf64_Sym)};
        strings_ = sections_[section.link].bytes;
    }
    return Done{};
}

const ElfSection* ElfFile::section(std::string_view name) const {
    for (const ElfSection& section : sections_) {
        if (section.name == name)
            return &section;
    }
    return nullptr;
}

std::string_view ElfFile::bytes_from(uint64_t address) const {
    for (const ElfSection& section : sections_) {
        if ((section.flags & SHF_ALLOC) && section.address != 0 && address >= section.address &&
            address - section.address < section.bytes.size())
            return section.bytes.substr(address - section.address);
    }
    return {};
}

std::string_view ElfFile::bytes_at(uint64_t address, size_t size) const {
    std::string_view bytes = bytes_from(address);
    return bytes.size() >= size ? bytes.substr(0, size) : std::string_view{};
}

BuildId ElfFile::build_id() const {
    for (const ElfSection& section : sections_) {
        if (section.type != SHT_NOTE)
            continue;
        BuildId id = build_id_in_notes(section.bytes, section.address);
        if (!id.digits.empty())
            return id;
    }
    return {};
}

BuildId build_id_in_notes(std::string_view notes, uint64_t address) {
    const auto id = gnu_build_id(notes);
    if (!id)
        return {};
    return {hexadecimal(*id), address + static_cast<uint64_t>(id->data() - notes.data())};
}

std::optional<std::string_view> take_string(std::string_view& bytes) {
    const size_t end = bytes.find('\0');
    if (end == std::string_view::npos)
        return std::nullopt;
    const std::string_view taken = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    return taken;
}

} // namespace djstap
