// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a function's return may be probed by a return djprobe, which calls the function's code
// from a target of its own.
#pragma once
#include "debuginfo/debuginfo.h"

#include <string>
#include <vector>

namespace djstap {

struct ReturnSafety {
    enum class Verdict : uint8_t {
        Safe,
        Waits, // safe, but tasks may stay inside for as long as they like, and the module with them
        Unsafe
    } verdict = Verdict::Safe;
    std::string reason; // "all arguments in registers", "it waits on purpose" …
};

// `function` has its details.
ReturnSafety judge_return(const FunctionInfo& function, const DebugInfo& info);

// By its symbol alone: return_safety.def.
ReturnSafety judge_return_by_name(std::string_view symbol);

// One pattern of return_safety.def.
struct ReturnPattern {
    struct Alternative {
        std::string module; // whose functions it means; empty: the kernel's
        std::string glob;
    };
    std::vector<Alternative> alternatives;
    std::string_view reason;
};
const std::vector<ReturnPattern>& return_patterns();

// The name without what the kernel's macros put before a system call's, and without a clone's
// suffix.
std::string return_name(std::string_view symbol);

} // namespace djstap
