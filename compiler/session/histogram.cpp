// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/histogram.h"

#include "include/statistic.h"

namespace djstap {

// See include/statistic.h.
BucketBounds bounds_of(const djs_histogram_header& header, uint32_t bucket) {
    if (header.kind == DJS_HISTOGRAM_LOG) {
        const int64_t power = static_cast<int64_t>(bucket) - DJS_LOG_ZERO;
        if (power == 0)
            return {0, 0};
        const uint64_t near = uint64_t{1} << ((power > 0 ? power : -power) - 1);
        // The smallest number of all is alone in its bucket.
        const uint64_t far = power > -64 ? near - 1 + near : near;
        return power > 0
                   ? BucketBounds{static_cast<int64_t>(near), static_cast<int64_t>(far)}
                   : BucketBounds{static_cast<int64_t>(0 - far), static_cast<int64_t>(0 - near)};
    }
    const auto width = static_cast<uint64_t>(header.width);
    const auto least = static_cast<int64_t>(static_cast<uint64_t>(header.low) +
                                            (static_cast<uint64_t>(bucket) - 1) * width);
    if (bucket == 0)
        return {std::nullopt, header.low == INT64_MIN ? INT64_MIN : header.low - 1};
    if (bucket == header.buckets - 1)
        return {least, std::nullopt};
    return {least, static_cast<int64_t>(static_cast<uint64_t>(least) + width - 1)};
}

std::vector<HistogramRow> rows_of(const HistogramArgument& histogram) {
    std::vector<HistogramRow> rows;
    size_t behind_last = 0; // end of the rows without the empty ones at the end
    for (uint32_t bucket = 0; bucket < histogram.header.buckets; bucket++) {
        const int64_t count = histogram.count(bucket);
        if (!count && rows.empty())
            continue;
        const BucketBounds bounds = bounds_of(histogram.header, bucket);
        rows.push_back({bounds.least, bounds.most, count});
        if (count)
            behind_last = rows.size();
    }
    rows.resize(behind_last);
    return rows;
}

} // namespace djstap
