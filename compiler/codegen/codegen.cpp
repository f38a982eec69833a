#include "codegen/codegen.h"

#include "codegen/depth.h"
#include "codegen/embedded_globals.h"
#include "codegen/explain.h"
#include "codegen/handlers.h"
#include "codegen/meta.h"
#include "codegen/object.h"
#include "codegen/script_module.h"
#include "codegen/targets.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <map>

namespace djstap {

namespace {

// With very many handlers the optimizer's time outweighs what it gains.
constexpr size_t many_handlers = 60;

// Of the kernel's 16 KB, which the probed function and its callers use as well.
constexpr uint64_t most_stack = 4096;

// Yields what each variant's handler uses with all it calls, in bytes.
std::vector<uint64_t> check_stack(codegen::ScriptModule& script,
                                  const std::vector<codegen::CompiledHandler>& handlers,
                                  const std::vector<codegen::CompiledTarget>& targets,
                                  const std::map<std::string, uint64_t>& frames) {
    auto frame = [&](const std::string& name) {
        auto found = frames.find(name);
        return found == frames.end() ? 0 : found->second;
    };
    for (auto& [function, compiled] : script.functions)
        compiled.frame = frame(compiled.name);
    codegen::Depth depth(script, codegen::Depth::Of::Stack);
    std::vector<uint64_t> used(handlers.size());
    auto check = [&](uint64_t own, const std::vector<codegen::ScratchCall>& calls,
                     uint32_t variant) {
        const uint64_t bytes = depth.deepest(own, calls);
        used[variant] = std::max(used[variant], bytes);
        if (bytes > most_stack)
            script.diagnostics
                .report(DiagnosticKind::TooMuchStack, script.plan.variants[variant].probe->range,
                        {std::to_string(bytes), std::to_string(most_stack)})
                .hint("use an array in place of many local variables, or a smaller MAXNESTING");
    };
    for (uint32_t i = 0; i < handlers.size(); i++) {
        const std::string number = std::to_string(i);
        check(std::max({frame("djs_body_" + number), frame("djs_entry_" + number),
                        frame("djs_tracepoint_" + number)}),
              handlers[i].calls, i);
    }
    for (uint32_t i = 0; i < targets.size(); i++)
        check(frame("djs_direct_" + std::to_string(i)), targets[i].calls,
              script.plan.targets[i].variants.front());
    return used;
}

} // namespace

std::optional<CompiledObject> generate(const program::Program& program, const ProbePlan& plan,
                                       const CodegenKernel& kernel, const CodegenOptions& options,
                                       Diagnostics& diagnostics) {
    size_t errors = diagnostics.error_count();
    int optimization = plan.variants.size() > many_handlers ? std::min(options.optimization, 1)
                                                            : options.optimization;
    llvm::LLVMContext context;
    auto machine = codegen::make_target_machine(optimization, kernel.user_space);
    if (!machine) {
        diagnostics.report(DiagnosticKind::CodegenInternal, {},
                           {"this LLVM has no x86-64 back end"});
        return std::nullopt;
    }
    codegen::ScriptModule script(context, program, plan, kernel, options, diagnostics);
    script.module.setDataLayout(machine->createDataLayout());
    if (!script.types.sizes_agree(script.module.getDataLayout())) {
        diagnostics.report(DiagnosticKind::CodegenInternal, {},
                           {"tables do not agree with the runtime's headers"});
        return std::nullopt;
    }

    uint32_t scratch = 0;
    std::vector<codegen::CompiledHandler> handlers;
    codegen::compile_functions(script);
    codegen::compile_conditions(script, scratch);
    for (uint32_t i = 0; i < plan.variants.size(); i++)
        handlers.push_back(codegen::compile_handler(script, i, scratch));
    std::vector<codegen::CompiledTarget> targets;
    for (uint32_t i = 0; i < plan.targets.size(); i++)
        targets.push_back(codegen::compile_target(script, i, scratch));
    for (uint32_t i = 0; i < plan.variants.size(); i++)
        codegen::choose_locks(script, plan.variants[i], handlers[i]);
    codegen::choose_condition_locks(script);
    codegen::emit_accessors(script);
    if (diagnostics.error_count() > errors)
        return std::nullopt;

    CompiledObject out;
    out.c_source = script.embedded().source();
    out.meta = codegen::describe(script);
    script.emit_tables(handlers, targets, scratch, out.meta);

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
    std::map<std::string, uint64_t> frames;
    out.object = codegen::compile_object(script.module, *machine, optimization, frames);
    if (out.object.empty()) {
        diagnostics.report(DiagnosticKind::CodegenInternal, {}, {"LLVM emitted no object"});
        return std::nullopt;
    }
    const std::vector<uint64_t> stacks = check_stack(script, handlers, targets, frames);
    if (options.explain)
        out.explanation = codegen::explain(script, handlers, stacks);
    if (diagnostics.error_count() > errors)
        return std::nullopt;
    return out;
}

} // namespace djstap
