// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/glob.h"

#include <algorithm>

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

constexpr std::string_view wildcards = "*?[{\\";

// Matches a pattern without braces.
bool matches_one(std::string_view pattern, std::string_view text) {
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

// The parts of the first braces in a pattern.
struct Braces {
    size_t open = std::string_view::npos, close = std::string_view::npos;
    std::vector<std::string_view> choices;
};

Braces first_braces(std::string_view pattern) {
    Braces braces;
    size_t depth = 0, from = 0;
    for (size_t at = 0; at < pattern.size(); at++) {
        const char c = pattern[at];
        if (c == '\\') {
            at++;
        } else if (c == '{' && depth++ == 0) {
            braces.open = at;
            from = at + 1;
        } else if (depth == 1 && (c == ',' || c == '}')) {
            braces.choices.push_back(pattern.substr(from, at - from));
            from = at + 1;
        }
        if (c == '}' && depth > 0 && --depth == 0) {
            braces.close = at;
            return braces;
        }
    }
    return {};
}

// Appends the alternatives until there are too many.
void expand(const std::string& before, std::string_view pattern, std::vector<std::string>& out) {
    const Braces braces = first_braces(pattern);
    if (braces.close == std::string_view::npos) {
        out.push_back(before + std::string(pattern));
        return;
    }
    for (const std::string_view choice : braces.choices) {
        if (out.size() > most_alternatives)
            return;
        std::string rest(choice);
        rest.append(pattern.substr(braces.close + 1));
        expand(before + std::string(pattern.substr(0, braces.open)), rest, out);
    }
}

// Each is a level of recursion.
constexpr ptrdiff_t most_braces = 64;

bool has_too_many_braces(std::string_view pattern) {
    return std::count(pattern.begin(), pattern.end(), '{') > most_braces;
}

} // namespace

std::vector<std::string> glob_alternatives(std::string_view pattern) {
    if (has_too_many_braces(pattern))
        return {std::string(pattern)};
    std::vector<std::string> out;
    expand("", pattern, out);
    out.resize(std::min(out.size(), most_alternatives));
    return out;
}

bool has_too_many_alternatives(std::string_view pattern) {
    if (has_too_many_braces(pattern))
        return true;
    std::vector<std::string> out;
    expand("", pattern, out);
    return out.size() > most_alternatives;
}

Glob::Glob(std::string_view pattern) : alternatives_(glob_alternatives(pattern)) {}

bool Glob::matches(std::string_view text) const {
    return std::any_of(alternatives_.begin(), alternatives_.end(),
                       [&](const std::string& each) { return matches_one(each, text); });
}

bool glob_match(std::string_view pattern, std::string_view text) {
    return pattern.find('{') == std::string_view::npos ? matches_one(pattern, text)
                                                       : Glob(pattern).matches(text);
}

bool has_wildcard(std::string_view pattern) {
    return pattern.find_first_of(wildcards) != std::string_view::npos;
}

std::string_view literal_prefix(std::string_view pattern) {
    return pattern.substr(0, pattern.find_first_of(wildcards));
}

} // namespace djstap
