// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/random.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static const char *failure(const char *what)
{
	static char text[400];

	snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
	return text;
}

void mount_file_systems(void)
{
	static const struct {
		const char *type, *where, *options;
	} table[] = {
	    {"proc", "/proc", NULL},
	    {"sysfs", "/sys", NULL},
	    {"devtmpfs", "/dev", "mode=0755"},
	    {"devpts", "/dev/pts", "mode=0620,ptmxmode=0666"},
	    {"tmpfs", "/dev/shm", "mode=1777"},
	    {"tmpfs", "/run", "mode=0755"},
	    {"debugfs", "/sys/kernel/debug", NULL},
	    {"tracefs", "/sys/kernel/tracing", NULL},
	    {"securityfs", "/sys/kernel/security", NULL},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		mkdir(table[i].where, 0755);
		mount(table[i].type, table[i].where, table[i].type, 0, table[i].options);
	}
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
}

/* Changes to the host's files are stored here. */
#define DISK "/mnt/disk"

const char *mount_disk(void)
{
	int there = !access(DJSTAP_GUEST_DISK, F_OK);

	make_folders(DISK);
	if (there)
		/* The driver probes the device asynchronously. */
		for (int tries = 0; tries < 10000 && access("/dev/vda", F_OK); tries++)
			usleep(1000);
	/* Its inode tables are already zero: the kernel need not write them in the background. */
	if (there ? mount("/dev/vda", DISK, "ext4", 0, "noinit_itable")
		  : mount("tmpfs", DISK, "tmpfs", 0, "mode=0755"))
		return failure("mounting the guest's disk");
	mkdir(DISK "/upper", 0755);
	mkdir(DISK "/work", 0755);
	mkdir(DISK "/tmp", 0755);
	chmod(DISK "/tmp", 01777);
	if (mount(DISK "/tmp", "/tmp", NULL, MS_BIND, NULL))
		return failure("mounting /tmp");
	return NULL;
}

void bring_up_loopback(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		ioctl(fd, SIOCSIFFLAGS, &request);
		close(fd);
	}
}

int load_modules(const char *list, char *failed)
{
	FILE *f = fopen(list, "re");
	char path[256];

	if (!f)
		return 0;
	while (fgets(path, sizeof path, f)) {
		int fd;

		path[strcspn(path, "\n")] = 0;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)) {
			int error = errno;

			strcpy(failed, path);
			fclose(f);
			return -error;
		}
		close(fd);
	}
	fclose(f);
	return 0;
}

static int find_port(const char *name)
{
	char path[300], found[64] = "";
	DIR *folder = opendir("/sys/class/virtio-ports");
	struct dirent *e;
	int port = -1;

	if (!folder)
		return -1;
	while (port < 0 && (e = readdir(folder))) {
		ssize_t n;
		int fd;

		snprintf(path, sizeof path, "/sys/class/virtio-ports/%s/name", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, found, sizeof found - 1);
		close(fd);
		found[n > 0 ? n : 0] = 0;
		found[strcspn(found, "\n")] = 0;
		if (strcmp(found, name))
			continue;
		snprintf(path, sizeof path, "/dev/%s", e->d_name);
		port = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	}
	closedir(folder);
	return port;
}

int open_port(const char *name)
{
	/* The driver learns of its ports after its probe, so they appear some time later. */
	for (int tries = 0; tries < 10000; tries++) {
		int fd = find_port(name);

		if (fd >= 0)
			return fd;
		usleep(2000);
	}
	return -1;
}

void settle(void)
{
	for (int tries = 0; tries < 500; tries++) {
		char name[64] = "";
		int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			      O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return;
		if (read(fd, name, sizeof name - 1) > 0 && !strstr(name, "-early")) {
			close(fd);
			return;
		}
		close(fd);
		usleep(10000);
	}
}

/* Opens the kernel's uevents about devices and drivers. */
static int open_device_events(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd =
	    socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);

	if (fd >= 0)
		bind(fd, (struct sockaddr *)&address, sizeof address);
	return fd;
}

/* Waits, at most a tenth of a second, until a driver has bound a device. */
static void wait_for_driver(int events)
{
	struct pollfd p = {.fd = events, .events = POLLIN};
	char event[4096];
	int bound = 0;

	while (!bound && poll(&p, 1, 100) > 0)
		while (recv(events, event, sizeof event, 0) > 5)
			bound |= !memcmp(event, "bind@", 5);
}

/* The share's device was just plugged in: it is usable once its driver has probed it. A kernel with
 * sanitizers may take half a minute for the ACPI program that routes its interrupt. Returns 0 or -1
 * with errno. */
static int mount_share(const char *tag, const char *where)
{
	int events = open_device_events();
	int done = -1, error = 0;

	for (int tries = 0; done && tries < 1000; tries++) {
		done = mount(tag, where, "virtiofs", MS_RDONLY, NULL);
		error = errno;
		if (done && error != EINVAL)
			break;
		if (done)
			wait_for_driver(events);
	}
	close(events);
	errno = error;
	return done;
}

const char *use_host_root(const char *tag, const char *modules)
{
	static const char *const kept[] = {"/proc", "/sys", "/dev"};
	struct utsname name;
	char path[300];

	if (mount_share(tag, "/mnt/host"))
		return failure("mounting the host's root");
	if (mount("overlay", "/mnt/root", "overlay", 0,
		  "lowerdir=/mnt/host,upperdir=" DISK "/upper,workdir=" DISK "/work"))
		return failure("mounting the overlay");
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		snprintf(path, sizeof path, "/mnt/root%s", kept[i]);
		mkdir(path, 0755);
		if (mount(kept[i], path, NULL, MS_MOVE, NULL))
			return failure(kept[i]);
	}
	/* As a real root rather than a chroot: namespaces can be created in it. */
	if (chdir("/mnt/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		return failure("entering the host's root");
	uname(&name);
	snprintf(path, sizeof path, "/lib/modules/%s", name.release);
	if (*modules && access(path, F_OK)) {
		make_folders("/lib/modules");
		symlink(modules, path);
	}
	return NULL;
}

void set_clock(uint64_t seconds, uint64_t nanoseconds, const void *seed, size_t seed_size)
{
	struct timespec now = {.tv_sec = (time_t)seconds, .tv_nsec = (long)nanoseconds};
	int fd;

	clock_settime(CLOCK_REALTIME, &now);
	fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (seed_size && seed_size <= 256) {
		char buffer[sizeof(struct rand_pool_info) + 256];
		struct rand_pool_info *info = (struct rand_pool_info *)buffer;

		info->entropy_count = (int)seed_size * 8;
		info->buf_size = (int)seed_size;
		memcpy(info->buf, seed, seed_size);
		ioctl(fd, RNDADDENTROPY, info);
		/*
		 * Otherwise guests restored from one state would continue with the same sequence.
		 */
		ioctl(fd, RNDRESEEDCRNG);
	}
	close(fd);
}
