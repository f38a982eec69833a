// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/types.h"

namespace djstap::semantics {

using program::Type;

const char* type_name(Type type) {
    switch (type) {
    case Type::Void:
        return "nothing";
    case Type::Long:
        return "number";
    case Type::String:
        return "string";
    case Type::Statistic:
        return "statistic";
    case Type::Stack:
        return "stack";
    }
    return "?";
}

TypeVar TypeTable::fresh() {
    classes_.push_back({static_cast<TypeVar>(classes_.size()), std::nullopt, {}, false, false});
    return classes_.back().parent;
}

TypeVar TypeTable::of(Type type, SourceRange at, bool declared) {
    TypeVar var = fresh();
    classes_[var].type = type;
    classes_[var].at = at;
    classes_[var].declared = declared;
    return var;
}

TypeVar TypeTable::poison() {
    TypeVar var = fresh();
    classes_[var].poison = true;
    return var;
}

TypeVar TypeTable::find(TypeVar var) const {
    while (classes_[var].parent != var)
        var = classes_[var].parent;
    return var;
}

std::optional<Type> TypeTable::get(TypeVar var) const {
    const Class& found = classes_[find(var)];
    return found.poison ? Type::Long : found.type;
}

std::optional<TypeConflict> TypeTable::unify(TypeVar first, TypeVar second) {
    TypeVar a = find(first), b = find(second);
    if (a == b)
        return std::nullopt;
    Class &kept = classes_[a], &joined = classes_[b];
    std::optional<TypeConflict> conflict;
    if (kept.poison || joined.poison) {
        kept.poison = true;
    } else if (kept.type && joined.type && *kept.type != *joined.type) {
        conflict = TypeConflict{*kept.type, *joined.type, kept.at, joined.at, kept.declared};
        kept.poison = true;
    } else if (!kept.type) {
        kept.type = joined.type;
        kept.at = joined.at;
        kept.declared = joined.declared;
    }
    joined.parent = a;
    // Keeps chains short: both variables now lead to the root in one step.
    classes_[first].parent = a;
    classes_[second].parent = a;
    classes_[a].parent = a;
    return conflict;
}

} // namespace djstap::semantics
