// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/stopwatch.h"

#include <cstdio>
#include <sys/resource.h>
#include <utility>

namespace djstap {

namespace {

double milliseconds_of(const struct timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

double milliseconds_of(std::chrono::steady_clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

} // namespace

Stopwatch::Use Stopwatch::use() {
    Use total;
    for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        struct rusage usage = {};
        getrusage(who, &usage);
        total.user += milliseconds_of(usage.ru_utime);
        total.system += milliseconds_of(usage.ru_stime);
    }
    return total;
}

Stopwatch::Stopwatch() : before_(use()) {}

double Stopwatch::milliseconds() const {
    return milliseconds_of(Clock::now() - start_);
}

double Stopwatch::lap() {
    const Clock::time_point now = Clock::now();
    return milliseconds_of(now - std::exchange(lap_, now));
}

std::string Stopwatch::describe() const {
    Use after = use();
    struct rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    char text[128];
    snprintf(text, sizeof text, "%.1f ms (%.0f user, %.0f system), %ld MB", milliseconds(),
             after.user - before_.user, after.system - before_.system, usage.ru_maxrss / 1024);
    return text;
}

} // namespace djstap
