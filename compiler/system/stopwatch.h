// SPDX-License-Identifier: GPL-2.0-or-later
// Measures the cost of a part of the work.
#pragma once
#include <chrono>
#include <string>

namespace djstap {

// Time since construction: wall time, and the CPU time of this process and of the programs that it
// ran to their end.
class Stopwatch {
  public:
    Stopwatch();
    double milliseconds() const; // wall time
    // Returns the milliseconds of wall time since construction or the previous lap.
    double lap();
    // "12.3 ms (8 user, 2 system), 34 MB": the memory is the peak of this process.
    std::string describe() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Use {
        double user = 0, system = 0;
    };
    static Use use();
    Clock::time_point start_ = Clock::now(), lap_ = start_;
    Use before_;
};

} // namespace djstap
