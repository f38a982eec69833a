// SPDX-License-Identifier: GPL-2.0-or-later
// How far a long step is, on a terminal.
#pragma once
#include "system/stopwatch.h"

#include <string>

namespace djstap::driver {

// Draws in the terminal's current line, and leaves it empty at the end.
class ProgressBar {
  public:
    // `file`: a descriptor. Draws nothing if it is no terminal, or before `delay` milliseconds.
    ProgressBar(int file, std::string what, double delay = 300);
    ~ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    // `share`: from 0 to 1.
    void show(double share);

  private:
    const int file_;
    const bool is_terminal_;
    const std::string what_;
    const double delay_;
    const Stopwatch started_;
    int percent_ = -1; // as drawn
};

} // namespace djstap::driver
