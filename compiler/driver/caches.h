// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps the cache folder small. Three rules, applied once a day, at the end of a run:
//  - files that were not used for 30 days are removed (kits, indexes, tables, saved guests, modules
//    of -p4);
//  - files that an interrupted djstap left incomplete are removed after a day;
//  - while more than 8 GB are left, the files that were unused longest are removed.
// Everything in the cache can be recreated: removing all of it only costs time. Files whose names
// djstap does not give are neither removed nor counted: the folder may be one that the user has
// other files in. The working folders of djstap processes that were killed are removed as well.
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

// Applies the rules to djstap's files in `folder` at the time `now` (seconds since 1970). Returns
// the number of removed files. Files that cannot be removed are kept.
size_t apply_rules(const std::string& folder, const CacheRules& rules, int64_t now);

// Cleans djstap's own folders, unless that was done within the last day. Prints nothing.
void clean_caches();

} // namespace djstap::driver
