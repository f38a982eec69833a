// SPDX-License-Identifier: GPL-2.0-or-later
// Source texts and places in them, shared by every phase that reads or reports.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// A half-open range of bytes [begin, end) in one file. `expansion` is nonzero if the bytes come
// from the body of an expanded macro: it then identifies the use (SourceManager::expansion).
struct SourceRange {
    uint32_t file = 0; // 0: no place
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t expansion = 0;

    bool valid() const { return file != 0; }
    // Returns the range from this one's beginning to the end of `other`; in different files,
    // `other` alone.
    SourceRange to(SourceRange other) const;
};

// Line and column, both from 1; the column counts bytes.
struct LineColumn {
    uint32_t line = 0;
    uint32_t column = 0;
};

struct SourceFile {
    std::string name; // as shown to the user: a path, "<input>" for -e, "<stdin>" for -
    std::string text;
    bool is_library = false; // from a tapset folder: embedded C and other privileges are permitted
    std::vector<uint32_t> line_starts;
};

struct MacroExpansion {
    std::string macro;
    SourceRange use; // the whole use, e.g. @foo(1, 2)
};

// Owns every text that is read in one run. Ids stay valid when files are added.
class SourceManager {
  public:
    // Adds a text; returns its id (from 1).
    uint32_t add(std::string name, std::string text, bool is_library = false);
    uint32_t add_expansion(std::string macro, SourceRange use);

    const SourceFile& file(uint32_t id) const { return files_.at(id - 1); }
    const MacroExpansion& expansion(uint32_t id) const { return expansions_.at(id - 1); }
    std::string_view text(SourceRange range) const;
    LineColumn position(SourceRange range) const;              // of the range's beginning
    std::string_view line(uint32_t file, uint32_t line) const; // excluding its newline
    // "file:line:column"
    std::string where(SourceRange range) const;

  private:
    std::deque<SourceFile> files_;
    std::deque<MacroExpansion> expansions_;
};

} // namespace djstap
