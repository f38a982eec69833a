// SPDX-License-Identifier: GPL-2.0-or-later
// The privileges of this process.
#pragma once
#include <string>

namespace djstap {

// Returns which privilege is missing for loading modules and opening their files: "this process has
// no CAP_SYS_MODULE". "": none. Only capabilities in the initial user namespace count: root of a
// container may have neither.
std::string missing_privilege();

// Returns what to do about it.
std::string privilege_hint();

} // namespace djstap
