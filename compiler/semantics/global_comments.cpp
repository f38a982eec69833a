// SPDX-License-Identifier: GPL-2.0-or-later
// The comment beside the declaration of a global, which readers show as its description.
#include "semantics/passes.h"

#include <algorithm>

namespace djstap::semantics {

namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Returns what a comment says that is all of `text`, a part of a line.
std::optional<std::string_view> said(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with("//"))
        return trimmed(text.substr(2));
    if (text.starts_with('#'))
        return trimmed(text.substr(1));
    if (text.size() >= 4 && text.starts_with("/*") && text.ends_with("*/"))
        return trimmed(text.substr(2, text.size() - 4));
    return std::nullopt;
}

// Returns where a comment begins in this part of a line; characters of strings begin none.
size_t comment_in(std::string_view line) {
    bool quoted = false;
    for (size_t at = 0; at < line.size(); at++) {
        if (quoted && line[at] == '\\')
            at++;
        else if (line[at] == '"')
            quoted = !quoted;
        else if (!quoted && (line[at] == '#' || line.substr(at).starts_with("//") ||
                             line.substr(at).starts_with("/*")))
            return at;
    }
    return std::string_view::npos;
}

} // namespace

std::string comment_of(const program::Global& global, const SourceManager& sources) {
    if (!global.range.valid() || global.range.expansion)
        return {};
    const uint32_t file = global.range.file;
    const LineColumn place = sources.position(global.range);
    const std::string_view line = sources.line(file, place.line);
    const std::string_view behind = line.substr(std::min<size_t>(line.size(), place.column - 1));
    if (const size_t at = comment_in(behind); at != std::string_view::npos)
        return std::string(said(behind.substr(at)).value_or(std::string_view()));
    std::string text;
    for (uint32_t above = place.line - 1; above > 0; above--) {
        const std::string_view each = sources.line(file, above);
        const auto words = said(each);
        if (!words || (above == 1 && each.starts_with("#!")))
            break;
        text.insert(0, std::string(*words) + (text.empty() ? "" : " "));
    }
    return text;
}

} // namespace djstap::semantics
