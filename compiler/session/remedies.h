// SPDX-License-Identifier: GPL-2.0-or-later
// What a user can do about an error that ended the session.
#pragma once
#include <string>
#include <string_view>

namespace djstap {

// Returns the warning that follows an error with this message and place, if it ended the session;
// "" if nothing is known to help. `may_wait`: handlers read the memory of their own process, where
// a read waits for a page that is not in memory.
std::string remedy_of(std::string_view error, std::string_view place, bool may_wait);

} // namespace djstap
