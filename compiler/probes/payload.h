// What a handler's mechanism is to be told, as the family of its probe point found it.
#pragma once
#include "include/contract.h"

#include <array>
#include <cstdint>
#include <variant>

namespace djstap {

// begin(N), end(N), error(N)
struct SessionOrder {
    int32_t priority = 0;
};
struct TimerPeriod {
    uint64_t ns = 0, random_ns = 0;
};
struct PerfEvent {
    uint64_t type = 0, config = 0; // of struct perf_event_attr
    uint64_t how = 0;              // enum djs_perf_how
    uint64_t rate = 0;             // units between two events, or events a second
};
struct ProcfsFile {
    bool writes = false;
    uint64_t umask = 0;
    uint64_t bytes = 0; // of its text with its end; 0: as any string
};
struct PacketHook {
    int64_t family = 0, hook = 0, priority = 0; // as struct nf_hook_ops has them
};

// A family adds its own here, and says below how the runtime reads it.
using Payload =
    std::variant<std::monostate, SessionOrder, TimerPeriod, PerfEvent, ProcfsFile, PacketHook>;

using MechanismArguments = std::array<uint64_t, DJS_ARGUMENT_COUNT>;

// djs_handler.arguments (enum djs_argument).
MechanismArguments mechanism_arguments(const Payload& payload);

} // namespace djstap
