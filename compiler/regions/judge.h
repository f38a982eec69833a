// SPDX-License-Identifier: GPL-2.0-or-later
// The verdict for one instruction.
#pragma once
#include "regions/functions.h"
#include "regions/go_states.h"
#include "regions/kernel_tables.h"
#include "regions/regions.h"

#include <optional>
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

// Space behind a function that control does not reach and nobody writes to.
struct Space {
    Index first = 0, end = 0;
};

// Instructions that can be moved away together: where they were, two jumps fit.
struct Room {
    Index first = 0, end = 0;
    uint32_t state = 0; // of Go, where the second jump is
};

// Where the jumps can be to which short ones lead, by address.
struct Spaces {
    std::vector<Space> unused;
    std::vector<Room> rooms;
    std::vector<GoState> states;
};

// What a jump would replace.
struct Planted {
    Index end = 0;
    std::optional<Index> space; // where a short jump leads; nothing: the jump is a long one
    std::optional<Index> room;  // whose instructions are moved to make that space
};

class Judge {
  public:
    Judge(const Code& code, Model model, const Spaces& spaces)
        : code_(code), model_(model), spaces_(spaces) {}

    // Whether nothing speaks against a jump from `at`, for one who decodes only the scope.
    bool passes_kernel(Index at, const Scope& scope) const;
    // Why there can be no jump.
    Reason reason(Index at, const Function& function, Planted& planted) const;
    // The same, of a jump that replaces at least `needed` bytes.
    Reason reason(Index at, const Function& function, Index needed, Index& end) const;
    // The same as for a long jump, whoever enters the region.
    Reason unmovable(Index at, const Function& function, Index& end) const;
    // Returns what has to be moved for two jumps at `at`; nothing if it cannot be.
    std::optional<Room> room(Index at, const Function& function) const;
    // Why control may be at `at`; None if it only comes from the instruction before.
    Reason entered(Index at) const;

  private:
    // What is to be replaced by a jump from `first`.
    struct Region {
        Index end = 0;
        Reason reason = Reason::None;
    };
    Region region(Index first, Index limit, Index needed) const;
    Reason unmovable(Index at, const Function& function, Index needed, Index& end) const;
    bool reaches(Index from, Index to) const;
    std::optional<Index> unused_near(Index at) const;
    std::optional<Index> room_near(Index first, Index end, uint32_t state) const;
    uint32_t state_at(Index at) const;
    Reason cannot_move(Index at) const;
    bool may_fault(Index first, Index end) const;

    const Code& code_;
    const Model model_;
    const Spaces& spaces_;
};

} // namespace djstap::regions
