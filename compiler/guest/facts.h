// SPDX-License-Identifier: GPL-2.0-or-later
// The tables that a running kernel provides, dumped when a guest is booted.
#pragma once
#include "guest/machine.h"

namespace djstap::guest {

// Makes a booted guest send its kernel's tables to the cache; does nothing if they are already
// there.
Status dump_facts(Machine& machine, const GuestJob& job);

} // namespace djstap::guest
