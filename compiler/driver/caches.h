// SPDX-License-Identifier: GPL-2.0-or-later
// Keeping the cache folder small. Three rules, looked at once a day, at the end of a run:
//  - what was not used for 30 days is removed (kits, indexes, tables, saved guests, modules of
//  -p4);
//  - what an interrupted djstap left half written is removed after a day;
//  - where more than 8 GB are left, the files longest unused go first.
// Everything in the cache can be made anew: removing all of it costs time only. At the same time
// the working folders of djstaps that were killed go.
#pragma once
#include <cstdint>
#include <string>

namespace djstap::driver {

struct CacheUse {
    std::string folder;
    uint64_t files = 0;
    uint64_t bytes = 0;
};
CacheUse cache_use();

struct CacheRules {
    int64_t unused_seconds = 30 * 24 * 3600;
    int64_t unfinished_seconds = 24 * 3600;
    uint64_t largest = uint64_t{8} << 30; // bytes
};

// Applies the rules to `folder` at the time `now` (seconds since 1970). Yields how many files were
// removed. What cannot be removed stays.
size_t apply_rules(const std::string& folder, const CacheRules& rules, int64_t now);

// All of it for djstap's own folders, if that was not done within the last day. Says nothing.
void clean_caches();

} // namespace djstap::driver
