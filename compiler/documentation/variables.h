// SPDX-License-Identifier: GPL-2.0-or-later
// The variables that aliases provide, and the types of expressions as far as their text tells them.
#pragma once
#include "ast/ast.h"
#include "library/library.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace djstap {

// "long", "string", or "" for a type that is not known
std::string_view name_of(ast::TypeName type);
// "vfs.read"
std::string dotted_name(const std::vector<ast::PointComponent>& components);

struct AliasVariable {
    std::string name;
    ast::TypeName type = ast::TypeName::None;
    // The alias that assigns it: this one, or one that it stands for.
    const ast::Alias* origin = nullptr;
    const ast::File* file = nullptr; // of `origin`
};

class AliasVariables {
  public:
    explicit AliasVariables(Library& library) : library_(library) {}

    // Returns the variables of a definition in `file` and of the aliases that it stands for, in the
    // order of their first assignments. Names that begin with "__" are the tapset's own.
    std::vector<AliasVariable> of(const ast::File& file, const ast::Alias& alias);
    // Returns those of all definitions of an alias, with a suffix or not: "vfs.read",
    // "signal.send.return".
    std::vector<AliasVariable> of(const std::string& name);

    // Returns the type of a function's result.
    ast::TypeName result_of(const ast::File& file, const ast::Function& function);

  private:
    struct Scope;
    // Of a function that code in `file` calls, which may be private there.
    ast::TypeName result_of(const ast::File& file, const std::string& function);
    void collect(const ast::Statement& statement, Scope& scope);
    void collect(const ast::Expression& expression, Scope& scope);
    void assign(const ast::Expression& place, ast::TypeName type, Scope& scope);
    ast::TypeName type_of(const ast::Expression& expression, const Scope& scope);
    struct Found {
        std::vector<AliasVariable> variables;
        std::set<const ast::Alias*> seen;
    };
    void add(const ast::File& file, const ast::Alias& alias, Found& out);
    void add_of_point(const ast::ProbePoint& point, Found& out);

    Library& library_;
    std::map<const ast::Function*, ast::TypeName> results_;
    size_t calls_ = 0; // that lead to the function whose result is being determined
};

} // namespace djstap
