// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the calls in functions whose callees are known: call sites, and what is inlined.
#include "arch/arch.h"
#include "arch/instructions.h"
#include "debuginfo/dwarf_info.h"
#include "debuginfo/dwarf_tree.h"

#include <algorithm>
#include <array>
#include <cstdlib>

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
    set_return_slot(call, branch);
}

// The return address is stored right below the call frame address. At the callee's entry, the call
// has pushed its own.
void DwarfInfo::set_return_slot(CallSite& call, uint64_t address) const {
    const auto frame = call_frame_at(address);
    if (!frame)
        return;
    const auto pushed = static_cast<int64_t>(arch::return_address_bytes());
    const bool moved = call.kind == CallSite::Kind::Call && frame->reg == arch::stack_pointer();
    call.return_slot = {frame->reg, frame->offset - (moved ? 0 : pushed)};
    if (frame->frame_pointer)
        call.frame_pointer = *frame->frame_pointer + pushed;
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
            set_return_slot(call, call.address);
        }
    });
}

// Compilers describe calls in optimized code. In other code of a program, each instruction tells by
// itself whether it calls a function; what is inlined there has calls of its own.
void DwarfInfo::add_calls_by_instructions(const std::vector<CodeRange>& code,
                                          const std::vector<CodeRange>& inlined,
                                          CallSites& out) const {
    const auto decoder = arch::InstructionDecoder::create();
    for (const CodeRange& range : code) {
        uint64_t at = range.begin;
        const std::string bytes(image_.bytes_at(at, range.end - at));
        while (decoder && at < range.end) {
            const auto from = static_cast<size_t>(at - range.begin);
            const arch::Instruction instruction =
                from < bytes.size() ? decoder->decode(std::string_view(bytes).substr(from), at)
                                    : arch::Instruction();
            if (instruction.length == 0)
                break;
            const FunctionRecord* callee = instruction.flow == arch::Flow::Call
                                               ? index_.function_at(instruction.target)
                                               : nullptr;
            const bool is_other = std::any_of(inlined.begin(), inlined.end(), [&](const auto& of) {
                return at >= of.begin && at < of.end;
            });
            if (callee && callee->entry == instruction.target && !is_other) {
                CallSite& call = out.sites.emplace_back();
                call.callee = function_info(*callee);
                call.address = at + instruction.length;
                set_return_slot(call, at);
            }
            at += instruction.length;
        }
    }
}

namespace {

void add_ranges(Dwarf_Die* scope, std::vector<CodeRange>& out) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    ptrdiff_t offset = 0;
    while ((offset = dwarf_ranges(scope, offset, &base, &begin, &end)) > 0)
        if (begin < end)
            out.push_back({begin, end});
}

void add_inlined_ranges(Dwarf_Die* scope, std::vector<CodeRange>& out) {
    each_child(scope, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) == DW_TAG_inlined_subroutine)
            add_ranges(child, out);
        else if (dwarf_tag(child) == DW_TAG_lexical_block)
            add_inlined_ranges(child, out);
    });
}

// Returns whether the compiler says of a function's code that all its calls are described.
bool describes_calls(Dwarf_Die* function) {
    constexpr std::array says{DW_AT_call_all_calls, DW_AT_call_all_source_calls,
                              DW_AT_GNU_all_call_sites, DW_AT_GNU_all_source_call_sites};
    return std::any_of(says.begin(), says.end(),
                       [&](unsigned attribute) { return dwarf_hasattr(function, attribute) != 0; });
}

// The function with code of its own around an entry, or the entry itself.
Dwarf_Die function_around(Dwarf_Die scope) {
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&scope, &scopes);
    Dwarf_Die found = scope;
    for (int i = 0; i < count; i++)
        if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram) {
            found = scopes[i];
            break;
        }
    std::free(scopes);
    return found;
}

} // namespace

CallSites DwarfInfo::calls(const CallerScope& caller) const {
    CallSites out;
    Dwarf* dwarf = dwarf_.get();
    const FunctionRecord* function = caller.scope ? nullptr : index_.function_at(caller.entry);
    Dwarf_Die scope;
    if (!dwarf || !(caller.scope || function) ||
        !dwarf_offdie(dwarf, caller.scope ? caller.scope : function->die, &scope))
        return out;
    add_ranges(&scope, out.code);
    add_calls(&scope, out);
    const bool has_calls = std::any_of(out.sites.begin(), out.sites.end(), [](const auto& site) {
        return site.kind != CallSite::Kind::Inlined;
    });
    if (image_.kind() != ImageKind::Program || has_calls)
        return out;
    Dwarf_Die around = function_around(scope);
    if (!describes_calls(&around)) {
        std::vector<CodeRange> inlined;
        add_inlined_ranges(&scope, inlined);
        add_calls_by_instructions(out.code, inlined, out);
    }
    return out;
}

} // namespace djstap
