// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/printed_values.h"

#include "system/utf8.h"

#include <algorithm>
#include <cctype>

namespace djstap {

namespace {

bool is_name_character(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) || character == '_' ||
           character == '-' || character == '.';
}

// Returns NAME if a text ends with "NAME=" or "NAME: ".
std::string name_before(std::string_view text) {
    while (text.ends_with(' ') || text.ends_with('"') || text.ends_with('\''))
        text.remove_suffix(1);
    if (!text.ends_with('=') && !text.ends_with(':'))
        return {};
    text.remove_suffix(1);
    size_t begin = text.size();
    while (begin > 0 && is_name_character(text[begin - 1]))
        begin--;
    const std::string_view name = text.substr(begin);
    const bool named = !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front()));
    return named ? std::string(name) : std::string();
}

} // namespace

std::string utf8(std::string_view text) {
    if (std::ranges::all_of(text, [](char byte) { return byte >= 0; }))
        return std::string(text);
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t length = utf8_length(static_cast<unsigned char>(text[at]));
        bool whole = length > 0 && at + length <= text.size();
        for (size_t i = 1; whole && i < length; i++)
            whole = (static_cast<unsigned char>(text[at + i]) & 0xc0) == 0x80;
        if (whole)
            out.append(text, at, length);
        else
            out += "\xef\xbf\xbd";
        at += whole ? length : 1;
    }
    return out;
}

std::vector<std::string> argument_names(const ModuleMeta::Format& format) {
    std::vector<std::string> names;
    const std::string_view text = format.text;
    size_t behind = 0; // the last conversion
    for (size_t at = 0; at < text.size();) {
        if (text[at] != '%') {
            at++;
            continue;
        }
        const size_t begin = at++;
        size_t stars = 0;
        while (at < text.size() &&
               std::string_view("-+ #0123456789.*l").find(text[at]) != std::string_view::npos)
            stars += text[at++] == '*';
        if (at == text.size())
            break;
        if (text[at++] == '%')
            continue;
        names.insert(names.end(), stars, "");
        names.push_back(name_before(text.substr(behind, begin - behind)));
        behind = at;
    }
    names.resize(format.types.size());
    for (size_t i = 0; i < names.size(); i++) {
        const auto taken = [&] {
            return std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i),
                             names[i]) != names.begin() + static_cast<std::ptrdiff_t>(i);
        };
        if (names[i].empty() || taken())
            names[i] = "arg" + std::to_string(i + 1);
        while (taken())
            names[i] += "_";
    }
    return names;
}

std::string format_title(const ModuleMeta::Format& format) {
    std::string title;
    for (const char character : format.shows.empty() ? format.text : format.shows) {
        const bool space = std::isspace(static_cast<unsigned char>(character));
        if (!space)
            title += character;
        else if (!title.empty() && title.back() != ' ')
            title += ' ';
    }
    while (title.ends_with(' '))
        title.pop_back();
    return title.empty() ? "print" : title;
}

std::string_view probed_function(std::string_view point, bool& returns) {
    constexpr std::string_view begin = ".function(\"";
    const size_t at = point.find(begin);
    if (at == std::string_view::npos)
        return {};
    const std::string_view rest = point.substr(at + begin.size());
    const size_t end = rest.find("\")");
    if (end == std::string_view::npos)
        return {};
    const std::string_view suffix = rest.substr(end + 2);
    returns = suffix.starts_with(".return");
    if (!returns && !suffix.empty() && !suffix.starts_with(".call"))
        return {};
    const std::string_view name = rest.substr(0, end);
    return name.substr(0, name.find('@'));
}

} // namespace djstap
