// SPDX-License-Identifier: GPL-2.0-or-later
// Type inference by unification: every value whose type must agree shares one class. Each class
// remembers the place that fixed its type, so that a conflict can show both places.
#pragma once
#include "diagnostics/source.h"
#include "semantics/program.h"

#include <optional>
#include <string>
#include <vector>

namespace djstap::semantics {

using TypeVar = uint32_t;

// "number", "string", "statistic": as messages call them.
const char* type_name(program::Type type);

// Two different types for what must be one.
struct TypeConflict {
    program::Type first{}, second{};
    SourceRange first_at, second_at;
    bool first_declared = false; // ":long" and the like rather than a use
};

class TypeTable {
  public:
    // A type that is not known yet.
    TypeVar fresh();
    // A known type, fixed at `at`.
    TypeVar of(program::Type type, SourceRange at, bool declared = false);
    // A type that agrees with everything: what an error left behind.
    TypeVar poison();

    // Makes both the same type. On a conflict both become poison, so that it is reported once.
    std::optional<TypeConflict> unify(TypeVar first, TypeVar second);

    // Nothing while unknown; poison counts as Long.
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
