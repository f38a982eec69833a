// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/sequences.h"

#include "arch/arch.h"

#include <cstddef>
#include <cstring>
#include <linux/rseq.h>

namespace djstap::injection {

namespace {

// Writes the addresses that the loader will write: where the file may be anywhere, it has zeros.
void relocate(const ElfSection& relocations, const ElfSection& section, std::string& bytes) {
    Elf64_Rela each{};
    for (size_t at = 0; at + sizeof each <= relocations.bytes.size(); at += sizeof each) {
        memcpy(&each, relocations.bytes.data() + at, sizeof each);
        const uint64_t offset = each.r_offset - section.address;
        if (arch::is_relative_relocation(static_cast<uint32_t>(ELF64_R_TYPE(each.r_info))) &&
            offset < bytes.size() && bytes.size() - offset >= sizeof each.r_addend)
            memcpy(bytes.data() + offset, &each.r_addend, sizeof each.r_addend);
    }
}

} // namespace

std::vector<Range> sequences_of(const ElfFile& file) {
    const ElfSection* const section = file.section("__rseq_cs");
    std::vector<Range> found;
    if (!section)
        return found;
    std::string bytes(section->bytes);
    for (const ElfSection& each : file.sections())
        if (each.type == SHT_RELA && (each.flags & SHF_ALLOC))
            relocate(each, *section, bytes);
    rseq_cs each{};
    for (size_t at = 0; at + sizeof each <= bytes.size(); at += sizeof each) {
        memcpy(&each, bytes.data() + at, sizeof each);
        if (each.post_commit_offset <= UINT64_MAX - each.start_ip)
            found.push_back({each.start_ip, each.start_ip + each.post_commit_offset});
    }
    return found;
}

} // namespace djstap::injection
