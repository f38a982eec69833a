// SPDX-License-Identifier: GPL-2.0-or-later
/* A kernel with kmemleak (scripts/debug-kernels builds one) reports what a script leaked. */
#define _GNU_SOURCE
#include "agent.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* kmemleak reports an object only after it has existed this long. */
#define MIN_AGE_SECONDS 6
#define REPORT_BYTES	(1 << 20)

static int kmemleak = -1;

/* Returns whether kmemleak obeyed. */
static int order(const char *word)
{
	lseek(kmemleak, 0, SEEK_SET);
	return write(kmemleak, word, strlen(word)) == (ssize_t)strlen(word);
}

void leaks_forget(void)
{
	kmemleak = open("/sys/kernel/debug/kmemleak", O_RDWR | O_CLOEXEC);
	if (kmemleak < 0)
		return;
	/* The kernel's own scans would only cost time. With kmemleak=off the file exists, and
	 * refuses. */
	if (!order("scan=off")) {
		close(kmemleak);
		kmemleak = -1;
		return;
	}
	/* ignores what was reported already; the rest is not a module's */
	order("clear");
}

/* Returns whether code of a module took part: a symbol with [module], or an address without a
 * symbol in the modules' address range, of a module that was unloaded. */
static int is_of_module(const char *object)
{
	for (const char *line = object; line; line = strchr(line, '\n')) {
		const char *end = strchr(++line, '\n');
		const char *symbol = strstr(line, ">] ");
		char first;

		if (!end) /* the line before the next object, which ends it */
			end = line + strlen(line);
		if (!symbol || symbol > end)
			continue;
		symbol += 3;
		if (end[-1] == ']')
			return 1;
		first = strncmp(symbol, "0xffffffff", 10) ? 0 : symbol[10];
		if (first >= 'a' && first <= 'f')
			return 1;
	}
	return 0;
}

/* Returns whether the kernel itself leaks it: up to 6.1, one registration of direct calls that lets
 * the table of all of them grow twice forgets the first of the two old tables
 * (ftrace_add_rec_direct, kernel/trace/ftrace.c). */
static int is_the_kernels(const char *object)
{
	return strstr(object, "] ftrace_add_rec_direct+") != NULL;
}

/*
 * Writes it to the kernel's log line by line, as warnings: the host searches the log for
 * complaints.
 */
static void tell(char *object)
{
	FILE *log = fopen("/dev/kmsg", "we");

	if (!log)
		return;
	setvbuf(log, NULL, _IOLBF, 0);
	for (char *line = strtok(object, "\n"); line; line = strtok(NULL, "\n"))
		fprintf(log, "<4>%s\n", line);
	fclose(log);
}

/* Memory that was allocated or changed since the last scan is only reported by the next one. */
void leaks_tell(void)
{
	static const char mark[] = "unreferenced object ";
	char *report, *object, *next;
	size_t have = 0;
	ssize_t n;

	if (kmemleak < 0)
		return;
	sleep(MIN_AGE_SECONDS);
	order("scan");
	order("scan");
	report = malloc(REPORT_BYTES);
	if (!report)
		return;
	lseek(kmemleak, 0, SEEK_SET);
	while (have < REPORT_BYTES - 1 &&
	       (n = read(kmemleak, report + have, REPORT_BYTES - 1 - have)) > 0)
		have += (size_t)n;
	report[have] = 0;
	for (object = strstr(report, mark); object; object = next) {
		next = strstr(object + 1, mark);
		if (next)
			next[-1] = 0;
		if (is_of_module(object) && !is_the_kernels(object))
			tell(object);
	}
	free(report);
}
