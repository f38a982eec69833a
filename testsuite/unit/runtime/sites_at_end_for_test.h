/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites for one of the *_for_test.c, which includes this behind the sources that walk over
 * them. Behind the last site there is no memory: a walk that goes on ends the test. */
#ifndef DJSTAP_SITES_AT_END_FOR_TEST_H
#define DJSTAP_SITES_AT_END_FOR_TEST_H

#include "kernel_for_test.h"

static struct djs_site_run* runs_of_test;
struct djs_site_run* djs_sites;

/* From here on there are that many; the last ones are as they were. */
static inline void place_sites(u32 count) {
    static void* end;

    runs_of_test = (struct djs_site_run*)guarded_end(&end) - count;
    djs_sites = runs_of_test;
}

/* That many, of which nothing is known yet. */
static inline void forget_sites(u32 count) {
    place_sites(count);
    memset(runs_of_test, 0, count * sizeof(*runs_of_test));
}
#endif
