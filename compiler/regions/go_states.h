// SPDX-License-Identifier: GPL-2.0-or-later
// Where Go's runtime, if it interrupts a goroutine at an address, would do the same as at another
// one: the stack is as deep, the goroutine may be preempted or not, the same functions are inlined.
#pragma once
#include "regions/code.h"
#include "regions/go_table.h"

#include <vector>

namespace djstap::regions {

// From `first` to the next one. Of two with the same number, each may stand for the other; 0: this
// one for none.
struct GoState {
    Index first = 0;
    uint32_t number = 0;
};

// Returns the states of all functions of Go, by address.
std::vector<GoState> go_states(const Code& code, const GoTable& go);

} // namespace djstap::regions
