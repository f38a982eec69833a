// SPDX-License-Identifier: GPL-2.0-or-later
// How much memory a handler and all that it calls use at once.
#pragma once
#include "codegen/script_module.h"

#include <map>

namespace djstap::codegen {

// Calls of functions that count their nesting are no more than MAXNESTING at a time; the others
// cannot come back to themselves. Every result is kept: calls may multiply exponentially.
class Depth {
  public:
    enum class Of {
        Scratch, // string memory; a callee's begins where the call says
        Stack    // the kernel's stack; a callee's begins below the caller's whole frame
    };
    Depth(const ScriptModule& script, Of what) : script_(script), what_(what) {}

    // The most bytes in use while a body that uses `own` itself makes these calls.
    uint64_t deepest(uint64_t own, const std::vector<ScratchCall>& calls);

  private:
    uint64_t deepest(uint64_t own, const std::vector<ScratchCall>& calls, int64_t nesting);

    const ScriptModule& script_;
    Of what_;
    std::map<std::pair<const program::Function*, int64_t>, uint64_t> known_;
};

} // namespace djstap::codegen
