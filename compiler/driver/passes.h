// SPDX-License-Identifier: GPL-2.0-or-later
// The passes: each is a function from the value of the previous one to its own value. Nothing: the
// invocation's diagnostics contain errors.
#pragma once
#include "ast/ast.h"
#include "codegen/codegen.h"
#include "driver/invocation.h"
#include "module/module.h"
#include "semantics/program.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace djstap::driver {

// The files of this machine that a run's guest has.
enum class GuestFiles : uint8_t {
    None,   // only the reader and the module
    Shared, // all of them, below a writable overlay
    Copied  // those that the command needs
};

// What the first pass determines for all others.
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
    uint32_t source = 0; // its id in the sources
    // The code that --exclude-self puts before handlers; the program refers to it.
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
    // Empty for user space, where `object` runs instead.
    std::string module_path;
    std::optional<CompiledObject> object;
};

struct FinishedRun {
    int exit_status = 0; // that of the command, or 1
};

std::optional<ParsedScript> parse(Invocation& invocation, Nothing);
std::optional<AnalyzedScript> analyze(Invocation& invocation, ParsedScript parsed);
std::optional<ResolvedScript> resolve(Invocation& invocation, AnalyzedScript analyzed);
std::optional<GeneratedScript> generate(Invocation& invocation, ResolvedScript resolved);
std::optional<RunnableScript> link(Invocation& invocation, GeneratedScript generated);
// Several passes at once: from nothing to a script, to its meaning, or to a module; from its
// meaning to its object. They are shown and whose messages are printed like those of every run.
std::optional<ParsedScript> parse_script(Invocation& invocation);
std::optional<AnalyzedScript> analyze_script(Invocation& invocation);
std::optional<GeneratedScript> generate_object(Invocation& invocation, AnalyzedScript analyzed);
std::optional<RunnableScript> make_module(Invocation& invocation);
std::optional<FinishedRun> run_module(Invocation& invocation, RunnableScript runnable);

// The buffer size of each CPU, as the runtime rounds it.
uint64_t buffer_bytes(const Limits& limits);

// Returns nothing if the command of -c does not exist. Adds djstap's own folder to $PATH.
std::optional<GuestFiles> check_command(Invocation& invocation);

// The output of -p1 … -p4.
void print_script(Invocation& invocation, const ParsedScript& parsed);
void print_plan(Invocation& invocation, const ResolvedScript& resolved);
void print_ir(Invocation& invocation, const GeneratedScript& generated);
void print_module(Invocation& invocation, const RunnableScript& runnable);

// Returns "kernel.function("f@file.c:1")  djprobe: fentry site"; the reason may be empty.
std::string describe_site(const std::string& point, Mechanism mechanism, const std::string& reason);

} // namespace djstap::driver
