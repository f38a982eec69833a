// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/first_info.h"

#include "debuginfo/qualified.h"
#include "image/glob.h"

#include <algorithm>

namespace djstap {

namespace {

// With more names, the index is worth its time.
constexpr size_t most_excerpts = 3;

} // namespace

FirstInfo::FirstInfo(const Image& image, const std::string& path, NameSearch search,
                     void (*progress)(const std::string&))
    : image_(image), path_(path), search_(std::move(search)), progress_(progress), dwarf_(path),
      types_(dwarf_, [this]() -> const DwarfIndex& { return all().index(); }) {}

const DwarfInfo& FirstInfo::all() const {
    if (all_)
        return *all_;
    auto index = DwarfIndex::open(image_, path_, progress_);
    if (!index) {
        if (progress_)
            progress_(index.failure().message);
        index = DwarfIndex::empty();
    }
    all_ = std::make_unique<DwarfInfo>(image_, path_, std::move(*index));
    return *all_;
}

const FirstInfo::Excerpt* FirstInfo::excerpt(const std::string& name) const {
    if (all_ || has_wildcard(name) || is_qualified(name))
        return nullptr;
    const auto known = excerpts_.find(name);
    if (known != excerpts_.end())
        return &known->second;
    if (excerpts_.size() >= most_excerpts)
        return nullptr;
    const auto units = search_.units_with(name);
    if (!units)
        return nullptr;
    Excerpt found;
    if (!units->empty()) {
        auto index = DwarfIndex::of_units(image_, path_, *units);
        if (!index)
            return nullptr;
        for (const FunctionRecord& record : index->functions_named(name))
            found.entries.push_back(record.entry);
        found.info = std::make_unique<DwarfInfo>(image_, path_, std::move(*index));
    }
    return &excerpts_.emplace(name, std::move(found)).first->second;
}

std::vector<FunctionInfo> FirstInfo::functions(const FunctionPattern& pattern, bool details) const {
    const Excerpt* part = excerpt(pattern.function);
    if (part && !part->entries.empty()) {
        std::vector<FunctionInfo> found = part->info->functions(pattern, details);
        // Other names of functions, and system calls, are known by the index only.
        const bool complete =
            !found.empty() && std::all_of(found.begin(), found.end(), [&](const auto& each) {
                return std::find(part->entries.begin(), part->entries.end(), each.entry) !=
                       part->entries.end();
            });
        if (complete)
            return found;
    }
    return all().functions(pattern, details);
}

void FirstInfo::add_details(FunctionInfo& function) const {
    if (!all_ && !function.is_syscall)
        for (const auto& [name, part] : excerpts_)
            if (std::find(part.entries.begin(), part.entries.end(), function.entry) !=
                part.entries.end())
                return part.info->add_details(function);
    all().add_details(function);
}

const DwarfInfo& FirstInfo::around(uint64_t address) const {
    if (!all_)
        for (const auto& [name, part] : excerpts_)
            if (part.info && part.info->index().function_at(address))
                return *part.info;
    return all();
}

std::vector<Variable> FirstInfo::variables_at(uint64_t address) const {
    return around(address).variables_at(address);
}

std::vector<Variable> FirstInfo::variables_of_inlined(const StatementAddress& inlined) const {
    return around(inlined.address).variables_of_inlined(inlined);
}

Result<StatementResult> FirstInfo::statements(const FunctionPattern& pattern, bool nearest) const {
    // The last line of a function, and what is near a line without code, depend on what follows in
    // its file, which other units may tell.
    const Excerpt* part =
        pattern.line_kind == FunctionPattern::LineKind::All ? nullptr : excerpt(pattern.function);
    if (part && !part->entries.empty()) {
        auto found = part->info->statements(pattern, false);
        if (found && !found->addresses.empty())
            return found;
    }
    return all().statements(pattern, nearest);
}

std::string FirstInfo::type_name(TypeId type) const {
    return write_type(type, [this](TypeId each) { return types_.step(each); });
}

std::optional<CMember> FirstInfo::member(TypeId type, std::string_view name) const {
    return find_member(*this, type, name);
}

bool FirstInfo::only_inlined(std::string_view name) const {
    if (const Excerpt* part = excerpt(std::string(name)))
        return part->info && part->info->only_inlined(name);
    return all().only_inlined(name);
}

std::vector<StatementAddress> FirstInfo::inlined(const FunctionPattern& pattern,
                                                 const PlaceFilter& wanted) const {
    if (const Excerpt* part = excerpt(pattern.function))
        return part->info ? part->info->inlined(pattern, wanted) : std::vector<StatementAddress>();
    return all().inlined(pattern, wanted);
}

size_t FirstInfo::inlined_count(const FunctionPattern& pattern) const {
    if (const Excerpt* part = excerpt(pattern.function))
        return part->info ? part->info->inlined_count(pattern) : 0;
    return all().inlined_count(pattern);
}

} // namespace djstap
