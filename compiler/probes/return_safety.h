// Whether a function's return may be probed by a return djprobe, which calls the function's code
// from a target of its own.
#pragma once
#include "debuginfo/debuginfo.h"

#include <string>

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

// By its symbol alone: the reviewed lists.
ReturnSafety judge_return_by_name(std::string_view symbol);

} // namespace djstap
