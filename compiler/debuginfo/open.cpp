// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/btf_info.h"
#include "debuginfo/dwarf_info.h"
#include "debuginfo/first_info.h"
#include "debuginfo/symbol_info.h"

#include "image/debug_file.h"

#include <cstdlib>
#include <filesystem>

namespace djstap {

namespace {

bool may_use_dwarf() {
    const char* without = std::getenv("DJSTAP_NO_DWARF");
    return !without || !*without || std::string_view(without) == "0";
}

// The first script on a kernel does not wait for the index if it needs only little of it. A file in
// the cache tells that there was one: the next script builds the index.
std::unique_ptr<DebugInfo> open_first(const Image& image, const std::string& path,
                                      void (*progress)(const std::string&)) {
    const auto index = DwarfIndex::path_in_cache(image, path);
    if (!index || index->empty())
        return nullptr;
    const std::string mark = *index + ".first";
    std::error_code error;
    for (const std::string& file : {*index, mark})
        if (std::filesystem::exists(file, error) || error)
            return nullptr;
    auto names = NameSearch::open(path);
    if (!names || !write_cached(mark, "1"))
        return nullptr;
    return std::make_unique<FirstInfo>(image, path, std::move(*names), progress);
}

Failure refusal(const Image& image, const std::vector<std::string>& refused) {
    std::string reasons;
    for (const std::string& reason : refused)
        reasons += (reasons.empty() ? "" : "; ") + reason;
    return {"the debug information of " + image.title() + " cannot be used: " + reasons,
            "install the debug symbols of this build"};
}

} // namespace

Result<std::unique_ptr<DebugInfo>> DebugInfo::open(const Image& image,
                                                   void (*progress)(const std::string&)) {
    Failure failure{"no debug information was found for " + image.title(),
                    "install its debug symbols (vmlinux with DWARF), or a kernel with BTF"};
    DebugFileSearch search;
    if (may_use_dwarf())
        search = find_debug_file(image, DebugServers::Ask, progress);
    if (search.found && image.kind() == ImageKind::Kernel) {
        if (auto info = open_first(image, search.found->path, progress)) {
            info->origin_ = search.found->origin;
            info->refused_ = std::move(search.refused);
            return info;
        }
    }
    if (search.found) {
        // A module's takes only moments.
        auto index = DwarfIndex::open(image, search.found->path,
                                      image.kind() == ImageKind::Kernel ? progress : nullptr);
        if (index) {
            std::unique_ptr<DebugInfo> info(
                new DwarfInfo(image, search.found->path, std::move(*index)));
            info->origin_ = search.found->origin;
            info->refused_ = std::move(search.refused);
            return info;
        }
        failure = index.failure();
        search.refused.push_back(failure.message);
    }
    if (image.kind() == ImageKind::Program) {
        auto symbols = std::make_unique<SymbolInfo>(image);
        static_cast<DebugInfo&>(*symbols).refused_ = std::move(search.refused);
        return std::unique_ptr<DebugInfo>(std::move(symbols));
    }
    auto btf = BtfInfo::open(image);
    if (!btf)
        return search.refused.empty() ? failure : refusal(image, search.refused);
    for (const std::string& reason : search.refused)
        if (progress)
            progress(reason);
    (*btf)->refused_ = std::move(search.refused);
    return btf;
}

} // namespace djstap
