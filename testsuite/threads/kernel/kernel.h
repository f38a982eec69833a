// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel interfaces that the runtime's sources use, for CPUs that are threads under
// ThreadSanitizer. It extends the replacement of the kernel in user space
// (runtime/userspace/kernel.h) with everything that concerns CPUs and interrupts, no stronger and
// no weaker than the kernel's documentation says:
//   - an access that the kernel marks is a relaxed atomic one, so that it may race with others; any
//     other access that races is reported. Acquire, release and full barriers are those of C11.
//   - per-CPU operations are one instruction to what interrupts them and nothing to other CPUs: a
//     load and a store, both relaxed.
//   - interrupts are disabled for the CPU that disabled them. An NMI arrives all the same.
// Interrupts arrive between two such accesses, where cpu_instruction() is called. It is not a
// memory barrier.
#ifndef DJSTAP_THREADS_KERNEL_H
#define DJSTAP_THREADS_KERNEL_H

#include <sched.h>

#include "threads/cpus.h"
#include "userspace/kernel.h"

#undef barrier
#define barrier()                                                                                  \
    do {                                                                                           \
        __asm__ __volatile__("" ::: "memory");                                                     \
        cpu_instruction();                                                                         \
    } while (0)

// ---- accesses that may race
#define MARKED_LOAD(p, order)                                                                      \
    ({                                                                                             \
        __typeof__(*(p) + 0) loaded_ = __atomic_load_n(p, order);                                  \
        cpu_instruction();                                                                         \
        loaded_;                                                                                   \
    })
#define MARKED_STORE(p, value, order)                                                              \
    do {                                                                                           \
        __typeof__(*(p)) stored_ = (value);                                                        \
        cpu_instruction();                                                                         \
        __atomic_store_n(p, stored_, order);                                                       \
        cpu_instruction();                                                                         \
    } while (0)
#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_load_acquire
#undef smp_store_release
#define READ_ONCE(x) MARKED_LOAD(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value) MARKED_STORE(&(x), value, __ATOMIC_RELAXED)
#define smp_load_acquire(p) MARKED_LOAD(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, value) MARKED_STORE(p, value, __ATOMIC_RELEASE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)

#undef cpu_relax
#define cpu_relax() (__builtin_ia32_pause(), cpu_instruction())
#define atomic_read(a) (cpu_instruction(), atomic_read(a))

// ---- per-CPU memory: as in the kernel, an address in the section stands for all copies
#undef DECLARE_PER_CPU
#undef __alloc_percpu
#undef free_percpu
#undef per_cpu_ptr
#undef this_cpu_ptr
#define DECLARE_PER_CPU(type, name) extern type name
#define DEFINE_PER_CPU(type, name) __attribute__((__section__("threads_percpu"))) type name
#define __alloc_percpu(size, align) cpus_percpu_alloc(size)
#define free_percpu(p) ((void)(p)) // freed with the whole area
#define per_cpu_ptr(p, cpu) ((__typeof__(p))((char*)(p) + cpus_distance(cpu)))
#define per_cpu(name, cpu) (*per_cpu_ptr(&(name), cpu))
#define per_cpu_offset(cpu) ((unsigned long)cpus_distance(cpu))
#define this_cpu_ptr(p) per_cpu_ptr(p, cpu_number())
#define this_cpu_read(x) MARKED_LOAD(this_cpu_ptr(&(x)), __ATOMIC_RELAXED)
#define this_cpu_write(x, value) MARKED_STORE(this_cpu_ptr(&(x)), value, __ATOMIC_RELAXED)
#define this_cpu_add(x, value)                                                                     \
    do {                                                                                           \
        __typeof__(x)*at_ = this_cpu_ptr(&(x)), added_ = (value);                                  \
        cpu_instruction();                                                                         \
        __atomic_store_n(at_, __atomic_load_n(at_, __ATOMIC_RELAXED) + added_, __ATOMIC_RELAXED);  \
        cpu_instruction();                                                                         \
    } while (0)
#define this_cpu_inc(x) this_cpu_add(x, 1)
#define this_cpu_cmpxchg(x, old, value)                                                            \
    ({                                                                                             \
        __typeof__(x)*at_ = this_cpu_ptr(&(x)), old_ = (old), new_ = (value), was_;                \
        cpu_instruction();                                                                         \
        was_ = __atomic_load_n(at_, __ATOMIC_RELAXED);                                             \
        if (was_ == old_)                                                                          \
            __atomic_store_n(at_, new_, __ATOMIC_RELAXED);                                         \
        cpu_instruction();                                                                         \
        was_;                                                                                      \
    })

// ---- interrupts and preemption: a CPU's thread is what runs on it
#undef raw_local_irq_save
#undef raw_local_irq_restore
#define raw_irqs_disabled() (!cpu_interrupts())
#define raw_local_irq_disable() cpu_set_interrupts(false)
#define raw_local_irq_enable() cpu_set_interrupts(true)
#define raw_local_irq_save(flags)                                                                  \
    do {                                                                                           \
        (flags) = cpu_interrupts() ? DJS_IRQS_ON : 0;                                              \
        cpu_set_interrupts(false);                                                                 \
    } while (0)
#define raw_local_irq_restore(flags) cpu_set_interrupts((flags) & DJS_IRQS_ON)
#define preempt_count() cpu_level()
#define user_mode(regs) ((void)(regs), false)

// ---- memory
struct page {
    void* address;
    u64 offset; // offset in the file that contains all pages
};
#define __GFP_NORETRY 0
#define VM_MAP 0
#define PAGE_KERNEL 0
#define alloc_pages_node(node, flags, order) cpus_page_alloc()
#define __free_page(page) cpus_page_free(page)
#define page_address(page) ((page)->address)
#define page_to_pfn(page) ((page)->offset >> PAGE_SHIFT)
#define vmalloc_to_pfn(address) ((unsigned long)(address) >> PAGE_SHIFT) /* one for each page */
#define vmap(pages, count, flags, protection) cpus_map(pages, count)
#define vunmap(mapping) cpus_unmap(mapping)
#define cpu_to_node(cpu) ((void)(cpu), 0)
#define kvzalloc(size, flags) djs_user_zeroed(1, size)
#define kcalloc_node(count, size, flags, node) djs_user_zeroed(count, size)

// ---- the rest
#define DIV_ROUND_UP(n, by) (((n) + (by) - 1) / (by))
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), #condition)
#define static_assert(condition) _Static_assert(condition, #condition)
#define BIT_ULL(n) (1ull << (n))
// Time stands still: no reader is ever too slow for a record that waits.
#define HZ 250ul
#define jiffies 0ul
#define time_after(a, b) ((a) > (b))
#define msleep(ms) ((void)sched_yield())
#define fatal_signal_pending(task) ((void)(task), 0)

#endif
