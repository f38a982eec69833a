// SPDX-License-Identifier: GPL-2.0-or-later
// Deletes memory from calloc().
#pragma once
#include <cstdlib>

struct FreeMemory {
    void operator()(void* memory) const { std::free(memory); }
};
