#pragma once
#include <chrono>

namespace djstap::module {

// Milliseconds since it was made or last asked.
class Stopwatch {
  public:
    double lap() {
        auto now = std::chrono::steady_clock::now();
        double passed = std::chrono::duration<double, std::milli>(now - from_).count();
        from_ = now;
        return passed;
    }

  private:
    std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
};

} // namespace djstap::module
