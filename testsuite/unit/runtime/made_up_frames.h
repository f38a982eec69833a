// SPDX-License-Identifier: GPL-2.0-or-later
// Unwind information (.eh_frame, .eh_frame_hdr) of a file that is made up.
#pragma once
#include "include/unwind.h"

#include <cstring>
#include <string>

namespace djstap::test {

inline constexpr u64 index_at = 0x2000, frames_at = 0x3000, code_at = 0x1000, code_bytes = 0x100;

inline void append(std::string& to, u64 value, size_t bytes) {
    to.append(reinterpret_cast<const char*>(&value), bytes);
}

// A file with one function, and the instructions of its entries.
class MadeUp {
  public:
    explicit MadeUp(const std::string& function, const std::string& common = initial,
                    const std::string& letters = "zR") {
        std::string entry;
        append(entry, 0, 4);
        entry += '\1';
        entry += letters + '\0';
        entry += "\1\x78\x10"; // code by 1, data by -8, the column of the return address
        if (letters[0] == 'z')
            entry += std::string("\1\x1b", 2); // relative, s32
        entry += common;
        add(entry);
        const size_t at = frames_.size();
        entry.clear();
        append(entry, at + 4, 4);
        append(entry, code_at - (frames_at + at + 8), 4);
        append(entry, code_bytes, 4);
        if (letters[0] == 'z')
            entry += '\0';
        entry += function;
        add(entry);
        append(index_, 0x3b031b01, 4); // version 1; relative; u32; a table relative to here
        append(index_, frames_at - (index_at + 4), 4);
        append(index_, 1, 4);
        append(index_, code_at - index_at, 4);
        append(index_, frames_at + at - index_at, 4);
    }
    djs_unwind_result find(u64 address) {
        scratch_ = {};
        row = {};
        image_ = {};
        image_.index = reinterpret_cast<const u8*>(index_.data());
        image_.index_at = index_at;
        image_.index_bytes = static_cast<u32>(index_.size());
        u64 last = 0;
        u32 length = 0;
        if (const auto result = djs_unwind_open(&image_, &last))
            return result;
        if (last - frames_at + sizeof length > frames_.size())
            return DJS_UNWIND_DAMAGED;
        std::memcpy(&length, frames_.data() + (last - frames_at), sizeof length);
        if (const auto result = djs_unwind_size(&image_, last, length))
            return result;
        if (image_.frames_bytes > frames_.size())
            return DJS_UNWIND_DAMAGED;
        image_.frames = reinterpret_cast<const u8*>(frames_.data());
        return djs_unwind_find(&image_, address, &row, &scratch_);
    }
    // The caller's registers, of a frame with these; memory holds the address of each word, + 1.
    djs_unwind_result step(djs_unwind_frame& frame) {
        djs_unwind_frame before{};
        return djs_unwind_step(
            &image_, &frame, &row, &before,
            [](void*, u64 address, u64* value) {
                *value = address + 1;
                return address % 8 == 0;
            },
            nullptr);
    }

    const djs_unwind_image& image() const { return image_; }

    static const std::string initial; // the stack pointer + 8, with the return address below
    djs_unwind_row row{};

  private:
    void add(std::string entry) {
        entry.resize((entry.size() + 3) / 4 * 4, '\0');
        append(frames_, entry.size(), 4);
        frames_ += entry;
    }
    std::string index_, frames_;
    djs_unwind_image image_{};
    djs_unwind_scratch scratch_{};
};

inline const std::string MadeUp::initial = "\x0c\x07\x08\x90\x01";

inline djs_unwind_frame frame_at(u64 address, u64 stack) {
    djs_unwind_frame frame{};
    frame.values[DJS_DWARF_RETURN] = address;
    frame.values[DJS_DWARF_STACK] = stack;
    return frame;
}

} // namespace djstap::test
