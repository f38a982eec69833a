/* The guest's first process. It mounts what a command expects, takes its orders over a
 * virtio-serial port (protocol.h), and never returns: the machine goes away when the host closes
 * the port. */
#ifndef DJSTAP_GUEST_AGENT_H
#define DJSTAP_GUEST_AGENT_H

#include "../protocol.h"

#include <stddef.h>
#include <stdint.h>

/* setup.c */
void mount_file_systems(void);
void bring_up_loopback(void);
/* Loads the modules that the list (one path a line, dependencies first) names. Yields 0 or -errno;
 * `failed`, 256 bytes, then has the module's path. */
int load_modules(const char *list, char *failed);
/* Opens the port of that name, waiting for its device to appear. Yields the descriptor or -1. */
int open_port(const char *name);
/* Waits, 5 s at most, until the kernel has settled on a clock source: it measures its own for a
 * second. */
void settle(void);
/* Makes the virtio-fs share `tag` under a writable overlay the root of this process. Yields NULL,
 * or what failed. */
const char *use_host_root(const char *tag);
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

/* channel.c */
void channel_open(int fd);
/* Sends one frame; returns only when the kernel has it all. */
void channel_send(char type, const void *data, size_t size);
void channel_send_text(char type, const char *text);

#endif
