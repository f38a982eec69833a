// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/codegen.h"
#include "include/script.h"

#include <array>

namespace djstap {

namespace {

struct LimitEntry {
    std::string_view name;
    int64_t Limits::* member;
    int64_t lowest, highest;
};

constexpr std::array limits_table{
    LimitEntry{"MAXACTION", &Limits::MAXACTION, 1, INT32_MAX},
    LimitEntry{"MAXACTION_INTERRUPTIBLE", &Limits::MAXACTION_INTERRUPTIBLE, 1, INT32_MAX},
    LimitEntry{"MAXMAPENTRIES", &Limits::MAXMAPENTRIES, 1, 1 << 28},
    LimitEntry{"MAXSTRINGLEN", &Limits::MAXSTRINGLEN, 16, 8192},
    LimitEntry{"MAXERRORS", &Limits::MAXERRORS, 0, INT32_MAX},
    LimitEntry{"MAXSKIPPED", &Limits::MAXSKIPPED, 0, INT32_MAX},
    LimitEntry{"MAXTRYLOCK", &Limits::MAXTRYLOCK, 1, INT32_MAX},
    LimitEntry{"MAXNESTING", &Limits::MAXNESTING, 1, 100},
    LimitEntry{"MAXBACKTRACE", &Limits::MAXBACKTRACE, 1, 128},
    LimitEntry{"MAXSYMBOLS", &Limits::MAXSYMBOLS, 1, 1 << 17},
    // A handler's own frames are known, but not those of what it calls, and of a fault.
    LimitEntry{"MINSTACKSPACE", &Limits::MINSTACKSPACE, DJS_FAULT_STACK, 4096},
    LimitEntry{"KRETACTIVE", &Limits::KRETACTIVE, 0, 65535},
    LimitEntry{"MAXKPROBES", &Limits::MAXKPROBES, 0, INT32_MAX},
    LimitEntry{"MAXPERFTHREADS", &Limits::MAXPERFTHREADS, 1, 1 << 20},
    LimitEntry{"STAP_CALLEE_MATCHALL", &Limits::STAP_CALLEE_MATCHALL, 0, 1},
    LimitEntry{"MAXSPECULATIONS", &Limits::MAXSPECULATIONS, 1, INT32_MAX},
    LimitEntry{"RING_KB", &Limits::RING_KB, 16, 1 << 20},
    LimitEntry{"STP_OVERLOAD_INTERVAL", &Limits::STP_OVERLOAD_INTERVAL, 100000000, 100000000000},
    LimitEntry{"STP_OVERLOAD_THRESHOLD", &Limits::STP_OVERLOAD_THRESHOLD, 1, 100000000000},
    LimitEntry{"STP_NO_OVERLOAD", &Limits::STP_NO_OVERLOAD, 0, 1},
};

} // namespace

bool Limits::set(std::string_view name, int64_t value) {
    for (const LimitEntry& entry : limits_table) {
        if (entry.name == name && value >= entry.lowest && value <= entry.highest) {
            this->*entry.member = value;
            return true;
        }
    }
    return false;
}

std::vector<std::string> Limits::names() {
    std::vector<std::string> out;
    for (const LimitEntry& entry : limits_table)
        out.emplace_back(entry.name);
    return out;
}

std::string Limits::range(std::string_view name) {
    for (const LimitEntry& entry : limits_table)
        if (entry.name == name)
            return std::to_string(entry.lowest) + " to " + std::to_string(entry.highest);
    return {};
}

} // namespace djstap
