// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/loader.h"

#include "arch/instructions.h"
#include "injection/process_facts.h"

#include <algorithm>
#include <elf.h>
#include <link.h>

namespace djstap::injection {

namespace {

// Returns where the program has what the loader tells debuggers; 0: nowhere.
uint64_t rendezvous(TracedProgram& program) {
    const auto headers = auxiliary(program.pid(), AT_PHDR),
               count = auxiliary(program.pid(), AT_PHNUM);
    uint64_t bias = 0;
    for (uint64_t i = 0; headers && count && i < *count; i++) {
        const auto header = program.read_as<Elf64_Phdr>(*headers + i * sizeof(Elf64_Phdr));
        if (!header)
            return 0;
        if (header->p_type == PT_PHDR)
            bias = *headers - header->p_vaddr;
        if (header->p_type != PT_DYNAMIC)
            continue;
        const uint64_t end = bias + header->p_vaddr + header->p_memsz;
        for (uint64_t at = bias + header->p_vaddr; at < end; at += sizeof(Elf64_Dyn)) {
            const auto entry = program.read_as<Elf64_Dyn>(at);
            if (!entry || entry->d_tag == DT_NULL)
                return 0;
            if (entry->d_tag == DT_DEBUG)
                return entry->d_un.d_ptr;
        }
    }
    return 0;
}

} // namespace

std::optional<PlacedImage> place_in_loader(TracedProgram& program, const MemoryMap& map) {
    const uint64_t told = rendezvous(program);
    const auto debug = told ? program.read_as<r_debug>(told) : std::nullopt;
    if (!debug || debug->r_brk == 0)
        return std::nullopt;
    const Mapping* const mapping = map.at(debug->r_brk);
    const auto decoder = arch::InstructionDecoder::create();
    if (!mapping || !mapping->executable || !decoder)
        return std::nullopt;
    constexpr size_t most = 32;
    const auto code =
        program.read(debug->r_brk, std::min<uint64_t>(most, mapping->range.end - debug->r_brk));
    if (!code)
        return std::nullopt;
    // It only returns. What follows, up to the next function, never runs.
    size_t at = 0;
    const auto decode = [&](size_t offset) {
        return decoder->decode(std::string_view(*code).substr(offset), debug->r_brk + offset);
    };
    arch::Instruction first = decode(at);
    if (first.landing_pad) {
        at += first.length;
        first = decode(at);
    }
    if (first.length == 0 || first.flow != arch::Flow::Return)
        return std::nullopt;
    size_t end = at + first.length;
    while (end - at < arch::planted_jump_bytes()) {
        const arch::Instruction filler = decode(end);
        if (filler.length == 0 || !filler.filler)
            return std::nullopt;
        end += filler.length;
    }
    PatchedPlace place;
    place.is_of_loader = true;
    place.address = debug->r_brk + at;
    place.moved.push_back({place.address, code->substr(at, first.length), true});
    place.original = code->substr(at, arch::planted_jump_bytes());
    PlacedImage image;
    image.code = mapping->range;
    image.places.push_back(std::move(place));
    return image;
}

} // namespace djstap::injection
