// SPDX-License-Identifier: GPL-2.0-or-later
// A mapped 64-bit ELF file for the architecture: sections, bytes by address, notes, symbols.
#pragma once
#include "cache/cache.h"

#include <elf.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// The section of per-CPU variables: what is added to an address in it differs between CPUs.
constexpr std::string_view per_cpu_section = ".data..percpu";

// The section with the structure that the kernel keeps of a module.
constexpr const char* module_structure = ".gnu.linkonce.this_module";

struct ElfSection {
    std::string_view name;
    uint64_t address = 0;
    uint64_t size = 0;
    std::string_view bytes; // empty for NOBITS
    uint64_t flags = 0;
    uint32_t type = 0;
    uint32_t link = 0;
    uint32_t info = 0;
};

struct BuildId {
    std::string digits; // hexadecimal
    uint64_t address = 0;
};

class ElfFile {
  public:
    // Fails if the file is unreadable, truncated, or not a 64-bit little-endian ELF file for the
    // architecture.
    static Result<std::unique_ptr<ElfFile>> open(const std::string& path);
    // The same for bytes; `path` is for messages.
    static Result<std::unique_ptr<ElfFile>> hold(std::string bytes, const std::string& path);

    const std::string& path() const { return path_; }
    uint16_t type() const { return type_; } // ET_*
    // Returns the link-time address at which a program begins; 0 if it has none.
    uint64_t entry() const { return entry_; }
    std::span<const ElfSection> sections() const { return sections_; }
    const ElfSection* section(std::string_view name) const;
    // Returns bytes of an allocated section at a link-time address; empty if not all of them are in
    // the file.
    std::string_view bytes_at(uint64_t address, size_t size) const;
    // Returns the bytes from an address to the end of its section.
    std::string_view bytes_from(uint64_t address) const;
    // Returns the GNU build-id, and the link-time address of its bytes; empty if there is none.
    BuildId build_id() const;
    std::string_view bytes() const { return file_ ? file_->bytes() : held_; }
    // Returns the program headers; none if they are damaged.
    std::span<const Elf64_Phdr> program_headers() const { return program_headers_; }
    // Return the entries of .symtab and their names.
    std::span<const Elf64_Sym> symbols() const { return symbols_; }
    std::string_view symbol_name(const Elf64_Sym& symbol) const {
        return pool_string(strings_, symbol.st_name);
    }

  private:
    Status read(std::string_view bytes);

    std::string path_;
    uint16_t type_ = ET_NONE;
    uint64_t entry_ = 0;
    std::unique_ptr<MappedFile> file_; // or held_
    std::string held_;
    std::vector<ElfSection> sections_;
    std::span<const Elf64_Phdr> program_headers_;
    std::span<const Elf64_Sym> symbols_;
    std::string_view strings_;
};

// Returns the GNU build-id in the bytes of a note section (including /sys/kernel/notes) at
// `address`; empty if there is none.
BuildId build_id_in_notes(std::string_view notes, uint64_t address);

// Takes a string with its terminating 0 from the front of a section's bytes; nothing if none ends
// there.
std::optional<std::string_view> take_string(std::string_view& bytes);

} // namespace djstap
