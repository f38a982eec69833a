// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/messages.h"

#include "diagnostics/plain_text.h"

#include <algorithm>
#include <utility>

namespace djstap::pmda {

std::string one_line(std::string_view text) {
    std::string line = without_controls(text.substr(0, text.find_last_not_of('\n') + 1));
    std::ranges::replace_if(line, is_control, ' ');
    return line;
}

LogAllowance::Answer LogAllowance::ask(const std::string& script, Clock::time_point now) {
    std::erase_if(periods_, [now](const auto& each) { return now - each.second.begin >= period; });
    Period& of_script = periods_.try_emplace(script, Period{now}).first->second;
    if (of_script.messages >= most)
        return Answer::No;
    return ++of_script.messages == most ? Answer::Last : Answer::Yes;
}

} // namespace djstap::pmda
