// SPDX-License-Identifier: GPL-2.0-or-later
// What the parts of TracedProgram do with ptrace alike.
#pragma once
#include "diagnostics/result.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <sys/ptrace.h>
#include <sys/wait.h>

namespace djstap::injection {

constexpr uint64_t all_but_traps = ~(uint64_t{1} << (SIGTRAP - 1));

// Returns the failure with errno's text.
inline Failure failed(const std::string& what) {
    return {what + ": " + std::strerror(errno), ""};
}

// Waits for the thread, also if a signal arrives here.
inline int wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, __WALL) < 0)
        if (errno != EINTR)
            return 0;
    return status;
}

// Of the kernel, whose sets have 64 signals.
inline Status set_mask(pid_t pid, uint64_t mask) {
    if (ptrace(PTRACE_SETSIGMASK, pid, sizeof mask, &mask) != 0)
        return failed("the command's signals cannot be blocked");
    return Done{};
}

// Whether a thread stopped as PTRACE_INTERRUPT asks for, or with all of its process.
inline bool is_interruption(int status) {
    return status >> 16 == PTRACE_EVENT_STOP;
}

} // namespace djstap::injection
