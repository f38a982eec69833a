#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORT, CHILD_SIGNAL, OUTPUT, ERRORS, POLLED };

static struct pollfd polled[POLLED];
static pid_t command = -1;
static char frame[DJSTAP_GUEST_MAX_FRAME + 1];
static char header[DJSTAP_GUEST_HEADER];
static size_t header_have, frame_have;
static int unpacking;

static void done(const char *problem)
{
	channel_send_text(GUEST_DONE, problem ? problem : "");
}

static void send_facts(void)
{
	static const char *const facts[][2] = {
	    {"kallsyms", "/proc/kallsyms"},
	    {"btf", "/sys/kernel/btf/vmlinux"},
	    {"notes", "/sys/kernel/notes"},
	    {"functions", "/sys/kernel/tracing/available_filter_functions"},
	    {"addresses", "/sys/kernel/tracing/available_filter_functions_addrs"},
	    {"blacklist", "/sys/kernel/debug/kprobes/blacklist"},
	    {"version", "/proc/version"},
	};
	static char data[64 * 1024];

	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		int fd = open(facts[i][1], O_RDONLY | O_CLOEXEC);
		size_t have = 0;
		ssize_t n;

		if (fd < 0)
			continue;
		channel_send(GUEST_FACT, "", 0);
		channel_send_text(GUEST_FACT, facts[i][0]);
		/* These files yield a page or less at a time; frames of that size would be slow. */
		while ((n = read(fd, data + have, sizeof data - have)) > 0) {
			have += (size_t)n;
			if (have < sizeof data)
				continue;
			channel_send(GUEST_FACT, data, have);
			have = 0;
		}
		if (have)
			channel_send(GUEST_FACT, data, have);
		close(fd);
	}
	done(NULL);
}

static void in_child(char *directory, char **words, char **environment, int out, int err)
{
	sigset_t none;
	int null = open("/dev/null", O_RDONLY);

	setsid();
	dup2(null, 0);
	dup2(out, 1);
	dup2(err, 2);
	if (null > 2)
		close(null);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (directory[0]) {
		make_folders(directory);
		if (chdir(directory)) {
			fprintf(stderr, "%s: %s\n", directory, strerror(errno));
			_exit(126);
		}
	}
	environ = environment;
	execvpe(words[0], words, environment);
	fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void start_command(char *data, size_t size)
{
	static char *strings[4096];
	uint32_t words, variables, count = 0;
	char *at = data + 8, *end = data + size;
	int out[2], err[2];
	char **list;

	memcpy(&words, data, 4);
	memcpy(&variables, data + 4, 4);
	*end = 0;
	if (size < 10 || !words || words > 4000 || variables > 4000 || words + variables > 4000) {
		channel_send(GUEST_EXIT, (uint32_t[]){126}, 4);
		return;
	}
	/* The directory, the words, NULL, the environment, NULL. */
	list = strings;
	while (at < end && count < 1 + words + variables) {
		*list++ = at;
		at += strlen(at) + 1;
		if (++count == 1 + words)
			*list++ = NULL;
	}
	*list = NULL;
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		channel_send(GUEST_EXIT, (uint32_t[]){126}, 4);
		return;
	}
	command = fork();
	if (!command)
		in_child(strings[0], strings + 1, strings + 2 + words, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	polled[OUTPUT].fd = out[0];
	polled[ERRORS].fd = err[0];
}

/* Passes on what is there; yields 0 when there was nothing. */
static int forward(int which)
{
	static char data[64 * 1024];
	struct pollfd *p = &polled[which];
	ssize_t n;

	if (p->fd < 0)
		return 0;
	n = read(p->fd, data, sizeof data);
	if (n > 0) {
		channel_send(which == OUTPUT ? GUEST_STDOUT : GUEST_STDERR, data, (size_t)n);
		return 1;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(p->fd);
		p->fd = -1;
	}
	return 0;
}

static void finish_command(int status)
{
	uint32_t code =
	    WIFSIGNALED(status) ? 128u + (uint32_t)WTERMSIG(status) : (uint32_t)WEXITSTATUS(status);

	while (forward(OUTPUT) | forward(ERRORS))
		;
	for (int i = OUTPUT; i <= ERRORS; i++) {
		if (polled[i].fd >= 0)
			close(polled[i].fd);
		polled[i].fd = -1;
	}
	command = -1;
	channel_send(GUEST_EXIT, &code, sizeof code);
}

static void reap(void)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(polled[CHILD_SIGNAL].fd, &info, sizeof info) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == command)
			finish_command(status);
}

/* What goes wrong is told at once: the host need not send the rest. */
static void take_archive(const char *data, size_t size)
{
	static int told;

	if (!unpacking) {
		unpack_start();
		told = 0;
	}
	unpacking = size > 0;
	unpack_piece(data, size);
	if (told)
		return;
	told = unpack_problem() != NULL;
	if (told || !size)
		done(size ? unpack_problem() : unpack_end());
}

static void handle(char type, char *data, size_t size)
{
	uint64_t clock[2];
	uint32_t number;

	switch (type) {
	case GUEST_PING:
		channel_send(GUEST_PONG, data, size);
		break;
	case GUEST_CLOCK:
		if (size < sizeof clock)
			break;
		memcpy(clock, data, sizeof clock);
		set_clock(clock[0], clock[1], data + sizeof clock, size - sizeof clock);
		break;
	case GUEST_ROOT:
		done(use_host_root("hostroot"));
		break;
	case GUEST_ARCHIVE:
		take_archive(data, size);
		break;
	case GUEST_COMMAND:
		start_command(data, size);
		break;
	case GUEST_SIGNAL:
		memcpy(&number, data, sizeof number);
		if (command > 0 && kill(-command, (int)number))
			kill(command, (int)number);
		break;
	case GUEST_SETTLE:
		settle();
		done(NULL);
		break;
	case GUEST_FACTS:
		send_facts();
		break;
	default:
		break;
	}
}

static void read_port(void)
{
	for (;;) {
		uint32_t length = 0;
		ssize_t n;

		if (header_have < sizeof header) {
			n = read(polled[PORT].fd, header + header_have,
				 sizeof header - header_have);
			if (n <= 0)
				return;
			header_have += (size_t)n;
			if (header_have < sizeof header)
				continue;
			frame_have = 0;
		}
		memcpy(&length, header + 4, sizeof length);
		if (length > DJSTAP_GUEST_MAX_FRAME)
			reboot(RB_AUTOBOOT);
		if (frame_have < length) {
			n = read(polled[PORT].fd, frame + frame_have, length - frame_have);
			if (n <= 0)
				return;
			frame_have += (size_t)n;
		}
		if (frame_have == length) {
			header_have = 0;
			handle(header[0], frame, length);
		}
	}
}

static void serve(void)
{
	int gone = 0;

	for (;;) {
		poll(polled, POLLED, -1);
		if (polled[PORT].revents & POLLIN)
			read_port();
		if (polled[CHILD_SIGNAL].revents & POLLIN)
			reap();
		if (polled[OUTPUT].revents)
			forward(OUTPUT);
		if (polled[ERRORS].revents)
			forward(ERRORS);
		gone = polled[PORT].revents & POLLHUP ? gone + 1 : 0;
		if (gone > 100)
			reboot(RB_AUTOBOOT);
		if (gone)
			usleep(10000);
	}
}

int main(void)
{
	/* A command that keeps every CPU busy must not keep this process from answering. */
	struct sched_param priority = {.sched_priority = 1};
	struct rlimit files = {65536, 65536};
	char failed[256] = "";
	sigset_t child;
	int error;

	umask(022);
	mount_file_systems();
	error = load_modules(DJSTAP_GUEST_FOLDER "/modules.boot", failed);
	if (error) {
		fprintf(stderr, "djstap: %s: %s\n", failed, strerror(-error));
		reboot(RB_AUTOBOOT);
	}
	bring_up_loopback();
	sethostname("guest", 5);
	setrlimit(RLIMIT_NOFILE, &files);
	/* The console's log is what is shown of a lost guest: everything but debug messages. */
	klogctl(8, NULL, 7);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	polled[PORT] = (struct pollfd){open_port(DJSTAP_GUEST_PORT), POLLIN, 0};
	polled[CHILD_SIGNAL] =
	    (struct pollfd){signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN, 0};
	polled[OUTPUT] = (struct pollfd){-1, POLLIN, 0};
	polled[ERRORS] = (struct pollfd){-1, POLLIN, 0};
	if (polled[PORT].fd < 0) {
		fprintf(stderr, "djstap: there is no port %s\n", DJSTAP_GUEST_PORT);
		reboot(RB_AUTOBOOT);
	}
	channel_open(polled[PORT].fd);
	sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &priority);
	channel_send(GUEST_HELLO, "", 0);
	serve();
}
