// SPDX-License-Identifier: GPL-2.0-or-later
// Probes that are jumps in the process itself (--runtime=process): at entries and returns of
// functions, and nowhere else.
#pragma once
#include "probes/families.h"
#include "probes/jump_safety.h"

#include <string>
#include <vector>

namespace djstap {

// Returns whether the point is that of entries or returns of functions of a program.
bool is_function_of_program(const ast::ProbePoint& point);

// Notes what jumps do not reach of what a script names. A pattern means what can be probed, and a
// point with ? need not exist: neither names anything.
class UnreachedFunctions {
  public:
    // `sentences` receives one for each function, with the reason.
    UnreachedFunctions(Images& images, std::vector<std::string>& sentences)
        : verdicts_(images), sentences_(sentences) {}

    static bool is_named(const ast::ProbePoint& point);
    void note(std::string sentence);
    // Notes the function of a candidate that was settled if the region analysis refuses the jumps.
    // `keeps_entry`: a return's handler keeps something of the entry.
    void check(const ast::ProbePoint& point, const Candidate& candidate, bool keeps_entry);

  private:
    JumpVerdicts verdicts_;
    std::vector<std::string>& sentences_;
};

// Returns why no jump can be at a candidate, whatever its instructions are; "" if one may.
std::string_view objection_to_jump(const Candidate& candidate);

// With ProbeOptions::in_process: keeps the candidates that jumps reach,
// and makes it their mechanism. Reports what is left out. Returns false if nothing is left.
bool settle_in_process(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& candidates);

// With ProbeOptions::in_process: reports a value in a register that a jump at a function's entry
// does not pass on to handlers. Returns whether there is none.
bool check_registers(const AccessMap& accesses, const ast::ProbePoint& point, Resolver& resolver);

} // namespace djstap
