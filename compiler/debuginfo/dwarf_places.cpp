// SPDX-License-Identifier: GPL-2.0-or-later
// Finds single places in functions: the statement or the inline instance at an address, and labels.
#include "debuginfo/dwarf_info.h"
#include "debuginfo/dwarf_tree.h"
#include "debuginfo/pattern.h"
#include "debuginfo/source_files.h"
#include "image/glob.h"

#include <algorithm>
#include <cstdio>

namespace djstap {

namespace {

// Calls found(die) for each label in a function or an inline instance, but not for those of what is
// inlined there.
template <class Found> void each_label(Dwarf_Die* scope, Found& found) {
    each_child(scope, [&](Dwarf_Die* child) {
        const int tag = dwarf_tag(child);
        if (tag == DW_TAG_label)
            found(child);
        else if (tag == DW_TAG_lexical_block)
            each_label(child, found);
    });
}

const char* declared_name(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
}

} // namespace

std::string address_text(uint64_t address) {
    char text[24];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

void DwarfInfo::set_function(StatementAddress& place) const {
    const FunctionRecord* function = index_.function_at(place.address);
    if (function)
        place.function = index_.text(function->name);
    if (auto symbol = image_.symbol_at(place.address)) {
        place.symbol = symbol->name;
        place.symbol_entry = symbol->address;
    } else if (function) {
        place.symbol = index_.text(function->symbol);
        place.symbol_entry = function->entry;
    }
}

std::string DwarfInfo::source_path(Dwarf_Die* die, const char* file) const {
    Dwarf_Die unit;
    if (!file || !dwarf_diecu(die, &unit, nullptr, nullptr))
        return {};
    Dwarf_Attribute attribute;
    const char* folder = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
    return normal_source_path(file, folder ? folder : "", source_root(dwarf_.get()));
}

Result<StatementAddress> DwarfInfo::statement_at(uint64_t address) const {
    Dwarf* dwarf = dwarf_.get();
    const FunctionRecord* function = index_.function_at(address);
    Dwarf_Die die, unit;
    if (!dwarf || !function || !dwarf_offdie(dwarf, function->die, &die) ||
        !dwarf_diecu(&die, &unit, nullptr, nullptr))
        return Failure{"no function is there", ""};
    // The last row that does not begin after the address.
    Dwarf_Line* line = dwarf_getsrc_die(&unit, address);
    Dwarf_Addr begin = 0;
    int number = 0;
    if (!line || dwarf_lineaddr(line, &begin) != 0 || dwarf_lineno(line, &number) != 0)
        return Failure{"no statement is there", ""};
    if (begin != address)
        return Failure{"no statement begins there",
                       "the one that it is in begins at " + address_text(begin)};
    StatementAddress place;
    place.address = address;
    place.file = source_path(&die, dwarf_linesrc(line, nullptr, nullptr));
    place.line = static_cast<uint32_t>(std::max(number, 0));
    dwarf_linebeginstatement(line, &place.is_stmt);
    set_function(place);
    return place;
}

std::optional<StatementAddress> DwarfInfo::inlined_at(uint64_t address) const {
    Dwarf* dwarf = dwarf_.get();
    const FunctionRecord* function = index_.function_at(address);
    Dwarf_Die scope;
    if (!dwarf || !function || !dwarf_offdie(dwarf, function->die, &scope))
        return std::nullopt;
    std::optional<Dwarf_Die> innermost;
    for (bool deeper = true; deeper;) {
        deeper = false;
        Dwarf_Die outer = scope;
        each_child(&outer, [&](Dwarf_Die* child) {
            const int tag = dwarf_tag(child);
            if (deeper || (tag != DW_TAG_lexical_block && tag != DW_TAG_inlined_subroutine) ||
                dwarf_haspc(child, address) != 1)
                return;
            scope = *child;
            deeper = true;
            if (tag == DW_TAG_inlined_subroutine)
                innermost = *child;
        });
    }
    return innermost ? inline_instance(&*innermost) : std::nullopt;
}

std::optional<StatementAddress> DwarfInfo::inline_instance(Dwarf_Die* die) const {
    StatementAddress place;
    const auto entry = entry_of_inlined(die);
    if (!entry)
        return std::nullopt;
    place.address = *entry;
    set_function(place);
    auto origin = origin_of(die);
    const char* name = origin ? declared_name(&*origin) : nullptr;
    int line = 0;
    if (!name || dwarf_decl_line(&*origin, &line) != 0)
        return std::nullopt;
    place.function = name;
    place.file = source_path(&*origin, dwarf_decl_file(&*origin));
    place.line = static_cast<uint32_t>(std::max(line, 0));
    place.inlined = true;
    place.scope = dwarf_dieoffset(die);
    return place;
}

std::vector<LabelAddress> DwarfInfo::labels(const FunctionPattern& pattern,
                                            std::string_view label) const {
    std::vector<LabelAddress> found;
    Dwarf* dwarf = dwarf_.get();
    if (!dwarf)
        return found;
    const Glob wanted(label);
    auto search = [&](uint32_t scope, std::string_view function) {
        Dwarf_Die die;
        if (!dwarf_offdie(dwarf, scope, &die))
            return;
        auto take = [&](Dwarf_Die* entry) {
            Dwarf_Addr address = 0;
            const char* name = declared_name(entry);
            // One that the compiler dropped has no address.
            if (!name || !wanted.matches(name) || dwarf_lowpc(entry, &address) != 0 || address == 0)
                return;
            LabelAddress& out = found.emplace_back();
            out.label = name;
            out.at.address = address;
            set_function(out.at);
            out.at.inlined = out.at.function != function;
            out.at.function = function;
            int line = 0;
            auto origin = origin_of(entry);
            Dwarf_Die declared = origin.value_or(*entry);
            dwarf_decl_line(&declared, &line);
            out.at.file = source_path(&declared, dwarf_decl_file(&declared));
            out.at.line = static_cast<uint32_t>(std::max(line, 0));
        };
        each_label(&die, take);
    };
    for (const FunctionRecord* record : matching_records(pattern))
        if (!is_replaced(*record))
            search(record->die, index_.text(record->name));
    for (const InlineRecord* record : matching_inlines(pattern))
        for (const InstanceRecord& instance : index_.instances(*record))
            search(instance.die, index_.text(record->name));
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.at.address < b.at.address; });
    found.erase(std::unique(found.begin(), found.end(),
                            [](const auto& a, const auto& b) {
                                return a.at.address == b.at.address && a.label == b.label;
                            }),
                found.end());
    return found;
}

} // namespace djstap
