// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/regions_file.h"

#include "image/decompress.h"
#include "image/kernel_files.h"
#include "image/module_file.h"
#include "system/file.h"

#include <algorithm>
#include <filesystem>

namespace djstap::driver {

namespace {

bool is_compressed(const std::string& path) {
    return std::any_of(compressed_suffixes.begin(), compressed_suffixes.end(),
                       [&](std::string_view suffix) { return path.ends_with(suffix); });
}

// "vermagic=6.1.0-56-cloud-amd64 SMP preempt mod_unload modversions " in .modinfo
std::string release_of_module(const ElfFile& module) {
    const ElfSection* section = module.section(".modinfo");
    std::string_view rest = section ? section->bytes : std::string_view{};
    constexpr std::string_view key = "vermagic=";
    while (const auto line = take_string(rest))
        if (line->starts_with(key)) {
            const std::string_view value = line->substr(key.size());
            return std::string(value.substr(0, value.find(' ')));
        }
    return {};
}

std::optional<regions::KernelRule> rule_of(const std::string& release) {
    if (release.empty())
        return std::nullopt;
    const Result<KernelFiles> files = find_kernel(release);
    if (!files || files->release != release || files->vmlinux.empty())
        return std::nullopt;
    const auto vmlinux = ElfFile::open(files->vmlinux);
    return vmlinux ? std::optional(regions::KernelRule::of(**vmlinux)) : std::nullopt;
}

Result<RegionsFile> open_module_file(std::string bytes, const std::string& path) {
    RegionsFile file;
    file.is_module = true;
    // Sections of debug information are relocated, too.
    Result<std::string> linked = decompress_sections(std::move(bytes), path);
    if (linked)
        linked = link_module_code(std::move(*linked), path);
    if (!linked)
        return linked.failure();
    auto elf = ElfFile::hold(std::move(*linked), path);
    if (!elf)
        return elf.failure();
    file.elf = std::move(*elf);
    file.release = release_of_module(*file.elf);
    file.rule = rule_of(file.release);
    return file;
}

// A bootable image has this text at this place.
bool is_boot_image(const std::string& path) {
    constexpr size_t at = 0x202;
    constexpr std::string_view mark = "HdrS";
    const auto file = MappedFile::open(path);
    return file && (*file)->bytes().size() > at && (*file)->bytes().substr(at).starts_with(mark);
}

Failure not_analyzed(Failure failure, const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        return {path + ": is a folder",
                "name a program, a library, a kernel image or a module in it"};
    if (is_boot_image(path))
        failure.hint = "it is a bootable image, in which the kernel is compressed: name its "
                       "vmlinux, or the kernel with -r";
    else if (failure.hint.empty() && std::filesystem::is_regular_file(path, error))
        failure.hint = "programs, libraries, kernel images (vmlinux) and modules can be analyzed";
    return failure;
}

} // namespace

Result<RegionsFile> open_regions_file(const std::string& path) {
    RegionsFile file;
    if (is_compressed(path)) {
        Result<std::string> bytes = module_bytes(path);
        if (!bytes)
            return bytes.failure();
        auto elf = ElfFile::hold(*bytes, path);
        if (!elf)
            return not_analyzed(elf.failure(), path);
        if (is_module(**elf))
            return open_module_file(std::move(*bytes), path);
        file.elf = std::move(*elf);
        return file;
    }
    auto elf = ElfFile::open(path);
    if (!elf)
        return not_analyzed(elf.failure(), path);
    if (is_module(**elf)) {
        Result<std::string> bytes = read_file(path);
        if (!bytes)
            return bytes.failure();
        return open_module_file(std::move(*bytes), path);
    }
    file.elf = std::move(*elf);
    file.lines = path;
    return file;
}

Status RegionsFile::prepare_lines() {
    if (!lines.empty() || !elf->section(".debug_line"))
        return Done{};
    auto created = TemporaryFolder::create(temporary_directory());
    if (!created)
        return created.failure();
    folder_ = std::move(*created);
    const std::string copy = folder_.file("linked");
    if (Status written = write_file(copy, elf->bytes()); !written)
        return written;
    lines = copy;
    return Done{};
}

} // namespace djstap::driver
