// SPDX-License-Identifier: GPL-2.0-or-later
// Computes how much memory a handler and all its callees use at once.
#pragma once
#include "codegen/script_module.h"

#include <map>

namespace djstap::codegen {

// At most MAXNESTING calls that count are active at a time; the others make no circle: neither
// those of functions that cannot call themselves, nor `next`, which goes on to overloads of lower
// priority. Every result is cached, because the number of call paths may be exponential.
class Depth {
  public:
    enum class Of {
        Scratch, // string memory; the call determines where a callee's part begins
        Stack    // the kernel's stack; a callee's part begins below the caller's whole frame
    };
    Depth(const ScriptModule& script, Of what) : script_(script), what_(what) {}

    // Returns the most bytes in use while a body that itself uses `own` makes these calls.
    uint64_t deepest(uint64_t own, const std::vector<ScratchCall>& calls);

  private:
    uint64_t deepest(uint64_t own, const std::vector<ScratchCall>& calls, int64_t nesting);

    const ScriptModule& script_;
    Of what_;
    std::map<std::pair<const program::Function*, int64_t>, uint64_t> known_;
};

} // namespace djstap::codegen
