// SPDX-License-Identifier: GPL-2.0-or-later
// What the runtime inside a program has in place of a C library, under other names, and where it
// finds its sites.
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#define DJS_INJECTED
#define memcpy injected_memcpy
#define memmove injected_memmove
#define memset injected_memset
#define memcmp injected_memcmp
#define memchr injected_memchr
#define strnlen injected_strnlen
#define strlen injected_strlen
#define strncmp injected_strncmp
#define strcmp injected_strcmp
#define strcspn injected_strcspn
#define vsnprintf injected_vsnprintf
#define snprintf injected_snprintf
#define posix_memalign injected_posix_memalign
#define free injected_free
#define getpid injected_getpid
#define gettid injected_gettid
#define getppid injected_getppid
#define getpgrp injected_getpgrp
#define getuid injected_getuid
#define geteuid injected_geteuid
#define getgid injected_getgid
#define getegid injected_getegid
#define getsid injected_getsid
#define sched_getcpu injected_sched_getcpu
#define clock_gettime injected_clock_gettime
#define getrandom injected_getrandom
#define sysconf injected_sysconf
#define djs_biases injected_biases
#define djs_find_site injected_find_site
#include "injected/libc.c"

#include "injected/places.c"

void* test_arena; /* what is left of it */

const struct djs_arena* djs_arena_parts(void) {
    static const struct djs_arena parts = {.processors = 5};
    return &parts;
}

void* djs_arena_allocate(u64 bytes) {
    void* memory = test_arena;

    (void)bytes;
    test_arena = NULL;
    return memory;
}
