// SPDX-License-Identifier: GPL-2.0-or-later
// The buckets of a histogram in a record.
#pragma once
#include "session/event.h"

#include <optional>
#include <vector>

namespace djstap {

struct HistogramRow {
    std::optional<int64_t> least, most; // none: unbounded
    int64_t count = 0;
};

// The values that a bucket counts.
struct BucketBounds {
    std::optional<int64_t> least, most; // none: unbounded
};
// `bucket` is less than header.buckets.
BucketBounds bounds_of(const djs_histogram_header& header, uint32_t bucket);

// Returns the buckets from the first to the last that is not empty.
std::vector<HistogramRow> rows_of(const HistogramArgument& histogram);

} // namespace djstap
