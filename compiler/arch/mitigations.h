// SPDX-License-Identifier: GPL-2.0-or-later
// The mitigations with which a kernel's branches are compiled.
#pragma once

namespace djstap::arch {

struct Mitigations {
    bool landing_pads = false;   // indirect branches must target one (arch::landing_pad)
    bool return_thunks = true;   // instead of returns
    bool indirect_thunks = true; // instead of indirect branches
};

} // namespace djstap::arch
