// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/codegen.h"

#include "arch/arch.h"
#include "arch/codegen.h"
#include "codegen/body.h"
#include "codegen/depth.h"
#include "codegen/embedded_globals.h"
#include "codegen/explain.h"
#include "codegen/handlers.h"
#include "codegen/lean.h"
#include "codegen/meta.h"
#include "codegen/needs.h"
#include "codegen/object.h"
#include "codegen/script_module.h"
#include "codegen/trampolines.h"
#include "include/script.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>
#include <set>

namespace djstap {

namespace {

// With very many handlers the optimizer's time outweighs its benefit.
constexpr size_t many_handlers = 60;
// Without LLVM's usual passes, the stack of each handler in a trampoline adds to that of the
// others.
constexpr size_t few_handlers = 8;

// Of the kernel's 16 KB, which the probed function and its callers use as well.
constexpr uint64_t max_stack = 4096;
// The most that is used before the remaining stack is checked; and the most for a frame that stays
// while the probed function runs, because those of nested functions add up.
constexpr uint64_t max_unasked = 512, max_staying = 256;
// A handler's need, including MINSTACKSPACE, must not exceed what the runtime's fast check assumes.
static_assert(max_stack + 4096 <= DJS_STACK_MAX);

using codegen::FunctionSizes;

codegen::FunctionSize size_of(const FunctionSizes& sizes, const std::string& name) {
    auto found = sizes.find(name);
    return found == sizes.end() ? codegen::FunctionSize{} : found->second;
}

uint64_t frame_of(const FunctionSizes& sizes, const std::string& name) {
    return size_of(sizes, name).frame;
}

// The forms of a variant's handler in addition to its body and the trampolines.
constexpr std::array forms{"djs_by_regs_", "djs_by_ftrace_", "djs_tracepoint_"};

// Returns the variants that use too much stack before the remaining stack is checked.
std::set<uint32_t> find_heavy(const ProbePlan& plan, const FunctionSizes& sizes) {
    std::set<uint32_t> heavy;
    for (uint32_t i = 0; i < plan.trampolines.size(); i++)
        if (frame_of(sizes, "djs_direct_" + std::to_string(i)) >
            (plan.trampolines[i].returns(plan) ? max_staying : max_unasked))
            heavy.insert(plan.trampolines[i].variants.begin(), plan.trampolines[i].variants.end());
    for (uint32_t i = 0; i < plan.variants.size(); i++)
        for (const char* form : forms)
            if (frame_of(sizes, form + std::to_string(i)) > max_unasked)
                heavy.insert(i);
    return heavy;
}

// Returns the variants without a context that have too many instructions. In a trampoline, a
// handler is about as long as its form for other mechanisms, apart from the registers; all handlers
// together must not exceed the sum of their limits. A handler without such a form counts as long as
// the whole trampoline.
std::set<uint32_t> find_lengthy(const codegen::ScriptModule& script, const FunctionSizes& sizes) {
    const ProbePlan& plan = script.plan;
    std::set<uint32_t> lengthy;
    auto is_lean = [&](uint32_t variant) {
        return needs_of(script, plan.variants[variant]) <= codegen::Needs::Preemption;
    };
    auto longest_form = [&](uint32_t variant) {
        uint64_t most = 0;
        for (const char* form : forms)
            most = std::max(most, size_of(sizes, form + std::to_string(variant)).instructions);
        return most;
    };
    for (uint32_t i = 0; i < plan.variants.size(); i++)
        if (is_lean(i) && longest_form(i) > max_lean_instructions)
            lengthy.insert(i);
    for (uint32_t i = 0; i < plan.trampolines.size(); i++) {
        const std::vector<uint32_t>& variants = plan.trampolines[i].variants;
        const uint64_t all = size_of(sizes, "djs_direct_" + std::to_string(i)).instructions;
        const bool all_lean = std::all_of(variants.begin(), variants.end(), is_lean);
        for (uint32_t variant : variants)
            if (is_lean(variant) && ((all_lean && all > variants.size() * max_lean_instructions) ||
                                     (longest_form(variant) == 0 && all > max_lean_instructions)))
                lengthy.insert(variant);
    }
    return lengthy;
}

// Returns the bytes of stack that each variant's handler uses with all its callees.
std::vector<uint64_t> check_stack(codegen::ScriptModule& script,
                                  const std::vector<codegen::CompiledHandler>& handlers,
                                  const std::vector<codegen::CompiledTrampoline>& trampolines,
                                  const FunctionSizes& sizes) {
    auto frame = [&](const std::string& name) { return frame_of(sizes, name); };
    for (auto& [function, compiled] : script.functions)
        compiled.frame = frame(compiled.name);
    codegen::Depth depth(script, codegen::Depth::Of::Stack);
    std::vector<uint64_t> used(handlers.size());
    auto check = [&](uint64_t own, const std::vector<codegen::ScratchCall>& calls,
                     const std::vector<uint32_t>& variants) {
        const uint64_t bytes = depth.deepest(own, calls);
        for (uint32_t variant : variants)
            used[variant] = std::max(used[variant], bytes);
        if (bytes > max_stack)
            script.diagnostics
                .report(DiagnosticKind::TooMuchStack,
                        script.plan.variants[variants.front()].probe->range,
                        {std::to_string(bytes), std::to_string(max_stack)})
                .hint("use an array instead of many local variables, or reduce MAXNESTING");
    };
    for (uint32_t i = 0; i < handlers.size(); i++) {
        const std::string number = std::to_string(i);
        check(std::max({frame("djs_body_" + number), frame("djs_entry_" + number),
                        frame("djs_tracepoint_" + number), frame("djs_tracepoint_body_" + number)}),
              handlers[i].calls, {i});
    }
    for (uint32_t i = 0; i < trampolines.size(); i++) {
        uint64_t part = 0;
        for (const std::string& name : trampolines[i].parts)
            part = std::max(part, frame(name) + sizeof(void*));
        check(frame("djs_direct_" + std::to_string(i)) + part, trampolines[i].calls,
              script.plan.trampolines[i].variants);
    }
    return used;
}

// Reports probes that save more at the entry than the kernel keeps for a call that is probed by a
// kretprobe (KRETPROBE_MAX_DATA_SIZE).
void check_saved(codegen::ScriptModule& script) {
    constexpr uint32_t most = 4096;
    const uint32_t string_bytes = script.string_bytes();
    std::set<const program::Probe*> checked;
    for (const Site& site : script.plan.sites) {
        if (site.mechanism != Mechanism::Kretprobe)
            continue;
        const program::Probe& probe = *script.plan.variants[site.variant].probe;
        const auto& values = probe.entry_values;
        const uint32_t bytes = 8 * codegen::entry_words(values, values.size(), string_bytes);
        if (bytes <= most || !checked.insert(&probe).second)
            continue;
        Diagnostic& diagnostic =
            script.diagnostics.report(DiagnosticKind::TooMuchSaved, probe.range,
                                      {std::to_string(bytes), std::to_string(most)});
        auto string = std::find_if(values.begin(), values.end(), [](const auto& value) {
            return value->type == program::Type::String;
        });
        if (string == values.end()) {
            diagnostic.hint("use fewer values from the entry");
            continue;
        }
        diagnostic
            .note((*string)->range,
                  "a string takes " + std::to_string(string_bytes) + " bytes (MAXSTRINGLEN)")
            .hint("reduce MAXSTRINGLEN (-D), or use fewer values from the entry");
    }
}

// Variants that get a context although they do not need one; each attempt adds variants for the
// next attempt.
struct WithContext {
    std::set<uint32_t> heavy, lengthy; // as in ScriptModule
    size_t count() const { return heavy.size() + lengthy.size(); }
};

// Returns how many handlers the trampoline with the most has.
size_t longest_trampoline(const ProbePlan& plan) {
    size_t most = 0;
    for (const Trampoline& each : plan.trampolines)
        most = std::max(most, each.variants.size());
    return most;
}

// Makes one attempt; `others` receives the variants that require another one.
std::optional<CompiledObject> generate_once(const program::Program& program, const ProbePlan& plan,
                                            const CodegenKernel& kernel,
                                            const CodegenOptions& options, Diagnostics& diagnostics,
                                            WithContext& others) {
    size_t errors = diagnostics.error_count();
    const bool has_many =
        plan.variants.size() > many_handlers || options.forms == HandlerForms::Called;
    const bool makes_code_once = has_many && longest_trampoline(plan) <= few_handlers;
    int optimization = has_many ? std::min(options.optimization, 1) : options.optimization;
    llvm::LLVMContext context;
    auto machine = arch::make_target_machine(optimization, kernel.user_space);
    if (!machine) {
        diagnostics.report(DiagnosticKind::CodegenInternal, {},
                           {std::string("this LLVM has no ") + arch::names().title + " back end"});
        return std::nullopt;
    }
    codegen::ScriptModule script(context, program, plan, kernel, options, diagnostics);
    script.module.setDataLayout(machine->createDataLayout());
    if (auto field = script.types.disagreement(script.module.getDataLayout()); !field.empty()) {
        diagnostics.report(
            DiagnosticKind::CodegenInternal, {},
            {"tables do not agree with the runtime's headers: " + std::string(field)});
        return std::nullopt;
    }

    script.heavy = others.heavy;
    script.lengthy = others.lengthy;
    script.makes_code_once = makes_code_once;

    check_saved(script);
    uint32_t scratch = 0;
    std::vector<codegen::CompiledHandler> handlers;
    codegen::compile_functions(script);
    codegen::compile_conditions(script, scratch);
    for (uint32_t i = 0; i < plan.variants.size(); i++)
        handlers.push_back(codegen::compile_handler(script, i, scratch));
    for (const codegen::CompiledHandler& handler : handlers)
        script.bodies.push_back({handler.body, handler.calls});
    std::vector<codegen::CompiledTrampoline> trampolines;
    for (uint32_t i = 0; i < plan.trampolines.size(); i++)
        trampolines.push_back(codegen::compile_trampoline(script, i, scratch));
    for (uint32_t i = 0; i < plan.variants.size(); i++)
        codegen::choose_locks(script, i, handlers[i]);
    codegen::choose_condition_locks(script);
    codegen::emit_accessors(script);
    if (diagnostics.error_count() > errors)
        return std::nullopt;

    CompiledObject out;
    out.c_source = script.embedded().source();
    out.meta = codegen::describe(script);
    script.emit_tables(handlers, trampolines, scratch, out.meta);

    if (options.plant)
        options.plant(script.module);
    std::string problem;
    llvm::raw_string_ostream problem_stream(problem);
    if (llvm::verifyModule(script.module, &problem_stream)) {
        diagnostics.report(DiagnosticKind::CodegenInternal, {}, {problem});
        return std::nullopt;
    }
    if (options.dump_ir) {
        llvm::raw_string_ostream stream(out.ir);
        script.module.print(stream, nullptr);
    }
    for (auto& [function, compiled] : script.functions)
        compiled.name = compiled.function->getName().str();
    FunctionSizes sizes;
    out.object =
        codegen::compile_object(script.module, *machine, optimization, makes_code_once,
                                options.sanitize ? kernel.sanitizer : Sanitizer::None, sizes);
    if (out.object.empty()) {
        diagnostics.report(DiagnosticKind::CodegenInternal, {}, {"LLVM emitted no object"});
        return std::nullopt;
    }
    if (!kernel.user_space) {
        const size_t known = others.count();
        others.heavy.merge(find_heavy(plan, sizes));
        others.lengthy.merge(find_lengthy(script, sizes));
        if (others.count() != known)
            return std::nullopt;
    }
    const std::vector<uint64_t> stacks = check_stack(script, handlers, trampolines, sizes);
    std::vector<uint32_t> needs;
    for (uint64_t bytes : stacks)
        needs.push_back(static_cast<uint32_t>(std::min(bytes, max_stack)) +
                        static_cast<uint32_t>(options.limits.MINSTACKSPACE));
    if (!needs.empty() && !kernel.user_space && !codegen::store_stacks(out.object, needs)) {
        diagnostics.report(DiagnosticKind::CodegenInternal, {},
                           {"the object has no table of handlers"});
        return std::nullopt;
    }
    if (options.explain)
        out.explanation = codegen::explain(script, handlers, stacks);
    if (diagnostics.error_count() > errors)
        return std::nullopt;
    return out;
}

} // namespace

std::optional<CompiledObject> generate(const program::Program& program, const ProbePlan& plan,
                                       const CodegenKernel& kernel, const CodegenOptions& options,
                                       Diagnostics& diagnostics) {
    WithContext others;
    for (uint32_t i = 0; i < plan.variants.size() && !kernel.user_space; i++) {
        if (options.forms == HandlerForms::Context)
            others.lengthy.insert(i);
        else if (options.forms == HandlerForms::Separate)
            others.heavy.insert(i);
    }
    for (;;) {
        const size_t errors = diagnostics.error_count(), known = others.count();
        auto object = generate_once(program, plan, kernel, options, diagnostics, others);
        if (object || diagnostics.error_count() > errors || others.count() == known)
            return object;
    }
}

} // namespace djstap
