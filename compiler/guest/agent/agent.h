// SPDX-License-Identifier: GPL-2.0-or-later
/* The guest's first process. It mounts what a command expects, receives its orders through a
 * virtio-serial port (protocol.h), and never returns: the machine ends when the host closes the
 * port. */
#ifndef DJSTAP_GUEST_AGENT_H
#define DJSTAP_GUEST_AGENT_H

#include "../protocol.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* setup.c */
void mount_file_systems(void);
/* Mounts the disk, or memory if there is none, with /tmp on it. Returns NULL, or what failed. */
const char *mount_disk(void);
void bring_up_loopback(void);
/* Loads the modules that the list names (one path per line, dependencies first). Returns 0 or
 * -errno; `failed`, 256 bytes, then holds the module's path. */
int load_modules(const char *list, char *failed);
/* Opens the port of that name, waiting for its device to appear. Returns the descriptor or -1. */
int open_port(const char *name);
/* Waits, at most 5 s, until the kernel has settled on a clock source: it measures its own for a
 * second. */
void settle(void);
/* Makes the virtio-fs share `tag`, once it is plugged in, the root of this process, below a
 * writable overlay on the disk. `modules` (may be empty) is the path of this kernel's modules in
 * it. Returns NULL, or what failed. */
const char *use_host_root(const char *tag, const char *modules);
/* Sets the clock and seeds the random number generator. */
void set_clock(uint64_t seconds, uint64_t nanoseconds, const void *seed, size_t seed_size);

/* unpack.c: a newc archive that arrives in pieces. */
void unpack_start(void);
/* Consumes the next piece. Errors are kept for unpack_problem(). */
void unpack_piece(const char *data, size_t size);
/* Returns NULL, or the first error. */
const char *unpack_problem(void);
/* The same, after the last piece. */
const char *unpack_end(void);
/* Creates a folder and its parents. */
int make_folders(const char *path);

/* command.c: the one command of a guest. */
enum { COMMAND_INPUT, COMMAND_OUTPUT, COMMAND_ERRORS, COMMAND_TRACE, COMMAND_POLLED };
/* Uses COMMAND_POLLED descriptors of the caller's poll() array. */
void command_init(struct pollfd *polled);
/* Call it after each poll(): transfers input and output. */
void command_serve(void);
/* Adds a piece of GUEST_COMMAND; the empty one starts the command. */
void command_describe(const char *data, size_t size);
void command_input(const char *data, size_t size);
void command_signal(uint32_t number);
/* Closes the output of that frame type: further writes to it cause SIGPIPE. */
void command_unheard(char type);
/* Handles the end of a child: reports it to the host if it is the command, and returns 1. */
int command_ended(pid_t pid, int status);

/* leaks.c: for kernels with kmemleak. */
/* Leaks until now are ignored. */
void leaks_forget(void);
/* Makes the kernel search for unreferenced memory that code of modules allocated, and writes what
 * it finds to the kernel's log. Takes some seconds. */
void leaks_tell(void);

/* remains.c */
/* What is there now is no module's. */
void remains_note(void);
/* Writes to the kernel's log what modules that were unloaded left behind. Waits, if there is
 * something, because the kernel frees some memory later. */
void remains_tell(void);

/* channel.c */
void channel_open(int fd);
/* Sends one frame; returns when the kernel has accepted all of it. */
void channel_send(char type, const void *data, size_t size);
void channel_send_text(char type, const char *text);

#endif
