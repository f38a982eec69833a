// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/places.h"

#include "arch/instructions.h"
#include "image/elf_file.h"
#include "regions/regions.h"

#include <algorithm>
#include <map>
#include <set>

namespace djstap::injection {

namespace {

bool leaves(const arch::Instruction& instruction) {
    using arch::Flow;
    return instruction.flow == Flow::Jump || instruction.flow == Flow::IndirectJump ||
           instruction.flow == Flow::Return;
}

// What makes up the region of a jump, from the place's instruction on; not what follows a jump or a
// return.
std::vector<Moved> instructions_of(const regions::Analysis& analysis, const regions::Place& place,
                                   arch::InstructionDecoder& decoder) {
    std::vector<Moved> moved;
    for (uint64_t at = place.address; at < place.address + place.region;) {
        const auto each = analysis.place(at);
        if (!each || each->length == 0)
            return {};
        moved.push_back({at, std::string(analysis.bytes(*each))});
        if (leaves(decoder.decode(moved.back().bytes, at))) {
            moved.back().leaves = true;
            break;
        }
        at += each->length;
    }
    return moved;
}

SitePlace judge(const regions::Analysis& analysis, uint32_t site, uint64_t entry,
                arch::InstructionDecoder& decoder) {
    SitePlace out;
    out.site = site;
    const auto place = analysis.entry(entry);
    out.address = place ? place->address : entry;
    if (!place) {
        out.refusal = "no instruction of a function is known there";
        return out;
    }
    if (!place->safe()) {
        out.refusal = std::string(regions::reason_text(place->reason));
        return out;
    }
    out.moved = instructions_of(analysis, *place, decoder);
    if (out.moved.empty())
        out.refusal = "what is there is not known";
    return out;
}

// Returns the first site of each place: others follow by djs_site.next.
std::vector<uint32_t> first_sites(const struct ::djs_script& script) {
    std::set<uint32_t> others;
    for (uint32_t i = 0; i < script.site_count; i++)
        others.insert(script.sites[i].next);
    std::vector<uint32_t> first;
    for (uint32_t i = 0; i < script.site_count; i++)
        if (script.sites[i].trampoline != DJS_NO_INDEX && !others.count(i))
            first.push_back(i);
    return first;
}

Status place_image(PlacedImage& image, const ElfFile& file, const MemoryMap& program) {
    const std::vector<Mapping> mappings = program.of_file(image.path);
    const auto headers = file.program_headers();
    const auto first = std::find_if(headers.begin(), headers.end(), [](const Elf64_Phdr& header) {
        return header.p_type == PT_LOAD;
    });
    if (mappings.empty() || first == headers.end())
        return Failure{"the program of the command does not map '" + image.path +
                           "' when it starts",
                       "--runtime=process probes the program that the command begins with, and its "
                       "libraries; a command line that needs a shell begins with /bin/sh"};
    constexpr uint64_t page = 4096;
    image.bias = mappings.front().range.begin - (first->p_vaddr & ~(page - 1)) +
                 (first->p_offset & ~(page - 1)) - mappings.front().offset;
    image.code = {mappings.front().range.begin, mappings.back().range.end};
    return Done{};
}

} // namespace

Result<std::vector<PlacedImage>> find_places(const struct ::djs_script& script,
                                             const MemoryMap& program) {
    std::map<std::string, std::vector<uint32_t>> sites_of;
    for (const uint32_t site : first_sites(script)) {
        const djs_segment& segment = script.segments[script.sites[site].segment];
        sites_of[script.images[segment.image].name].push_back(site);
    }
    const auto decoder = arch::InstructionDecoder::create();
    if (!decoder)
        return Failure{"this LLVM cannot decode the program's instructions", ""};
    std::vector<PlacedImage> images;
    for (const auto& [path, sites] : sites_of) {
        PlacedImage image;
        image.path = path;
        auto file = ElfFile::open(path);
        if (!file)
            return file.failure();
        if (auto placed = place_image(image, **file, program); !placed)
            return placed.failure();
        auto analysis = regions::Analysis::of(**file, {});
        if (!analysis)
            return analysis.failure();
        for (const uint32_t site : sites)
            image.places.push_back(judge(*analysis, site, script.sites[site].address, *decoder));
        images.push_back(std::move(image));
    }
    return images;
}

} // namespace djstap::injection
