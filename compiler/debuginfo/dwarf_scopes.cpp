// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the variables in scope at an address.
#include "debuginfo/dwarf_info.h"

#include "arch/arch.h"
#include "debuginfo/dwarf_tree.h"

#include <array>
#include <cstdlib>
#include <set>

namespace djstap {

namespace {

bool is_variable(Dwarf_Die* die) {
    int tag = dwarf_tag(die);
    return tag == DW_TAG_formal_parameter || tag == DW_TAG_variable;
}

// Collects variables scope by scope, from the outermost.
class ScopeWalk {
  public:
    explicit ScopeWalk(const LocationContext& context) : context_(context) {}

    // Not `into_inlined`: what is inlined there is another function.
    void walk(Dwarf_Die* scope, bool into_inlined) {
        std::vector<Variable> here;
        std::vector<Dwarf_Die> inner;
        each_child(scope, [&](Dwarf_Die* child) {
            int tag = dwarf_tag(child);
            if (is_variable(child)) {
                add(child, here, location_of(child, context_));
            } else if ((tag == DW_TAG_lexical_block ||
                        (into_inlined && tag == DW_TAG_inlined_subroutine)) &&
                       dwarf_haspc(child, context_.address) == 1) {
                inner.push_back(*child);
            }
        });
        // What the source declares and this instance lacks is kept, so that a message can say why.
        // What it has precedes: take() prefers that.
        if (auto origin = origin_of(scope)) {
            each_child(&*origin, [&](Dwarf_Die* child) {
                if (is_variable(child))
                    add(child, here, location_of(child, context_));
            });
        }
        scopes_.push_back(std::move(here));
        for (Dwarf_Die& scope_inside : inner)
            walk(&scope_inside, into_inlined);
    }

    // Returns variables from the innermost scope outwards; of several with one name, the one that
    // is visible at this place.
    std::vector<Variable> take() {
        std::vector<Variable> visible;
        std::set<std::string> names;
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
            for (Variable& variable : *scope) {
                if (names.insert(variable.name).second)
                    visible.push_back(std::move(variable));
            }
        }
        return visible;
    }

  private:
    void add(Dwarf_Die* die, std::vector<Variable>& scope, Location location) {
        const char* name = dwarf_diename(die);
        if (!name || !*name || dwarf_hasattr_integrate(die, DW_AT_declaration))
            return;
        Variable variable;
        variable.name = name;
        variable.type = type_offset(die);
        variable.location = std::move(location);
        variable.is_parameter = dwarf_tag(die) == DW_TAG_formal_parameter;
        scope.push_back(std::move(variable));
    }

    const LocationContext& context_;
    std::vector<std::vector<Variable>> scopes_;
};

} // namespace

namespace {

// Returns where a frame's caller keeps its frame pointer, from the call frame address; nothing
// where it is still in the register.
std::optional<int64_t> saved_frame_pointer(Dwarf_Frame* frame) {
    std::array<Dwarf_Op, 3> room{};
    Dwarf_Op* operations = nullptr;
    size_t count = 0;
    const auto number = static_cast<int>(arch::frame_pointer_in_dwarf());
    if (dwarf_frame_register(frame, number, room.data(), &operations, &count) != 0 || count == 0 ||
        operations[0].atom != DW_OP_call_frame_cfa)
        return std::nullopt;
    if (count == 1)
        return 0;
    if (count == 2 && operations[1].atom == DW_OP_plus_uconst)
        return static_cast<int64_t>(operations[1].number);
    return std::nullopt;
}

} // namespace

std::optional<FrameBase> call_frame_address(Dwarf_CFI* table, uint64_t address) {
    Dwarf_Frame* frame = nullptr;
    if (!table || dwarf_cfi_addrframe(table, address, &frame) != 0)
        return std::nullopt;
    Dwarf_Op* operations = nullptr;
    size_t count = 0;
    std::optional<FrameBase> base;
    if (dwarf_frame_cfa(frame, &operations, &count) == 0 && count == 1) {
        LocationContext none;
        Location location = location_of_expression(operations, count, none, nullptr);
        if (location.kind == LocationKind::Memory || location.kind == LocationKind::Register)
            base = FrameBase{location.reg, location.offset, saved_frame_pointer(frame)};
    }
    std::free(frame);
    return base;
}

// The kernel's table of call frames is in its debug information, that of a program in the program,
// from which debug information that was separated lacks it.
std::optional<FrameBase> DwarfInfo::call_frame_at(uint64_t address) const {
    if (auto frame = call_frame_address(dwarf_getcfi(dwarf_.get()), address))
        return frame;
    if (image_.kind() != ImageKind::Program)
        return std::nullopt;
    return call_frame_address(frames_.get(), address);
}

std::optional<FrameBase> DwarfInfo::frame_base_at(uint64_t address) const {
    Dwarf* dwarf = dwarf_.get();
    const FunctionRecord* function = index_.function_at(address);
    Dwarf_Die die;
    Dwarf_Attribute attribute;
    Dwarf_Op* operations = nullptr;
    size_t count = 0;
    if (!dwarf || !function || !dwarf_offdie(dwarf, function->die, &die) ||
        !dwarf_attr_integrate(&die, DW_AT_frame_base, &attribute) ||
        dwarf_getlocation_addr(&attribute, address, &operations, &count, 1) != 1 || count != 1)
        return std::nullopt;
    if (operations[0].atom == DW_OP_call_frame_cfa)
        return call_frame_at(address);
    LocationContext none;
    Location location = location_of_expression(operations, count, none, nullptr);
    if (location.kind == LocationKind::Register || location.kind == LocationKind::Memory)
        return FrameBase{location.reg, location.offset, std::nullopt};
    return std::nullopt;
}

std::vector<Variable> DwarfInfo::variables_at(uint64_t address) const {
    Dwarf* dwarf = dwarf_.get();
    const FunctionRecord* function = index_.function_at(address);
    Dwarf_Die die;
    if (!dwarf || !function || !dwarf_offdie(dwarf, function->die, &die))
        return {};
    LocationContext context;
    context.address = address;
    // Neither a landing pad nor the fentry call changes a register.
    context.at_entry = address == function->entry || image_.fentry_site(function->entry) == address;
    context.entry = function->entry;
    context.frame_base = [&] {
        return context.at_entry ? frame_base_at_entry(&die) : frame_base_at(address);
    };
    ScopeWalk walk(context);
    walk.walk(&die, true);
    std::vector<Variable> variables = walk.take();
    if (context.at_entry) {
        for (const Variable& parameter :
             parameters(function->first_parameter, function->parameter_count)) {
            for (Variable& variable : variables) {
                if (variable.is_parameter && variable.name == parameter.name &&
                    !is_unindexed(parameter.location))
                    variable.location = parameter.location;
            }
        }
    }
    return variables;
}

std::vector<Variable> DwarfInfo::variables_of_inlined(const StatementAddress& inlined) const {
    Dwarf* dwarf = dwarf_.get();
    Dwarf_Die die;
    if (!dwarf || !dwarf_offdie(dwarf, inlined.scope, &die))
        return {};
    LocationContext context;
    context.address = inlined.address;
    context.frame_base = [&] { return frame_base_at(inlined.address); };
    ScopeWalk walk(context);
    walk.walk(&die, false);
    return walk.take();
}

} // namespace djstap
