// SPDX-License-Identifier: GPL-2.0-or-later
// Text → ast: lexing, the preprocessor (macros, conditionals, script arguments), parsing.
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

// What %( conditionals and $1 @1 may ask for. The functions are asked only when a script does.
struct PreprocessorContext {
    std::function<std::string()>
        kernel_release; // "6.1.0-56-cloud-amd64"; kernel_vr; kernel_v is its upstream part
    std::function<std::string(const std::string&)>
        kernel_config; // "CONFIG_X" → "y", "m", a string, or ""
    std::string arch{arch::names().machine};
    std::string language_version = "4.8"; // systemtap_v: the language level that djstap speaks
    std::string runtime = "kernel";       // runtime == "kernel" | "user"
    bool guru = false;
    std::vector<std::string> arguments; // script arguments
};

struct Macro; // defined in syntax/preprocessor.h

// Macros known to every file (from .stpm files), by name. Filled by parse_macro_file.
using MacroTable = std::map<std::string, std::shared_ptr<const Macro>>;

// Parses one source (already added to `sources`). Yields nothing after reporting at least one
// error; several syntax errors in one file are reported where the parser can continue safely.
std::optional<ast::File> parse_file(SourceManager& sources, uint32_t source,
                                    const PreprocessorContext& context,
                                    const MacroTable& public_macros, Diagnostics& diagnostics);

// Reads the @define directives of a .stpm file into `macros`.
bool parse_macro_file(SourceManager& sources, uint32_t source, const PreprocessorContext& context,
                      MacroTable& macros, Diagnostics& diagnostics);

} // namespace djstap
