// SPDX-License-Identifier: GPL-2.0-or-later
// What the runtime's sources call of the C library. A program may have no such library, and one
// that it has must not be entered from the middle of its own functions.
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "arch/runtime.h"
#include "injected/internal.h"

/* ---- memory and strings ---- */

typedef u64 __attribute__((__aligned__(1), __may_alias__)) unaligned_word;

void *memcpy(void *to, const void *from, size_t size)
{
	char *out = to;
	const char *in = from;

	for (; size >= 8; size -= 8, out += 8, in += 8)
		*(unaligned_word *)out = *(const unaligned_word *)in;
	while (size--)
		*out++ = *in++;
	return to;
}

void *memmove(void *to, const void *from, size_t size)
{
	char *out = to;
	const char *in = from;

	if (out - in >= (ptrdiff_t)size || out <= in)
		return memcpy(to, from, size);
	while (size--)
		out[size] = in[size];
	return to;
}

void *memset(void *to, int value, size_t size)
{
	char *out = to;

	while (size--)
		*out++ = (char)value;
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *left = a, *right = b;

	for (; size; size--, left++, right++)
		if (*left != *right)
			return *left - *right;
	return 0;
}

void *memchr(const void *in, int wanted, size_t size)
{
	const unsigned char *at = in;

	for (; size; size--, at++)
		if (*at == (unsigned char)wanted)
			return (void *)at;
	return NULL;
}

size_t strnlen(const char *text, size_t most)
{
	size_t length = 0;

	while (length < most && text[length])
		length++;
	return length;
}

size_t strlen(const char *text)
{
	return strnlen(text, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t most)
{
	for (; most; most--, a++, b++) {
		if (*a != *b)
			return (unsigned char)*a - (unsigned char)*b;
		if (!*a)
			break;
	}
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

size_t strcspn(const char *text, const char *stops)
{
	size_t length = 0;

	while (text[length] && !memchr(stops, text[length], strlen(stops)))
		length++;
	return length;
}

/* ---- formats: those of the runtime's own messages ---- */

struct output {
	char *at, *end; /* the end has room for the terminator */
	size_t length;
};

static void put(struct output *out, char character)
{
	if (out->at < out->end)
		*out->at++ = character;
	out->length++;
}

static void put_number(struct output *out, u64 number, unsigned base)
{
	char digits[20];
	unsigned count = 0;

	do
		digits[count++] = "0123456789abcdef"[number % base];
	while (number /= base);
	while (count)
		put(out, digits[--count]);
}

static u64 next_number(va_list *arguments, unsigned longs, bool is_signed)
{
	if (longs)
		return va_arg(*arguments, u64);
	return is_signed ? (u64)(s64)va_arg(*arguments, int) : va_arg(*arguments, unsigned);
}

static void put_argument(struct output *out, char kind, unsigned longs, int precision,
			 va_list *arguments)
{
	u64 number;

	switch (kind) {
	case 's': {
		const char *text = va_arg(*arguments, const char *);

		for (; *text && precision; text++, precision--)
			put(out, *text);
		break;
	}
	case 'd':
	case 'i':
		number = next_number(arguments, longs, true);
		if ((s64)number < 0)
			put(out, '-');
		put_number(out, (s64)number < 0 ? -number : number, 10);
		break;
	case 'u':
		put_number(out, next_number(arguments, longs, false), 10);
		break;
	case 'x':
		put_number(out, next_number(arguments, longs, false), 16);
		break;
	case 'c':
		put(out, (char)va_arg(*arguments, int));
		break;
	default:
		put(out, kind);
	}
}

int vsnprintf(char *to, size_t size, const char *format, va_list given)
{
	struct output out = {to, to + (size ? size - 1 : 0), 0};
	va_list arguments;

	va_copy(arguments, given);
	for (; *format; format++) {
		unsigned longs = 0;
		int precision = -1;

		if (*format != '%') {
			put(&out, *format);
			continue;
		}
		format++;
		if (*format == '#') {
			put(&out, '0');
			put(&out, 'x');
			format++;
		}
		if (format[0] == '.' && format[1] == '*') {
			precision = va_arg(arguments, int);
			format += 2;
		}
		for (; *format == 'l' || *format == 'z'; format++)
			longs++;
		put_argument(&out, *format, longs, precision, &arguments);
	}
	va_end(arguments);
	if (size)
		*out.at = 0;
	return (int)out.length;
}

int snprintf(char *to, size_t size, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(to, size, format, arguments);
	va_end(arguments);
	return length;
}

/* ---- allocation: of the arena, which is freed as a whole ---- */

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	(void)alignment;
	*memory = djs_arena_allocate(size);
	return *memory ? 0 : ENOMEM;
}

void free(void *memory)
{
	(void)memory;
}

/* ---- system calls ---- */

#define CALL0(type, name)                                                                          \
	type name(void)                                                                            \
	{                                                                                          \
		return (type)djs_syscall6(__NR_##name, 0, 0, 0, 0, 0, 0);                          \
	}
CALL0(pid_t, getpid)
CALL0(pid_t, gettid)
CALL0(pid_t, getppid)
CALL0(pid_t, getpgrp)
CALL0(uid_t, getuid)
CALL0(uid_t, geteuid)
CALL0(gid_t, getgid)
CALL0(gid_t, getegid)

pid_t getsid(pid_t pid)
{
	return (pid_t)djs_syscall6(__NR_getsid, pid, 0, 0, 0, 0, 0);
}

int sched_getcpu(void)
{
	unsigned cpu = 0;

	djs_syscall6(__NR_getcpu, (long)&cpu, 0, 0, 0, 0, 0);
	return (int)cpu;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	return (int)djs_syscall6(__NR_clock_gettime, clock, (long)now, 0, 0, 0, 0);
}

ssize_t getrandom(void *to, size_t size, unsigned flags)
{
	return djs_syscall6(__NR_getrandom, (long)to, (long)size, flags, 0, 0, 0);
}

/* Of processors, or of free pages: enough for what djstap allocates, which the arena limits. */
long sysconf(int name)
{
	return name == _SC_NPROCESSORS_CONF ? djs_arena_parts()->processors : 1 << 20;
}
