/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the portable parts of the runtime (map, statistic, text, record layout) require from their
 * environment: the same sources are built into modules by Kbuild and into djstap, djrun and the
 * tests for user space. C++ includes the headers of this folder, too (codegen takes offsets from
 * them). */
#ifndef DJSTAP_PLATFORM_H
#define DJSTAP_PLATFORM_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/limits.h>
#include <linux/compiler.h>
#include <asm/barrier.h>
#include <asm-generic/kprobes.h>
/* Code that handlers call must not be probed itself, neither by ftrace (the whole module is built
 * without fentry calls) nor by a kprobe: such a probe would only find the context busy. */
#define DJS_HANDLER_CODE __kprobes
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#ifndef likely
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#define DJS_HANDLER_CODE
#ifndef __cplusplus
/* Accesses to memory that others may read or change at the same time. */
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)
/* Whatever it yields is right; the compiler may still combine it with other accesses. */
#define data_race(access)	(access)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#endif
#endif

#ifdef __cplusplus
#define DJS_STATIC_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
}
#else
#define DJS_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#endif
