// SPDX-License-Identifier: GPL-2.0-or-later
// The meaning of every name of the program: the script's own declarations first, then the
// library's, whose files are included on demand.
#pragma once
#include "ast/ast.h"
#include "diagnostics/diagnostic.h"
#include "library/library.h"
#include "semantics/program.h"
#include "semantics/types.h"

#include <memory>
#include <unordered_map>
#include <unordered_set>

namespace djstap::semantics {

struct GlobalState {
    const ast::Global* declaration = nullptr;
    const ast::File* file = nullptr;
    bool library = false;
    std::unique_ptr<program::Global> node; // moved into the program at the end, if it is used
    TypeVar value = 0;
    std::optional<size_t> arity; // number of keys, known from the first use
    SourceRange arity_at;
    bool arity_reported = false; // a wrong number of keys is reported once
    std::vector<TypeVar> keys;
    // The first histogram and @variance, with which all others must agree.
    std::optional<program::StatisticNeeds> histogram;
    SourceRange histogram_at;
    std::optional<int> variance_shift;
    SourceRange variance_at;
};

struct FunctionState {
    const ast::Function* declaration = nullptr;
    const ast::File* file = nullptr;
    bool library = false;
    std::unique_ptr<program::Function> node;
    std::vector<TypeVar> parameters;
    TypeVar result = 0;
    bool returns_value = false; // a `return e` or a declared type
    bool queued = false;
    int64_t priority() const { return declaration->priority.value_or(library ? 1 : 0); }
};

struct AliasState {
    const ast::Alias* declaration = nullptr;
    const ast::File* file = nullptr;
};

class Names {
  public:
    Names(Library& library, TypeTable& types, Diagnostics& diagnostics)
        : library_(library), types_(types), diagnostics_(diagnostics) {}

    // Adds a file's declarations, once.
    void include(const ast::File& file);
    // Files included so far, the script first.
    const std::vector<const ast::File*>& files() const { return files_; }

    // Returns the global that `name` means in `file`; null if there is none (then it is a local).
    GlobalState* global(const std::string& name, const ast::File& file);
    // Returns the overloads for a call, in the order of precedence; empty if there is none.
    std::vector<FunctionState*> functions(const std::string& name, size_t arguments,
                                          const ast::File& file);
    // Returns the argument counts of the name's overloads, ascending; sets *place to one
    // declaration.
    std::vector<size_t> argument_counts(const std::string& name, const ast::File& file,
                                        SourceRange* place);
    // Returns the aliases whose name matches the beginning of `components`; if some match all of
    // it, only those.
    std::vector<AliasState> aliases(const std::vector<ast::PointComponent>& components);
    // Returns those of exactly this name in the files that are included so far.
    std::vector<AliasState> aliases_named(const std::string& name) const;

    // Names for hints.
    std::vector<std::string> function_names(const ast::File& file) const;
    std::vector<std::string> global_names(const ast::File& file) const;
    std::vector<std::string> alias_names() const;

    std::vector<std::unique_ptr<GlobalState>>& all_globals() { return globals_; }
    std::vector<std::unique_ptr<FunctionState>>& all_functions() { return functions_; }
    bool in_library(SourceRange range) const {
        return range.valid() && diagnostics_.sources().file(range.file).is_library;
    }

    // Returns whether the place is in an alias's own body: what that defines is for its users.
    bool in_alias(SourceRange range) const;

  private:
    void declare(const ast::Global& global, const ast::File& file, bool library);
    void declare(const ast::Function& function, const ast::File& file, bool library);
    bool is_library(const ast::File& file) const;
    GlobalState* known_global(const std::string& name, const ast::File& file);

    Library& library_;
    TypeTable& types_;
    Diagnostics& diagnostics_;
    std::vector<const ast::File*> files_;
    std::unordered_set<const ast::File*> included_;
    std::vector<std::unique_ptr<GlobalState>> globals_;
    std::vector<std::unique_ptr<FunctionState>> functions_;
    std::unordered_map<std::string, std::vector<GlobalState*>> globals_by_name_;
    std::unordered_map<std::string, std::vector<FunctionState*>> functions_by_name_;
    std::vector<AliasState> aliases_;
    std::unordered_map<std::string, std::vector<AliasState>> aliases_by_name_; // by dotted name
    std::unordered_set<std::string> asked_globals_, asked_functions_, asked_aliases_;
};

// "timer.ms" of timer.ms(5).
std::string dotted(const std::vector<ast::PointComponent>& components);

// Returns how many components of a point the name of an alias takes: the rest is a suffix. Nothing
// if they do not match it.
std::optional<size_t> components_of_name(const std::vector<ast::PointComponent>& components,
                                         const std::vector<ast::PointComponent>& name);

// Returns whether C code contains this marker: /* pure */.
bool has_pragma(const std::string& code, const std::string& pragma);

// Returns the names of the printing family and other words that are called like functions.
const std::vector<std::string>& print_names();

} // namespace djstap::semantics
