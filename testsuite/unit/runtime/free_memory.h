// SPDX-License-Identifier: GPL-2.0-or-later
// Deletes what calloc() made.
#pragma once
#include <cstdlib>

struct FreeMemory {
    void operator()(void* memory) const { std::free(memory); }
};
