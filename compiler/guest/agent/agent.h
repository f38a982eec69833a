// SPDX-License-Identifier: GPL-2.0-or-later
/* The guest's first process. It mounts what a command expects, takes its orders over a
 * virtio-serial port (protocol.h), and never returns: the machine goes away when the host closes
 * the port. */
#ifndef DJSTAP_GUEST_AGENT_H
#define DJSTAP_GUEST_AGENT_H

#include "../protocol.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* setup.c */
void mount_file_systems(void);
/* Mounts the disk, or memory where there is none, with /tmp on it. Yields NULL, or what failed. */
const char *mount_disk(void);
void bring_up_loopback(void);
/* Loads the modules that the list (one path a line, dependencies first) names. Yields 0 or -errno;
 * `failed`, 256 bytes, then has the module's path. */
int load_modules(const char *list, char *failed);
/* Opens the port of that name, waiting for its device to appear. Yields the descriptor or -1. */
int open_port(const char *name);
/* Waits, 5 s at most, until the kernel has settled on a clock source: it measures its own for a
 * second. */
void settle(void);
/* Makes the virtio-fs share `tag`, once it is plugged in, the root of this process, below a
 * writable overlay on the disk. `modules` (may be empty) is where it has this kernel's modules.
 * Yields NULL, or what failed. */
const char *use_host_root(const char *tag, const char *modules);
/* Sets the clock and feeds the random generator. */
void set_clock(uint64_t seconds, uint64_t nanoseconds, const void *seed, size_t seed_size);

/* unpack.c: a newc archive that arrives in pieces. */
void unpack_start(void);
/* Takes the next piece. What goes wrong is kept for unpack_problem(). */
void unpack_piece(const char *data, size_t size);
/* Yields NULL, or what went wrong first. */
const char *unpack_problem(void);
/* The same, once no more pieces come. */
const char *unpack_end(void);
/* Makes a folder and those above it. */
int make_folders(const char *path);

/* command.c: the one command of a guest. */
enum { COMMAND_INPUT, COMMAND_OUTPUT, COMMAND_ERRORS, COMMAND_TRACE, COMMAND_POLLED };
/* Takes COMMAND_POLLED descriptors to poll as its own. */
void command_init(struct pollfd *polled);
/* After each poll(): passes on what comes and goes. */
void command_serve(void);
/* The next piece of GUEST_COMMAND; the command starts with the empty one. */
void command_describe(const char *data, size_t size);
void command_input(const char *data, size_t size);
void command_signal(uint32_t number);
/* Closes the output of that frame type: who writes there gets SIGPIPE. */
void command_unheard(char type);
/* A child has ended: tells the host where it is the command, and yields 1. */
int command_ended(pid_t pid, int status);

/* leaks.c: where the kernel has kmemleak. */
/* What was lost until now is nobody's business. */
void leaks_forget(void);
/* Has the kernel look for memory that code of modules allocated and that nothing refers to any
 * more; what it finds goes to its log. Takes some seconds. */
void leaks_tell(void);

/* channel.c */
void channel_open(int fd);
/* Sends one frame; returns only when the kernel has it all. */
void channel_send(char type, const void *data, size_t size);
void channel_send_text(char type, const char *text);

#endif
