/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Included before everything else in a build that contains many changes (switched.py): each asks
 * djs_changed(NUMBER) whether it is the one that $DJSTAP_CHANGE switches on. The file that
 * $DJSTAP_CHANGES_REACHED names has a byte for each change, which is set when it asks. */
#ifndef DJSTAP_SWITCH_H
#define DJSTAP_SWITCH_H
#ifdef __cplusplus
#pragma clang diagnostic ignored "-Weverything"
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct djs_changes {
    int chosen = -1;
    unsigned char* reached = nullptr;
    djs_changes() {
        if (const char* number = getenv("DJSTAP_CHANGE"))
            chosen = atoi(number);
        const char* path = getenv("DJSTAP_CHANGES_REACHED");
        const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        if (file < 0)
            return;
        void* map =
            mmap(nullptr, lseek(file, 0, SEEK_END), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (map != MAP_FAILED)
            reached = static_cast<unsigned char*>(map);
    }
};

__attribute__((weak)) bool djs_is_changed(int number) {
    static const djs_changes changes;
    if (changes.reached)
        changes.reached[number] = 1;
    return changes.chosen == number;
}

constexpr bool djs_changed(int number) {
    return !__builtin_is_constant_evaluated() && djs_is_changed(number);
}
#endif
#endif
