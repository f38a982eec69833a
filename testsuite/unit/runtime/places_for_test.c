// SPDX-License-Identifier: GPL-2.0-or-later
// The places of images (runtime/ustack/places.c), for one thread in user space.
#include "kernel_for_test.h"

#define scnprintf snprintf /* nothing is cut here */

struct rcu_head {
    void* unused;
};

#include "ustack/places.c"

/* Only names of places need it. */
const struct djs_user_image* djs_user_image(u32 number) {
    static const struct djs_user_image image = {
        .path = "/bin/program", .build_id = {0xab, 0xcd}, .build_id_bytes = 2};

    return &image;
}
