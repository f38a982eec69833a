// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles a script for this process (--runtime=user), for tests and benchmarks that run its
// handlers themselves.
#pragma once
#include "codegen/codegen.h"
#include "library/library.h"
#include "probes/probes.h"
#include "semantics/semantics.h"
#include "syntax/syntax.h"

#include <functional>
#include <optional>
#include <string>

namespace djstap::test {

using ChangePlan = std::function<void(ProbePlan&)>;

// Returns nothing on failure: the diagnostics give the reason. `change` is called before code is
// generated.
inline std::optional<CompiledObject> user_object(const program::Program& program,
                                                 const CodegenOptions& options,
                                                 Diagnostics& diagnostics,
                                                 const ChangePlan& change = {}) {
    Images no_kernel("");
    no_kernel.refuse({"no kernel", ""});
    auto plan = resolve_probes(program, no_kernel, {}, diagnostics);
    if (!plan)
        return std::nullopt;
    if (change)
        change(*plan);
    CodegenKernel host;
    host.user_space = true;
    host.mitigations.return_thunks = host.mitigations.indirect_thunks = false;
    return generate(program, *plan, host, options, diagnostics);
}

// The same for a script's text. Returns nothing on failure: `problem` gives the reason.
inline std::optional<CompiledObject> user_object(const std::string& text,
                                                 const CodegenOptions& options,
                                                 std::string& problem,
                                                 const ChangePlan& change = {}) {
    SourceManager sources;
    Diagnostics diagnostics(sources);
    PreprocessorContext context;
    auto library = Library::open({DJSTAP_SOURCE_DIR "/tapsets"}, sources, context, diagnostics);
    auto file = parse_file(sources, sources.add("script.stp", text), context, library->macros(),
                           diagnostics);
    std::optional<program::Program> program;
    if (file)
        program = analyze(std::move(*file), *library, {.points = probe_shapes()}, diagnostics);
    std::optional<CompiledObject> object;
    if (program)
        object = user_object(*program, options, diagnostics, change);
    if (!object)
        problem = render_all(diagnostics);
    return object;
}

} // namespace djstap::test
