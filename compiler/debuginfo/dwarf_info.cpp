// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/dwarf_info.h"

#include "arch/arch.h"
#include "debuginfo/dwarf_tree.h"
#include "debuginfo/pattern.h"
#include "debuginfo/qualified.h"
#include "debuginfo/syscalls.h"
#include "image/glob.h"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace djstap {

namespace {

bool is_cold(std::string_view symbol) {
    return symbol.ends_with(".cold") || symbol.find(".cold.") != std::string_view::npos;
}

} // namespace

DwarfInfo::DwarfInfo(const Image& image, const std::string& path, DwarfIndex index)
    : image_(image), index_(std::move(index)), dwarf_(path), frames_(image.file()),
      types_(dwarf_, [this]() -> const DwarfIndex& { return index_; }) {}

FunctionInfo DwarfInfo::function_info(const FunctionRecord& record) const {
    FunctionInfo info;
    info.name = index_.text(record.name);
    info.symbol = index_.text(record.symbol);
    info.entry = record.entry;
    info.size = record.size;
    info.file = index_.text(record.file);
    info.line = record.line;
    info.external = record.flags & function_external;
    info.varargs = record.flags & function_varargs;
    info.noreturn = record.flags & function_noreturn;
    return info;
}

FunctionInfo DwarfInfo::syscall_info(std::string_view name, const Symbol& wrapper) const {
    FunctionInfo info;
    info.name = std::string(syscall_user_prefix).append(name);
    info.symbol = wrapper.name;
    info.entry = wrapper.address;
    info.size = wrapper.size;
    info.is_syscall = true;
    info.external = true;
    if (const SyscallRecord* record = index_.syscall(name)) {
        info.file = index_.text(record->file);
        info.line = record->line;
    } else if (const FunctionRecord* function = index_.function_at(wrapper.address)) {
        info.file = index_.text(function->file);
        info.line = function->line;
    }
    return info;
}

std::string DwarfInfo::qualified_name(const FunctionRecord& record) const {
    const std::string_view name = index_.text(record.name);
    const auto scoped = scoped_name(index_.text(record.symbol));
    return scoped ? scoped->with(name) : std::string(name);
}

// Returns whether a pattern that names no inline namespaces means a function.
bool DwarfInfo::matches_without_inline(std::string_view pattern, const std::string& qualified,
                                       uint64_t offset) const {
    // What contains a function is found by a search of its unit: too long for each function.
    Dwarf_Die die;
    if (!has_scopes_of(pattern, qualified) || !dwarf_.get() ||
        !dwarf_offdie(dwarf_.get(), offset, &die))
        return false;
    const std::vector<std::string> names = inline_namespaces_of(&die);
    return !names.empty() && qualified_matches(pattern, without_scopes(qualified, names));
}

// Returns the functions among which those are that match a qualified name.
std::span<const FunctionRecord> DwarfInfo::records_by_last_name(std::string_view qualified) const {
    const std::string_view name = last_name(qualified);
    return has_wildcard(name) ? index_.functions_with_prefix(literal_prefix(name))
                              : index_.functions_named(name);
}

std::vector<const FunctionRecord*>
DwarfInfo::matching_records(const FunctionPattern& pattern) const {
    std::unordered_map<uint32_t, bool> files; // one decision per file
    auto in_file = [&](const FunctionRecord& record) {
        auto [known, added] = files.emplace(record.file, false);
        if (added)
            known->second = file_matches(pattern.file, index_.text(record.file));
        return known->second;
    };
    std::vector<const FunctionRecord*> found;
    const auto operation = find_operator(pattern.function);
    if (operation && operation->is_conversion) {
        for (const FunctionRecord& record : index_.functions_with_prefix("operator "))
            if (in_file(record) && means_conversion(pattern.function, qualified_name(record)))
                found.push_back(&record);
        return found;
    }
    if (is_qualified(pattern.function)) {
        for (const FunctionRecord& record : records_by_last_name(pattern.function))
            if (in_file(record) && qualified_matches(pattern.function, qualified_name(record)))
                found.push_back(&record);
        if (found.empty())
            for (const FunctionRecord& record : records_by_last_name(pattern.function))
                if (in_file(record) &&
                    matches_without_inline(pattern.function, qualified_name(record), record.die))
                    found.push_back(&record);
        return found;
    }
    if (!has_wildcard(pattern.function)) {
        for (const FunctionRecord& record : index_.functions_named(pattern.function)) {
            if (in_file(record))
                found.push_back(&record);
        }
        if (found.empty()) {
            for (const FunctionRecord* record : index_.functions_of_symbol(pattern.function)) {
                if (in_file(*record))
                    found.push_back(record);
            }
        }
        return found;
    }
    // A clone's symbol ("f.isra.0") begins with its function's name.
    std::string_view prefix = literal_prefix(pattern.function);
    const Glob glob(pattern.function);
    bool dotted = pattern.function.find('.') != std::string::npos;
    for (const FunctionRecord& record :
         index_.functions_with_prefix(prefix.substr(0, prefix.find('.')))) {
        bool matches = glob.matches(index_.text(record.name)) ||
                       (dotted && glob.matches(index_.text(record.symbol)));
        if (matches && in_file(record))
            found.push_back(&record);
    }
    return found;
}

// Returns the functions that an alias in the symbol table stands for: malloc of __libc_malloc.
std::vector<const FunctionRecord*>
DwarfInfo::aliased_records(const FunctionPattern& pattern) const {
    std::vector<const FunctionRecord*> found;
    if (has_wildcard(pattern.function))
        return found;
    for (const Symbol& symbol : image_.symbols_named(pattern.function)) {
        const FunctionRecord* record = index_.function_at(symbol.address);
        if (record && record->entry == symbol.address &&
            file_matches(pattern.file, index_.text(record->file)))
            found.push_back(record);
    }
    return found;
}

// The code of a weak definition stays in the kernel if a strong one takes its symbol. Nothing calls
// it, and neither ftrace nor kprobes find a function there.
bool DwarfInfo::is_replaced(const FunctionRecord& record) const {
    auto symbol = image_.symbol_at(record.entry);
    return !symbol || symbol->address != record.entry;
}

std::vector<FunctionInfo> DwarfInfo::functions(const FunctionPattern& pattern, bool details) const {
    std::vector<FunctionInfo> found;
    std::unordered_set<uint64_t> entries;
    for (const FunctionRecord* record : matching_records(pattern)) {
        if (is_cold(index_.text(record->symbol)) || is_replaced(*record) ||
            !entries.insert(record->entry).second)
            continue;
        found.push_back(function_info(*record));
    }
    bool wild = has_wildcard(pattern.function);
    // Aliases of code that has one name in DWARF, and code that only the symbol table contains, of
    // no known file. "*" has found what has a file.
    if (wild ? pattern.file.empty() || pattern.function != "*" : found.empty()) {
        std::vector<Symbol> symbols = is_qualified(pattern.function)
                                          ? symbols_with_scopes(image_, pattern.function)
                                      : wild ? image_.symbols_matching(pattern.function)
                                             : image_.symbols_named(pattern.function);
        for (const Symbol& symbol : symbols) {
            const FunctionRecord* record = index_.function_at(symbol.address);
            bool alias = record && record->entry == symbol.address;
            if (!pattern.file.empty() &&
                !(alias && file_matches(pattern.file, index_.text(record->file))))
                continue;
            if (is_cold(symbol.name) || symbol.name.starts_with("__pfx_") ||
                !image_.in_text(symbol.address) || (wild && !alias) ||
                !entries.insert(symbol.address).second)
                continue;
            FunctionInfo info = alias ? function_info(*record) : FunctionInfo();
            info.name = info.symbol = symbol.name;
            info.entry = symbol.address;
            info.size = symbol.size;
            info.external = symbol.global;
            found.push_back(std::move(info));
        }
    }
    if (wild || found.empty()) {
        std::set<std::string> names;
        for (const FunctionInfo& function : found)
            names.insert(function.name);
        for (const SyscallWrapper& wrapper : syscall_wrappers(image_, pattern.function)) {
            FunctionInfo info = syscall_info(wrapper.name, wrapper.symbol);
            if (!names.contains(info.name) && file_matches(pattern.file, info.file))
                found.push_back(std::move(info));
        }
    }
    if (details) {
        for (FunctionInfo& function : found)
            add_details(function);
    }
    std::sort(found.begin(), found.end(), [](const FunctionInfo& a, const FunctionInfo& b) {
        return std::tie(a.name, a.entry) < std::tie(b.name, b.entry);
    });
    return found;
}

namespace {

// Returns the two registers in which the calling convention passes a structure.
std::vector<LocationPiece> pieces_of(const ParameterRecord& record) {
    constexpr uint64_t word = sizeof(uint64_t);
    const std::span<const PtReg> registers = arch::argument_registers();
    const auto first = std::find(registers.begin(), registers.end(), PtReg(record.reg));
    if (record.value <= word || registers.end() - first < 2)
        return {};
    Location low, high;
    low.kind = high.kind = LocationKind::Register;
    low.reg = first[0];
    high.reg = first[1];
    return {{low, 0, word}, {high, word, record.value - word}};
}

} // namespace

std::vector<Variable> DwarfInfo::parameters(uint32_t first, uint32_t count) const {
    std::vector<Variable> variables;
    for (const ParameterRecord& record : index_.parameters(first, count)) {
        Variable variable;
        variable.name = index_.text(record.name);
        variable.type = record.type;
        variable.is_parameter = true;
        Location& location = variable.location;
        location.kind = LocationKind(record.kind);
        location.reg = PtReg(record.reg);
        if (location.kind == LocationKind::Constant || location.kind == LocationKind::Address)
            location.constant = record.value;
        else if (location.kind == LocationKind::Pieces)
            location.pieces = pieces_of(record);
        else
            location.offset = record.value;
        location.why = index_.text(record.why);
        variables.push_back(std::move(variable));
    }
    return variables;
}

void DwarfInfo::add_details(FunctionInfo& function) const {
    function.parameters.clear();
    function.return_type.reset();
    if (function.is_syscall) {
        std::string_view name = std::string_view(function.name).substr(syscall_user_prefix.size());
        if (const SyscallRecord* record = index_.syscall(name)) {
            function.return_type = record->return_type;
            function.parameters = parameters(record->first_parameter, record->parameter_count);
            for (size_t i = 0; i < function.parameters.size(); i++)
                function.parameters[i].location = syscall_argument(i);
        }
        return;
    }
    const FunctionRecord* record = index_.function_at(function.entry);
    if (!record || record->entry != function.entry || !(record->flags & function_typed))
        return;
    function.return_type = record->return_type;
    function.parameters = parameters(record->first_parameter, record->parameter_count);
    if (std::none_of(function.parameters.begin(), function.parameters.end(),
                     [](const Variable& each) { return is_unindexed(each.location); }))
        return;
    for (Variable& parameter : function.parameters)
        if (is_unindexed(parameter.location))
            parameter.location = nowhere("passed in several parts");
    for (Variable& variable : variables_at(function.entry))
        for (Variable& parameter : function.parameters)
            if (variable.is_parameter && parameter.name == variable.name)
                parameter.location = variable.location;
}

std::vector<std::string> DwarfInfo::similar_functions(std::string_view name) const {
    SimilarNames similar(name);
    for (const std::string_view mangled : {"_Z", "_R"})
        if (name.starts_with(mangled)) {
            for (const Symbol& symbol : image_.symbols_matching(std::string(mangled) + "*"))
                similar.consider(symbol.name);
            return similar.take();
        }
    if (is_qualified(name)) {
        std::vector<std::string> names = similar_functions(last_name(name));
        names.emplace_back(last_name(name)); // in another scope
        for (const std::string& each : names)
            for (const FunctionRecord& record : index_.functions_named(each))
                similar.consider(qualified_name(record));
        return similar.take();
    }
    uint32_t previous = UINT32_MAX;
    for (const FunctionRecord& record : index_.functions()) {
        if (record.name != previous)
            similar.consider(index_.text(record.name));
        previous = record.name;
    }
    if (name.starts_with(syscall_user_prefix)) {
        for (const SyscallWrapper& wrapper : syscall_wrappers(image_, "sys_*"))
            similar.consider(std::string(syscall_user_prefix) + wrapper.name);
    }
    return similar.take();
}

std::vector<std::string> DwarfInfo::similar_variables(std::string_view name) const {
    SimilarNames similar(name);
    std::unordered_set<uint64_t> addresses;
    for (const VariableRecord& record : index_.variables()) {
        similar.consider(index_.text(record.name));
        addresses.insert(record.address);
    }
    // Other symbols of variables: global().
    for (const Symbol& symbol : image_.symbols_matching("*"))
        if (addresses.contains(symbol.address))
            similar.consider(symbol.name);
    return similar.take();
}

bool DwarfInfo::only_inlined(std::string_view name) const {
    if (is_qualified(name)) {
        FunctionPattern pattern;
        pattern.function = name;
        return !matching_inlines(pattern).empty() && matching_records(pattern).empty();
    }
    return !index_.inlines_named(name).empty() && index_.functions_named(name).empty();
}

std::string DwarfInfo::unit_of(uint32_t offset) const {
    Dwarf* dwarf = dwarf_.get();
    Dwarf_Die die, unit;
    if (!dwarf || !dwarf_offdie(dwarf, offset, &die) || !dwarf_diecu(&die, &unit, nullptr, nullptr))
        return {};
    const char* name = dwarf_diename(&unit);
    return name ? name : "";
}

std::optional<Variable> DwarfInfo::global(std::string_view name_and_file) const {
    const size_t at = name_and_file.find('@');
    const std::string scoped = without_anonymous_namespaces(name_and_file.substr(0, at));
    const bool has_scope = is_qualified(scoped);
    const std::string_view name = last_name(scoped);
    const std::string_view file =
        at == std::string_view::npos ? std::string_view() : name_and_file.substr(at + 1);
    auto take = [&](const VariableRecord& record) -> std::optional<Variable> {
        if (!file.empty() && !file_matches(file, unit_of(record.die)))
            return std::nullopt;
        Dwarf_Die die;
        if (has_scope && (!dwarf_.get() || !dwarf_offdie(dwarf_.get(), record.die, &die) ||
                          !qualified_matches(scoped, ScopedName{scope_of(&die), ""}.with(name))))
            return std::nullopt;
        Variable variable;
        variable.name = name;
        variable.type = record.type;
        variable.location.kind = LocationKind::Address;
        variable.location.constant = record.address;
        return variable;
    };
    const auto named = index_.variables_named(name);
    for (const VariableRecord& record : named)
        if (auto variable = take(record))
            return variable;
    // Another symbol of a variable: the linker defines jiffies as jiffies_64.
    const auto symbol = named.empty() && !has_scope ? image_.symbol(name) : std::nullopt;
    for (const VariableRecord& record : index_.variables())
        if (symbol && record.address == symbol->address)
            if (auto variable = take(record))
                return variable;
    return std::nullopt;
}

std::optional<int64_t> DwarfInfo::enumerator(std::string_view name) const {
    const EnumeratorRecord* record = index_.enumerator(name);
    return record ? std::optional(record->value) : std::nullopt;
}

std::vector<std::string> DwarfInfo::similar_enumerators(std::string_view name) const {
    SimilarNames similar(name);
    for (const EnumeratorRecord& record : index_.enumerators())
        similar.consider(index_.text(record.name));
    return similar.take();
}

std::vector<std::string> DwarfInfo::similar_types(std::string_view name) const {
    SimilarNames similar(name);
    for (const TypeRecord& record : index_.types())
        similar.consider(index_.text(record.name));
    return similar.take();
}

std::string DwarfInfo::type_name(TypeId type) const {
    return write_type(type, [this](TypeId each) { return types_.step(each); });
}

std::optional<CMember> DwarfInfo::member(TypeId type, std::string_view name) const {
    return find_member(*this, type, name);
}

} // namespace djstap
