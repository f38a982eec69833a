// SPDX-License-Identifier: GPL-2.0-or-later
// What a part of the work cost.
#pragma once
#include <chrono>
#include <string>

namespace djstap {

// Time since its making: wall, and of this process with the programs that it ran to their end.
class Stopwatch {
  public:
    Stopwatch();
    double milliseconds() const; // wall
    // Milliseconds of wall time since it was made or last asked for a lap.
    double lap();
    // "12.3 ms (8 user, 2 system), 34 MB": the memory is the highest that this process ever held.
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
