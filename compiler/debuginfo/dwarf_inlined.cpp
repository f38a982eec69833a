// SPDX-License-Identifier: GPL-2.0-or-later
// Finds where functions were inlined.
#include "debuginfo/dwarf_info.h"

#include "debuginfo/pattern.h"
#include "image/glob.h"

#include <algorithm>

namespace djstap {

std::vector<const InlineRecord*> DwarfInfo::matching_inlines(const FunctionPattern& pattern) const {
    std::vector<const InlineRecord*> found;
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
        count += record->instance_count;
    return count;
}

std::vector<StatementAddress> DwarfInfo::inlined(const FunctionPattern& pattern,
                                                 const PlaceFilter& wanted) const {
    std::vector<StatementAddress> found;
    Dwarf* dwarf = dwarf_.get();
    for (const InlineRecord* record :
         dwarf ? matching_inlines(pattern) : std::vector<const InlineRecord*>()) {
        const size_t first = found.size();
        bool accepted = false;
        for (const uint32_t instance : index_.instances(*record)) {
            if (accepted)
                break;
            Dwarf_Die die;
            Dwarf_Addr address = 0, base = 0, end = 0;
            if (!dwarf_offdie(dwarf, instance, &die))
                continue;
            // Some instances only have ranges: they begin with the first one.
            if ((dwarf_entrypc(&die, &address) != 0 || address == 0) &&
                dwarf_ranges(&die, 0, &base, &address, &end) <= 0)
                continue;
            const FunctionRecord* around = index_.function_at(address);
            if (!around || is_replaced(*around))
                continue;
            StatementAddress& out = found.emplace_back();
            out.address = address;
            out.function = index_.text(record->name);
            out.symbol = index_.text(around->symbol);
            out.symbol_entry = around->entry;
            out.file = index_.text(record->file);
            out.line = record->line;
            out.inlined = true;
            out.scope = instance;
            accepted = wanted && wanted(out);
        }
        if (accepted)
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
