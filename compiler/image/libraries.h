// SPDX-License-Identifier: GPL-2.0-or-later
// What a program is linked to: its libraries, and the stubs through which it calls their functions.
#pragma once
#include "image/image.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// Returns the canonical paths of the libraries that a program needs, and of those that these need,
// found as the dynamic loader finds them, without its cache and the environment. The interpreter is
// among them.
std::vector<std::string> libraries_of(const Image& program);

// A stub in the procedure linkage table that calls a function of another file.
struct LinkageStub {
    std::string name; // of the function
    uint64_t address = 0;
};
std::vector<LinkageStub> linkage_stubs(const Image& program);

} // namespace djstap
