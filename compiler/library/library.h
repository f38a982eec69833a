// SPDX-License-Identifier: GPL-2.0-or-later
// The tapset library: an index of the files that define a name, so that only the needed files are
// parsed.
#pragma once
#include "ast/ast.h"
#include "diagnostics/diagnostic.h"
#include "syntax/syntax.h"

#include <memory>
#include <string>
#include <vector>

namespace djstap {

// Folders are searched in order; a definition in a later folder does not hide an earlier one.
class Library {
  public:
    // Indexes every .stp and .stpm file below `folders` (names of functions, aliases, globals,
    // macros) by a light scan without parsing; the index is cached in $DJSTAP_CACHE by path, size
    // and modification time. Folders that cannot be read are reported as warnings.
    static std::unique_ptr<Library> open(std::vector<std::string> folders, SourceManager& sources,
                                         PreprocessorContext context, Diagnostics& diagnostics);
    virtual ~Library() = default;

    // Return the files that define this function, global, or an alias that the components of a
    // probe point may mean ("vfs.read", "vfs.*.return": wildcards are matched, what follows an
    // alias's own name is a suffix); each file is parsed at most once per run. Empty if there is
    // none. A file with syntax errors is skipped with a warning.
    virtual std::vector<const ast::File*> files_defining_function(const std::string& name) = 0;
    virtual std::vector<const ast::File*> files_defining_global(const std::string& name) = 0;
    virtual std::vector<const ast::File*> files_defining_alias(const std::string& components) = 0;

    // Returns public macros, for parse_file. Reads the .stpm files on first use.
    virtual const MacroTable& macros() = 0;

    // Parses every .stp file, which takes longer than a script's own needs allow: for
    // documentation.
    virtual std::vector<const ast::File*> all_files() = 0;

    // Names for hints and listings, ascending and unique.
    virtual std::vector<std::string> function_names() const = 0;
    virtual std::vector<std::string> alias_names() const = 0; // full dotted names
};

} // namespace djstap
