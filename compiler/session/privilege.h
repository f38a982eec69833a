// SPDX-License-Identifier: GPL-2.0-or-later
// What this process may do to the kernel.
#pragma once
#include <string>

namespace djstap {

// What it lacks to load modules and to open their files, in words: "this process has no
// CAP_SYS_MODULE". Empty: nothing. Capabilities count in the initial user namespace only: root of a
// container may have neither.
std::string missing_privilege();

// What to do about it.
std::string privilege_hint();

} // namespace djstap
