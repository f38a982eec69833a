/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What instrument.py has the runtime call in place of the kernel's functions: each allocation and
 * registration may be refused, and what is allocated is counted. */
#ifndef REFUSING_H
#define REFUSING_H

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

struct refusing {
    atomic_t next, live;
    char where[64];
};

/* The parameter `refusing`, in runtime/control/module.c; 0: nothing is refused or counted. */
extern unsigned long djs_refusing;

static inline struct refusing* refusing_state(void) {
    return (struct refusing*)djs_refusing;
}

static inline bool refusing_refuses(const char* function) {
    struct refusing* state = refusing_state();

    if (!state || atomic_read(&state->next) <= 0 || atomic_dec_return(&state->next))
        return false;
    strscpy(state->where, function, sizeof state->where);
    return true;
}

static inline void* refusing_taken(void* memory) {
    if (memory && refusing_state())
        atomic_inc(&refusing_state()->live);
    return memory;
}

static inline void refusing_given(const void* memory) {
    if (memory && refusing_state())
        atomic_dec(&refusing_state()->live);
}

#define REFUSING_ALLOCATION(call) (refusing_refuses(__func__) ? NULL : refusing_taken(call))

#define refusing_kmalloc(...) REFUSING_ALLOCATION(kmalloc(__VA_ARGS__))
#define refusing_kzalloc(...) REFUSING_ALLOCATION(kzalloc(__VA_ARGS__))
#define refusing_kcalloc(...) REFUSING_ALLOCATION(kcalloc(__VA_ARGS__))
#define refusing_kcalloc_node(...) REFUSING_ALLOCATION(kcalloc_node(__VA_ARGS__))
#define refusing_kmalloc_array(...) REFUSING_ALLOCATION(kmalloc_array(__VA_ARGS__))
#define refusing_kstrdup(...) REFUSING_ALLOCATION(kstrdup(__VA_ARGS__))
#define refusing_kvmalloc(...) REFUSING_ALLOCATION(kvmalloc(__VA_ARGS__))
#define refusing_kvzalloc(...) REFUSING_ALLOCATION(kvzalloc(__VA_ARGS__))
#define refusing_kvcalloc(...) REFUSING_ALLOCATION(kvcalloc(__VA_ARGS__))
#define refusing_kvmalloc_array(...) REFUSING_ALLOCATION(kvmalloc_array(__VA_ARGS__))
#define refusing___vmalloc(...) REFUSING_ALLOCATION(__vmalloc(__VA_ARGS__))
#define refusing_vzalloc(...) REFUSING_ALLOCATION(vzalloc(__VA_ARGS__))
#define refusing_vmalloc_user(...) REFUSING_ALLOCATION(vmalloc_user(__VA_ARGS__))
#define refusing_vmap(...) REFUSING_ALLOCATION(vmap(__VA_ARGS__))
#define refusing_alloc_pages_node(...) REFUSING_ALLOCATION(alloc_pages_node(__VA_ARGS__))
#define refusing_get_zeroed_page(...)                                                              \
    (unsigned long)REFUSING_ALLOCATION((void*)get_zeroed_page(__VA_ARGS__))
#define refusing___alloc_percpu(...)                                                               \
    (void __percpu*)REFUSING_ALLOCATION((void __force*)__alloc_percpu(__VA_ARGS__))
#define refusing_alloc_percpu(type)                                                                \
    (type __percpu*)REFUSING_ALLOCATION((void __force*)alloc_percpu(type))

static inline void refusing_kfree(const void* memory) {
    refusing_given(memory);
    kfree(memory);
}

static inline void refusing_kvfree(const void* memory) {
    refusing_given(memory);
    kvfree(memory);
}

static inline void refusing_vfree(const void* memory) {
    refusing_given(memory);
    vfree(memory);
}

static inline void refusing_vunmap(const void* memory) {
    refusing_given(memory);
    vunmap(memory);
}

static inline void refusing_free_page(unsigned long page) {
    refusing_given((void*)page);
    free_page(page);
}

static inline void refusing___free_page(struct page* page) {
    refusing_given(page);
    __free_page(page);
}

static inline void refusing_free_percpu(void __percpu* memory) {
    refusing_given((void __force*)memory);
    free_percpu(memory);
}

#define refusing_kvfree_rcu(memory, head)                                                          \
    do {                                                                                           \
        refusing_given(memory);                                                                    \
        kvfree_rcu(memory, head);                                                                  \
    } while (0)

/* What is left for the kernel to free, when this module may be gone. */
#define refusing_left(memory, function) (refusing_given(memory), (void*)(function))

#define REFUSING_STATUS(call) (refusing_refuses(__func__) ? -ENOMEM : (call))
#define REFUSING_POINTER(call) (refusing_refuses(__func__) ? ERR_PTR(-ENOMEM) : (call))
#define REFUSING_ENTRY(call) (refusing_refuses(__func__) ? NULL : (call))

#define refusing_register_kprobe(...) REFUSING_STATUS(register_kprobe(__VA_ARGS__))
#define refusing_register_kprobes(...) REFUSING_STATUS(register_kprobes(__VA_ARGS__))
#define refusing_register_kretprobe(...) REFUSING_STATUS(register_kretprobe(__VA_ARGS__))
#define refusing_register_kretprobes(...) REFUSING_STATUS(register_kretprobes(__VA_ARGS__))
#define refusing_register_ftrace_function(...)                                                     \
    REFUSING_STATUS(register_ftrace_function(__VA_ARGS__))
#define refusing_register_ftrace_direct(...) REFUSING_STATUS(register_ftrace_direct(__VA_ARGS__))
#define refusing_register_ftrace_direct_multi(...)                                                 \
    REFUSING_STATUS(register_ftrace_direct_multi(__VA_ARGS__))
#define refusing_ftrace_set_filter_ip(...) REFUSING_STATUS(ftrace_set_filter_ip(__VA_ARGS__))
#define refusing_ftrace_set_filter_ips(...) REFUSING_STATUS(ftrace_set_filter_ips(__VA_ARGS__))
#define refusing_tracepoint_probe_register(...)                                                    \
    REFUSING_STATUS(tracepoint_probe_register(__VA_ARGS__))
#define refusing_nf_register_net_hook(...) REFUSING_STATUS(nf_register_net_hook(__VA_ARGS__))
#define refusing_register_module_notifier(...)                                                     \
    REFUSING_STATUS(register_module_notifier(__VA_ARGS__))
#define refusing_cpuhp_setup_state(...) REFUSING_STATUS(cpuhp_setup_state(__VA_ARGS__))
#define refusing_uprobe_register_refctr(...) REFUSING_STATUS(uprobe_register_refctr(__VA_ARGS__))
#define refusing_uprobe_register(...) REFUSING_POINTER(uprobe_register(__VA_ARGS__))
#define refusing_perf_event_create_kernel_counter(...)                                             \
    REFUSING_POINTER(perf_event_create_kernel_counter(__VA_ARGS__))
#define refusing_register_wide_hw_breakpoint(...)                                                  \
    (refusing_refuses(__func__) ? (void __percpu*)ERR_PTR(-ENOMEM)                                 \
                                : register_wide_hw_breakpoint(__VA_ARGS__))
#define refusing_proc_create(...) REFUSING_ENTRY(proc_create(__VA_ARGS__))
#define refusing_proc_create_data(...) REFUSING_ENTRY(proc_create_data(__VA_ARGS__))
#define refusing_proc_mkdir(...) REFUSING_ENTRY(proc_mkdir(__VA_ARGS__))

#endif
