// SPDX-License-Identifier: GPL-2.0-or-later
// Maps of any shape, in memory of their own.
#pragma once
#include "include/map.h"

#include "free_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

struct Map {
    explicit Map(const djs_map_shape& shape, u64 seed = 7) {
        const u64 bytes = djs_map_bytes(&shape);
        memory.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
        std::memset(memory.get(), 0, bytes);
        map = djs_map_init(memory.get(), &shape, seed);
    }
    std::unique_ptr<void, FreeMemory> memory;
    djs_map* map = nullptr;
};

inline djs_map_shape shape_of(std::vector<u8> keys, u8 value, u32 capacity, bool wrap = false) {
    djs_map_shape shape{};
    shape.key_count = static_cast<u8>(keys.size());
    std::copy(keys.begin(), keys.end(), shape.key_types);
    shape.value_type = value;
    shape.wrap = wrap;
    shape.capacity = capacity;
    shape.string_bytes = 20;
    shape.stack_words = 5;
    return shape;
}

inline djs_value number(s64 value) {
    djs_value key{};
    key.number = value;
    return key;
}

// The words of a stack: the number of its addresses, then these.
inline djs_value stack(const std::vector<u64>& words) {
    djs_value key{};
    key.stack = words.data();
    return key;
}

inline djs_value text(const char* value) {
    djs_value key{};
    key.text = value;
    return key;
}
