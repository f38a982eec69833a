/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <djstap/marker.h>

/* The same marker stands in each function that calls this, in both sources. */
static inline void shared(long value) {
    DJSTAP_MARK(shared, "%ld", value);
}

void call_from_other(void);
