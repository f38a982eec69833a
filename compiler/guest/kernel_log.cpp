// SPDX-License-Identifier: GPL-2.0-or-later
// What a guest's console says about its kernel.
#include "guest/guest.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace djstap {

namespace {

// How a kernel begins a report of a problem of its own. "WARNING: " alone is none: kernels also say
// so of a configuration that they find unsafe.
constexpr auto signs = std::to_array<std::string_view>({
    "BUG: ",
    "BUG kmalloc", // and other slabs: from SLUB's debugging
    "kernel BUG at",
    "Oops: ",
    " [#1] ", // die() prints this for any exception
    "WARNING: CPU:",
    ", CPU#", // WARN() of Linux 7.3: "WARNING: FILE:LINE at FUNCTION, CPU#0: COMMAND/PID"
    "WARNING: possible",   // lockdep: … circular locking dependency detected
    "WARNING: suspicious", // RCU usage
    "WARNING: bad unlock",
    "WARNING: inconsistent lock",
    "WARNING: held lock freed",
    "WARNING: lock held when returning",
    "WARNING: Nested lock",
    "trying to register non-static key", // lockdep, which is off from then on
    "WARNING: can't access ",            // and the next ones: a stack that cannot be unwound
    "WARNING: kernel stack ",
    "WARNING: missing ",
    "WARNING: stack ",
    "WARNING: unknown ",
    "unreferenced object ",      // kmemleak's reports, as printed by the guest's agent
    "left behind by a module, ", // as printed by the guest's agent, too
    "general protection fault",
    "unchecked MSR access",
    "Bad page state",
    "UBSAN: ",
    "KASAN: ",
    "ODEBUG: ",
    "detected stall", // also "self-detected stall"
    "detected expedited stall",
    "blocked for more than",
});

// A kernel with KCSAN has data races of its own, some of them intentional: only those of a module
// are reported, which the line names in brackets after its function.
bool is_race_of_kernel(std::string_view line) {
    const size_t race = line.find("BUG: KCSAN: ");
    return race != std::string_view::npos && line.find(" [", race) == std::string_view::npos;
}

bool is_complaint(std::string_view line) {
    if (is_race_of_kernel(line))
        return false;
    return std::any_of(signs.begin(), signs.end(), [&](std::string_view sign) {
        return line.find(sign) != std::string_view::npos;
    });
}

} // namespace

std::string log_tail(std::string_view log, size_t lines) {
    std::string text;
    for (char c : log)
        if (c != '\r')
            text += c;
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    size_t at = text.size();
    for (size_t i = 0; i < lines && at != std::string::npos; ++i)
        at = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    if (at != std::string::npos)
        text.erase(0, at + 1);
    return text;
}

std::string complaints(std::string_view log) {
    constexpr int max_lines = 30;
    std::string text;
    int lines = 0;
    while (!log.empty() && lines < max_lines) {
        const std::string_view line = log.substr(0, log.find('\n'));
        log.remove_prefix(std::min(log.size(), line.size() + 1));
        if (lines == 0 && !is_complaint(line))
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

std::string log_of_loss(std::string_view log) {
    constexpr size_t last = 40, most = 150;
    const std::string text = log_tail(log, most);
    size_t wanted = last, behind = 0; // behind: lines from the current one to the end
    for (size_t end = text.size(); behind < most;) {
        const size_t begin = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
        const size_t from = begin == std::string::npos ? 0 : begin + 1;
        const std::string_view line = std::string_view(text).substr(from, end - from);
        ++behind;
        if (is_complaint(line) || line.find("Kernel panic") != std::string_view::npos ||
            line.find("sysrq: ") != std::string_view::npos)
            wanted = std::max(wanted, behind);
        if (begin == std::string::npos)
            break;
        end = begin;
    }
    return log_tail(text, wanted);
}

} // namespace djstap
