// SPDX-License-Identifier: GPL-2.0-or-later
// Assigns addresses to a relocatable module, so that everything else can treat it like vmlinux.
#include "image/module_file.h"

#include "arch/arch.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace djstap {

namespace {

// Above the kernel's own text, in the modules' address range, but never exactly where this one is
// loaded.
constexpr uint64_t first_address = 0xffffffffc0000000;

// A view of the file's bytes that reads and writes structures at checked offsets.
class Bytes {
  public:
    explicit Bytes(std::string& bytes) : bytes_(bytes) {}
    template <class T> bool read(uint64_t offset, T& value) const {
        if (offset > bytes_.size() || sizeof value > bytes_.size() - offset)
            return false;
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return true;
    }
    template <class T> bool write(uint64_t offset, const T& value) {
        if (offset > bytes_.size() || sizeof value > bytes_.size() - offset)
            return false;
        std::memcpy(bytes_.data() + offset, &value, sizeof value);
        return true;
    }
    std::string_view text(uint64_t offset) const {
        if (offset >= bytes_.size())
            return {};
        const char* begin = bytes_.data() + offset;
        return {begin, strnlen(begin, bytes_.size() - offset)};
    }

  private:
    std::string& bytes_;
};

bool is_relocated(std::string_view section) {
    // The data has the structures that tell the systems of tracepoints.
    return section.starts_with(".debug_") || section == "__mcount_loc" ||
           section == "_kprobe_blacklist" || section == ".data" || section == ".ref.data";
}

class ModuleLinker {
  public:
    ModuleLinker(std::string& bytes, const ElfFile* like, bool with_code)
        : bytes_(bytes), like_(like), with_code_(with_code) {}

    bool link() {
        if (!bytes_.read(0, header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
            header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != arch::elf_machine() ||
            header_.e_type != ET_REL || header_.e_shentsize != sizeof(Elf64_Shdr))
            return false;
        sections_.resize(header_.e_shnum);
        for (size_t i = 0; i < sections_.size(); i++)
            if (!bytes_.read(header_.e_shoff + i * sizeof(Elf64_Shdr), sections_[i]))
                return false;
        if (header_.e_shstrndx >= sections_.size())
            return false;
        if (like_ && !place_like())
            return false;
        if (!like_)
            place_sections();
        for (const Elf64_Shdr& section : sections_)
            if (section.sh_type == SHT_SYMTAB && !place_symbols(section))
                return false;
        for (const Elf64_Shdr& section : sections_)
            if (section.sh_type == SHT_RELA && section.sh_info < sections_.size() &&
                sections_[section.sh_info].sh_type != SHT_NOBITS &&
                (with_code_ || is_relocated(name(sections_[section.sh_info]))) &&
                !relocate(section))
                return false;
        header_.e_type = ET_EXEC;
        bool written = bytes_.write(0, header_);
        for (size_t i = 0; i < sections_.size(); i++)
            written &= bytes_.write(header_.e_shoff + i * sizeof(Elf64_Shdr), sections_[i]);
        return written;
    }

  private:
    std::string_view name(const Elf64_Shdr& section) const {
        return bytes_.text(sections_[header_.e_shstrndx].sh_offset + section.sh_name);
    }

    // Code that remains is placed first, in one range; initialization code is placed last.
    void place_sections() {
        auto rank = [&](const Elf64_Shdr& section) {
            if (name(section).starts_with(".init"))
                return 2;
            return section.sh_flags & SHF_EXECINSTR ? 0 : 1;
        };
        uint64_t address = first_address;
        for (int wanted = 0; wanted <= 2; wanted++)
            for (Elf64_Shdr& section : sections_) {
                if (!(section.sh_flags & SHF_ALLOC) || section.sh_size == 0 ||
                    rank(section) != wanted)
                    continue;
                uint64_t alignment = std::clamp<uint64_t>(section.sh_addralign, 16, 4096);
                address = (address + alignment - 1) / alignment * alignment;
                section.sh_addr = address;
                address += section.sh_size;
            }
        end_ = address;
    }

    // Places each section where the linked module has the section of the same name; of several with
    // one name, in their order. Returns false if the code differs.
    bool place_like() {
        std::unordered_map<std::string_view, size_t> times;
        for (Elf64_Shdr& section : sections_) {
            if (!(section.sh_flags & SHF_ALLOC) || section.sh_size == 0)
                continue;
            const std::string_view own = name(section);
            size_t before = times[own]++;
            const ElfSection* found = nullptr;
            for (const ElfSection& each : like_->sections())
                if (!found && each.name == own && (each.flags & SHF_ALLOC) && each.size > 0 &&
                    before-- == 0)
                    found = &each;
            const bool is_code = section.sh_flags & SHF_EXECINSTR;
            if (is_code && (!found || found->size != section.sh_size))
                return false;
            if (found)
                section.sh_addr = found->address;
        }
        return true;
    }

    bool place_symbols(const Elf64_Shdr& table) {
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            if (!bytes_.read(table.sh_offset + at, symbol))
                return false;
            if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < sections_.size()) {
                symbol.st_value += sections_[symbol.st_shndx].sh_addr;
            } else if (with_code_ && symbol.st_shndx == SHN_UNDEF && symbol.st_name) {
                symbol.st_shndx = SHN_ABS;
                symbol.st_value = end_ + at; // far enough from each other
            }
            bytes_.write(table.sh_offset + at, symbol);
        }
        return true;
    }

    bool relocate(const Elf64_Shdr& table) {
        if (table.sh_link >= sections_.size())
            return false;
        const Elf64_Shdr &target = sections_[table.sh_info], &symbols = sections_[table.sh_link];
        for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.sh_size; at += sizeof(Elf64_Rela)) {
            Elf64_Rela relocation;
            Elf64_Sym symbol;
            if (!bytes_.read(table.sh_offset + at, relocation) ||
                !bytes_.read(symbols.sh_offset + ELF64_R_SYM(relocation.r_info) * sizeof(Elf64_Sym),
                             symbol) ||
                relocation.r_offset >= target.sh_size)
                return false;
            uint64_t value = symbol.st_value + static_cast<uint64_t>(relocation.r_addend);
            uint64_t place = target.sh_offset + relocation.r_offset;
            const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
            size_t size = arch::absolute_relocation_bytes(type);
            if (with_code_) {
                if (!arch::is_loadable_relocation(type))
                    return false;
                relocation.r_offset += target.sh_addr;
                if (!bytes_.write(table.sh_offset + at, relocation))
                    return false;
                if (size == 0) {
                    size = arch::distance_relocation_bytes(type);
                    value -= relocation.r_offset;
                }
            }
            bool written = true; // relocations of other kinds are not needed for what is read here
            switch (size) {
            case sizeof(uint64_t):
                written = bytes_.write(place, value);
                break;
            case sizeof(uint32_t):
                written = bytes_.write(place, static_cast<uint32_t>(value));
                break;
            default:
                break;
            }
            if (!written)
                return false;
        }
        return true;
    }

    Bytes bytes_;
    const ElfFile* like_;
    const bool with_code_;
    uint64_t end_ = 0; // of the module
    Elf64_Ehdr header_{};
    std::vector<Elf64_Shdr> sections_;
};

} // namespace

Result<std::string> link_module_image(std::string bytes, const std::string& path,
                                      const ElfFile* like) {
    if (!ModuleLinker(bytes, like, false).link())
        return Failure{path + ": is not " +
                           (like ? "the debug information of this module"
                                 : "a kernel module for " + std::string(arch::names().title)) +
                           ", or is damaged",
                       ""};
    return bytes;
}

bool is_module(const ElfFile& file) {
    return file.type() == ET_REL && file.section(module_structure);
}

Result<std::string> link_module_code(std::string bytes, const std::string& path) {
    if (!ModuleLinker(bytes, nullptr, true).link())
        return Failure{path + ": is not a kernel module for " + std::string(arch::names().title) +
                           ", or is damaged",
                       ""};
    return bytes;
}

} // namespace djstap
