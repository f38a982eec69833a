// SPDX-License-Identifier: GPL-2.0-or-later
// The places of images (runtime/ustack/places.c), for one thread in user space.
#include "kernel_for_test.h"

/* As the kernel's for bytes in hexadecimal; nothing is cut here. */
static int __attribute__((__format__(__printf__, 3, 4))) print_place(char* to, size_t size,
                                                                     const char* format, ...) {
    va_list arguments;
    int length = 0;

    va_start(arguments, format);
    if (strcmp(format, "%*phN")) {
        length = vsnprintf(to, size, format, arguments);
    } else {
        const int bytes = va_arg(arguments, int);
        const u8* const from = va_arg(arguments, const u8*);
        int i;

        for (i = 0; i < bytes; i++)
            length += snprintf(to + length, size - (size_t)length, "%02x", from[i]);
    }
    va_end(arguments);
    return length;
}
#define scnprintf print_place

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
