// SPDX-License-Identifier: GPL-2.0-or-later
// Converts text to the ast: lexing, preprocessing (macros, conditionals, script arguments),
// parsing.
#pragma once
#include "arch/arch.h"
#include "ast/ast.h"
#include "diagnostics/diagnostic.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace djstap {

// The values that %( conditionals and $1 @1 use. The functions are called only if a script needs
// them.
struct PreprocessorContext {
    // "6.1.0-56-cloud-amd64": kernel_vr; its upstream part is kernel_v
    std::function<std::string()> kernel_release;
    std::function<std::string(const std::string&)>
        kernel_config; // "CONFIG_X" → "y", "m", a string, or ""
    std::string arch{arch::names().machine};
    std::string language_version = "4.8"; // systemtap_v: the language level that djstap implements
    std::string runtime = "kernel";       // runtime == "kernel" | "user"
    // output == "terminal" | "stream": what the script prints on, as far as it is known when it is
    // compiled
    std::string output = "stream";
    bool guru = false;
    std::vector<std::string> arguments; // script arguments
};

struct Macro; // defined in syntax/preprocessor.h

// Macros that every file may use (from .stpm files), by name. parse_macro_file fills it.
using MacroTable = std::map<std::string, std::shared_ptr<const Macro>>;

// Parses one source (already added to `sources`). Returns nothing after reporting at least one
// error; several syntax errors in one file are reported if the parser can safely continue.
std::optional<ast::File> parse_file(SourceManager& sources, uint32_t source,
                                    const PreprocessorContext& context,
                                    const MacroTable& public_macros, Diagnostics& diagnostics);

// Adds the @define directives of a .stpm file to `macros`.
bool parse_macro_file(SourceManager& sources, uint32_t source, const PreprocessorContext& context,
                      MacroTable& macros, Diagnostics& diagnostics);

} // namespace djstap
