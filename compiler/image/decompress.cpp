// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/decompress.h"

#include "image/elf_file.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>
#include <zstd.h>

namespace djstap {

namespace {

constexpr uint32_t zstd_section = 2; // ELFCOMPRESS_ZSTD, which glibc 2.36 does not define
// zlib's best; zstd packs debug information no more than a tenth of that.
constexpr uint64_t highest_ratio = 1100, smallest_bound = 1 << 16;
// Of all sections of a file together: they may be the same bytes.
constexpr uint64_t highest_ratio_of_all = 64, smallest_bound_of_all = 1 << 26;

Result<std::string> decompressed(std::string_view section, const std::string& where) {
    const Failure damaged{where + " is damaged", "the file may be truncated: install it again"};
    Elf64_Chdr header;
    if (section.size() < sizeof header)
        return damaged;
    std::memcpy(&header, section.data(), sizeof header);
    section.remove_prefix(sizeof header);
    if (header.ch_size > section.size() * highest_ratio + smallest_bound)
        return damaged;
    std::string bytes(header.ch_size, '\0');
    size_t size = 0;
    if (header.ch_type == ELFCOMPRESS_ZLIB) {
        uLongf written = bytes.size();
        if (uncompress(reinterpret_cast<Bytef*>(bytes.data()), &written,
                       reinterpret_cast<const Bytef*>(section.data()), section.size()) != Z_OK)
            return damaged;
        size = written;
    } else if (header.ch_type == zstd_section) {
        size = ZSTD_decompress(bytes.data(), bytes.size(), section.data(), section.size());
        if (ZSTD_isError(size))
            return damaged;
    } else {
        return Failure{where + " is compressed in an unknown way (type " +
                           std::to_string(header.ch_type) + ")",
                       "objcopy --decompress-debug-sections may know it"};
    }
    if (size != bytes.size())
        return damaged;
    return bytes;
}

} // namespace

bool has_compressed_sections(const ElfFile& elf) {
    const auto sections = elf.sections();
    return std::any_of(sections.begin(), sections.end(),
                       [](const ElfSection& section) { return section.flags & SHF_COMPRESSED; });
}

Result<std::string> decompress_sections(std::string bytes, const std::string& path) {
    Elf64_Ehdr header;
    if (bytes.size() < sizeof header)
        return bytes;
    std::memcpy(&header, bytes.data(), sizeof header);
    const uint64_t size = bytes.size();
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shoff > size || header.e_shnum > (size - header.e_shoff) / sizeof(Elf64_Shdr))
        return bytes;
    uint64_t left = size * highest_ratio_of_all + smallest_bound_of_all;
    for (size_t number = 0; number < header.e_shnum; number++) {
        const uint64_t at = header.e_shoff + number * sizeof(Elf64_Shdr);
        Elf64_Shdr section;
        std::memcpy(&section, bytes.data() + at, sizeof section);
        if (!(section.sh_flags & SHF_COMPRESSED))
            continue;
        const std::string where = path + ": section " + std::to_string(number);
        if (section.sh_type == SHT_NOBITS || section.sh_offset > size ||
            section.sh_size > size - section.sh_offset)
            return Failure{where + " is damaged", "the file may be truncated: install it again"};
        auto whole =
            decompressed(std::string_view(bytes).substr(section.sh_offset, section.sh_size), where);
        if (!whole)
            return whole.failure();
        if (whole->size() > left)
            return Failure{path + " has sections that are too large when they are decompressed",
                           "it may be damaged: install it again"};
        left -= whole->size();
        bytes.resize((bytes.size() + 15) / 16 * 16);
        section.sh_offset = bytes.size();
        section.sh_size = whole->size();
        section.sh_flags &= ~static_cast<uint64_t>(SHF_COMPRESSED);
        section.sh_addralign = 1;
        bytes += *whole;
        std::memcpy(bytes.data() + at, &section, sizeof section);
    }
    return bytes;
}

} // namespace djstap
