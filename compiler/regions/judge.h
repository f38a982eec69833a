// SPDX-License-Identifier: GPL-2.0-or-later
// The verdict for one instruction.
#pragma once
#include "regions/functions.h"
#include "regions/kernel_tables.h"
#include "regions/regions.h"

#include <vector>

namespace djstap::regions {

// What the kernel takes for a function: from one symbol to the next. In a program: a function.
struct Scope {
    Index first = 0, end = 0;
    bool refused = false; // as a whole
};

// Returns the scopes by address, and marks the jumps that stay in theirs.
std::vector<Scope> find_scopes(Code& code, const std::vector<FunctionRange>& functions,
                               const std::vector<Symbol>& symbols, ImageForm form,
                               const KernelRule& rule);

struct Function {
    FunctionRange range;
    Reason refused = Reason::None; // as a whole
    bool is_go = false;
};

class Judge {
  public:
    Judge(const Code& code, Model model) : code_(code), model_(model) {}

    // Whether nothing speaks against a jump from `at`, for one who decodes only the scope.
    bool passes_kernel(Index at, const Scope& scope) const;
    // Why there can be no jump. `end` becomes the end of what it would replace.
    Reason reason(Index at, const Function& function, Index& end) const;
    // The same, whoever enters the region.
    Reason unmovable(Index at, const Function& function, Index& end) const;
    // Why control may be at `at`; None if it only comes from the instruction before.
    Reason entered(Index at) const;

  private:
    // What is to be replaced by a jump from `first`.
    struct Region {
        Index end = 0;
        Reason reason = Reason::None;
    };
    Region region(Index first, Index limit) const;
    Reason cannot_move(Index at) const;
    bool may_fault(Index first, Index end) const;

    const Code& code_;
    const Model model_;
};

} // namespace djstap::regions
