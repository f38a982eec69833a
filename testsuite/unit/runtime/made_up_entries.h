// SPDX-License-Identifier: GPL-2.0-or-later
// Entries of .eh_frame that are made up one by one, in a file that stacks can look functions up in.
#pragma once
#include "made_up_frames.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace djstap::test {

// How a common entry differs from "zR", with addresses of 4 bytes from where they are.
struct Common {
    std::string letters = "zR", data = "\x1b", instructions = "\x0c\x07\x08\x90\x01";
    char version = 1;
    std::string column = "\x10"; // of the return address
    u32 id = 0;
};

class Entries {
  public:
    // Return the offset of the entry.
    size_t add(const std::string& body) {
        const size_t at = frames.size();
        append(frames, body.size(), 4);
        frames += body;
        return at;
    }
    size_t add_common(const Common& with = {}) {
        std::string body;
        append(body, with.id, 4);
        body += with.version;
        body += with.letters + '\0' + "\1\x78" + with.column; // code by 1, data by -8
        if (with.letters.substr(0, 1) == "z")
            body += static_cast<char>(with.data.size()) + with.data;
        return add(body + with.instructions);
    }
    // Of a function at code_at; `data` is of its augmentation.
    size_t add_function(const std::string& instructions, u32 bytes = 0x100, size_t common = 0,
                        const std::string& data = "") {
        std::string body;
        append(body, frames.size() + 4 - common, 4);
        append(body, code_at - (frames_at + frames.size() + 8), 4);
        append(body, bytes, 4);
        body += static_cast<char>(data.size()) + data + instructions;
        rows.emplace_back(code_at, frames.size());
        return add(body);
    }
    djs_unwind_result open(u64* last) {
        index.clear();
        append(index, 0x3b031b01, 4); // version 1; relative; u32; a table relative to here
        append(index, frames_at - (index_at + 4), 4);
        append(index, rows.size(), 4);
        for (const auto& [begin, entry] : rows) {
            append(index, begin - index_at, 4);
            append(index, frames_at + entry - index_at, 4);
        }
        if (!given_index.empty())
            index = given_index;
        image = {};
        image.index = reinterpret_cast<const u8*>(index.data());
        image.index_at = index_at;
        image.index_bytes = static_cast<u32>(index.size());
        return djs_unwind_open(&image, last);
    }
    djs_unwind_result find(u64 address) {
        u64 last = 0;
        EXPECT_EQ(open(&last), DJS_UNWIND_OK);
        image.frames = reinterpret_cast<const u8*>(frames.data());
        image.frames_bytes = static_cast<u32>(frames.size());
        scratch = {};
        std::memset(static_cast<void*>(&row), 0xff, sizeof row); // of a look-up before
        return djs_unwind_find(&image, address, &row, &scratch);
    }
    djs_unwind_result step(djs_unwind_frame& frame) {
        djs_unwind_frame before{};
        return djs_unwind_step(&image, &frame, &row, &before, read, nullptr);
    }
    // Memory holds the address of each word, + 1.
    static bool read(void*, u64 address, u64* value) {
        *value = address + 1;
        return address % 8 == 0;
    }

    std::string frames, index, given_index; // in place of what the rows make
    std::vector<std::pair<u64, u64>> rows;  // begin, and the entry's offset
    djs_unwind_image image{};
    djs_unwind_row row{};
    djs_unwind_scratch scratch{};
};

// A function with these instructions, whose row at its begin was found.
inline Entries function_of(const std::string& instructions, const Common& common = {}) {
    Entries made;
    made.add_common(common);
    made.add_function(instructions);
    EXPECT_EQ(made.find(code_at), DJS_UNWIND_OK) << testing::PrintToString(instructions);
    return made;
}

inline djs_unwind_result result_of(const std::string& instructions, const Common& common = {}) {
    Entries made;
    made.add_common(common);
    made.add_function(instructions);
    return made.find(code_at);
}

} // namespace djstap::test
