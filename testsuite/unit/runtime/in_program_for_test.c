// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#define DJS_INJECTED
/* Those in user space have these names. */
#define djs_arena_parts in_program_arena_parts
#define djs_arena_allocate in_program_arena_allocate
#define djs_commit in_program_commit
#define djs_contexts_exit in_program_contexts_exit
#define djs_contexts_init in_program_contexts_init
#define djs_count_lost in_program_count_lost
#define djs_cpu in_program_cpu
#define djs_cpu_sum in_program_cpu_sum
#define djs_enter in_program_enter
#define djs_fail in_program_fail
#define djs_fail_alone in_program_fail_alone
#define djs_fn_addr in_program_addr
#define djs_fn_execname in_program_execname
#define djs_fn_host_name in_program_host_name
#define djs_fn_long_arg in_program_long_arg
#define djs_fn_pexecname in_program_pexecname
#define djs_fn_tz_gmtoff in_program_tz_gmtoff
#define djs_fn_tz_name in_program_tz_name
#define djs_leave in_program_leave
#define djs_lock_enter in_program_lock_enter
#define djs_lock_leave in_program_lock_leave
#define djs_locked_skips in_program_locked_skips
#define djs_make_room in_program_make_room
#define djs_overwrite in_program_overwrite
#define djs_report_error in_program_report
#define djs_reserve in_program_reserve
#define djs_rest in_program_rest
#define djs_ring_bytes in_program_ring_bytes
#define djs_run_handler in_program_run_handler
#define djs_user_cpus in_program_cpus
#define djs_user_now in_program_now
#define djs_user_percpu_alloc in_program_percpu_alloc
#define djs_user_read_memory in_program_read_memory
#define djs_user_ring in_program_ring
#define djs_user_ring_head in_program_ring_head
#define djs_user_rings_exit in_program_rings_exit
#define djs_user_rings_init in_program_rings_init
#define djs_user_write_memory in_program_write_memory
#include "arch/runtime.h"

#include <linux/futex.h>
#include <time.h>

#include "in_program_for_test.h"
#include "state/state.h"
#include "userspace/kernel.h"

struct in_program_thread* in_program_current;
u64 in_program_time;
void (*in_program_yields)(void);
void (*in_program_waits)(void);
void (*in_program_interrupted)(void);
long (*in_program_has_thread)(s32 pid, s32 tid);
int in_program_open_files, in_program_open_fails;
void (*in_program_reports)(struct djs_ctx* ctx);

u64 in_program_now(void);
u64 in_program_now(void) {
    return in_program_time;
}

static u64 test_cycles(void) {
    static u64 cycles = 1000;

    if (in_program_interrupted)
        in_program_interrupted();
    return ++cycles;
}

void djs_report_error(struct djs_ctx* ctx) {
    in_program_reports(ctx);
}

static void expect(bool holds, const char* what) {
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* Only what says how long to wait wakes up again if nobody answers. */
static long waits(u32* word, long operation, u32 value, const struct timespec* most) {
    expect(operation == FUTEX_WAIT, "another operation than FUTEX_WAIT");
    expect(most && most->tv_sec >= 0 && most->tv_nsec >= 0 && most->tv_nsec < 1000000000,
           "no valid time to wait");
    if (READ_ONCE(*word) != value)
        return -EAGAIN;
    in_program_waits();
    if (READ_ONCE(*word) != value)
        return 0;
    in_program_time += (u64)most->tv_sec * 1000000000 + (u64)most->tv_nsec;
    return -ETIMEDOUT;
}

static long test_syscall(long number, long a, long b, long c, long d, long e, long f) {
    long result;

    switch (number) {
    case __NR_gettid:
        return in_program_current->tid;
    case __NR_tgkill:
        expect(!c, "a signal was sent");
        return in_program_has_thread((s32)a, (s32)b);
    case __NR_sched_yield:
        in_program_yields();
        return 0;
    case __NR_futex:
        return waits((u32*)a, b, (u32)c, (const struct timespec*)d);
    case __NR_open:
        result = in_program_open_fails ? -EMFILE : djs_syscall6(number, a, b, c, d, e, f);
        in_program_open_files += result >= 0;
        return result;
    case __NR_close:
        result = djs_syscall6(number, a, b, c, d, e, f);
        expect(!result, "what is not open was closed");
        in_program_open_files--;
        return result;
    }
    return djs_syscall6(number, a, b, c, d, e, f);
}

/* The instructions that find what is a thread's own. */
static u64 test_thread_base(void) {
    return in_program_current->base;
}

static void test_set_percpu_base(u64 distance) {
    in_program_current->distance = distance;
}

static u32 test_percpu_word(const u32* place) {
    return *(const u32*)((const char*)place + in_program_current->distance);
}

#define djs_cycles test_cycles
#define djs_percpu_word test_percpu_word
#define djs_set_percpu_base test_set_percpu_base
#define djs_syscall6 test_syscall
#define djs_thread_base test_thread_base

#include "injected/threads.c"

#include "injected/context.c"

#include "injected/ring.c"

#include "injected/returns.c"

#include "injected/loader.c"

#include "injected/memory.c"

#include "injected/process.c"

#include "userspace/common.c"

struct in_program_counts in_program_counts_of(u32 slot) {
    const struct djs_cpu* cpu = &djs_cpu[slot];

    return (struct in_program_counts){cpu->skipped_busy, cpu->skipped_locked, cpu->lost,
                                      cpu->oversized};
}

struct djs_ctx* in_program_contexts(u32 slot) {
    return djs_cpu[slot].contexts;
}

void in_program_be_patient(void) {
    out_of_patience = false;
}

void in_program_forget_skips(void) {
    atomic_set(&djs_locked_skips, 0);
    memset(djs_cpu, 0, sizeof(djs_cpu));
}

void in_program_forget_calls(void) {
    unmatched = replaced = 0;
}

u64 in_program_set_of(u64 stack, u32 site) {
    return (u64)((char*)way_of(frame_number(stack, site), 0) - kept_calls) / kept_bytes / KEPT_WAYS;
}
