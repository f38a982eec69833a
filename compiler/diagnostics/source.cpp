// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/source.h"

#include <algorithm>

namespace djstap {

SourceRange SourceRange::to(SourceRange other) const {
    if (file != other.file || expansion != other.expansion)
        return other;
    return {file, begin, std::max(end, other.end), expansion};
}

uint32_t SourceManager::add(std::string name, std::string text, bool is_library) {
    SourceFile file{std::move(name), std::move(text), is_library, {0}};
    for (size_t i = 0; i < file.text.size(); i++)
        if (file.text[i] == '\n')
            file.line_starts.push_back(static_cast<uint32_t>(i + 1));
    files_.push_back(std::move(file));
    return static_cast<uint32_t>(files_.size());
}

uint32_t SourceManager::add_expansion(std::string macro, SourceRange use) {
    expansions_.push_back({std::move(macro), use});
    return static_cast<uint32_t>(expansions_.size());
}

std::string_view SourceManager::text(SourceRange range) const {
    if (!range.valid())
        return {};
    std::string_view text = file(range.file).text;
    size_t begin = std::min<size_t>(range.begin, text.size());
    return text.substr(begin, std::min<size_t>(range.end, text.size()) - begin);
}

LineColumn SourceManager::position(SourceRange range) const {
    if (!range.valid())
        return {};
    const auto& starts = file(range.file).line_starts;
    auto next = std::upper_bound(starts.begin(), starts.end(), range.begin);
    auto line = static_cast<uint32_t>(next - starts.begin());
    return {line, range.begin - starts[line - 1] + 1};
}

std::string_view SourceManager::line(uint32_t id, uint32_t line) const {
    const SourceFile& f = file(id);
    if (line == 0 || line > f.line_starts.size())
        return {};
    std::string_view text = std::string_view(f.text).substr(f.line_starts[line - 1]);
    std::string_view whole = text.substr(0, text.find('\n'));
    if (!whole.empty() && whole.back() == '\r')
        whole.remove_suffix(1);
    return whole;
}

std::string SourceManager::where(SourceRange range) const {
    if (!range.valid())
        return "djstap";
    LineColumn at = position(range);
    return file(range.file).name + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

} // namespace djstap
