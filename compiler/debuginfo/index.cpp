// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/index.h"

#include "image/elf_file.h"
#include "system/hash.h"
#include "system/stopwatch.h"

#include <algorithm>
#include <charconv>

namespace djstap {

namespace {

// Returns the records whose name begins with (or is) `name`, from a table sorted by name.
template <class Record, class Text>
std::span<const Record> equal_names(std::span<const Record> records, std::string_view name,
                                    bool prefix, Text text) {
    auto cut = [&](const Record& record) {
        std::string_view own = text(record.name);
        return prefix ? own.substr(0, name.size()) : own;
    };
    auto first = std::partition_point(records.begin(), records.end(),
                                      [&](const Record& record) { return cut(record) < name; });
    auto last = std::partition_point(first, records.end(),
                                     [&](const Record& record) { return cut(record) == name; });
    return {first, last};
}

// Distinguishes the debug information of one build.
Result<uint64_t> fingerprint_of(const std::string& file) {
    auto elf = ElfFile::open(file);
    if (!elf)
        return elf.failure();
    std::string sizes;
    for (const ElfSection& section : (*elf)->sections())
        if (section.name.starts_with(".debug_"))
            sizes.append(section.name).append(" ").append(std::to_string(section.size) + " ");
    return hash_bytes(sizes);
}

} // namespace

std::string debuginfo_index_path(const std::string& build_id) {
    return cache_directory() + "/kernels/" + build_id + "/dwarf";
}

DwarfIndex::DwarfIndex(TableView view) : view_(std::move(view)) {
    auto section = [&]<class Record>(IndexSection which, std::span<const Record>& records) {
        records = view_->section<Record>(size_t(which));
    };
    section(IndexSection::functions, functions_);
    section(IndexSection::by_symbol, by_symbol_);
    section(IndexSection::ranges, ranges_);
    section(IndexSection::parameters, parameters_);
    section(IndexSection::syscalls, syscalls_);
    section(IndexSection::inlines, inlines_);
    section(IndexSection::instances, instances_);
    section(IndexSection::types, types_);
    section(IndexSection::variables, variables_);
    section(IndexSection::enumerators, enumerators_);
    strings_ = view_->raw(size_t(IndexSection::strings));
}

Result<std::string> DwarfIndex::path_in_cache(const Image& image, const std::string& file) {
    std::string path = image.build_id().empty() ? "" : debuginfo_index_path(image.build_id());
    // Separate files of one build may differ: dwz rewrites them.
    if (!path.empty() && (!image.elf() || file != image.elf()->path())) {
        auto fingerprint = fingerprint_of(file);
        if (!fingerprint)
            return fingerprint.failure();
        path += "-" + hexadecimal(*fingerprint);
    }
    return path;
}

Result<DwarfIndex> DwarfIndex::of_units(const Image& image, const std::string& file,
                                        const std::vector<uint64_t>& units) {
    auto bytes = build_index(image, file, units);
    if (!bytes)
        return bytes.failure();
    auto view = TableView::hold(std::move(*bytes), index_format);
    if (!view)
        return Failure{"the index of " + image.title() + " cannot be read back", ""};
    return DwarfIndex(std::move(*view));
}

Result<DwarfIndex> DwarfIndex::open(const Image& image, const std::string& file,
                                    void (*progress)(const std::string&)) {
    const auto path = path_in_cache(image, file);
    if (!path)
        return path.failure();
    if (!path->empty()) {
        if (auto view = TableView::map(*path, index_format))
            return DwarfIndex(std::move(*view));
    }
    if (progress)
        progress("indexing the debug information of " + image.title() + " (once per kernel)");
    const Stopwatch watch;
    auto bytes = build_index(image, file);
    if (!bytes)
        return bytes.failure();
    const auto took = static_cast<int64_t>(watch.milliseconds());
    if (progress)
        progress("indexed the debug information of " + image.title() + " in " +
                 std::to_string(took) + " ms");
    if (!path->empty()) {
        Status written = write_cached(*path, *bytes);
        if (!written && progress)
            progress("cannot cache the index: " + written.failure().message);
    }
    auto view = TableView::hold(std::move(*bytes), index_format);
    if (!view)
        return Failure{"the index of " + image.title() + " cannot be read back", ""};
    return DwarfIndex(std::move(*view));
}

std::span<const FunctionRecord> DwarfIndex::functions_named(std::string_view name) const {
    return equal_names(functions_, name, false, [&](uint32_t at) { return text(at); });
}

std::span<const FunctionRecord> DwarfIndex::functions_with_prefix(std::string_view prefix) const {
    return equal_names(functions_, prefix, true, [&](uint32_t at) { return text(at); });
}

std::span<const InlineRecord> DwarfIndex::inlines_with_prefix(std::string_view prefix) const {
    return equal_names(inlines_, prefix, true, [&](uint32_t at) { return text(at); });
}

std::vector<const FunctionRecord*> DwarfIndex::functions_of_symbol(std::string_view symbol) const {
    std::vector<const FunctionRecord*> found;
    auto symbol_of = [&](uint32_t index) {
        return index < functions_.size() ? text(functions_[index].symbol) : std::string_view();
    };
    auto first = std::partition_point(by_symbol_.begin(), by_symbol_.end(),
                                      [&](uint32_t index) { return symbol_of(index) < symbol; });
    for (; first != by_symbol_.end() && symbol_of(*first) == symbol && *first < functions_.size();
         ++first)
        found.push_back(&functions_[*first]);
    return found;
}

const FunctionRecord* DwarfIndex::function_at(uint64_t address) const {
    auto after =
        std::partition_point(ranges_.begin(), ranges_.end(),
                             [&](const RangeRecord& range) { return range.begin <= address; });
    if (after == ranges_.begin())
        return nullptr;
    const RangeRecord& range = *std::prev(after);
    if (address - range.begin >= range.size || range.function >= functions_.size())
        return nullptr;
    return &functions_[range.function];
}

std::span<const ParameterRecord> DwarfIndex::parameters(uint32_t first, uint32_t count) const {
    if (first > parameters_.size() || count > parameters_.size() - first)
        return {};
    return parameters_.subspan(first, count);
}

const SyscallRecord* DwarfIndex::syscall(std::string_view name) const {
    auto found = equal_names(syscalls_, name, false, [&](uint32_t at) { return text(at); });
    return found.empty() ? nullptr : &found.front();
}

std::span<const InlineRecord> DwarfIndex::inlines_named(std::string_view name) const {
    return equal_names(inlines_, name, false, [&](uint32_t at) { return text(at); });
}

std::span<const InstanceRecord> DwarfIndex::instances(const InlineRecord& record) const {
    if (record.first_instance > instances_.size() ||
        record.instance_count > instances_.size() - record.first_instance)
        return {};
    return instances_.subspan(record.first_instance, record.instance_count);
}

std::span<const InstanceRecord> DwarfIndex::placed_instances(const InlineRecord& record) const {
    const auto all = instances(record);
    return all.first(std::min<size_t>(record.placed_count, all.size()));
}

std::span<const TypeRecord> DwarfIndex::types_named(std::string_view name) const {
    return equal_names(types_, name, false, [&](uint32_t at) { return text(at); });
}

const EnumeratorRecord* DwarfIndex::enumerator(std::string_view name) const {
    auto found = equal_names(enumerators_, name, false, [&](uint32_t at) { return text(at); });
    return found.empty() ? nullptr : &found.front();
}

std::span<const VariableRecord> DwarfIndex::variables_named(std::string_view name) const {
    return equal_names(variables_, name, false, [&](uint32_t at) { return text(at); });
}

} // namespace djstap
