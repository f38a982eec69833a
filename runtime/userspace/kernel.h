/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel interfaces that the runtime's sources use, for user space: the sources of globals/,
 * control/, access/ and context/ that need no more than this are built here unchanged. The headers
 * in include/linux/ of this folder include this file under the kernel's names.
 *
 * A "CPU" is a thread that called djs_user_be_cpu; nothing interrupts it, so interrupts and
 * preemption need no handling.
 */
#ifndef DJSTAP_USER_KERNEL_H
#define DJSTAP_USER_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/cdefs.h>
#include <sys/random.h>
#include <unistd.h>

#include "arch/runtime.h"
#include "include/platform.h"
#include "userspace/userspace.h"

/* ---- compiler, numbers ---- */
#define __percpu
#define __force
#define __user
#undef __always_inline
#define __always_inline		     inline __attribute__((__always_inline__))
#define noinline		     __attribute__((__noinline__))
#define __printf(format, first)	     __attribute__((__format__(__printf__, format, first)))
#define ____cacheline_aligned_in_smp __attribute__((__aligned__(64)))
#define barrier()		     __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define smp_mb()		     __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()		     __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define preempt_disable_notrace()    barrier()
#define preempt_enable_notrace()     barrier()
#define U64_MAX			     UINT64_MAX
#define S64_MAX			     INT64_MAX
#define S64_MIN			     INT64_MIN
#define S32_MAX			     INT32_MAX
#define PAGE_SIZE		     4096ul
#define PAGE_SHIFT		     12
#define ALIGN(x, to)		     (((x) + (to) - 1) & ~((__typeof__(x))(to) - 1))
#define ARRAY_SIZE(a)		     (sizeof(a) / sizeof((a)[0]))
#define min_t(type, a, b)                                                                          \
	({                                                                                         \
		type a_ = (a), b_ = (b);                                                           \
		a_ < b_ ? a_ : b_;                                                                 \
	})
#define max_t(type, a, b)                                                                          \
	({                                                                                         \
		type a_ = (a), b_ = (b);                                                           \
		a_ > b_ ? a_ : b_;                                                                 \
	})
#define min(a, b)		    min_t(__typeof__(a), a, b)
#define max(a, b)		    max_t(__typeof__(a), a, b)
#define clamp_t(type, x, low, high) min_t(type, max_t(type, x, low), high)

/* ---- memory ---- */
#define GFP_KERNEL	    0
#define __GFP_ZERO	    0
#define __GFP_RETRY_MAYFAIL 0
#define __GFP_NOWARN	    0
static inline void *djs_user_zeroed(u64 count, u64 size)
{
	u64 bytes;
	void *memory;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2 ||
	    posix_memalign(&memory, 64, bytes ? bytes : 1))
		return NULL;
	memset(memory, 0, bytes);
	return memory;
}
#define vzalloc(size)		     djs_user_zeroed(1, size)
#define __vmalloc(size, flags)	     djs_user_zeroed(1, size)
#define si_mem_available()	     sysconf(_SC_AVPHYS_PAGES)
#define kcalloc(count, size, flags)  djs_user_zeroed(count, size)
#define kvcalloc(count, size, flags) djs_user_zeroed(count, size)
#define get_zeroed_page(flags)	     djs_user_zeroed(1, PAGE_SIZE)
#define kfree(p)		     free(p)
#define kvfree(p)		     free(p)
#define vfree(p)		     free(p)
#define free_page(p)		     free((void *)(p))

static inline ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size);

	if (!size)
		return -E2BIG;
	length = length == size ? size - 1 : length;
	memcpy(to, from, length);
	to[length] = 0;
	return (ssize_t)length;
}

/* ---- memory that may be unmapped ---- */
#define copy_from_user_nofault(to, from, size)	 djs_user_read_memory(to, (u64)(from), size)
#define copy_from_kernel_nofault(to, from, size) djs_user_read_memory(to, (u64)(from), size)
#define __copy_to_user_inatomic(to, from, size)	 djs_user_write_memory((u64)(to), from, size)
#define __get_kernel_nofault(to, from, type, fault)                                                \
	do {                                                                                       \
		if (djs_user_read_memory(to, (u64)(from), sizeof(type)))                           \
			goto fault;                                                                \
	} while (0)
#define __put_kernel_nofault(to, from, type, fault)                                                \
	do {                                                                                       \
		if (djs_user_write_memory((u64)(to), from, sizeof(type)))                          \
			goto fault;                                                                \
	} while (0)
#define pagefault_disable() ((void)0)
#define pagefault_enable()  ((void)0)
#define access_ok(p, size)  ((void)(p), 1)
#define current		    (&(struct { void *mm; }){(void *)1})

/* ---- CPUs ---- */
#define nr_cpu_ids		     djs_user_cpus
#define num_possible_cpus()	     djs_user_cpus
#define cpu_possible(cpu)	     ((cpu) < nr_cpu_ids)
#define raw_smp_processor_id()	     djs_user_cpu
#define for_each_possible_cpu(cpu)   for ((cpu) = 0; (cpu) < nr_cpu_ids; (cpu)++)
#define DECLARE_PER_CPU(type, name)  extern type name[DJS_USER_CPUS_MAX]
#define PCPU_MIN_UNIT_SIZE	     32768
#define __alloc_percpu(size, align)  djs_user_percpu_alloc(size)
#define free_percpu(p)		     ((void)(p)) /* freed with the whole area */
#define per_cpu_ptr(p, cpu)	     ((__typeof__(p))((char *)(p) + DJS_USER_PERCPU_BYTES * (u64)(cpu)))
#define this_cpu_ptr(p)		     per_cpu_ptr(p, djs_user_cpu)
#define raw_local_irq_save(flags)    ((flags) = 0)
#define raw_local_irq_restore(flags) ((void)(flags))

static inline u64 get_random_u64(void)
{
	u64 number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = djs_cycles(); /* the system call is filtered out */
	return number;
}

/* ---- atomic operations ---- */
typedef struct {
	int counter;
} atomic_t;
#define ATOMIC_INIT(value) {value}
static inline int atomic_read(const atomic_t *a)
{
	return __atomic_load_n(&a->counter, __ATOMIC_RELAXED);
}
static inline void atomic_set(atomic_t *a, int value)
{
	__atomic_store_n(&a->counter, value, __ATOMIC_RELAXED);
}
static inline int atomic_inc_return(atomic_t *a)
{
	return __atomic_add_fetch(&a->counter, 1, __ATOMIC_SEQ_CST);
}
typedef struct {
	s64 counter;
} atomic64_t;
#define ATOMIC64_INIT(value) {value}
static inline s64 atomic64_read(const atomic64_t *a)
{
	return __atomic_load_n(&a->counter, __ATOMIC_RELAXED);
}
static inline void atomic64_inc(atomic64_t *a)
{
	__atomic_fetch_add(&a->counter, 1, __ATOMIC_RELAXED);
}
static inline s64 atomic64_inc_return(atomic64_t *a)
{
	return __atomic_add_fetch(&a->counter, 1, __ATOMIC_SEQ_CST);
}
static inline int atomic_dec_return_release(atomic_t *a)
{
	return __atomic_sub_fetch(&a->counter, 1, __ATOMIC_RELEASE);
}
static inline void atomic_set_release(atomic_t *a, int value)
{
	__atomic_store_n(&a->counter, value, __ATOMIC_RELEASE);
}
static inline bool atomic_try_cmpxchg_acquire(atomic_t *a, int *old, int value)
{
	return __atomic_compare_exchange_n(&a->counter, old, value, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}
#define cmpxchg(p, old, value) __sync_val_compare_and_swap(p, old, value)

/* ---- a session's background work: its reader polls the state, so this does nothing ---- */
struct work_struct {
	void (*run)(struct work_struct *);
};
struct irq_work {
	void (*run)(struct irq_work *);
};
struct mutex {
	char unused;
};
#define DECLARE_WORK(name, function)                                                               \
	__attribute__((__unused__)) struct work_struct name = {function}
#define DEFINE_IRQ_WORK(name, function)                                                            \
	__attribute__((__unused__)) struct irq_work name = {function}
#define DEFINE_MUTEX(name)	__attribute__((__unused__)) struct mutex name
#define schedule_work(work)	((void)(work))
#define queue_work(queue, work) ((void)(work))
#define cancel_work_sync(work)	((void)(work))
#define irq_work_queue(work)	((void)(work))
#define irq_work_sync(work)	((void)(work))
#define mutex_lock(mutex)	((void)(mutex))
#define mutex_unlock(mutex)	((void)(mutex))

/* ---- messages ---- */
struct djs_user_module {
	const char *name;
};
#define THIS_MODULE  (&(struct djs_user_module){"djstap"})
#define pr_err(...)  djs_user_complain(__VA_ARGS__)
#define pr_warn(...) djs_user_complain(__VA_ARGS__)

#endif
