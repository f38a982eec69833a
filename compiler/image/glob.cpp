// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/glob.h"

namespace djstap {

namespace {

// Matches one character against the set at pattern[at] == '['; sets `end` to the position after the
// ']'.
bool set_matches(std::string_view pattern, size_t at, char c, size_t& end) {
    size_t i = at + 1;
    bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
    if (negated)
        i++;
    bool found = false;
    for (size_t first = i; i < pattern.size() && (pattern[i] != ']' || i == first); i++) {
        unsigned char low = pattern[i], high = low;
        if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
            high = pattern[i + 2];
            i += 2;
        }
        unsigned char value = c;
        found = found || (value >= low && value <= high);
    }
    if (i >= pattern.size()) {
        end = at + 1;
        return c == '[';
    }
    end = i + 1;
    return found != negated;
}

} // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
    size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = ++p;
            resume = t;
            continue;
        }
        bool matched = false;
        size_t next = p;
        if (p < pattern.size()) {
            if (pattern[p] == '?') {
                matched = true;
                next = p + 1;
            } else if (pattern[p] == '[') {
                matched = set_matches(pattern, p, text[t], next);
            } else {
                if (pattern[p] == '\\' && p + 1 < pattern.size())
                    next++;
                matched = pattern[next] == text[t];
                next++;
            }
        }
        if (matched) {
            p = next;
            t++;
        } else if (star != std::string_view::npos) {
            p = star;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        p++;
    return p == pattern.size();
}

bool has_wildcard(std::string_view pattern) {
    return pattern.find_first_of("*?[\\") != std::string_view::npos;
}

std::string_view literal_prefix(std::string_view pattern) {
    return pattern.substr(0, pattern.find_first_of("*?[\\"));
}

} // namespace djstap
