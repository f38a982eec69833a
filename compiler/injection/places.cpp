// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/places.h"

#include "injection/return_places.h"

#include "arch/injection.h"
#include "arch/instructions.h"
#include "image/elf_file.h"
#include "regions/regions.h"

#include <algorithm>
#include <cstring>
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

// Whether it is a program, which no other one maps.
bool is_program(const ElfFile& file) {
    if (file.type() == ET_EXEC)
        return true;
    const ElfSection* const dynamic = file.section(".dynamic");
    Elf64_Dyn each{};
    for (size_t at = 0; dynamic && at + sizeof each <= dynamic->bytes.size(); at += sizeof each) {
        memcpy(&each, dynamic->bytes.data() + at, sizeof each);
        if (each.d_tag == DT_FLAGS_1)
            return (each.d_un.d_val & DF_1_PIE) != 0;
    }
    return false;
}

} // namespace

void PlacedImage::describe(const ElfFile& elf) {
    constexpr uint64_t page = 4096;
    extent = {UINT64_MAX, 0};
    for (const Elf64_Phdr& header : elf.program_headers()) {
        if (header.p_type != PT_LOAD)
            continue;
        extent.begin = std::min(extent.begin, header.p_vaddr & ~(page - 1));
        extent.end =
            std::max(extent.end, (header.p_vaddr + header.p_memsz + page - 1) & ~(page - 1));
        if (header.p_flags & PF_X)
            executable.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
        // Its build-id is there, too.
        if (header.p_offset == 0 && !(header.p_flags & PF_W)) {
            headers_at = header.p_vaddr;
            headers = elf.bytes().substr(0, std::min(header.p_filesz, page));
        }
    }
}

namespace {

template <class Found>
void find_copies(const PlacedImage& image, const MemoryMap& program, const Found& found) {
    constexpr uint64_t page = 4096;
    for (const Mapping& mapping : program.all())
        for (const ExecutableSegment& segment : image.executable)
            if (mapping.executable && mapping.file.inode != 0 &&
                mapping.offset >= (segment.offset & ~(page - 1)) &&
                mapping.offset < segment.offset + segment.bytes)
                found(mapping,
                      mapping.range.begin - mapping.offset + segment.offset - segment.address);
}

} // namespace

std::vector<MappedCopy> PlacedImage::copies(const MemoryMap& program) const {
    std::vector<MappedCopy> all;
    find_copies(*this, program, [&](const Mapping& mapping, uint64_t at) {
        if (mapping.path == path &&
            std::none_of(all.begin(), all.end(),
                         [&](const MappedCopy& each) { return each.bias == at; }))
            all.push_back({at, mapping.file});
    });
    return all;
}

bool PlacedImage::is_mapped_at(uint64_t there, const FileIdentity& identity,
                               const MemoryMap& program) const {
    bool is_mapped = false;
    find_copies(*this, program, [&](const Mapping& mapping, uint64_t at) {
        is_mapped |= at == there && mapping.file == identity;
    });
    return is_mapped;
}

void PlacedImage::take(const MappedCopy& copy) {
    bias = copy.bias;
    file = copy.file;
    code = {bias + extent.begin, bias + extent.end};
}

Result<std::vector<PlacedImage>> place_sites(const struct ::djs_script& script,
                                             const MemoryMap& program, bool may_be_mapped_later) {
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
        image.describe(**file);
        const std::vector<MappedCopy> copies = image.copies(program);
        if (!copies.empty())
            image.take(copies.front());
        if (copies.empty() && (!may_be_mapped_later || is_program(**file)))
            return Failure{"the program does not map '" + image.path + "' when it is probed",
                           "--runtime=process probes the program that -c begins with, or that of "
                           "-x, and libraries; a command line that needs a shell begins with "
                           "/bin/sh"};
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
        for (PatchedPlace& place : image.places) {
            place.original = (*file)->bytes_at(place.address, arch::planted_jump_bytes());
            if (place.refusal.empty() && place.original.empty())
                place.refusal = "the code ends before the jump would";
            if (place.refusal.empty() && arch::is_in_way_of_visits(place.address, (*file)->entry()))
                place.refusal = arch::in_way_of_visits;
        }
        images.push_back(std::move(image));
    }
    return images;
}

} // namespace djstap::injection
