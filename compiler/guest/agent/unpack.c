// SPDX-License-Identifier: GPL-2.0-or-later
/* Unpacks a newc archive as it arrives: a header of 110 bytes in hexadecimal, the name, the data,
 * each padded to four bytes (Documentation/driver-api/early-userspace/buffer-format.rst). */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 110 };

static enum { IN_HEADER, IN_NAME, IN_DATA, IN_PADDING, AT_END } state;
static char head[HEADER + PATH_MAX + 8]; /* header, then the padded name */
static size_t have;			 /* bytes of `head` that have arrived */
static size_t name_size, name_end;
static unsigned mode;
static size_t left;    /* bytes of data still to come */
static size_t padding; /* bytes to skip after it */
static int out = -1;
static char target[PATH_MAX];
static size_t target_size;
static char error_text[PATH_MAX + 128];

static void fail(const char *format, ...)
{
	va_list arguments;

	if (error_text[0])
		return;
	va_start(arguments, format);
	vsnprintf(error_text, sizeof error_text, format, arguments);
	va_end(arguments);
}

static unsigned field(int index)
{
	char text[9] = "";

	memcpy(text, head + 6 + index * 8, 8);
	return (unsigned)strtoul(text, NULL, 16);
}

int make_folders(const char *path)
{
	char part[PATH_MAX];
	size_t length = strlen(path);

	if (length >= sizeof part)
		return -1;
	for (size_t i = 1; i <= length; i++) {
		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0755) && errno != EEXIST)
			return -1;
	}
	return 0;
}

static const char *name(void)
{
	return head + HEADER;
}

static void begin_entry(void)
{
	char folder[sizeof head];
	char *slash;

	mode = field(1);
	left = field(6);
	padding = (4 - (left & 3)) & 3;
	target_size = 0;
	state = IN_DATA;
	if (!strcmp(name(), "TRAILER!!!")) {
		state = AT_END;
		return;
	}
	if (error_text[0])
		return;
	snprintf(folder, sizeof folder, "%s", name());
	slash = strrchr(folder, '/');
	if (slash && slash != folder) {
		*slash = 0;
		make_folders(folder);
	}
	if (S_ISDIR(mode)) {
		if (mkdir(name(), mode & 07777) && errno != EEXIST)
			fail("%s: %s", name(), strerror(errno));
	} else if (S_ISREG(mode)) {
		/* A running program cannot be opened for writing, but its name can be replaced. */
		unlink(name());
		out = open(name(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (out < 0)
			fail("%s: %s", name(), strerror(errno));
	}
}

static void end_entry(void)
{
	if (out >= 0) {
		fchmod(out, mode & 07777);
		close(out);
		out = -1;
	} else if (S_ISLNK(mode) && !error_text[0]) {
		target[target_size] = 0;
		unlink(name());
		if (symlink(target, name()))
			fail("%s: %s", name(), strerror(errno));
	}
	state = padding ? IN_PADDING : IN_HEADER;
	have = 0;
}

static void take_data(const char *data, size_t size)
{
	if (S_ISLNK(mode)) {
		if (target_size + size < sizeof target) {
			memcpy(target + target_size, data, size);
			target_size += size;
		}
		return;
	}
	while (out >= 0 && size) {
		ssize_t n = write(out, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			fail("%s: %s", name(), strerror(n ? errno : ENOSPC));
			close(out);
			unlink(name());
			out = -1;
			return;
		}
		data += n;
		size -= (size_t)n;
	}
}

void unpack_start(void)
{
	state = IN_HEADER;
	have = 0;
	error_text[0] = 0;
}

static size_t collect(const char *data, size_t size, size_t wanted)
{
	size_t n = wanted - have < size ? wanted - have : size;

	memcpy(head + have, data, n);
	have += n;
	return n;
}

void unpack_piece(const char *data, size_t size)
{
	while (size && state != AT_END) {
		size_t n = 0;

		switch (state) {
		case IN_HEADER:
			n = collect(data, size, HEADER);
			if (have == HEADER) {
				name_size = field(11);
				name_end = (HEADER + name_size + 3) & ~(size_t)3;
				if (memcmp(head, "070701", 6) || name_size < 2 ||
				    name_end > sizeof head) {
					fail("the archive is broken");
					state = AT_END;
					return;
				}
				state = IN_NAME;
			}
			break;
		case IN_NAME:
			n = collect(data, size, name_end);
			if (have == name_end) {
				head[HEADER + name_size - 1] = 0;
				begin_entry();
				if (state == IN_DATA && !left)
					end_entry();
			}
			break;
		case IN_DATA:
			n = left < size ? left : size;
			take_data(data, n);
			left -= n;
			if (!left)
				end_entry();
			break;
		case IN_PADDING:
			n = padding < size ? padding : size;
			padding -= n;
			if (!padding)
				state = IN_HEADER;
			break;
		case AT_END:
			break;
		}
		data += n;
		size -= n;
	}
}

const char *unpack_problem(void)
{
	return error_text[0] ? error_text : NULL;
}

const char *unpack_end(void)
{
	if (state != AT_END)
		fail("the archive is cut off");
	return unpack_problem();
}
