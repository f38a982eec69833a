// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the doc comments of a tapset file. tapsets/README.md describes their form.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::documentation {

// "//   ino, dev: text"
struct Item {
    std::vector<std::string> names;
    std::string text;
};

// "// pid(): text", "// vfs.read, .return: text", "// @task(task): text"
struct Entry {
    struct Head {
        std::string name;      // "pid", "vfs.read.return", "@task"; may contain *
        std::string arguments; // "(n)"; empty: none
    };
    std::vector<Head> heads;
    uint32_t line = 0; // of the first one
    std::string text;
    std::vector<Item> items;
};

struct Comments {
    std::string text;        // about the whole file
    std::vector<Item> items; // … and about all aliases in it
    std::vector<Entry> entries;
};

// Reads all comments that begin in the first column. `is_defined` tells whether the file defines a
// name: only such names begin an entry.
Comments read_comments(std::string_view text,
                       const std::function<bool(const std::string&)>& is_defined);

// Returns the comment that ends in the line above `line` (from 1), // or /* */; its entry has no
// heads.
Entry comment_above(std::string_view text, uint32_t line);

} // namespace djstap::documentation
