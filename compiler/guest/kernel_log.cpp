// What a guest's console tells of its kernel.
#include "guest/guest.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace djstap {

std::string log_tail(std::string_view log, size_t lines) {
    std::string text;
    for (char c : log)
        if (c != '\r')
            text += c;
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    size_t at = text.size();
    for (size_t i = 0; i < lines && at != std::string::npos && at > 0; ++i)
        at = text.rfind('\n', at - 1);
    if (at != std::string::npos && at > 0)
        text.erase(0, at + 1);
    return text;
}

std::string complaints(std::string_view log) {
    constexpr std::array<std::string_view, 12> signs{"BUG: ",
                                                     "kernel BUG at",
                                                     "Oops: ",
                                                     "WARNING: CPU:",
                                                     "general protection fault",
                                                     "unchecked MSR access",
                                                     "Bad page state",
                                                     "UBSAN: ",
                                                     "KASAN: ",
                                                     "detected stall",

                                                     "blocked for more than",
                                                     "self-detected stall"};
    constexpr int most_lines = 30;
    std::string text;
    int lines = 0;
    while (!log.empty() && lines < most_lines) {
        const std::string_view line = log.substr(0, log.find('\n'));
        log.remove_prefix(std::min(log.size(), line.size() + 1));
        const bool found = std::any_of(signs.begin(), signs.end(), [&](std::string_view sign) {
            return line.find(sign) != std::string_view::npos;
        });
        if (lines == 0 && !found)
            continue;
        lines++;
        std::copy_if(line.begin(), line.end(), std::back_inserter(text),
                     [](char c) { return c != '\r'; });
        text += '\n';
    }
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

} // namespace djstap
