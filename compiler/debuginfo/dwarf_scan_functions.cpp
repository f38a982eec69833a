// SPDX-License-Identifier: GPL-2.0-or-later
// Functions, their parameters and the functions that are inlined into them.
#include "arch/arch.h"
#include "debuginfo/dwarf_scan.h"
#include "debuginfo/dwarf_tree.h"

#include <algorithm>

namespace djstap {

namespace {

constexpr std::string_view syscall_prefix = "__do_sys_";

constexpr int deepest_member = 8;

// Returns whether a type has a floating-point number, or may have one: it then belongs into a
// vector register, whatever surrounds it.
bool has_floating(Dwarf_Die* type, int depth) {
    Dwarf_Die bare;
    if (depth > deepest_member || dwarf_peel_type(type, &bare) != 0)
        return true;
    Dwarf_Attribute attribute;
    Dwarf_Word encoding = 0;
    switch (dwarf_tag(&bare)) {
    case DW_TAG_base_type:
        return dwarf_formudata(dwarf_attr(&bare, DW_AT_encoding, &attribute), &encoding) != 0 ||
               encoding == DW_ATE_float || encoding == DW_ATE_complex_float;
    case DW_TAG_array_type: {
        Dwarf_Die element;
        return !dwarf_formref_die(dwarf_attr_integrate(&bare, DW_AT_type, &attribute), &element) ||
               has_floating(&element, depth + 1);
    }
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        break;
    default:
        return false;
    }
    bool found = false;
    each_child(&bare, [&](Dwarf_Die* child) {
        Dwarf_Die member;
        const int tag = dwarf_tag(child);
        if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
            !dwarf_hasattr(child, DW_AT_external) &&
            dwarf_formref_die(dwarf_attr_integrate(child, DW_AT_type, &attribute), &member))
            found = found || has_floating(&member, depth + 1);
    });
    return found;
}

// Returns whether a class, or a member of it, has functions of its own: a constructor among them
// may decide how it is passed.
bool has_functions(Dwarf_Die* type, int depth) {
    Dwarf_Die bare;
    if (depth > deepest_member || dwarf_peel_type(type, &bare) != 0)
        return true;
    const int own = dwarf_tag(&bare);
    Dwarf_Attribute attribute;
    Dwarf_Die element;
    if (own == DW_TAG_array_type)
        return !dwarf_formref_die(dwarf_attr_integrate(&bare, DW_AT_type, &attribute), &element) ||
               has_functions(&element, depth + 1);
    if (own != DW_TAG_structure_type && own != DW_TAG_class_type && own != DW_TAG_union_type)
        return false;
    bool found = false;
    each_child(&bare, [&](Dwarf_Die* child) {
        const int tag = dwarf_tag(child);
        if (tag == DW_TAG_subprogram)
            found = true;
        else if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
                 dwarf_formref_die(dwarf_attr_integrate(child, DW_AT_type, &attribute), &element))
            found = found || has_functions(&element, depth + 1);
    });
    return found;
}

// How a class is passed depends on its constructors: C++ compilers say it (DWARF 5, 5.7.1.1).
enum class PassedBy { Value, Reference, Unknown };
PassedBy passed_by(Dwarf_Die* type) {
    Dwarf_Attribute attribute;
    Dwarf_Word convention = 0;
    if (dwarf_formudata(dwarf_attr_integrate(type, DW_AT_calling_convention, &attribute),
                        &convention) == 0)
        return convention == DW_CC_pass_by_reference ? PassedBy::Reference
               : convention == DW_CC_pass_by_value   ? PassedBy::Value
                                                     : PassedBy::Unknown;
    Dwarf_Die unit;
    if (!dwarf_diecu(type, &unit, nullptr, nullptr))
        return PassedBy::Unknown;
    switch (dwarf_srclang(&unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
        return PassedBy::Value;
    default:
        return PassedBy::Unknown;
    }
}

constexpr int deepest_local = 32;

// Returns the shape of a parameter, or of a function's result.
arch::ArgumentShape shape_of(Dwarf_Die* parameter) {
    arch::ArgumentShape shape;
    Dwarf_Attribute attribute;
    Dwarf_Die type, bare;
    if (!dwarf_formref_die(dwarf_attr_integrate(parameter, DW_AT_type, &attribute), &type) ||
        dwarf_peel_type(&type, &bare) != 0) {
        shape.known = false;
        return shape;
    }
    int tag = dwarf_tag(&bare);
    shape.aggregate =
        tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
    Dwarf_Word size = 0, encoding = 0;
    shape.known = dwarf_aggregate_size(&bare, &size) == 0;
    shape.size = size;
    if (tag == DW_TAG_base_type &&
        dwarf_formudata(dwarf_attr(&bare, DW_AT_encoding, &attribute), &encoding) == 0)
        shape.floating = encoding == DW_ATE_float || encoding == DW_ATE_complex_float ||
                         encoding == DW_ATE_decimal_float;
    if (!shape.aggregate || !shape.known)
        return shape;
    const PassedBy how = passed_by(&bare);
    shape.by_reference = how == PassedBy::Reference;
    shape.known = how != PassedBy::Unknown && (shape.by_reference || !has_floating(&bare, 0));
    return shape;
}

// Returns whether it is unknown if a function's first argument is the place for its result.
bool is_result_unknown(Dwarf_Die* function) {
    Dwarf_Attribute attribute;
    Dwarf_Die type, bare;
    if (!dwarf_formref_die(dwarf_attr_integrate(function, DW_AT_type, &attribute), &type) ||
        dwarf_peel_type(&type, &bare) != 0)
        return false;
    const int tag = dwarf_tag(&bare);
    return (tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type) &&
           passed_by(&bare) == PassedBy::Unknown && has_functions(&bare, 0);
}

// Returns where on the stack the address is that a computation of another address begins with, from
// the stack pointer at the function's entry on: that of an object passed by reference, as compilers
// describe it in unoptimized code and where no register was left for it.
std::optional<int64_t> slot_of_reference(const Location& location) {
    using Kind = LocationOperation::Kind;
    const auto& steps = location.operations;
    if (location.kind != LocationKind::ComputedMemory || steps.empty() ||
        steps[0].kind != Kind::Register || steps[0].reg != arch::stack_pointer())
        return std::nullopt;
    uint64_t offset = 0;
    size_t at = 1;
    for (; at + 1 < steps.size() && steps[at].kind == Kind::Constant &&
           (steps[at + 1].kind == Kind::Add || steps[at + 1].kind == Kind::Subtract);
         at += 2)
        offset =
            steps[at + 1].kind == Kind::Add ? offset + steps[at].number : offset - steps[at].number;
    if (at >= steps.size() || steps[at].kind != Kind::Load)
        return std::nullopt;
    return static_cast<int64_t>(offset);
}

// Returns whether a location is that of an object whose address the prologue stores.
bool is_stored_reference(const Location& location) {
    const auto slot = slot_of_reference(location);
    return slot && *slot < static_cast<int64_t>(arch::return_address_bytes());
}

// Returns whether a location can hold at a function's entry. Where gcc gives one for the whole
// function, as in unoptimized code, it is where the prologue puts the parameter.
bool holds_at_entry(const Location& location) {
    if (is_stored_reference(location))
        return false;
    const bool has_register = location.kind == LocationKind::Register ||
                              location.kind == LocationKind::Value ||
                              location.kind == LocationKind::Memory;
    if (!has_register)
        return true;
    if (location.reg == arch::stack_pointer())
        return location.kind != LocationKind::Memory ||
               location.offset >= static_cast<int64_t>(arch::return_address_bytes());
    const std::span<const PtReg> registers = arch::argument_registers();
    return std::find(registers.begin(), registers.end(), location.reg) != registers.end();
}

// Returns whether a location is that of the argument with this number, if all arguments are words.
bool is_usual(const Location& location, size_t number) {
    const std::span<const PtReg> registers = arch::argument_registers();
    if (number < registers.size())
        return location.kind == LocationKind::Register && location.reg == registers[number];
    return location.kind == LocationKind::Memory && location.reg == arch::stack_pointer() &&
           location.offset == static_cast<int64_t>(arch::return_address_bytes() +
                                                   (number - registers.size()) * sizeof(uint64_t));
}

} // namespace

std::vector<RangeRecord> DwarfScanner::code_ranges(Dwarf_Die* die, uint64_t& entry) {
    std::vector<RangeRecord> ranges;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    ptrdiff_t offset = 0;
    while ((offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0) {
        if (begin < end && begin != 0)
            ranges.push_back({begin, uint32_t(end - begin), 0});
    }
    // If gcc split a function, the first range is the hot part, where the function begins.
    entry = ranges.empty() ? 0 : ranges.front().begin;
    Dwarf_Addr given = 0;
    if (!ranges.empty() && dwarf_entrypc(die, &given) == 0 && given != 0)
        entry = given;
    return ranges;
}

// Selects one of the symbols at an entry: the function's own name, else a clone of it, else any.
uint32_t DwarfScanner::symbol_number(std::string_view name, uint64_t entry, uint32_t& size) {
    auto at = image_.symbol_at(entry);
    if (at && at->address == entry) {
        if (at->name == name || (at->name.starts_with(name) && at->name[name.size()] == '.')) {
            size = at->size;
            return result_.strings.add(at->name);
        }
    }
    for (const Symbol& symbol : image_.symbols_named(name)) {
        if (symbol.address == entry) {
            size = symbol.size;
            return result_.strings.add(name);
        }
    }
    if (at && at->address == entry) {
        size = at->size;
        return result_.strings.add(at->name);
    }
    return 0;
}

ParameterRecord DwarfScanner::parameter_record(Dwarf_Die* die, const Location* location) {
    ParameterRecord record = {};
    const char* name = dwarf_diename(die);
    record.name = result_.strings.add(name ? name : "");
    record.type = type_offset(die);
    if (location) {
        bool fixed =
            location->kind == LocationKind::Constant || location->kind == LocationKind::Address;
        record.kind = uint8_t(location->kind);
        record.reg = uint8_t(location->reg);
        record.value = fixed ? location->constant : uint64_t(location->offset);
        record.why = result_.strings.add(location->why);
    }
    return record;
}

void DwarfScanner::use_calling_convention(Dwarf_Die* die, FunctionRecord& function,
                                          const std::vector<bool>& by_reference) {
    if (is_result_unknown(die))
        return;
    std::vector<arch::ArgumentShape> shapes;
    each_child(die, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) != DW_TAG_formal_parameter)
            return;
        arch::ArgumentShape shape = shape_of(child);
        if (shapes.size() < by_reference.size() && by_reference[shapes.size()])
            shape.by_reference = shape.known = true;
        shapes.push_back(shape);
    });
    std::vector<Location> locations = arch::argument_locations(shapes, shape_of(die));
    for (size_t i = 0; i < locations.size() && i < function.parameter_count; i++) {
        ParameterRecord& record = result_.parameters[function.first_parameter + i];
        if (locations[i].kind == LocationKind::None)
            continue;
        const std::vector<LocationPiece>& pieces = locations[i].pieces;
        record.kind = uint8_t(locations[i].kind);
        record.reg = uint8_t(pieces.empty() ? locations[i].reg : pieces.front().location.reg);
        record.value = pieces.empty() ? uint64_t(locations[i].offset)
                                      : pieces.back().offset + pieces.back().size;
        record.why = 0;
    }
}

// Returns whether a symbol is that of a clone, whose parameters may be others: "f.isra.0", but not
// "f.lto_priv.0", which only sets apart functions of one name. A clone's linkage name has the
// suffix, too.
static bool is_clone(std::string_view symbol) {
    for (size_t at = symbol.find('.'); at != std::string_view::npos;) {
        const size_t end = std::min(symbol.find('.', at + 1), symbol.size());
        const std::string_view part = symbol.substr(at + 1, end - at - 1);
        if (part != "lto_priv" && part.find_first_not_of("0123456789") != std::string_view::npos)
            return true;
        at = end < symbol.size() ? end : std::string_view::npos;
    }
    return false;
}

// Returns whether the function's symbol is its name, in C++ its linkage name, and not a clone's.
// The symbol may be another one at the same place, as a constructor has two of them; gcc describes
// no linkage name in an anonymous namespace.
bool DwarfScanner::is_own_symbol(Dwarf_Die* die, const FunctionRecord& function) {
    if (function.symbol == function.name)
        return true;
    if (is_clone(result_.strings.all()[function.symbol]))
        return false;
    Dwarf_Attribute attribute;
    const char* linkage =
        dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    if (!linkage) {
        const std::string_view symbol = result_.strings.all()[function.symbol];
        return symbol.starts_with("_Z") && symbol.find('.') == std::string_view::npos;
    }
    if (function.symbol == result_.strings.add(linkage))
        return true;
    const auto symbols = image_.symbols_named(linkage);
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](const Symbol& symbol) { return symbol.address == function.entry; });
}

void DwarfScanner::scan_parameters(Dwarf_Die* die, FunctionRecord& function) {
    LocationContext context;
    context.address = function.entry;
    context.at_entry = true;
    context.entry = function.entry;
    context.frame_base = [die] { return frame_base_at_entry(die); };
    function.first_parameter = result_.parameters.size();
    std::vector<std::pair<Dwarf_Off, Dwarf_Die>> own; // by their origins
    bool usual = true;
    std::vector<bool> by_reference; // as far as the location says so
    each_child(die, [&](Dwarf_Die* child) {
        int tag = dwarf_tag(child);
        if (tag == DW_TAG_unspecified_parameters)
            function.flags |= function_varargs;
        if (tag != DW_TAG_formal_parameter)
            return;
        auto origin = origin_of(child);
        own.push_back({origin ? dwarf_dieoffset(&*origin) : 0, *child});
    });
    auto add = [&](Dwarf_Die* parameter) {
        Location location = location_of(parameter, context);
        by_reference.push_back(slot_of_reference(location).has_value());
        if (!holds_at_entry(location))
            location = nowhere("not stored yet at the function's entry");
        usual = usual && is_usual(location, result_.parameters.size() - function.first_parameter);
        result_.parameters.push_back(parameter_record(parameter, &location));
    };
    // The parameters and their order are those of the source: a clone may lack some.
    std::optional<Dwarf_Die> origin = origin_of(die);
    if (origin) {
        each_child(&*origin, [&](Dwarf_Die* child) {
            int tag = dwarf_tag(child);
            if (tag == DW_TAG_unspecified_parameters)
                function.flags |= function_varargs;
            if (tag != DW_TAG_formal_parameter)
                return;
            Dwarf_Off offset = dwarf_dieoffset(child);
            auto found = std::find_if(own.begin(), own.end(),
                                      [&](auto& each) { return each.first == offset; });
            add(found == own.end() ? child : &found->second);
        });
    } else {
        for (auto& parameter : own)
            add(&parameter.second);
    }
    function.parameter_count = result_.parameters.size() - function.first_parameter;
    // Symbols without a suffix are not optimizer clones: their arguments follow the calling
    // convention. DWARF may say otherwise: gcc describes the value that the function's first
    // statement assigns (`while (argc-- > 0)`) as that at the entry.
    if (!usual && is_own_symbol(die, function))
        use_calling_convention(origin ? &*origin : die, function, by_reference);
}

// gcc describes the functions of a local class, as a lambda is one, in the class, and functions in
// functions of C in the function around them.
void DwarfScanner::scan_local(Dwarf_Die* die, int tag, int depth) {
    if (tag == DW_TAG_subprogram && nesting_ < deepest_local) {
        nesting_++;
        scan_subprogram(die);
        nesting_--;
        return;
    }
    const bool is_class =
        tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
    if (!unit_has_scopes_ || depth > deepest_local || (!is_class && tag != DW_TAG_lexical_block))
        return;
    each_child(die, [&](Dwarf_Die* child) { scan_local(child, dwarf_tag(child), depth + 1); });
}

void DwarfScanner::scan_inlined(Dwarf_Die* scope) {
    each_child(scope, [&](Dwarf_Die* child) {
        int tag = dwarf_tag(child);
        if (tag != DW_TAG_lexical_block)
            scan_local(child, tag, 0);
        if (tag == DW_TAG_lexical_block) {
            scan_inlined(child);
            return;
        }
        if (tag != DW_TAG_inlined_subroutine)
            return;
        if (auto origin = origin_of(child)) {
            Dwarf_Off offset = dwarf_dieoffset(&*origin);
            auto known = origins_.find(offset);
            if (known == origins_.end()) {
                const char* name = dwarf_diename(&*origin);
                known = origins_
                            .emplace(offset, Origin{result_.strings.add(name ? name : ""),
                                                    file_number(&*origin), line_number(&*origin)})
                            .first;
            }
            result_.inlines.push_back({known->second.name, known->second.file, known->second.line,
                                       uint32_t(dwarf_dieoffset(child)),
                                       entry_of_inlined(child).value_or(0)});
        }
        scan_inlined(child);
    });
}

void DwarfScanner::scan_syscall(Dwarf_Die* die, std::string_view name) {
    SyscallRecord record = {};
    record.name = result_.strings.add(name);
    record.file = file_number(die);
    record.line = line_number(die);
    record.return_type = type_offset(die);
    record.first_parameter = result_.parameters.size();
    each_child(die, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) != DW_TAG_formal_parameter)
            return;
        const char* parameter = dwarf_diename(child);
        // A call without arguments is defined with the wrapper's own parameter.
        if (parameter && std::string_view(parameter) != "__unused")
            result_.parameters.push_back(parameter_record(child, nullptr));
    });
    record.parameter_count = result_.parameters.size() - record.first_parameter;
    result_.syscalls.push_back(record);
}

void DwarfScanner::scan_subprogram(Dwarf_Die* die) {
    if (dwarf_hasattr(die, DW_AT_declaration))
        return;
    uint64_t entry = 0;
    std::vector<RangeRecord> ranges = code_ranges(die, entry);
    const char* given = dwarf_diename(die);
    std::string_view name = given ? given : "";
    if (name.empty())
        return;
    Dwarf_Attribute attribute;
    if (name.starts_with(syscall_prefix) && dwarf_attr(die, DW_AT_name, &attribute))
        scan_syscall(die, name.substr(syscall_prefix.size()));
    if (ranges.empty()) { // each instance of it may have the code of a local class
        if (unit_has_scopes_)
            each_child(die, [&](Dwarf_Die* child) { scan_local(child, dwarf_tag(child), 0); });
        return;
    }
    // gcc may list the cold part first: the function never begins there.
    for (const RangeRecord& range : ranges) {
        auto symbol = image_.symbol_at(entry);
        if (!symbol || !symbol->name.ends_with(".cold"))
            break;
        entry = range.begin;
    }
    FunctionRecord function = {};
    function.entry = entry;
    function.name = result_.strings.add(name);
    function.size = ranges.front().size;
    function.symbol = symbol_number(name, entry, function.size);
    if (!function.symbol)
        function.symbol = function.name;
    function.file = file_number(die);
    function.line = line_number(die);
    function.die = dwarf_dieoffset(die);
    if (dwarf_hasattr_integrate(die, DW_AT_external))
        function.flags |= function_external;
    if (dwarf_hasattr_integrate(die, DW_AT_noreturn))
        function.flags |= function_noreturn;
    if (unit_is_c_) {
        function.flags |= function_typed;
        function.return_type = type_offset(die);
        scan_parameters(die, function);
        scan_inlined(die);
    }
    for (RangeRecord& range : ranges) {
        range.function = result_.functions.size();
        result_.ranges.push_back(range);
    }
    result_.functions.push_back(function);
}

} // namespace djstap
