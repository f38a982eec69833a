// SPDX-License-Identifier: GPL-2.0-or-later
#include "values.h"
#include <linux/module.h>

static int state = 22;

noinline int values_second(const struct values_bits* bits, int count) {
    int total = 0;
    int index;

    for (index = 0; index < count; index++) {
        int product = bits->low * index;

        total += product;
        state += product;
        barrier();
    }
    return total - bits->negative;
}
