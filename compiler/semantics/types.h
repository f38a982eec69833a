// SPDX-License-Identifier: GPL-2.0-or-later
// Type inference by unification: values whose types must agree share one class. Each class
// remembers the place that determined its type, so that a conflict can show both places.
#pragma once
#include "diagnostics/source.h"
#include "semantics/program.h"

#include <optional>
#include <string>
#include <vector>

namespace djstap::semantics {

using TypeVar = uint32_t;

// "number", "string", "statistic": the names in messages.
const char* type_name(program::Type type);

// Two different types for values that must have the same.
struct TypeConflict {
    program::Type first{}, second{};
    SourceRange first_at, second_at;
    bool first_declared = false; // by ":long" and the like rather than by a use
};

class TypeTable {
  public:
    // Returns a type that is not known yet.
    TypeVar fresh();
    // Returns a known type, determined at `at`.
    TypeVar of(program::Type type, SourceRange at, bool declared = false);
    // Returns a type that agrees with every other type: used after an error.
    TypeVar poison();

    // Makes both types the same. After a conflict both become poison, so that it is reported once.
    std::optional<TypeConflict> unify(TypeVar first, TypeVar second);

    // Returns nothing while the type is unknown; poison counts as Long.
    std::optional<program::Type> get(TypeVar var) const;
    bool is_poison(TypeVar var) const { return classes_[find(var)].poison; }
    SourceRange origin(TypeVar var) const { return classes_[find(var)].at; }

  private:
    struct Class {
        TypeVar parent;
        std::optional<program::Type> type;
        SourceRange at;
        bool declared = false;
        bool poison = false;
    };
    TypeVar find(TypeVar var) const;
    std::vector<Class> classes_;
};

} // namespace djstap::semantics
