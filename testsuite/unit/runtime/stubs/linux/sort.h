/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's function, by that of the C library. */
#ifndef DJSTAP_TEST_SORT_H
#define DJSTAP_TEST_SORT_H
#include <stdlib.h>
#define sort(base, count, size, compare, swap) qsort(base, count, size, compare)
#endif
