/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that tasks map, for the test of runtime/ustack/images.c. */
#ifndef DJSTAP_IMAGES_FOR_TEST_H
#define DJSTAP_IMAGES_FOR_TEST_H

#include "include/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the kernel tells of a file, and its path. */
struct test_identity {
    u64 device, inode, size;
    s64 modified, changed;
    long modified_ns, changed_ns;
};
struct test_mapped {
    struct test_identity identity;
    const char* path; /* NULL: that is an error */
    bool is_regular, is_readable, is_known;
};
/* What is known of an image, as djs_user_image_of, djs_user_image_of_kernel and djs_user_image
 * return it. */
struct test_image {
    const char* path; /* NULL: there is none */
    u32 number, rows;
    bool is_refused;
};

/* More than these have no room. */
#define TEST_IMAGES_MAX 32u

int test_images_init(void);
void test_images_exit(void);
/* Maps a file with the bytes of test_image_file(). */
struct test_image test_map(const struct test_mapped* file);
struct test_image test_image_of(u32 number);
/* The kernel's own library is at this address. */
struct test_image test_map_kernel(u64 address, bool has_memory);
extern u32 test_paths_made; /* how often a file was looked at */

#ifdef __cplusplus
}
#endif
#endif
