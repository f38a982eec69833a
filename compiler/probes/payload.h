// SPDX-License-Identifier: GPL-2.0-or-later
// The parameters of a handler's mechanism, as determined by the family of its probe point: each
// family has a structure of its own, which defines the runtime's view of it
// (djs_handler.arguments).
#pragma once
#include "include/contract.h"
#include "include/recorder.h"

#include <array>
#include <cstdint>
#include <string>
#include <variant>

namespace djstap {

// Indexed by enum djs_argument.
struct MechanismArguments : std::array<uint64_t, DJS_ARGUMENT_COUNT> {
    MechanismArguments() { fill(0); }
    MechanismArguments& set(djs_argument which, uint64_t value) {
        at(which) = value;
        return *this;
    }
    MechanismArguments& set(djs_argument which, int64_t value) {
        return set(which, static_cast<uint64_t>(value));
    }
};

// begin(N), end(N), error(N)
struct SessionOrder {
    int64_t priority = 0; // of 32 bits
    MechanismArguments arguments() const {
        return MechanismArguments().set(DJS_SESSION_PRIORITY, priority);
    }
};

struct TimerPeriod {
    uint64_t ns = 0, random_ns = 0;
    MechanismArguments arguments() const {
        return MechanismArguments()
            .set(DJS_TIMER_PERIOD_NS, ns)
            .set(DJS_TIMER_RANDOM_NS, random_ns);
    }
};

struct PerfEvent {
    uint64_t type = 0, config = 0; // of struct perf_event_attr
    uint64_t how = 0;              // enum djs_perf_how
    uint64_t rate = 0;             // units between two events, or events per second
    std::string program;           // whose threads it concerns; empty: see `how`
    MechanismArguments arguments() const {
        return MechanismArguments()
            .set(DJS_PERF_TYPE, type)
            .set(DJS_PERF_CONFIG, config)
            .set(DJS_PERF_HOW, how)
            .set(DJS_PERF_RATE, rate);
    }
};

struct WatchedData {
    uint64_t address = 0;
    uint64_t bytes = 1; // 1, 2, 4 or 8
    uint64_t how = 0;   // enum djs_breakpoint_how
    MechanismArguments arguments() const {
        return MechanismArguments()
            .set(DJS_BREAKPOINT_ADDRESS, address)
            .set(DJS_BREAKPOINT_BYTES, bytes)
            .set(DJS_BREAKPOINT_HOW, how);
    }
};

struct ProcfsFile {
    bool writes = false;
    uint64_t umask = 0;
    uint64_t bytes = 0; // size of its content including the terminator; 0: that of any string
    MechanismArguments arguments() const {
        return MechanismArguments()
            .set(DJS_PROCFS_WRITES, uint64_t{writes})
            .set(DJS_PROCFS_UMASK, umask)
            .set(DJS_PROCFS_BYTES, bytes);
    }
};

struct PacketHook {
    int64_t family = 0, hook = 0, priority = 0; // as in struct nf_hook_ops
    MechanismArguments arguments() const {
        return MechanismArguments()
            .set(DJS_NETFILTER_FAMILY, family)
            .set(DJS_NETFILTER_HOOK, hook)
            .set(DJS_NETFILTER_PRIORITY, priority);
    }
};

// The runtime compares the format of the marker that it finds with that for which the handler was
// compiled.
constexpr size_t most_marker_arguments = 10;
struct MarkerFormat {
    std::string format;
    MechanismArguments arguments() const {
        return MechanismArguments().set(DJS_MARKER_FORMAT,
                                        uint64_t{djs_hash_bytes(format.data(), format.size())});
    }
};

// A place in a program.
struct ProgramPlace {
    uint64_t process = 0;   // only hits in this process count; 0: in all
    uint64_t semaphore = 0; // its offset in the file; 0: none
    std::string program{};  // only hits in processes that run it count; empty: in all
    MechanismArguments arguments() const {
        return MechanismArguments()
            .set(DJS_UPROBE_PROCESS, process)
            .set(DJS_UPROBE_SEMAPHORE, semaphore);
    }
};

// A moment in the life of processes, or their system calls.
struct ProcessMoment {
    uint64_t process = 0; // of this process only; 0: of all
    uint64_t moment = 0;  // enum djs_process_moment
    std::string program;  // of processes that run it only; empty: of all
    MechanismArguments arguments() const {
        return MechanismArguments().set(DJS_PROCESS_ID, process).set(DJS_PROCESS_MOMENT, moment);
    }
};

// Most families have no parameters.
struct NoPayload {
    MechanismArguments arguments() const { return {}; }
};

using Payload = std::variant<NoPayload, SessionOrder, TimerPeriod, PerfEvent, WatchedData,
                             ProcfsFile, PacketHook, MarkerFormat, ProgramPlace, ProcessMoment>;

inline MechanismArguments mechanism_arguments(const Payload& payload) {
    return std::visit([](const auto& each) { return each.arguments(); }, payload);
}

// Returns the path of the program to whose threads the handler is limited; empty: it is to none.
inline std::string mechanism_program(const Payload& payload) {
    if (const auto* place = std::get_if<ProgramPlace>(&payload))
        return place->program;
    if (const auto* moment = std::get_if<ProcessMoment>(&payload))
        return moment->program;
    const auto* event = std::get_if<PerfEvent>(&payload);
    return event ? event->program : std::string();
}

} // namespace djstap
