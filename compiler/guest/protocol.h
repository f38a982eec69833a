// SPDX-License-Identifier: GPL-2.0-or-later
/* What djstap and the agent (the guest's first process) say to each other over one virtio-serial
 * port: frames of one type byte, three zero bytes, a 32-bit little-endian length, and that many
 * bytes. One stream carries output and exit status, so that their order is that of the guest. */
#ifndef DJSTAP_GUEST_PROTOCOL_H
#define DJSTAP_GUEST_PROTOCOL_H

#include <stdint.h>

#define DJSTAP_GUEST_PORT "djstap"
#define DJSTAP_GUEST_HEADER 8
#define DJSTAP_GUEST_MAX_FRAME (128 * 1024)

/* Folder of the initramfs with the agent's own data. */
#define DJSTAP_GUEST_FOLDER "/lib/djstap"
/* A file that is there where the guest has a disk. */
#define DJSTAP_GUEST_DISK DJSTAP_GUEST_FOLDER "/disk"
/* A fifo: the command may keep a third stream of output apart from the other two. */
#define DJSTAP_GUEST_TRACE_FILE "/dev/djstap-output"
/* Bytes of input that the agent has room for. */
#define DJSTAP_GUEST_INPUT (64 * 1024)
/* The name of the share with the host's files. */
#define DJSTAP_GUEST_SHARE "hostroot"

enum djstap_guest_frame {
    /* host to guest */
    GUEST_PING = 'P',  /* any bytes; answered by GUEST_PONG with the same bytes */
    GUEST_CLOCK = 'T', /* u64 seconds, u64 nanoseconds since 1970, then random bytes for the seed */
    GUEST_ROOT = 'R',  /* make the host's shared root this guest's. Two strings with their zero
                        * byte: the path in it of the kernel's modules, and the host's name. Answered
                        * by GUEST_DONE */
    GUEST_ARCHIVE = 'A', /* the next piece of a newc archive; an empty one ends it: GUEST_DONE */
    GUEST_COMMAND = 'C', /* the next piece of a struct djstap_guest_command; an empty one ends it:
                          * the command starts */
    GUEST_INPUT = 'I',   /* bytes for the command's standard input, no more than DJSTAP_GUEST_INPUT
                          * that are not taken yet; an empty one ends it */
    GUEST_UNHEARD = 'U', /* one byte, GUEST_STDOUT or another: nobody takes that output any more */
    GUEST_SIGNAL = 'S',  /* u32 number: to the command's process group */
    GUEST_FACTS = 'F',   /* send the kernel's tables: GUEST_FACT frames, then GUEST_DONE */
    GUEST_SETTLE = 'W',  /* wait until what boot leaves for later is done; answered by GUEST_DONE */
    /* guest to host */
    GUEST_HELLO = 'h', /* booted and ready */
    GUEST_PONG = 'p',
    GUEST_DONE = 'd', /* empty: done; else why it failed */
    GUEST_FACT = 'f', /* empty: a new file begins; its name follows in one frame, then its bytes */
    GUEST_STDOUT = '1',
    GUEST_STDERR = '2',
    GUEST_TRACE = '3', /* what was written to DJSTAP_GUEST_TRACE_FILE */
    GUEST_TAKEN = 'i', /* u32: so many bytes of the input were taken */
    GUEST_EXIT = 'x',  /* u32 exit status, 128 + signal where a signal ended it; u32 bytes of the
                        * taken input that the command left unread; all output is sent */
};

/* Followed by `limits` pairs of u64 (an rlimit's two values, by its number), then by strings with
 * their zero byte: the directory, the words, the environment. */
struct djstap_guest_command {
    uint32_t words, variables, limits, umask;
};

#endif
