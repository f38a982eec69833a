/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Included before everything else in a tree whose blocks record that they ran: reach.py inserts
 * DJS_REACHED(N), and defines the number of blocks (DJS_REACH_BLOCKS). */
#ifndef DJSTAP_REACH_H
#define DJSTAP_REACH_H

#ifdef DJS_INJECTED
/* In a program that is traced nobody reads them. */
#define DJS_REACHED(n) ((void)0)
#elif defined(__KERNEL__)
/* One for the module, whichever source defines it. */
extern unsigned char djs_reach_map[DJS_REACH_BLOCKS];
__attribute__((weak)) unsigned char djs_reach_map[DJS_REACH_BLOCKS];
#define DJS_REACHED(n) (*(volatile unsigned char*)&djs_reach_map[n] = 1)
#else
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* as in sources that need it; after these headers it would be too late */
#endif
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __cplusplus
extern "C" {
#endif
extern unsigned char djs_reach_none[DJS_REACH_BLOCKS];
extern unsigned char* djs_reach_map;
__attribute__((weak)) unsigned char djs_reach_none[DJS_REACH_BLOCKS];
__attribute__((weak)) unsigned char* djs_reach_map = djs_reach_none;
#ifdef __cplusplus
}
#endif
#define DJS_REACHED(n) (djs_reach_map[n] = 1)
#define DJS_REACH_LINE(out) dprintf(log, "<4>djstap-reach: %s\n", out)
#endif
#endif

/* The stub of the runtime declares names of the kernel's headers in its own way: in the kernel,
 * only the module's own source includes what follows, when it has included them. */
#if !defined(DJS_REACH_PRINTS) && defined(DJS_REACH_LINE)
#define DJS_REACH_PRINTS
/* 512 blocks per line: "FIRST HEXADECIMAL-DIGITS", one bit per block, the lowest first. */
static __attribute__((unused)) void djs_reach_print(int log) {
    static const char digits[] = "0123456789abcdef";
    char out[160];
    unsigned first, i;
    int length;

    (void)log;
    for (first = 0; first < DJS_REACH_BLOCKS; first += 512) {
        unsigned any = 0;

        length = snprintf(out, 16, "%u ", first);
        for (i = first; i < first + 512 && i < DJS_REACH_BLOCKS; i += 4) {
            unsigned bits = 0, bit;

            for (bit = 0; bit < 4 && i + bit < DJS_REACH_BLOCKS; bit++)
                bits |= (unsigned)(djs_reach_map[i + bit] != 0) << bit;
            any |= bits;
            out[length++] = digits[bits];
        }
        out[length] = 0;
        if (any)
            DJS_REACH_LINE(out);
    }
}

#ifndef __KERNEL__
/* If no file is named, this may be a guest: the kernel's log takes it to the guest's console. */
static void djs_reach_end(void) {
    int log = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

    if (log >= 0)
        djs_reach_print(log);
    close(log);
}

__attribute__((constructor, unused)) static void djs_reach_begin(void) {
    const char* path = getenv("DJSTAP_REACH");
    int file;
    void* memory;

    if (djs_reach_map != djs_reach_none)
        return;
    if (!path) {
        /* The first source that gets here acts for all. */
        djs_reach_map = (unsigned char*)malloc(DJS_REACH_BLOCKS);
        for (file = 0; file < (int)DJS_REACH_BLOCKS; file++)
            djs_reach_map[file] = djs_reach_none[file];
        atexit(djs_reach_end);
        return;
    }
    file = open(path, O_RDWR | O_CLOEXEC);
    memory = file < 0 ? MAP_FAILED
                      : mmap(NULL, DJS_REACH_BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED)
        djs_reach_map = (unsigned char*)memory;
    if (file >= 0)
        close(file);
}
#endif
#endif
