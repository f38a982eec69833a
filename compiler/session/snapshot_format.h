// SPDX-License-Identifier: GPL-2.0-or-later
// The numbers of the fields of snapshots' frames: docs/snapshots.proto.
#pragma once
#include "include/control.h"

#include <cstddef>
#include <cstdint>

namespace djstap::snapshot_format {

constexpr uint32_t format_version = 1;
namespace field {
constexpr uint32_t description = 1, globals = 2, printed = 3, message = 4, end = 5;
namespace of_description {
constexpr uint32_t version = 1, name = 2, script = 3, release = 4, build_id = 5, globals = 6;
}
namespace of_global {
constexpr uint32_t name = 1, value = 2, keys = 3, histogram = 4, description = 5, adds_up = 6,
                   initial = 7;
}
namespace of_globals {
constexpr uint32_t monotonic_ns = 1, realtime_ns = 2, incomplete = 3, counts = 4, values = 5;
}
namespace of_values {
constexpr uint32_t index = 1, shape = 2, elements = 3;
}
namespace of_shape {
constexpr uint32_t kind = 1, buckets = 2, low = 3, high = 4, width = 5;
}
namespace of_element {
constexpr uint32_t keys = 1, numbers = 2, text = 3, buckets = 4;
}
namespace of_printed {
constexpr uint32_t realtime_ns = 1, text = 2;
}
namespace of_message {
constexpr uint32_t is_error = 1, text = 2, place = 3;
}
constexpr uint32_t of_end_counts = 1;
} // namespace field

// All of its members are u64.
constexpr size_t count_of_counts = sizeof(djs_counts) / sizeof(uint64_t);

} // namespace djstap::snapshot_format
