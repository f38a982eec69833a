// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the calls in functions whose callees are known: call sites, and what is inlined.
#include "arch/arch.h"
#include "debuginfo/dwarf_info.h"
#include "debuginfo/dwarf_tree.h"

namespace djstap {

namespace {

// gcc describes calls by the names of DWARF 5, or by its own of before.
bool is_call_site(Dwarf_Die* die) {
    const int tag = dwarf_tag(die);
    return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
}

std::optional<uint64_t> return_address_of(Dwarf_Die* site) {
    Dwarf_Attribute attribute;
    Dwarf_Addr address = 0;
    if (dwarf_formaddr(dwarf_attr(site, DW_AT_call_return_pc, &attribute), &address) == 0 ||
        dwarf_formaddr(dwarf_attr(site, DW_AT_low_pc, &attribute), &address) == 0)
        return address;
    return std::nullopt;
}

bool is_tail_call(Dwarf_Die* site) {
    return dwarf_hasattr(site, DW_AT_call_tail_call) || dwarf_hasattr(site, DW_AT_GNU_tail_call);
}

// Returns the callee as the source declares it; nothing for a call through a pointer.
std::optional<Dwarf_Die> declared_callee(Dwarf_Die* site) {
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_formref_die(dwarf_attr(site, DW_AT_call_origin, &attribute), &origin))
        return origin;
    return origin_of(site);
}

} // namespace

// The instruction tells which clone is called, the name which function of the source. In a module,
// the addresses of global functions are not in the instructions yet.
const FunctionRecord* DwarfInfo::called_function(Dwarf_Die* site, uint64_t end, bool jump,
                                                 uint64_t& branch) const {
    std::optional<Dwarf_Die> declared = declared_callee(site);
    const char* name = declared ? dwarf_diename(&*declared) : nullptr;
    if (!name)
        return nullptr;
    const size_t size = arch::longest_direct_branch();
    const auto branches =
        arch::direct_branches_before(end, image_.bytes_at(end - size, size), jump);
    for (const arch::DirectBranch& each : branches) {
        const FunctionRecord* record = index_.function_at(each.target);
        if (!record || record->entry != each.target || index_.text(record->name) != name)
            continue;
        branch = each.address;
        return record;
    }
    if (branches.empty())
        return nullptr;
    branch = branches.front().address;
    const bool external = dwarf_hasattr_integrate(&*declared, DW_AT_external);
    Dwarf_Die unit;
    const Dwarf_Off own =
        dwarf_diecu(site, &unit, nullptr, nullptr) ? dwarf_dieoffset(&unit) : Dwarf_Off{0};
    const FunctionRecord* found = nullptr;
    for (const FunctionRecord& record : index_.functions_named(name)) {
        Dwarf_Die die, home;
        const bool here = dwarf_offdie(dwarf_.get(), record.die, &die) &&
                          dwarf_diecu(&die, &home, nullptr, nullptr) &&
                          dwarf_dieoffset(&home) == own;
        if (external ? !(record.flags & function_external) : !here)
            continue;
        if (found) // a clone, but which one?
            return nullptr;
        found = &record;
    }
    return found;
}

void DwarfInfo::add_call(Dwarf_Die* site, CallSites& out) const {
    const auto end = return_address_of(site);
    if (!end)
        return;
    const bool jump = is_tail_call(site);
    uint64_t branch = 0;
    const FunctionRecord* callee = called_function(site, *end, jump, branch);
    if (!callee || is_replaced(*callee))
        return;
    CallSite& call = out.sites.emplace_back();
    call.kind = jump ? CallSite::Kind::Jump : CallSite::Kind::Call;
    call.callee = function_info(*callee);
    call.address = jump ? branch : *end;
    // The return address is stored right below the call frame address. At the callee's entry, the
    // call has pushed its own.
    const auto pushed = static_cast<int64_t>(arch::return_address_bytes());
    if (auto frame = call_frame_at(branch)) {
        const bool moved = !jump && frame->reg == arch::stack_pointer();
        call.return_slot = {frame->reg, frame->offset - (moved ? 0 : pushed)};
    }
}

void DwarfInfo::add_calls(Dwarf_Die* scope, CallSites& out) const {
    each_child(scope, [&](Dwarf_Die* child) {
        if (is_call_site(child)) {
            add_call(child, out);
        } else if (dwarf_tag(child) == DW_TAG_lexical_block) {
            add_calls(child, out);
        } else if (dwarf_tag(child) == DW_TAG_inlined_subroutine) {
            auto inlined = inline_instance(child);
            if (!inlined)
                return;
            CallSite& call = out.sites.emplace_back();
            call.kind = CallSite::Kind::Inlined;
            call.address = inlined->address;
            call.inlined = std::move(*inlined);
            const auto pushed = static_cast<int64_t>(arch::return_address_bytes());
            if (auto frame = call_frame_at(call.address))
                call.return_slot = {frame->reg, frame->offset - pushed};
        }
    });
}

CallSites DwarfInfo::calls(const CallerScope& caller) const {
    CallSites out;
    Dwarf* dwarf = dwarf_.get();
    const FunctionRecord* function = caller.scope ? nullptr : index_.function_at(caller.entry);
    Dwarf_Die scope;
    if (!dwarf || !(caller.scope || function) ||
        !dwarf_offdie(dwarf, caller.scope ? caller.scope : function->die, &scope))
        return out;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    ptrdiff_t offset = 0;
    while ((offset = dwarf_ranges(&scope, offset, &base, &begin, &end)) > 0)
        if (begin < end)
            out.code.push_back({begin, end});
    add_calls(&scope, out);
    return out;
}

} // namespace djstap
