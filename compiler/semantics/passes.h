// SPDX-License-Identifier: GPL-2.0-or-later
// The passes over the typed program after inference, in the order of their calls.
#pragma once
#include "semantics/names.h"
#include "semantics/points.h"
#include "semantics/program.h"
#include "semantics/semantics.h"

namespace djstap::semantics {

// unused.cpp: drops assignments to locals that nothing reads and statements without effect; warns
// about those of the script. find_pure_functions() must run first.
void find_pure_functions(const std::vector<program::Function*>& functions, const Names& names);
// Joins the probes that differ only in their points: those of the aliases of a pattern, where the
// handler uses nothing of an alias.
void merge_copies(std::vector<std::unique_ptr<program::Probe>>& probes, const Names& names);
void drop_unused(program::Program& program, const Names& names, Diagnostics& diagnostics);

// changes.cpp: rejects calls that change what a foreach walks over, and conditions of probes that
// have side effects.
void check_changes(program::Program& program, Diagnostics& diagnostics);

// The uses of a global in the rest of the program.
struct GlobalUse {
    bool read = false, written = false;
    bool added = false;            // written other than by `delete`
    bool only_lone_updates = true; // every write is a lone ++ -- += -= <<< whose value is unused
    bool deleted = false;
    bool in_condition = false; // of a probe
    // A handler both adds to it and reads it: it may test for the very value that it produced.
    bool read_where_added = false;
};
using GlobalUses = std::unordered_map<const program::Global*, GlobalUse>;
GlobalUses global_uses(program::Program& program);
// The same by one handler, with its callees and its condition.
GlobalUses handler_uses(program::Probe& probe);

// placement.cpp: decides which probes run on the hosts of --hosts, and which where the user is, on
// the merged globals. Keeps those of one side; the others are moved to `dropped`.
void place_probes(program::Program& program, SemanticsOptions::Side side,
                  std::vector<std::unique_ptr<program::Probe>>& dropped);

// unread.cpp: adds an end probe that prints the script's globals that are written and never read,
// unless there is nothing to print.
void print_unread(program::Program& program, const GlobalUses& uses, const Names& names,
                  const PointShapes& points);

// timing.cpp: adds a statistic for each probe, to which its handler adds the cycles that it took.
void time_probes(program::Program& program, GlobalUses& uses);
// Adds an end probe that prints these (-t), or a timer probe that prints them and all globals, as
// outputs expect them that show the globals regularly (DJS_SHOWS_*).
void report_times(program::Program& program, const PointShapes& points,
                  const SourceManager& sources);
void show_regularly(program::Program& program, const GlobalUses& uses,
                    const SemanticsOptions& options, const SourceManager& sources);

// global_comments.cpp: returns the comment behind a global's declaration in its line, else the one
// in the lines above; "" if there is none.
std::string comment_of(const program::Global& global, const SourceManager& sources);

// stacks.cpp: decides where addresses stand for the text of backtrace().
void find_stacks(program::Program& program);

// storage.cpp: chooses the storage of each global, and what statistics keep.
void choose_storage(program::Program& program, const GlobalUses& uses);

// effects.cpp: computes what every function and probe needs of its environment; finds recursion. A
// body that may execute `max_statements` counts them.
void find_recursion(program::Program& program);
void compute_effects(program::Program& program, uint64_t max_statements);

} // namespace djstap::semantics
