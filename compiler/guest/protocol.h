// SPDX-License-Identifier: GPL-2.0-or-later
/* The protocol between djstap and the agent (the guest's first process) over one virtio-serial
 * port: frames of one type byte, three zero bytes, a 32-bit little-endian length, and that many
 * bytes of data. One stream carries output and exit status, so that their order is that in the
 * guest. */
#ifndef DJSTAP_GUEST_PROTOCOL_H
#define DJSTAP_GUEST_PROTOCOL_H

#include <stdint.h>

#define DJSTAP_GUEST_PORT "djstap"
#define DJSTAP_GUEST_HEADER 8
#define DJSTAP_GUEST_MAX_FRAME (128 * 1024)

/* The folder of the initramfs with the agent's own data. */
#define DJSTAP_GUEST_FOLDER "/lib/djstap"
/* This file exists if the guest has a disk. */
#define DJSTAP_GUEST_DISK DJSTAP_GUEST_FOLDER "/disk"
/* A fifo: the command may write a third stream of output, separate from the other two. */
#define DJSTAP_GUEST_TRACE_FILE "/dev/djstap-output"
/* The size of the agent's input buffer. */
#define DJSTAP_GUEST_INPUT (64 * 1024)
/* The name of the share with the host's files. */
#define DJSTAP_GUEST_SHARE "hostroot"

enum djstap_guest_frame {
    /* host to guest */
    GUEST_PING = 'P', /* any bytes; answered by GUEST_PONG with the same bytes */
    /* u64 seconds, u64 nanoseconds since 1970, then random bytes for the seed */
    GUEST_CLOCK = 'T',
    /* Make the host's shared root this guest's. Two NUL-terminated strings: the path in it of the
     * kernel's modules, and the host's name. Answered by GUEST_DONE. */
    GUEST_ROOT = 'R',
    GUEST_ARCHIVE = 'A', /* the next piece of a newc archive; an empty one ends it: GUEST_DONE */
    /* The next piece of a struct djstap_guest_command; an empty one ends it and starts the
     * command. */
    GUEST_COMMAND = 'C',
    /* Bytes for the command's standard input; at most DJSTAP_GUEST_INPUT of them may be
     * outstanding. An empty one ends the input. */
    GUEST_INPUT = 'I',
    GUEST_UNHEARD = 'U', /* one byte, GUEST_STDOUT or another: this output is closed */
    GUEST_SIGNAL = 'S',  /* u32 number: to the command's process group */
    GUEST_FACTS = 'F',   /* send the kernel's tables: GUEST_FACT frames, then GUEST_DONE */
    /* wait until the deferred work of booting is done; answered by GUEST_DONE */
    GUEST_SETTLE = 'W',
    /* guest to host */
    GUEST_HELLO = 'h', /* booted and ready */
    GUEST_PONG = 'p',
    GUEST_DONE = 'd', /* empty: done; else the reason of the failure */
    GUEST_FACT = 'f', /* empty: a new file begins; its name follows in one frame, then its bytes */
    GUEST_STDOUT = '1',
    GUEST_STDERR = '2',
    GUEST_TRACE = '3', /* data written to DJSTAP_GUEST_TRACE_FILE */
    GUEST_TAKEN = 'i', /* u32: number of input bytes that were consumed */
    /* u32 exit status, 128 + signal if a signal ended it; u32 number of consumed input bytes that
     * the command left unread. All output has been sent before. */
    GUEST_EXIT = 'x',
};

/* Followed by `limits` pairs of u64 (the two values of each rlimit, by its number), then by
 * NUL-terminated strings: the directory, the words, the environment. */
struct djstap_guest_command {
    uint32_t words, variables, limits, umask;
};

#endif
