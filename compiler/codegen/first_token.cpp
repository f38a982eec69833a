// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/first_token.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace djstap::codegen {

namespace {

constexpr std::array<std::string_view, 20> keywords{
    "probe", "global", "function", "if",     "else",  "for",    "foreach",
    "in",    "limit",  "return",   "delete", "while", "break",  "continue",
    "next",  "string", "long",     "try",    "catch", "private"};

constexpr std::array<std::string_view, 8> long_operators{
    "++", "--", "%{", "/=", "%=", "=~", "!~", "<<"};

bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '@';
}

} // namespace

std::string first_token(const SourceManager& sources, SourceRange range) {
    const std::string_view text = sources.text(range);
    if (text.empty())
        return "statement";
    if (text.front() == '"')
        return "string '" + std::string(text.substr(1, text.find('"', 1) - 1)) + "'";
    const auto end = std::find_if_not(text.begin(), text.end(), in_word);
    const std::string word(text.begin(), end);
    if (word.empty()) {
        const bool is_long = std::find(long_operators.begin(), long_operators.end(),
                                       text.substr(0, 2)) != long_operators.end();
        return "operator '" + std::string(text.substr(0, is_long ? 2 : 1)) + "'";
    }
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0)
        return "number '" + word + "'";
    if (word.front() == '@')
        return "operator '" + word + "'";
    if (std::find(keywords.begin(), keywords.end(), word) != keywords.end())
        return "keyword";
    return "identifier '" + word + "'";
}

} // namespace djstap::codegen
