// SPDX-License-Identifier: GPL-2.0-or-later
// Restartable sequences (rseq) of a program: the kernel knows by the instruction pointer whether a
// thread is in one, so that their instructions cannot run elsewhere.
#pragma once
#include "regions/code.h"

namespace djstap::regions {

// Marks the bytes of the sequences, and the signatures that the kernel reads before the places
// where interrupted ones continue. Known are those in the section that librseq and allocators put
// their descriptions into (struct rseq_cs of the kernel's include/uapi/linux/rseq.h).
void mark_sequences(Code& code);

} // namespace djstap::regions
