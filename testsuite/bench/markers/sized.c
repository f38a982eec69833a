// SPDX-License-Identifier: GPL-2.0-or-later
// The same function without a marker and with one of each kind: scripts/bench markers compares
// their text, and the sections with MARKED 0 (none), 1 (the optimized one) and 2 (the generic one).
#include <linux/module.h>

#include <djstap/marker.h>

#ifndef MARKED
#define MARKED 3
#endif

int sized_none(int value, void* pointer);
int sized_optimized(int value, void* pointer);
int sized_generic(int value, void* pointer);

int sized_none(int value, void* pointer) {
    return value;
}

#if MARKED & 1
int sized_optimized(int value, void* pointer) {
    DJSTAP_MARK(sized, "%d %p", value, pointer);
    return value;
}
#endif

#if MARKED & 2
int sized_generic(int value, void* pointer) {
    DJSTAP_MARK_GENERIC(sized, "%d %p", value, pointer);
    return value;
}
#endif

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("functions with and without a static marker");
