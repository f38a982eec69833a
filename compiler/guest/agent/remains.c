// SPDX-License-Identifier: GPL-2.0-or-later
/* What modules that were unloaded left behind: memory, probes, patched functions, files in /proc. A
 * stock kernel says who allocated memory that is mapped by vmalloc; with
 * slub_debug=U,kmalloc-* on its command line also who allocated that of kmalloc. */
#define _GNU_SOURCE
#include "agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLABS "/sys/kernel/debug/slab"

/* kfree_rcu() frees up to five seconds later. */
enum { PATIENCE_S = 8, WAIT_US = 100000 };

/* Each line contains what is left only if it was not there before the command. */
static const char *const lists[] = {
    "/sys/kernel/debug/kprobes/list",
    "/sys/kernel/tracing/enabled_functions",
};
static char *before[sizeof lists / sizeof *lists];

/* The file's text, to be freed; empty if it cannot be read. */
static char *text_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0, room = 1 << 16;
	char *text = malloc(room + 1);
	ssize_t n = 0;

	while (text && fd >= 0 && (n = read(fd, text + have, room - have)) > 0) {
		have += (size_t)n;
		if (have < room)
			continue;
		room *= 2;
		text = realloc(text, room + 1);
	}
	if (fd >= 0)
		close(fd);
	if (text)
		text[have] = 0;
	return text;
}

/* A module's address of which the kernel knows no symbol. */
static int is_of_unloaded(const char *symbol)
{
	return !strncmp(symbol, "0xffffffff", 10) && symbol[10] >= 'a' && symbol[10] <= 'f';
}

/* Prints it to `log`, if there is one. */
static void tell(FILE *log, const char *what, const char *text, size_t size)
{
	if (log)
		fprintf(log, "<4>left behind by a module, %s: %.*s\n", what, (int)size, text);
}

/* The bytes that vmallocinfo shows for a thread's stack, with the page that guards it; 0 if it
 * shows none. */
static long size_of_stack(const char *areas)
{
	const char *found = strstr(areas, " kernel_clone+");

	while (found && found > areas && found[-1] >= '0' && found[-1] <= '9')
		found--;
	return found ? atol(found) : 0;
}

/* vmallocinfo: range, size, caller, and more. The stack of a thread that was started while
 * copy_process() was probed has a trampoline's address as its caller, and the kernel keeps it for
 * the next thread: what is as large does not count. */
static int mapped_memory(FILE *log)
{
	char *text = text_of("/proc/vmallocinfo"), *rest = text, *line;
	long stack = text ? size_of_stack(text) : 0;
	int found = 0;

	while ((line = strsep(&rest, "\n"))) {
		char caller[32];
		long size;

		if (sscanf(line, "%*s %ld %31s", &size, caller) != 2 || !is_of_unloaded(caller) ||
		    size == stack)
			continue;
		tell(log, "memory", line, strlen(line));
		found++;
	}
	free(text);
	return found;
}

/* Called with the slab, the line and the address. Returns 1 if it counts. */
typedef int visitor(FILE *log, const char *slab, const char *head, const char *symbol);

/* The kernel's functions that allocate for their caller. */
static int is_allocator(const char *symbol)
{
	static const char *const names[] = {"kmalloc", "kvmalloc", "kmem_cache_alloc",
					    "kstrdup", "kmemdup",  "krealloc"};

	symbol += strspn(symbol, "_");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(symbol, names[i], strlen(names[i])))
			return 1;
	return 0;
}

/* Where the kernel's own modules, of which the code that initializes them is gone, allocated. */
static char early[1 << 16];

/* Calls `visit` for each kind of allocation of the slab by a function without a symbol. The file
 * has lines `count caller age=…` and, further indented, the stack below each. */
static int allocations(const char *slab, visitor *visit, FILE *log)
{
	char path[400], *text, *rest, *line, *head = NULL;
	int found = 0;

	snprintf(path, sizeof path, SLABS "/%s/alloc_traces", slab);
	text = rest = text_of(path);
	while ((line = strsep(&rest, "\n"))) {
		const char *symbol = line + strspn(line, " ");

		if (strstr(line, " age=")) {
			head = line;
			symbol += strspn(symbol, "0123456789");
			symbol += strspn(symbol, " ");
		}
		if (!head || is_allocator(symbol))
			continue;
		if (is_of_unloaded(symbol))
			found += visit(log, slab, head, symbol);
		head = NULL;
	}
	free(text);
	return found;
}

static int note_allocation(FILE *log, const char *slab, const char *head, const char *symbol)
{
	size_t have = strlen(early);

	(void)log, (void)slab, (void)head;
	if (have + 20 < sizeof early)
		snprintf(early + have, sizeof early - have, "%.18s\n", symbol);
	return 1;
}

static int tell_allocation(FILE *log, const char *slab, const char *head, const char *symbol)
{
	char address[20];

	snprintf(address, sizeof address, "%.18s", symbol);
	if (strstr(early, address))
		return 0;
	tell(log, slab, head, strlen(head));
	return 1;
}

/* Has objects freed that KASAN holds back to notice who uses them afterwards: they count as
 * allocated. */
static void end_quarantine(const char *slab)
{
	char path[400];
	int fd;

	snprintf(path, sizeof path, "/sys/kernel/slab/%s/shrink", slab);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "1", 1) < 0)
		perror(path);
	close(fd);
}

static int allocated_memory(visitor *visit, FILE *log)
{
	DIR *slabs = opendir(SLABS);
	struct dirent *slab;
	int found = 0;

	while (slabs && (slab = readdir(slabs)))
		if (!strncmp(slab->d_name, "kmalloc-", 8)) {
			end_quarantine(slab->d_name);
			found += allocations(slab->d_name, visit, log);
		}
	if (slabs)
		closedir(slabs);
	return found;
}

/* Modules that the kernel did not come with, djstap's among them, are marked with an O. */
static int foreign_module_loaded(void)
{
	char *text = text_of("/proc/modules"), *rest = text, *line;
	int found = 0;

	while ((line = strsep(&rest, "\n"))) {
		const char *marks = strrchr(line, '(');

		found |= marks && strchr(marks, 'O') != NULL;
	}
	free(text);
	return found;
}

/* tracefs' own probes and tracers are not a module's. */
static int traced_by_others(void)
{
	char *probes = text_of("/sys/kernel/tracing/kprobe_events");
	char *tracer = text_of("/sys/kernel/tracing/current_tracer");
	int others = (probes && *probes) || (tracer && *tracer && strcmp(tracer, "nop\n") != 0);

	free(probes);
	free(tracer);
	return others;
}

static int was_listed(const char *list, const char *line)
{
	size_t size = strlen(line);

	for (const char *at = list; (at = strstr(at, line)); at += size)
		if ((at == list || at[-1] == '\n') && (at[size] == '\n' || !at[size]))
			return 1;
	return 0;
}

static int listed(FILE *log)
{
	int found = 0;

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		char *text = text_of(lists[i]), *rest = text, *line;

		while ((line = strsep(&rest, "\n"))) {
			if (!*line || !before[i] || was_listed(before[i], line))
				continue;
			tell(log, i ? "function" : "kprobe", line, strlen(line));
			found++;
		}
		free(text);
	}
	return found;
}

/* Files of modules in /proc, and names of CPU hotplug states. */
static int named(FILE *log)
{
	char *states = text_of("/sys/devices/system/cpu/hotplug/states"), *rest = states, *line;
	DIR *proc = opendir("/proc");
	struct dirent *file;
	int found = 0;

	while (proc && (file = readdir(proc))) {
		if (strncmp(file->d_name, "djstap", 6) != 0 &&
		    strcmp(file->d_name, "systemtap") != 0)
			continue;
		tell(log, "file in /proc", file->d_name, strlen(file->d_name));
		found++;
	}
	if (proc)
		closedir(proc);
	while ((line = strsep(&rest, "\n"))) {
		if (!strstr(line, "djstap"))
			continue;
		tell(log, "state of processors", line, strlen(line));
		found++;
	}
	free(states);
	return found;
}

static int remains(FILE *log)
{
	int found = mapped_memory(log) + allocated_memory(tell_allocation, log);

	if (foreign_module_loaded())
		return found;
	found += named(log);
	return traced_by_others() ? found : found + listed(log);
}

void remains_note(void)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		before[i] = text_of(lists[i]);
	allocated_memory(note_allocation, NULL);
}

void remains_tell(void)
{
	struct timespec start, now;
	FILE *log;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		if (!remains(NULL))
			return;
		usleep(WAIT_US);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < start.tv_sec + PATIENCE_S);
	log = fopen("/proc/sys/kernel/printk_devkmsg", "we");
	if (log) { /* all lines, however fast they come */
		fputs("on", log);
		fclose(log);
	}
	log = fopen("/dev/kmsg", "we");
	if (!log)
		return;
	setvbuf(log, NULL, _IOLBF, 0);
	remains(log);
	fclose(log);
}
