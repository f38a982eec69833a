// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "agent.h"

#include <dirent.h>
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

enum { PORT, CHILD_SIGNAL, COMMAND, POLLED = COMMAND + COMMAND_POLLED };

static struct pollfd polled[POLLED];
static char frame[DJSTAP_GUEST_MAX_FRAME + 1];
static char header[DJSTAP_GUEST_HEADER];
static size_t header_have, frame_have;
static int unpacking;

static void done(const char *problem)
{
	channel_send_text(GUEST_DONE, problem ? problem : "");
}

static char fact[64 * 1024];
static size_t fact_have;

/*
 * Reads from /proc and tracefs return a page or less at a time; frames of that size would be slow.
 */
static void send_fact_bytes(int fd)
{
	ssize_t n;

	while ((n = read(fd, fact + fact_have, sizeof fact - fact_have)) > 0) {
		fact_have += (size_t)n;
		if (fact_have < sizeof fact)
			continue;
		channel_send(GUEST_FACT, fact, fact_have);
		fact_have = 0;
	}
	close(fd);
}

static void begin_fact(const char *name)
{
	fact_have = 0;
	channel_send(GUEST_FACT, "", 0);
	channel_send_text(GUEST_FACT, name);
}

static void end_fact(void)
{
	if (fact_have)
		channel_send(GUEST_FACT, fact, fact_have);
}

/*
 * Sends the formats of all system call tracepoints, concatenated: they are hundreds of small files.
 */
static void send_syscalls(void)
{
	static const char folder[] = "/sys/kernel/tracing/events/syscalls";
	static const char prefix[] = "sys_enter_";
	DIR *events = opendir(folder);
	struct dirent *event;
	char path[512];

	if (!events)
		return;
	begin_fact("syscalls");
	while ((event = readdir(events))) {
		int fd;

		if (strncmp(event->d_name, prefix, sizeof prefix - 1))
			continue;
		snprintf(path, sizeof path, "%s/%s/format", folder, event->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			send_fact_bytes(fd);
	}
	end_fact();
	closedir(events);
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

	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		int fd = open(facts[i][1], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		begin_fact(facts[i][0]);
		send_fact_bytes(fd);
		end_fact();
	}
	send_syscalls();
	done(NULL);
}

static void reap(void)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(polled[CHILD_SIGNAL].fd, &info, sizeof info) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		command_ended(pid, status);
}

/* Errors are reported immediately: the host need not send the rest. */
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
	const char *name;

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
		data[size] = 0;
		name = data + strlen(data) + 1;
		if (name < data + size)
			sethostname(name, strlen(name));
		done(use_host_root(DJSTAP_GUEST_SHARE, data));
		break;
	case GUEST_ARCHIVE:
		take_archive(data, size);
		break;
	case GUEST_COMMAND:
		command_describe(data, size);
		break;
	case GUEST_INPUT:
		command_input(data, size);
		break;
	case GUEST_UNHEARD:
		command_unheard(data[0]);
		break;
	case GUEST_SIGNAL:
		memcpy(&number, data, sizeof number);
		command_signal(number);
		break;
	case GUEST_SETTLE:
		settle();
		leaks_forget();
		remains_note();
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
		command_serve();
		gone = polled[PORT].revents & POLLHUP ? gone + 1 : 0;
		if (gone > 100)
			reboot(RB_AUTOBOOT);
		if (gone)
			usleep(10000);
	}
}

int main(void)
{
	/* A command that keeps every CPU busy must not prevent this process from answering. */
	struct sched_param priority = {.sched_priority = 1};
	struct rlimit files = {65536, 65536};
	char failed[256] = "";
	const char *problem;
	sigset_t child;
	int error;

	umask(022);
	mount_file_systems();
	error = load_modules(DJSTAP_GUEST_FOLDER "/modules.boot", failed);
	if (error) {
		fprintf(stderr, "djstap: %s: %s\n", failed, strerror(-error));
		reboot(RB_AUTOBOOT);
	}
	problem = mount_disk();
	if (problem) {
		fprintf(stderr, "djstap: %s\n", problem);
		reboot(RB_AUTOBOOT);
	}
	bring_up_loopback();
	sethostname("guest", 5);
	setrlimit(RLIMIT_NOFILE, &files);
	/*
	 * The log on the console is what is shown of a lost guest: everything but debug messages.
	 */
	klogctl(8, NULL, 7);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	polled[PORT] = (struct pollfd){open_port(DJSTAP_GUEST_PORT), POLLIN, 0};
	polled[CHILD_SIGNAL] =
	    (struct pollfd){signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN, 0};
	command_init(polled + COMMAND);
	if (polled[PORT].fd < 0) {
		fprintf(stderr, "djstap: there is no port %s\n", DJSTAP_GUEST_PORT);
		reboot(RB_AUTOBOOT);
	}
	channel_open(polled[PORT].fd);
	sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &priority);
	channel_send(GUEST_HELLO, "", 0);
	serve();
}
