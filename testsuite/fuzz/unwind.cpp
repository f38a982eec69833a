// SPDX-License-Identifier: GPL-2.0-or-later
// Unwind information of programs, as a module copies it: two sections, their addresses, and
// addresses of code. Each is in memory of its own, behind whose end nothing may be read.
#include "include/unwind.h"
#include "target.h"

#include <cstring>
#include <vector>

using namespace djstap;

namespace {

bool read_anything(void* data, u64 address, u64* value) {
    auto& left = *static_cast<u32*>(data);
    *value = address * 0x9e3779b97f4a7c15 >> (address & 63);
    return left && left--;
}

bool are_same(const djs_unwind_frame& a, const djs_unwind_frame& b) {
    return std::memcmp(a.values, b.values, sizeof a.values) == 0 &&
           std::memcmp(a.saved_at, b.saved_at, sizeof a.saved_at) == 0 &&
           a.is_interrupted == b.is_interrupted;
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    struct {
        u16 index_bytes;
        u16 pad;
        u32 index_at;
        u64 address;
    } head;
    if (size < sizeof head)
        return 0;
    std::memcpy(&head, data, sizeof head);
    data += sizeof head;
    size -= sizeof head;
    const size_t index_bytes = head.index_bytes < size ? head.index_bytes : size;
    if (index_bytes == 0)
        return 0; // the module would have no memory for it
    const std::vector<uint8_t> index(data, data + index_bytes);
    std::vector<uint8_t> frames(data + index_bytes, data + size);
    djs_unwind_image image{};
    image.index = index.data();
    image.index_at = head.index_at;
    image.index_bytes = static_cast<u32>(index_bytes);
    u64 last = 0;
    if (djs_unwind_open(&image, &last))
        return 0;
    fuzz::require(image.rows_at + u64{image.rows} * 8 <= index_bytes, "rows behind the index");
    u32 length = 0;
    const u64 offset = last - image.frames_at;
    if (offset < frames.size() && frames.size() - offset >= sizeof length)
        std::memcpy(&length, frames.data() + offset, sizeof length);
    if (djs_unwind_size(&image, last, length) || image.frames_bytes > frames.size()) {
        // What the module would not find in the file.
        image.frames_bytes = static_cast<u32>(frames.size());
    }
    frames.resize(image.frames_bytes);
    frames.shrink_to_fit();
    image.frames = frames.data();
    djs_unwind_listed rows[8];
    for (u32 offset = 0, before = 0; djs_unwind_list(&image, &offset, rows, 8); before = offset)
        fuzz::require(offset > before && offset <= image.frames_bytes, "a list does not end");
    for (u64 at = 0; at < 24; at++) {
        djs_unwind_row row;
        djs_unwind_scratch scratch{};
        const u64 address = head.address + at * 5;
        if (djs_unwind_find(&image, address, &row, &scratch))
            continue;
        djs_unwind_frame frame{}, before{};
        for (size_t i = 0; i < DJS_DWARF_REGISTERS; i++)
            frame.values[i] = head.address * (i + 1);
        djs_unwind_frame short_frame = frame;
        djs_unwind_short_row short_row;
        djs_unwind_frame flat_frame = frame;
        djs_unwind_flat_row flat_row;
        u32 left = 50, short_left = 50, flat_left = 50;
        const auto result = djs_unwind_step(&image, &frame, &row, &before, read_anything, &left);
        if (djs_unwind_flatten(&flat_row, &image, &row))
            fuzz::require(djs_unwind_step_flat(&flat_frame, &flat_row, read_anything, &flat_left) ==
                                  result &&
                              (result != DJS_UNWIND_OK || are_same(frame, flat_frame)),
                          "the flat form of a row leads elsewhere");
        if (!djs_unwind_shorten(&short_row, &row))
            continue;
        // The short form leaves out registers that do not matter, and what is wrong with them.
        const auto short_result =
            djs_unwind_step_short(&short_frame, &short_row, read_anything, &short_left);
        if (result == DJS_UNWIND_OK)
            fuzz::require(short_result == DJS_UNWIND_OK &&
                              frame.values[DJS_DWARF_RETURN] ==
                                  short_frame.values[DJS_DWARF_RETURN] &&
                              frame.values[DJS_DWARF_STACK] == short_frame.values[DJS_DWARF_STACK],
                          "the short form of a row leads elsewhere");
    }
    return 0;
}
