// SPDX-License-Identifier: GPL-2.0-or-later
/* The command of a guest: its process, its input and its output. */
#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t command = -1;
static char *description; /* struct djstap_guest_command and its strings, as they arrive */
static size_t description_size;
static struct pollfd *polled; /* COMMAND_POLLED of them */
static const char frame_types[] = {
    [COMMAND_OUTPUT] = GUEST_STDOUT,
    [COMMAND_ERRORS] = GUEST_STDERR,
    [COMMAND_TRACE] = GUEST_TRACE,
};

static char input[DJSTAP_GUEST_INPUT];
static size_t input_have;
static int input_ended;
static int input_reader = -1; /* the command's end, to see what it left unread */

void command_init(struct pollfd *of_the_command)
{
	polled = of_the_command;
	for (int i = 0; i < COMMAND_POLLED; i++)
		polled[i] = (struct pollfd){-1, POLLIN, 0};
	mkfifo(DJSTAP_GUEST_TRACE_FILE, 0600);
}

static void close_stream(int which)
{
	if (polled[which].fd >= 0)
		close(polled[which].fd);
	polled[which].fd = -1;
}

/* The rest of the description while it is parsed. */
struct rest {
	char *at, *end;
};

static void *take(struct rest *rest, size_t size)
{
	void *taken = rest->at;

	if ((size_t)(rest->end - rest->at) < size)
		return NULL;
	rest->at += size;
	return taken;
}

/* Returns a NULL-terminated vector of the next `count` strings, or NULL. */
static char **take_strings(struct rest *rest, uint32_t count)
{
	char **list = calloc((size_t)count + 1, sizeof *list);

	for (uint32_t i = 0; list && i < count; i++) {
		char *zero = memchr(rest->at, 0, (size_t)(rest->end - rest->at));

		if (!zero)
			return NULL;
		list[i] = rest->at;
		rest->at = zero + 1;
	}
	return list;
}

static void set_limits(const uint64_t *limits, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < RLIM_NLIMITS; i++) {
		struct rlimit limit = {limits[2 * i], limits[2 * i + 1]};

		setrlimit(i, &limit);
	}
}

struct streams {
	int in[2], out[2], err[2];
};

static int make_streams(struct streams *s)
{
	return pipe2(s->in, O_CLOEXEC) || pipe2(s->out, O_CLOEXEC) || pipe2(s->err, O_CLOEXEC);
}

static void in_child(struct rest rest, const struct streams *streams)
{
	const struct djstap_guest_command *head = take(&rest, sizeof *head);
	const uint64_t *limits = head ? take(&rest, 16 * (size_t)head->limits) : NULL;
	char **directory = limits ? take_strings(&rest, 1) : NULL;
	char **words = directory ? take_strings(&rest, head->words) : NULL;
	char **variables = words ? take_strings(&rest, head->variables) : NULL;
	sigset_t none;

	setsid();
	dup2(streams->in[0], 0);
	dup2(streams->out[1], 1);
	dup2(streams->err[1], 2);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!variables || !words[0]) {
		fprintf(stderr, "the guest was given no command\n");
		_exit(126);
	}
	set_limits(limits, head->limits);
	umask(head->umask);
	if (directory[0][0]) {
		make_folders(directory[0]);
		if (chdir(directory[0])) {
			fprintf(stderr, "%s: %s\n", directory[0], strerror(errno));
			_exit(126);
		}
	}
	environ = variables;
	execvp(words[0], words);
	fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void start_command(void)
{
	struct streams streams;

	command = make_streams(&streams) ? -1 : fork();
	if (command < 0) {
		channel_send(GUEST_EXIT, (uint32_t[]){126, 0}, 8);
		return;
	}
	if (!command)
		in_child((struct rest){description, description + description_size}, &streams);
	close(streams.out[1]);
	close(streams.err[1]);
	fcntl(streams.out[0], F_SETFL, O_NONBLOCK);
	fcntl(streams.err[0], F_SETFL, O_NONBLOCK);
	fcntl(streams.in[1], F_SETFL, O_NONBLOCK);
	input_reader = streams.in[0];
	polled[COMMAND_INPUT] = (struct pollfd){streams.in[1], 0, 0};
	polled[COMMAND_OUTPUT].fd = streams.out[0];
	polled[COMMAND_ERRORS].fd = streams.err[0];
	/* Opened for writing, too, so that writers may come and go. */
	polled[COMMAND_TRACE].fd = open(DJSTAP_GUEST_TRACE_FILE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

void command_describe(const char *data, size_t size)
{
	char *larger = realloc(description, description_size + size + 1);

	if (!larger)
		return;
	description = larger;
	memcpy(description + description_size, data, size);
	description_size += size;
	if (!size)
		start_command();
}

void command_input(const char *data, size_t size)
{
	if (size > sizeof input - input_have)
		return;
	memcpy(input + input_have, data, size);
	input_have += size;
	input_ended |= !size;
	polled[COMMAND_INPUT].events = POLLOUT;
}

void command_signal(uint32_t number)
{
	if (command > 0 && kill(-command, (int)number))
		kill(command, (int)number);
}

void command_unheard(char type)
{
	for (int i = COMMAND_OUTPUT; i <= COMMAND_TRACE; i++)
		if (frame_types[i] == type)
			close_stream(i);
}

/* Writes as much input as fits the pipe. */
static void feed(void)
{
	ssize_t n = input_have ? write(polled[COMMAND_INPUT].fd, input, input_have) : 0;
	uint32_t taken = n > 0 ? (uint32_t)n : 0;

	if (taken) {
		memmove(input, input + taken, input_have - taken);
		input_have -= taken;
		channel_send(GUEST_TAKEN, &taken, sizeof taken);
	}
	if (!input_have) {
		polled[COMMAND_INPUT].events = 0;
		if (input_ended)
			close_stream(COMMAND_INPUT);
	}
}

/* Sends the available output; returns 0 if there is none. */
static int forward(int which)
{
	static char data[64 * 1024];
	struct pollfd *p = &polled[which];
	ssize_t n;

	if (p->fd < 0)
		return 0;
	n = read(p->fd, data, sizeof data);
	if (n > 0) {
		channel_send(frame_types[which], data, (size_t)n);
		return 1;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		close_stream(which);
	return 0;
}

void command_serve(void)
{
	if (polled[COMMAND_INPUT].fd >= 0 && polled[COMMAND_INPUT].revents)
		feed();
	for (int i = COMMAND_OUTPUT; i <= COMMAND_TRACE; i++)
		if (polled[i].revents)
			forward(i);
}

/* The project's kernel cases ask for it; a user's command may leave probes on purpose. */
static int is_checked(void)
{
	static const char variable[] = "\0DJSTAP_CHECK_REMAINS=1";

	return memmem(description, description_size, variable, sizeof variable) != NULL;
}

int command_ended(pid_t pid, int status)
{
	uint32_t code =
	    WIFSIGNALED(status) ? 128u + (uint32_t)WTERMSIG(status) : (uint32_t)WEXITSTATUS(status);
	int unread = 0;

	if (pid != command)
		return 0;
	while (forward(COMMAND_OUTPUT) | forward(COMMAND_ERRORS) | forward(COMMAND_TRACE))
		;
	ioctl(input_reader, FIONREAD, &unread);
	for (int i = 0; i < COMMAND_POLLED; i++)
		close_stream(i);
	command = -1;
	leaks_tell();
	if (is_checked())
		remains_tell();
	channel_send(GUEST_EXIT, (uint32_t[]){code, (uint32_t)unread}, 8);
	return 1;
}
