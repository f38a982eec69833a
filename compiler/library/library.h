// SPDX-License-Identifier: GPL-2.0-or-later
// The tapset library: an index of which file defines a name, so that only needed files are parsed.
#pragma once
#include "ast/ast.h"
#include "diagnostics/diagnostic.h"
#include "syntax/syntax.h"

#include <memory>
#include <string>
#include <vector>

namespace djstap {

// Folders are searched in order; a later folder's definition of a name does not hide an earlier
// one's.
class Library {
  public:
    // Indexes every .stp and .stpm below `folders` (names of functions, aliases, globals, macros)
    // by a light scan without parsing; the index is cached by path, size and modification time, in
    // $DJSTAP_CACHE. Folders that cannot be read are reported as warnings.
    static std::unique_ptr<Library> open(std::vector<std::string> folders, SourceManager& sources,
                                         PreprocessorContext context, Diagnostics& diagnostics);
    virtual ~Library() = default;

    // The files that define this function, global, or an alias that the components of a probe point
    // may mean
    // ("vfs.read", "vfs.*.return": wildcards are matched, what follows an alias's own name is a
    // suffix); each is parsed at most once in a run. Empty when there is none. A file with syntax
    // errors is left out with a warning.
    virtual std::vector<const ast::File*> files_defining_function(const std::string& name) = 0;
    virtual std::vector<const ast::File*> files_defining_global(const std::string& name) = 0;
    virtual std::vector<const ast::File*> files_defining_alias(const std::string& components) = 0;

    // Public macros, for parse_file. Reads the .stpm files on first use.
    virtual const MacroTable& macros() = 0;

    // Names for hints and listings.
    virtual std::vector<std::string> function_names() const = 0;
    virtual std::vector<std::string> alias_names() const = 0; // full dotted names
};

} // namespace djstap
