// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

static int port = -1;

void channel_open(int fd)
{
	port = fd;
}

static void write_all(const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(port, data, size);

		if (n > 0) {
			data += n;
			size -= (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = {.fd = port, .events = POLLOUT};

			poll(&p, 1, 100);
			if (!(p.revents & POLLHUP))
				continue;
		}
		/* The host has closed the port: the machine has no purpose left. */
		reboot(RB_AUTOBOOT);
	}
}

void channel_send(char type, const void *data, size_t size)
{
	static char frame[DJSTAP_GUEST_HEADER + DJSTAP_GUEST_MAX_FRAME];
	uint32_t length = (uint32_t)size;

	memset(frame, 0, DJSTAP_GUEST_HEADER);
	frame[0] = type;
	memcpy(frame + 4, &length, sizeof length);
	memcpy(frame + DJSTAP_GUEST_HEADER, data, size);
	write_all(frame, DJSTAP_GUEST_HEADER + size);
}

void channel_send_text(char type, const char *text)
{
	channel_send(type, text, strlen(text));
}
