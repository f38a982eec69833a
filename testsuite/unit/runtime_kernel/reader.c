// SPDX-License-Identifier: GPL-2.0-or-later
// A reader for these tests, and the load that its probes see:
//   reader hits N                   calls getppid N times
//   reader once                     calls umask, getsid and getpgid once
//   reader run [-s] [-t] MODULE.ko PARAMETERS N
//       loads with hold=1, calls getppid N times and the others once, stops, prints what was
//       recorded; -s: sites, -t: reads from a thread all the time
//   reader hang MODULE.ko           loads, starts and waits to be killed
//   reader exits MODULE.ko N        as run, but waits for the script to ask for the end
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "include/control.h"
#include "include/record.h"
#include "include/text.h"
#include "formats.h"

static const char *const formats[] = TEST_FORMATS;
static const char *const types[] = TEST_TYPES;

struct ring {
	volatile u64 *tail;
	char *data;
};
static struct ring rings[64];
static const volatile struct djs_control_page *control;
static unsigned long records;
static int quiet;

static void die(const char *what)
{
	fprintf(stderr, "reader: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct djs_record *next(unsigned cpu)
{
	struct djs_record *record =
	    (void *)(rings[cpu].data + (*rings[cpu].tail & (control->ring_bytes - 1)));

	return rings[cpu].data && __atomic_load_n(&record->size, __ATOMIC_ACQUIRE) ? record : NULL;
}

static void print(const struct djs_record *record)
{
	static char text[65536];
	size_t bytes = record->size - sizeof(*record);

	if (record->id < TEST_FORMAT_COUNT) {
		records += record->id == 5 || record->id == 0;
		if (!quiet || record->id != 5) {
			djs_format(text, sizeof text, formats[record->id], types[record->id],
				   record + 1, bytes);
			fputs(text, stdout);
		}
	} else if (record->id == DJS_RECORD_EXIT) {
		puts("EXIT");
	} else {
		u32 length = *(const u32 *)(record + 1);

		printf("%s%.*s%s",
		       record->id == DJS_RECORD_ERROR	  ? "ERROR: "
		       : record->id == DJS_RECORD_WARNING ? "WARNING: "
							  : "",
		       (int)length, (const char *)(record + 1) + 4,
		       record->id == DJS_RECORD_TEXT ? "" : "\n");
	}
}

static int drain(void)
{
	struct djs_record *first = NULL;
	unsigned first_cpu = 0, cpu, size;

	for (cpu = 0; cpu < control->cpus; cpu++) {
		struct djs_record *record = next(cpu);

		if (record && (!first || record->time < first->time)) {
			first = record;
			first_cpu = cpu;
		}
	}
	if (!first)
		return 0;
	print(first);
	size = first->size;
	memset(first, 0, size);
	__atomic_store_n(rings[first_cpu].tail, *rings[first_cpu].tail + size, __ATOMIC_RELEASE);
	return 1;
}

static volatile int stop_thread;
static void *drain_thread(void *unused)
{
	while (!stop_thread)
		if (!drain())
			usleep(1000);
	return NULL;
}

static int attach(const char *file, const char *parameters)
{
	char name[256], path[300];
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	unsigned cpu;
	int fd = open(file, O_RDONLY);

	if (fd < 0)
		die(file);
	if (syscall(SYS_finit_module, fd, parameters, 0))
		die("load");
	close(fd);
	snprintf(name, sizeof name, "%s", base);
	*strchr(name, '.') = 0;
	snprintf(path, sizeof path, "/proc/djstap-%s", name);
	fd = open(path, O_RDWR);
	if (fd < 0)
		die(path);
	control = mmap(NULL, DJS_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED)
		die("map control page");
	for (cpu = 0; cpu < control->cpus; cpu++) {
		u64 bytes = control->ring_bytes;
		off_t at = DJS_MMAP_RING(cpu, bytes);
		char *room = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		rings[cpu].tail = mmap(NULL, DJS_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
		if (rings[cpu].tail == MAP_FAILED)
			die("map tail");
		if (mmap(room, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 at + DJS_PAGE) == MAP_FAILED ||
		    mmap(room + bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 at + DJS_PAGE) == MAP_FAILED)
			die("map ring");
		rings[cpu].data = room;
	}
	return fd;
}

static void hits(long count)
{
	while (count-- > 0)
		syscall(SYS_getppid);
}

static void once(void)
{
	struct timeval now;

	syscall(SYS_umask, 022);
	syscall(SYS_getsid, 0);
	syscall(SYS_getpgid, 1);
	syscall(SYS_gettimeofday, &now, NULL);
}

static void report(int fd, int sites)
{
	static const char *const names[] = {"none",	     "djprobe",	    "ftrace",
					    "kprobe",	     "kprobe-int3", "kprobe-jump",
					    "kprobe-ftrace", "kretprobe",   "return-djprobe",
					    "tracepoint",    "timer"};
	struct djs_counts counts;
	struct djs_site_state site = {0};

	for (site.index = 0; sites && !ioctl(fd, DJS_IOC_SITE, &site); site.index++)
		if (site.mechanism)
			printf("site %u: %s, fallback %u, error %d\n", site.index,
			       names[site.mechanism], site.fallback, site.error);
	if (ioctl(fd, DJS_IOC_COUNTS, &counts))
		die("counts");
	printf("records %lu lost %llu busy %llu locked %llu errors %llu failed %llu state %u error "
	       "%u\n",
	       records, (unsigned long long)counts.lost_records,
	       (unsigned long long)counts.skipped_busy, (unsigned long long)counts.skipped_locked,
	       (unsigned long long)counts.errors, (unsigned long long)counts.failed_sites,
	       control->state, control->error);
}

int main(int argc, char **argv)
{
	struct djs_start start = {.target_pid = 42};
	int sites = 0, threaded = 0, fd, error;
	pthread_t thread;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "once"))
		return once(), 0;
	if (!strcmp(argv[1], "hits"))
		return hits(atol(argv[2])), 0;
	if (!strcmp(argv[1], "hang")) {
		fd = attach(argv[2], "hold=1");
		if (ioctl(fd, DJS_IOC_START, &start))
			die("start");
		printf("started\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	if (!strcmp(argv[1], "exits")) {
		struct pollfd wait;

		fd = attach(argv[2], "hold=1");
		if (ioctl(fd, DJS_IOC_START, &start))
			die("start");
		hits(atol(argv[3]));
		wait = (struct pollfd){.fd = fd, .events = POLLIN};
		printf("poll %d\n", poll(&wait, 1, 2000));
		if (ioctl(fd, DJS_IOC_STOP))
			die("stop");
		while (drain())
			;
		report(fd, 0);
		return 0;
	}
	for (argv += 2; argv[0][0] == '-'; argv++) {
		sites |= argv[0][1] == 's';
		threaded |= argv[0][1] == 't';
		quiet |= argv[0][1] == 'q';
	}
	fd = attach(argv[0], argv[1]);
	if (threaded)
		pthread_create(&thread, NULL, drain_thread, NULL);
	error = ioctl(fd, DJS_IOC_START, &start) ? errno : 0;
	printf("start: %d\n", error);
	hits(atol(argv[2]));
	once();
	usleep(20000);
	if (ioctl(fd, DJS_IOC_STOP))
		die("stop");
	if (threaded) {
		stop_thread = 1;
		pthread_join(thread, NULL);
	}
	while (drain())
		;
	report(fd, sites);
	return 0;
}
