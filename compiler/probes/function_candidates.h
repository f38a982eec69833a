// SPDX-License-Identifier: GPL-2.0-or-later
// The candidates of functions and of their inline instances, with their mechanisms.
#pragma once
#include "probes/families.h"

namespace djstap {

struct Refusal {
    std::string name, why; // empty: nothing was refused
    bool never = false;    // as in MechanismChoice
    std::string hint;      // the same
};

// "vfs_read@fs/read_write.c:450"
std::string name_and_place(const FunctionInfo& function);

// Adds the functions of one image, whose entries or returns the point names. What cannot be probed
// is left out, and yields a refusal.
void add_functions(const ast::ProbePoint& point, const ImageView& view,
                   std::vector<FunctionInfo> functions, bool is_return, const Resolver& resolver,
                   std::vector<Candidate>& out, Refusal& refusal);

// Adds an inline instance of a function: a kprobe at its first instruction.
void add_inlined(const ImageView& view, const StatementAddress& place, const Resolver& resolver,
                 std::vector<Candidate>& out, Refusal& refusal);

// "-D MAXKPROBES=N probes them as well …": a hint.
std::string probe_as_well(ptrdiff_t count);
// A pattern that matches nearly everything matches thousands of functions without an fentry site,
// mostly inline functions that got code of their own: setting so many breakpoints takes minutes,
// and the machine is hardly usable with them.
void leave_out_kprobes(const ast::PointComponent& argument, Resolver& resolver,
                       std::vector<Candidate>& candidates);

} // namespace djstap
