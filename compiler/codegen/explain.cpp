// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/explain.h"

#include "ast/ast.h"
#include "codegen/needs.h"
#include "codegen/stacks.h"

#include <map>

namespace djstap::codegen {

namespace {

const char* needs_in_words(const ScriptModule& script, const Variant& variant) {
    switch (needs_of(script, variant)) {
    case Needs::Nothing:
        return "nothing: it updates per-CPU counters, each with one instruction";
    case Needs::Preemption:
        return "preemption disabled while it writes its record";
    case Needs::Locks:
        return may_be_nested(script, variant)
                   ? "only its locks, with interrupts disabled, and a guard: no context"
                   : "only its locks, with interrupts disabled: no context, no guard";
    case Needs::Context:
        return "its CPU's context: a re-entry guard, scratch memory, error state";
    }
    return "";
}

const char* in_words(GlobalStorage::Kind kind) {
    switch (kind) {
    case GlobalStorage::Kind::Constant:
        return "a constant: nothing writes it";
    case GlobalStorage::Kind::Counter:
        return "a per-CPU counter: no lock, no shared cache line";
    case GlobalStorage::Kind::PerCpuStatistic:
        return "a per-CPU statistic: no lock, no shared cache line";
    default:
        return "shared by all CPUs, protected by a lock";
    }
}

// "2 sites by djprobe, 1 by kprobe"
std::string mechanisms(const ProbePlan& plan, uint32_t variant) {
    std::map<Mechanism, size_t> counts;
    for (const Site& site : plan.sites)
        if (site.variant == variant)
            counts[site.mechanism]++;
    std::string text;
    for (const auto& [mechanism, count] : counts)
        text += (text.empty() ? "" : ", ") + std::to_string(count) +
                (mechanism == Mechanism::None ? " by the session itself"
                                              : (count == 1 ? " site by " : " sites by ") +
                                                    std::string(mechanism_name(mechanism)));
    return text.empty() ? "no site" : text;
}

// "at 2, a jump is safe here; at 1, no jump: a jump leads into it"
std::string jumps(const ProbePlan& plan, uint32_t variant) {
    std::map<std::string, size_t> counts;
    for (const Site& site : plan.sites)
        if (site.variant == variant && !site.jump.empty() &&
            site.mechanism != Mechanism::KprobeJump)
            counts[site.jump]++;
    std::string text;
    for (const auto& [verdict, count] : counts)
        text += (text.empty() ? "at " : "; at ") + std::to_string(count) + ", " + verdict;
    return text;
}

// Returns the globals of the locks: "a (written), b (read)".
std::string locks(const ScriptModule& script, const CompiledHandler& handler) {
    std::string text;
    for (const auto& [lock, write] : handler.locks)
        for (const auto& global : script.program.globals)
            if (script.storage(*global).lock == lock)
                text +=
                    (text.empty() ? "" : ", ") + global->name + (write ? " (written)" : " (read)");
    return text;
}

} // namespace

std::vector<std::string> explain(const ScriptModule& script,
                                 const std::vector<CompiledHandler>& handlers,
                                 const std::vector<uint64_t>& stacks) {
    std::vector<std::string> lines;
    for (uint32_t i = 0; i < handlers.size(); i++) {
        const Variant& variant = script.plan.variants[i];
        std::string name = "handler " + std::to_string(i + 1);
        for (const Site& site : script.plan.sites)
            if (site.variant == i) {
                name = site.written.empty() ? site.point : site.written;
                break;
            }
        const bool session = variant.kind == HandlerKind::Begin ||
                             variant.kind == HandlerKind::End || variant.kind == HandlerKind::Error;
        lines.push_back(name + ": " + mechanisms(script.plan, i));
        if (const std::string verdicts = jumps(script.plan, i); !verdicts.empty())
            lines.push_back(
                "    its kprobes are breakpoints, which cost five times as much as jumps "
                "(--mechanism=kprobe-jump): " +
                verdicts);
        lines.push_back(std::string("    needs ") +
                        (session ? "nothing: it runs alone" : needs_in_words(script, variant)));
        if (script.lengthy.count(i))
            lines.push_back("    could do without, but has more than " +
                            std::to_string(max_lean_instructions) + " instructions");
        if (const std::string held = locks(script, handlers[i]); !held.empty() && !session)
            lines.push_back("    locks " + held);
        if (script.contexts.variants[i].task)
            lines.push_back("    runs in a task: it iterates over an array that may be large, and "
                            "releases its locks at intervals");
        if (handlers[i].checks_state && !session)
            lines.push_back("    runs only during the session: it can print, fail or exit");
        if (variant.probe->effects.loops)
            lines.push_back(
                "    counts its statements: it has a loop, recursion or very many statements");
        lines.push_back("    uses at most " + std::to_string(stacks[i]) + " bytes of stack");
    }
    for (const auto& global : script.program.globals)
        lines.push_back("global " + global->name + ": " + in_words(script.storage(*global).kind));
    if (uses_symbols(script.program))
        lines.push_back("symbols: looked up once for each address, outside of the handlers; what "
                        "these only print of them is recorded as numbers");
    return lines;
}

} // namespace djstap::codegen
