// SPDX-License-Identifier: GPL-2.0-or-later
// The passes: each is a function from the value of the one before it to its own. Nothing: there are
// errors in the context's diagnostics.
#pragma once
#include "ast/ast.h"
#include "codegen/codegen.h"
#include "driver/run_context.h"
#include "module/module.h"
#include "semantics/program.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace djstap::driver {

// What of this machine's files the guest of a run has.
enum class GuestFiles : uint8_t {
    None,   // the reader and the module
    Shared, // all of them, below a writable overlay
    Copied  // those that the command needs
};

// What is settled before the first pass ends and holds for all others.
struct Settings {
    Limits limits; // -D and -s
    GuestFiles guest_files = GuestFiles::None;
};

using Nothing = std::monostate;

struct ParsedScript {
    Settings settings;
    ast::File file;
};

struct AnalyzedScript {
    Settings settings;
    uint32_t source = 0; // its id among the sources
    // What --exclude-self puts before handlers; the program refers to it.
    std::optional<ast::File> exclusion;
    program::Program program;
};

struct ResolvedScript {
    AnalyzedScript script;
    ProbePlan plan;
};

struct GeneratedScript {
    ResolvedScript script;
    std::string module_name;
    CompiledObject object;
    std::optional<RuntimeKit> kit; // none for user space
};

struct RunnableScript {
    Settings settings;
    std::vector<ProbedImage> images;
    std::string module_path;              // empty for user space,
    std::optional<CompiledObject> object; // where this is what runs
};

struct FinishedRun {
    int exit_status = 0; // the command's, or 1
};

std::optional<ParsedScript> parse(RunContext& context, Nothing);
std::optional<AnalyzedScript> analyze(RunContext& context, ParsedScript parsed);
std::optional<ResolvedScript> resolve(RunContext& context, AnalyzedScript analyzed);
std::optional<GeneratedScript> generate(RunContext& context, ResolvedScript resolved);
std::optional<RunnableScript> link(RunContext& context, GeneratedScript generated);
std::optional<FinishedRun> run_module(RunContext& context, RunnableScript runnable);

// Of each CPU, as the runtime rounds it.
uint64_t buffer_bytes(const Limits& limits);

// Nothing where the command of -c is not there. Adds djstap's own folder to $PATH.
std::optional<GuestFiles> check_command(RunContext& context);

// What -p1 … -p4 print when they end there.
void print_script(RunContext& context, const ParsedScript& parsed);
void print_plan(RunContext& context, const ResolvedScript& resolved);
void print_ir(RunContext& context, const GeneratedScript& generated);
void print_module(RunContext& context, const RunnableScript& runnable);

// "kernel.function("f@file.c:1")  djprobe: fentry site"; the reason may be empty.
std::string describe_site(const std::string& point, Mechanism mechanism, const std::string& reason);

} // namespace djstap::driver
