// SPDX-License-Identifier: GPL-2.0-or-later
// What a session tells of functions that cannot be patched.
#pragma once
#include "injection/places.h"

#include <string>
#include <vector>

namespace djstap::injection {

// Returns a sentence for each reason in each file, with the names of the functions; of many, `most`
// names.
std::vector<std::string> describe_refusals(const struct ::djs_script& script,
                                           const std::vector<PlacedImage>& images, size_t most);

// Returns how many can be patched: "3 of 4 functions, the returns of 1 of 2".
std::string describe_places(const std::vector<PlacedImage>& images);

} // namespace djstap::injection
