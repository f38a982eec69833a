// SPDX-License-Identifier: GPL-2.0-or-later
// The names of operators in C++, which contain what separates other names.
#include "debuginfo/qualified.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace djstap {

namespace {

constexpr std::string_view keyword = "operator";

// A longer one is in front of those with which it begins.
constexpr std::array<std::string_view, 45> tokens{
    "()", "[]", "->*", "->",     "<<=",  ">>=",       "<=>",     "<<",        ">>",
    "<=", ">=", "==",  "!=",     "&&",   "||",        "++",      "--",        "+=",
    "-=", "*=", "/=",  "%=",     "^=",   "&=",        "|=",      "+",         "-",
    "*",  "/",  "%",   "^",      "&",    "|",         "~",       "!",         "=",
    "<",  ">",  ",",   " new[]", " new", " delete[]", " delete", " co_await", "\"\""};

bool is_letter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Returns where the arguments of a template end that begin here.
size_t end_of_arguments(std::string_view text, size_t at) {
    if (at >= text.size() || text[at] != '<')
        return at;
    int depth = 0;
    for (size_t i = at; i < text.size(); i++) {
        depth += text[i] == '<';
        depth -= text[i] == '>';
        if (depth == 0)
            return i + 1;
    }
    return at;
}

// Whether a name may end there, with the mark of a line or a file behind it.
bool may_end(std::string_view rest) {
    if (rest.empty() || rest.front() == '@')
        return true;
    if (rest.front() == ':')
        return rest.size() > 1 && rest[1] != ':';
    return rest.size() > 1 && rest.front() == '+' &&
           rest.find_first_not_of("0123456789", 1) == rest.npos;
}

// Returns where the type of a conversion ends.
size_t end_of_type(std::string_view text, size_t at) {
    for (; at < text.size(); at++) {
        at = end_of_arguments(text, at);
        if (at >= text.size() || text[at] == '@' || text[at] == '+' || text[at] == '(')
            break;
        if (text.substr(at, 2) == "::")
            at++;
        else if (text[at] == ':')
            break;
    }
    return std::min(at, text.size());
}

std::optional<OperatorName> operator_at(std::string_view text, size_t begin) {
    const size_t behind = begin + keyword.size();
    const std::string_view rest = text.substr(behind);
    for (const std::string_view token : tokens) {
        if (!rest.starts_with(token))
            continue;
        size_t end = behind + token.size();
        if (token == "\"\"") // a literal: operator""_km
            while (end < text.size() && (is_letter(text[end]) || text[end] == ' '))
                end++;
        for (const size_t possible : {end_of_arguments(text, end), end})
            if (may_end(text.substr(possible)))
                return OperatorName{begin, possible, false};
    }
    if (rest.size() < 2 || rest.front() != ' ' || !(is_letter(rest[1]) || rest[1] == ':'))
        return std::nullopt;
    const size_t end = end_of_type(text, behind + 1);
    return may_end(text.substr(end)) ? std::optional(OperatorName{begin, end, true}) : std::nullopt;
}

// Leaves one way to write an integer type ("long int" is "long", "unsigned" is "unsigned int";
// C++20, 9.2.9.3, table 14).
void name_integer(std::vector<std::string>& words) {
    const auto has = [&](std::string_view word) {
        return std::ranges::find(words, word) != words.end();
    };
    const bool is_sized = has("long") || has("short");
    if (!is_sized && !has("unsigned") && !has("signed"))
        return;
    std::erase(words, "int");
    if (has("char"))
        return;
    std::erase(words, "signed");
    if (!is_sized)
        words.emplace_back("int");
}

// The words of a type in a fixed order, without spaces that mean nothing.
std::string plain_type(std::string_view type) {
    std::vector<std::string> words;
    std::string marks;
    while (!type.empty()) {
        if (type.front() == ' ') {
            type.remove_prefix(1);
        } else if (type.front() == '*' || type.front() == '&') {
            marks += type.front();
            type.remove_prefix(1);
        } else {
            const size_t end = std::min(type.find_first_of(" *&"), type.size());
            // What qualifies a pointer stays behind it.
            if (marks.empty())
                words.emplace_back(type.substr(0, end));
            else
                marks.append(type.substr(0, end));
            type.remove_prefix(end);
        }
    }
    name_integer(words);
    std::sort(words.begin(), words.end());
    std::string text;
    for (const std::string& word : words)
        text.append(text.empty() ? "" : " ").append(word);
    return text + marks;
}

} // namespace

std::optional<OperatorName> find_operator(std::string_view text) {
    for (size_t at = text.rfind(keyword); at != text.npos;
         at = at > 0 ? text.rfind(keyword, at - 1) : text.npos) {
        if (at > 0 && is_letter(text[at - 1]))
            continue;
        if (auto found = operator_at(text, at))
            return found;
    }
    return std::nullopt;
}

bool means_conversion(std::string_view name, std::string_view qualified) {
    constexpr std::string_view separator = "::";
    const auto wanted = find_operator(name), found = find_operator(qualified);
    if (!wanted || !wanted->is_conversion || !found || !found->is_conversion ||
        plain_type(name.substr(wanted->begin + keyword.size())) !=
            plain_type(qualified.substr(found->begin + keyword.size())))
        return false;
    std::string_view scope = name.substr(0, wanted->begin), of = qualified.substr(0, found->begin);
    if (scope == separator)
        return of.empty();
    if (scope.ends_with(separator))
        scope.remove_suffix(separator.size());
    if (of.ends_with(separator))
        of.remove_suffix(separator.size());
    return scope.empty() || qualified_matches(scope, of);
}

} // namespace djstap
