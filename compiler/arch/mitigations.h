// SPDX-License-Identifier: GPL-2.0-or-later
// How a kernel has branches compiled.
#pragma once

namespace djstap::arch {

struct Mitigations {
    bool landing_pads = false;   // indirect branches must meet one (arch::landing_pad)
    bool return_thunks = true;   // in place of returns
    bool indirect_thunks = true; // in place of indirect branches
};

} // namespace djstap::arch
