// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/pattern.h"

#include "debuginfo/qualified.h"
#include "image/glob.h"
#include "system/number.h"

namespace djstap {

namespace {

constexpr std::string_view forms =
    "write \"function\", \"function@file\", \"function@file:line\", "
    "\"function@file+offset\", \"function@file:*\" or \"*@file:first-last\"";

std::string quoted(std::string_view text) {
    std::string result(1, '\'');
    result.append(text).push_back('\'');
    return result;
}

Failure bad(std::string_view text, const std::string& what) {
    return {quoted(text).append(": ").append(what), std::string(forms)};
}

// The arguments of a template are separated by commas and spaces.
bool has_bad_character(std::string_view text) {
    const auto operation = find_operator(text);
    int depth = 0;
    for (size_t i = 0; i < text.size(); i++) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c == ' ' && operation && i > operation->begin && i < operation->end)
            continue;
        depth += c == '<';
        depth -= c == '>';
        if (c < ' ' || c == 0x7f || (c == ' ' && depth <= 0))
            return true;
    }
    return false;
}

// Returns where a name ends that may have scopes, "shop::order": at one of `marks`; npos: nowhere.
size_t end_of_name(std::string_view text, std::string_view marks) {
    const auto operation = find_operator(text);
    for (size_t i = operation ? operation->end : 0; i < text.size(); i++) {
        if (text.substr(i, 2) == "::")
            i++;
        else if (marks.find(text[i]) != std::string_view::npos)
            return i;
    }
    return std::string_view::npos;
}

// "a**b" matches the same as "a*b", but more slowly.
std::string without_repeated_stars(std::string_view text) {
    std::string result;
    for (char c : text) {
        if (c != '*' || result.empty() || result.back() != '*')
            result += c;
    }
    return result;
}

Status parse_line(std::string_view text, char mark, std::string_view line,
                  FunctionPattern& pattern) {
    using Kind = FunctionPattern::LineKind;
    if (mark == '+') {
        pattern.line_kind = Kind::Relative;
        if (!parse_number(line, pattern.line))
            return bad(text, line.empty()
                                 ? "the offset after '+' is missing"
                                 : "the offset after '+', " + quoted(line) + ", is not a number");
        return Done{};
    }
    if (line == "*") {
        pattern.line_kind = Kind::All;
        return Done{};
    }
    size_t dash = line.find('-');
    std::string_view first = line.substr(0, dash);
    if (!parse_number(first, pattern.line) || pattern.line == 0)
        return bad(text, line.empty()
                             ? "the line after ':' is missing"
                             : "the line after ':', " + quoted(line) + ", is not a line number");
    pattern.line_kind = Kind::Absolute;
    if (dash == std::string_view::npos)
        return Done{};
    pattern.line_kind = Kind::Range;
    if (!parse_number(line.substr(dash + 1), pattern.last_line))
        return bad(text, "the last line of " + quoted(line) + " is not a line number");
    if (pattern.last_line < pattern.line)
        return bad(text, "the lines " + quoted(line) + " end before they begin");
    return Done{};
}

} // namespace

Result<FunctionPattern> parse_function_pattern(std::string_view given) {
    const std::string named = without_anonymous_namespaces(given);
    const std::string_view text = named;
    FunctionPattern pattern;
    size_t at = text.find('@');
    std::string_view function = text.substr(0, at);
    if (function.empty())
        return bad(text, "the function name is missing");
    if (has_bad_character(text))
        return bad(text, "it contains a space or a control character");
    if (at == std::string_view::npos) {
        if (size_t mark = end_of_name(function, ":+"); mark != std::string_view::npos) {
            // "func+5" and "func:*" are lines of a function whose file may be omitted.
            if (Status parsed =
                    parse_line(text, function[mark], function.substr(mark + 1), pattern);
                !parsed)
                return parsed.failure();
            function = function.substr(0, mark);
            if (function.empty())
                return bad(text, "the function name is missing");
        }
        if (function.ends_with("::"))
            return bad(text, "the function name behind '::' is missing");
        pattern.function = without_repeated_stars(function);
        return pattern;
    }
    if (end_of_name(function, ":+/") != std::string_view::npos || function.ends_with("::"))
        return bad(text, quoted(function) + " before '@' is not a function name");
    pattern.function = without_repeated_stars(function);
    std::string_view rest = text.substr(at + 1);
    // A file's name may contain '+' ("c++.c"), but not before its last digits.
    size_t mark = rest.rfind(':');
    if (mark == std::string_view::npos) {
        size_t plus = rest.rfind('+');
        uint32_t ignored = 0;
        if (plus != std::string_view::npos &&
            (plus + 1 == rest.size() || parse_number(rest.substr(plus + 1), ignored) ||
             rest.find('.', plus) == std::string_view::npos))
            mark = plus;
    }
    pattern.file = without_repeated_stars(rest.substr(0, mark));
    if (pattern.file.empty())
        return bad(text, "the file name after '@' is missing");
    if (pattern.file.find('@') != std::string::npos)
        return bad(text, "there is more than one '@'");
    if (mark != std::string_view::npos) {
        if (Status parsed = parse_line(text, rest[mark], rest.substr(mark + 1), pattern); !parsed)
            return parsed.failure();
    }
    return pattern;
}

bool file_matches(std::string_view pattern, std::string_view file) {
    if (pattern.empty())
        return true;
    if (!has_wildcard(pattern))
        return file == pattern ||
               (file.size() > pattern.size() && file.ends_with(pattern) &&
                (file[file.size() - pattern.size() - 1] == '/' || pattern.front() == '/'));
    if (glob_match(pattern, file))
        return true;
    for (size_t slash = file.find('/'); slash != std::string_view::npos;
         slash = file.find('/', slash + 1)) {
        if (glob_match(pattern, file.substr(slash + 1)))
            return true;
    }
    return false;
}

} // namespace djstap
