// SPDX-License-Identifier: GPL-2.0-or-later
#include "markup.h"

#include <algorithm>
#include <vector>

namespace djstap::differential {

namespace {

// the first is followed by a letter for the level
constexpr char begin_compound = 1, end_compound = 2;
constexpr char begin_spare = 3, end_spare = 4; // parentheses that precedence makes redundant
constexpr char begin_script = 5, begin_meaning = 6, end_alternative = 7;

// A line that is only in the other text leaves its newline.
std::string without_blank_lines(const std::string& text) {
    std::string kept;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
        if (text.find_first_not_of(' ', begin) < end - 1)
            kept.append(text, begin, end - begin);
        begin = end;
    }
    return kept;
}

std::string read(const std::string& marked, bool script) {
    std::string text;
    std::vector<bool> wanted; // of each enclosing alternative
    size_t hidden = 0;
    auto enter = [&](bool shown) {
        wanted.push_back(shown);
        hidden += !shown;
    };
    auto leave = [&] {
        hidden -= !wanted.back();
        wanted.pop_back();
    };
    for (size_t i = 0; i < marked.size(); i++) {
        const char c = marked[i];
        switch (c) {
        case begin_compound:
            i++;
            break;
        case end_compound:
            break;
        case begin_spare:
        case end_spare:
            if (!script && !hidden)
                text += c == begin_spare ? '(' : ')';
            break;
        case begin_script:
            enter(script);
            break;
        case begin_meaning:
            leave();
            enter(!script);
            break;
        case end_alternative:
            leave();
            break;
        default:
            if (!hidden)
                text += c;
        }
    }
    return without_blank_lines(text);
}

} // namespace

std::string compound(Level level, const std::string& text) {
    return std::string{begin_compound, static_cast<char>('A' + static_cast<int>(level))} + text +
           end_compound;
}

Level level_of(const std::string& expression) {
    return expression.starts_with(begin_compound) ? static_cast<Level>(expression[1] - 'A')
                                                  : Level::Primary;
}

std::string operand(const std::string& expression, Level least, bool keep) {
    const Level level = level_of(expression);
    if (level < least || keep)
        return "(" + expression + ")";
    return level == Level::Primary ? expression : begin_spare + expression + end_spare;
}

std::string alternative(const std::string& script, const std::string& meaning) {
    return begin_script + script + begin_meaning + meaning + end_alternative;
}

std::string script_line(const std::string& line) {
    return alternative(line, "");
}

std::string meaning_line(const std::string& line) {
    return alternative("", line);
}

bool is_half(const std::string& line) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos || line[begin] != begin_script ||
        !line.ends_with(end_alternative))
        return false;
    return line[begin + 1] == begin_meaning || line[line.size() - 2] == begin_meaning;
}

std::string script_of(const std::string& marked) {
    return read(marked, true);
}

std::string meaning_of(const std::string& marked) {
    return read(marked, false);
}

} // namespace djstap::differential
