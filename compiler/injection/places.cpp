// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/places.h"

#include "injection/return_places.h"

#include "arch/instructions.h"
#include "image/elf_file.h"
#include "regions/regions.h"

#include <algorithm>
#include <map>
#include <set>

namespace djstap::injection {

namespace {

PatchedPlace judge(const regions::Analysis& analysis, uint64_t entry,
                   arch::InstructionDecoder& decoder) {
    PatchedPlace out;
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
    out.moved = moved_by_jump(analysis, *place, decoder);
    if (out.moved.empty())
        out.refusal = "what is there is not known";
    return out;
}

// What is probed in a file.
struct SitesOfFile {
    std::vector<uint32_t> entries; // the first site of each place: others follow by djs_site.next
    std::map<uint64_t, std::vector<uint32_t>> returns; // by the address of the function
};

std::map<std::string, SitesOfFile> sites_by_file(const struct ::djs_script& script) {
    std::set<uint32_t> others;
    for (uint32_t i = 0; i < script.site_count; i++)
        others.insert(script.sites[i].next);
    std::map<std::string, SitesOfFile> files;
    for (uint32_t i = 0; i < script.site_count; i++) {
        const djs_site& site = script.sites[i];
        const bool is_return = site.mechanism == DJS_MECHANISM_RETURN_JUMPS;
        if (!is_return && (site.trampoline == DJS_NO_INDEX || others.count(i)))
            continue;
        SitesOfFile& file = files[script.images[script.segments[site.segment].image].name];
        if (is_return)
            file.returns[site.address].push_back(i);
        else
            file.entries.push_back(i);
    }
    return files;
}

Status place_image(PlacedImage& image, const ElfFile& file, const MemoryMap& program) {
    const std::vector<Mapping> mappings = program.of_file(image.path);
    const auto headers = file.program_headers();
    const auto first = std::find_if(headers.begin(), headers.end(), [](const Elf64_Phdr& header) {
        return header.p_type == PT_LOAD;
    });
    if (mappings.empty() || first == headers.end())
        return Failure{"the program does not map '" + image.path + "' when it is probed",
                       "--runtime=process probes the program that -c begins with, or that of -x, "
                       "and the libraries that it has mapped by then; a command line that needs a "
                       "shell begins with /bin/sh"};
    constexpr uint64_t page = 4096;
    image.bias = mappings.front().range.begin - (first->p_vaddr & ~(page - 1)) +
                 (first->p_offset & ~(page - 1)) - mappings.front().offset;
    image.code = {mappings.front().range.begin, mappings.back().range.end};
    return Done{};
}

} // namespace

Result<std::vector<PlacedImage>> place_sites(const struct ::djs_script& script,
                                             const MemoryMap& program) {
    const auto decoder = arch::InstructionDecoder::create();
    if (!decoder)
        return Failure{"this LLVM cannot decode the program's instructions", ""};
    std::vector<PlacedImage> images;
    uint32_t functions = 0;
    for (auto& [path, sites] : sites_by_file(script)) {
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
        for (const uint32_t site : sites.entries) {
            image.places.push_back(judge(*analysis, script.sites[site].address, *decoder));
            image.places.back().site = site;
        }
        for (auto& [address, of_function] : sites.returns)
            image.returning.push_back({address, std::move(of_function), functions++, ""});
        ReturnPlacer(script, *analysis, *decoder, image).place();
        images.push_back(std::move(image));
    }
    return images;
}

} // namespace djstap::injection
