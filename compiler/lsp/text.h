// SPDX-License-Identifier: GPL-2.0-or-later
// A document of an editor: places in it as the Language Server Protocol counts them, by lines and
// UTF-16 code units, and as djstap does, by bytes of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::lsp {

struct Position {
    uint32_t line = 0;      // from 0
    uint32_t character = 0; // UTF-16 code units from the line's beginning
    bool operator==(const Position&) const = default;
};

class Text {
  public:
    Text() : Text("") {}
    explicit Text(std::string text);

    const std::string& text() const { return text_; }
    // Positions beyond a line mean its end, those beyond the last line the end of the text; one in
    // the middle of a character means its beginning.
    size_t offset(Position position) const;
    // Of an offset beyond the text: its end.
    Position position(size_t offset) const;

    struct Word {
        size_t begin = 0;
        size_t end = 0;
    };
    // Returns the name at an offset, with a leading $ or @; dots of a probe point do not belong to
    // it. Empty if there is none.
    Word word(size_t offset) const;

  private:
    std::string_view line(uint32_t number) const;

    std::string text_;
    std::vector<size_t> line_starts_;
};

} // namespace djstap::lsp
