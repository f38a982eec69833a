/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a path of the guest's is for a test: below a folder. */
#ifndef DJSTAP_PLACE_BELOW_H
#define DJSTAP_PLACE_BELOW_H

#include <stdio.h>
#include <stdlib.h>

/* Returns it in a static buffer, which the next call overwrites. */
static inline const char* place_below(const char* folder, const char* path) {
    static char place[1024];

    if (snprintf(place, sizeof place, "%s%s", folder, path) >= (int)sizeof place)
        abort();
    return place;
}

#endif
