// SPDX-License-Identifier: GPL-2.0-or-later
// What happens to the typed program after inference, in the order of calling.
#pragma once
#include "semantics/names.h"
#include "semantics/program.h"

namespace djstap::semantics {

// unused.cpp: drops assignments to locals that nothing reads and statements without effect; warns
// of those of the script. Purity of functions is found out first.
void find_pure_functions(const std::vector<program::Function*>& functions);
void drop_unused(program::Program& program, const Names& names, Diagnostics& diagnostics);

// changes.cpp: refuses calls that change what a foreach walks over, and conditions of probes that
// do anything but ask.
void check_changes(program::Program& program, Diagnostics& diagnostics);

// How each global is used by what is left of the program.
struct GlobalUse {
    bool read = false, written = false;
    bool added = false;            // written, and not by `delete` alone
    bool only_lone_updates = true; // every write is a lone ++ -- += -= <<< whose value is unused
    bool deleted = false;
    bool in_condition = false; // of a probe
    // A handler adds to it and reads it: it may ask for the very number that it made.
    bool read_where_added = false;
};
using GlobalUses = std::unordered_map<const program::Global*, GlobalUse>;
GlobalUses global_uses(program::Program& program);

// unread.cpp: an end probe that prints what is written and never read. Nothing when there is none.
void print_unread(program::Program& program, const GlobalUses& uses, const PointShapes& points);

// storage.cpp: how each global is stored and what is kept of statistics.
void choose_storage(program::Program& program, const GlobalUses& uses);

// effects.cpp: what every function and probe needs of its surroundings; finds recursion. A body
// that may execute `most_statements` counts them.
void find_recursion(program::Program& program);
void compute_effects(program::Program& program, uint64_t most_statements);

} // namespace djstap::semantics
