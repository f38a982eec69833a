// SPDX-License-Identifier: GPL-2.0-or-later
// What each step costs until hosts show something, for -v.
#pragma once
#include "system/stopwatch.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace djstap::driver {

class HostsSteps {
  public:
    explicit HostsSteps(bool are_shown) : are_shown_(are_shown) {}

    // A step is done, and the next one begins.
    void done(std::string_view step) {
        last_ = step;
        if (are_shown_)
            fprintf(stderr, "hosts, %s: %s\n", last_.c_str(), time_.describe().c_str());
        time_ = Stopwatch();
    }
    // The step that was done last; "": none.
    const std::string& last() const { return last_; }

  private:
    bool are_shown_;
    Stopwatch time_;
    std::string last_;
};

} // namespace djstap::driver
