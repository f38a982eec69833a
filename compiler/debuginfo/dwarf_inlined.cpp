// SPDX-License-Identifier: GPL-2.0-or-later
// Finds where functions were inlined.
#include "debuginfo/dwarf_info.h"

#include "debuginfo/dwarf_tree.h"
#include "debuginfo/pattern.h"
#include "debuginfo/qualified.h"
#include "image/glob.h"

#include <algorithm>
#include <cstdlib>

namespace djstap {

// A function without code of its own may have no symbol: its entry tells the scopes.
std::string DwarfInfo::qualified_name(const InlineRecord& record) const {
    const auto instances = index_.instances(record);
    const std::string_view name = index_.text(record.name);
    Dwarf* dwarf = dwarf_.get();
    Dwarf_Die instance;
    if (!dwarf || instances.empty() || !dwarf_offdie(dwarf, instances.front().die, &instance))
        return std::string(name);
    Dwarf_Die origin = origin_of(&instance).value_or(instance);
    Dwarf_Attribute attribute;
    const char* linkage =
        dwarf_formstring(dwarf_attr_integrate(&origin, DW_AT_linkage_name, &attribute));
    if (const auto scoped = linkage ? scoped_name(linkage) : std::nullopt)
        return scoped->with(name);
    return ScopedName{scope_of(&origin), ""}.with(name);
}

std::vector<const InlineRecord*> DwarfInfo::matching_inlines(const FunctionPattern& pattern) const {
    std::vector<const InlineRecord*> found;
    const auto operation = find_operator(pattern.function);
    if (operation && operation->is_conversion) {
        for (const InlineRecord& record : index_.inlines_with_prefix("operator "))
            if (file_matches(pattern.file, index_.text(record.file)) &&
                means_conversion(pattern.function, qualified_name(record)))
                found.push_back(&record);
        return found;
    }
    if (is_qualified(pattern.function)) {
        const std::string_view name = last_name(pattern.function);
        const auto records = has_wildcard(name) ? index_.inlines_with_prefix(literal_prefix(name))
                                                : index_.inlines_named(name);
        std::vector<const InlineRecord*> others; // in inline namespaces that are not named
        for (const InlineRecord& record : records) {
            if (!file_matches(pattern.file, index_.text(record.file)))
                continue;
            const std::string qualified = qualified_name(record);
            const auto instances = index_.instances(record);
            if (qualified_matches(pattern.function, qualified))
                found.push_back(&record);
            else if (found.empty() && !instances.empty() &&
                     matches_without_inline(pattern.function, qualified, instances.front().die))
                others.push_back(&record);
        }
        return found.empty() ? others : found;
    }
    const bool wild = has_wildcard(pattern.function);
    const Glob glob(pattern.function);
    for (const InlineRecord& record :
         wild ? index_.inlines_with_prefix(literal_prefix(pattern.function))
              : index_.inlines_named(pattern.function))
        if ((!wild || glob.matches(index_.text(record.name))) &&
            file_matches(pattern.file, index_.text(record.file)))
            found.push_back(&record);
    return found;
}

size_t DwarfInfo::inlined_count(const FunctionPattern& pattern) const {
    size_t count = 0;
    for (const InlineRecord* record : matching_inlines(pattern))
        count += record->placed_count;
    return count;
}

std::vector<StatementAddress> DwarfInfo::inlined(const FunctionPattern& pattern,
                                                 const PlaceFilter& wanted) const {
    std::vector<StatementAddress> found;
    auto add = [&](const InlineRecord& record, uint32_t instance, uint64_t address) {
        const FunctionRecord* around = index_.function_at(address);
        if (!around || is_replaced(*around))
            return false;
        StatementAddress& out = found.emplace_back();
        out.address = address;
        out.function = index_.text(record.name);
        out.symbol = index_.text(around->symbol);
        out.symbol_entry = around->entry;
        out.file = index_.text(record.file);
        out.line = record.line;
        out.inlined = true;
        out.scope = instance;
        return true;
    };
    for (const InlineRecord* record : matching_inlines(pattern)) {
        const size_t first = found.size();
        const auto is_accepted = [&](const InstanceRecord& instance) {
            const uint64_t address = record->address + static_cast<int64_t>(instance.distance);
            return add(*record, instance.die, address) && wanted && wanted(found.back());
        };
        const auto instances = index_.placed_instances(*record);
        if (std::any_of(instances.begin(), instances.end(), is_accepted))
            found[first] = found.back();
        if (wanted && found.size() > first)
            found.resize(first + 1);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.address < b.address; });
    // Two calls in one expression may begin with the same instruction: this is one place.
    found.erase(std::unique(found.begin(), found.end(),
                            [](const auto& a, const auto& b) {
                                return a.address == b.address && a.function == b.function;
                            }),
                found.end());
    return found;
}

} // namespace djstap
