// SPDX-License-Identifier: GPL-2.0-or-later
// The same function without a marker and with one of each kind: scripts/bench markers compares
// their text. MARKED tells which of the markers there are: 1: the optimized, 2: the generic one.
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

int sized_optimized(int value, void* pointer) {
#if MARKED & 1
    DJSTAP_MARK(sized, "%d %p", value, pointer);
#endif
    return value;
}

int sized_generic(int value, void* pointer) {
#if MARKED & 2
    DJSTAP_MARK_GENERIC(sized, "%d %p", value, pointer);
#endif
    return value;
}

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("functions with and without a static marker");
