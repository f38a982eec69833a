// SPDX-License-Identifier: GPL-2.0-or-later
#include "lsp/text.h"

#include "system/utf8.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace djstap::lsp {

namespace {

// The bytes of a character, by its first one; 1 for a byte that begins none.
size_t bytes_of(char first) {
    return std::max(utf8_length(static_cast<unsigned char>(first)), size_t{1});
}

// Characters beyond the first 65,536 take two units.
uint32_t units_of(size_t bytes) {
    return bytes == 4 ? 2 : 1;
}

bool belongs_to_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool leads_name(char c) {
    return c == '$' || c == '@';
}

} // namespace

Text::Text(std::string text) : text_(std::move(text)) {
    line_starts_.push_back(0);
    for (size_t i = 0; i < text_.size(); i++)
        if (text_[i] == '\n')
            line_starts_.push_back(i + 1);
}

std::string_view Text::line(uint32_t number) const {
    const size_t begin = line_starts_[number];
    const size_t end =
        number + 1 < line_starts_.size() ? line_starts_[number + 1] - 1 : text_.size();
    std::string_view found = std::string_view(text_).substr(begin, end - begin);
    if (found.ends_with('\r'))
        found.remove_suffix(1);
    return found;
}

size_t Text::offset(Position position) const {
    if (position.line >= line_starts_.size())
        return text_.size();
    const std::string_view in = line(position.line);
    size_t at = 0;
    for (uint32_t units = 0; at < in.size();) {
        const size_t bytes = std::min(bytes_of(in[at]), in.size() - at);
        units += units_of(bytes);
        if (units > position.character)
            break;
        at += bytes;
    }
    return line_starts_[position.line] + at;
}

Position Text::position(size_t offset) const {
    offset = std::min(offset, text_.size());
    const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
    const auto number = static_cast<uint32_t>(after - line_starts_.begin() - 1);
    const std::string_view in = line(number);
    const size_t end = std::min(offset - line_starts_[number], in.size());
    uint32_t units = 0;
    for (size_t at = 0; at < end;) {
        const size_t bytes = std::min(bytes_of(in[at]), in.size() - at);
        if (at + bytes > end)
            break;
        units += units_of(bytes);
        at += bytes;
    }
    return {number, units};
}

Text::Word Text::word(size_t offset) const {
    offset = std::min(offset, text_.size());
    Word word{offset, offset};
    while (word.begin > 0 && belongs_to_name(text_[word.begin - 1]))
        word.begin--;
    while (word.begin > 0 && leads_name(text_[word.begin - 1]))
        word.begin--;
    while (word.end < text_.size() && word.end == word.begin && leads_name(text_[word.end]))
        word.end++;
    while (word.end < text_.size() && leads_name(text_[word.end]) && word.end > word.begin &&
           leads_name(text_[word.end - 1]))
        word.end++;
    while (word.end < text_.size() && belongs_to_name(text_[word.end]))
        word.end++;
    return word;
}

} // namespace djstap::lsp
