// SPDX-License-Identifier: GPL-2.0-or-later
// Decides whether a return djprobe, which calls the function's code from a trampoline of its own,
// may probe a function's return.
#pragma once
#include "debuginfo/debuginfo.h"

#include <string>
#include <vector>

namespace djstap {

struct ReturnSafety {
    enum class Verdict : uint8_t {
        Safe,
        Waits, // safe, but tasks may stay inside for arbitrarily long, and the module with them
        Unsafe
    } verdict = Verdict::Safe;
    std::string reason; // "all arguments in registers", "it waits on purpose" …
};

// `function` includes its details.
ReturnSafety judge_return(const FunctionInfo& function, const DebugInfo& info);

// Judges by the symbol alone: return_safety.def.
ReturnSafety judge_return_by_name(std::string_view symbol);

// One pattern of return_safety.def.
struct ReturnPattern {
    struct Alternative {
        std::string module; // the module whose functions it matches; empty: the kernel's
        std::string glob;
    };
    std::vector<Alternative> alternatives;
    std::string_view reason;
};
const std::vector<ReturnPattern>& return_patterns();

// Returns the name without the prefix of the kernel's system call macros, and without a clone's
// suffix.
std::string return_name(std::string_view symbol);

} // namespace djstap
