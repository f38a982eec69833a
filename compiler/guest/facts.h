// SPDX-License-Identifier: GPL-2.0-or-later
// The tables that a running kernel offers, dumped when a guest is booted.
#pragma once
#include "guest/machine.h"

namespace djstap::guest {

// Has a booted guest send its kernel's tables into the cache; does nothing where they are there
// already.
Status dump_facts(Machine& machine, const GuestJob& job);

} // namespace djstap::guest
