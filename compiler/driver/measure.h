// What a pass cost: for -v.
#pragma once
#include <chrono>
#include <string>

namespace djstap::driver {

// Time since its making: wall, and of this process with the programs that it ran to their end.
class Stopwatch {
  public:
    Stopwatch();
    double milliseconds() const; // wall
    // "12.3 ms (8 user, 2 system), 34 MB": the memory is the highest that this process ever held.
    std::string describe() const;

  private:
    struct Use {
        double user = 0, system = 0;
    };
    static Use use();
    std::chrono::steady_clock::time_point start_;
    Use before_;
};

} // namespace djstap::driver
