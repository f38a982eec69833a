// SPDX-License-Identifier: GPL-2.0-or-later
// What scripts say, on its way into metrics and into the agent's log.
#pragma once
#include "pmda/runs.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace djstap::pmda {

// Returns a message as one line without control characters. A script may say anything: it must not
// write lines of the log that look like the agent's own, nor control the terminal of whoever reads.
std::string one_line(std::string_view text);

// How many messages of each script go to the log. A script that says something else all the time
// would fill the disk.
class LogAllowance {
  public:
    static constexpr int most = 10; // in a period
    static constexpr std::chrono::minutes period{1};

    // Whether a message of this script is logged; Last: and no other one in this period.
    enum class Answer : uint8_t { Yes, Last, No };
    Answer ask(const std::string& script, Clock::time_point now);

  private:
    struct Period {
        Clock::time_point begin;
        int messages = 0;
    };
    std::map<std::string, Period> periods_; // that have not ended
};

} // namespace djstap::pmda
