/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Included before everything else in a build that contains many changes (switches.py): each asks
 * djs_changed(NUMBER) whether it is the one that is switched on: by $DJSTAP_CHANGE, or in a module
 * by the number in its data. In C++ the file that $DJSTAP_CHANGES_REACHED names has a byte for
 * each change, which is set when it asks. */
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
#elif defined(DJS_INJECTED)
/* In a program that is traced there is no environment to ask. */
#define djs_changed(number) 0
#elif defined(__KERNEL__)
/* The number is written into the objects that modules are linked from; each has its own, of which
 * one remains. */
#ifndef DJS_CHOSEN
#define DJS_CHOSEN -1
#endif
struct djs_choice {
    char magic[16];
    int number;
};
extern struct djs_choice djs_choice;
__attribute__((weak)) struct djs_choice djs_choice = {"djstap's change:", DJS_CHOSEN};
#define djs_changed(change) (*(volatile int*)&djs_choice.number == (change))
#else
extern char* getenv(const char*);
extern int atoi(const char*);
#pragma GCC diagnostic ignored "-Wunused-function"
static int djs_changed(int number) {
    static int chosen = -2;

    if (chosen == -2)
        chosen = getenv("DJSTAP_CHANGE") ? atoi(getenv("DJSTAP_CHANGE")) : -1;
    return chosen == number;
}
#define djs_changed djs_changed
#endif
#endif
