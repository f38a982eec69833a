/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What scripts learn of tasks and of a hit (runtime/context/{process,place,time}.c,
 * runtime/access/registers.c, runtime/ustack/returns.c), where the tasks are made up. */
#ifndef DJSTAP_FACTS_FOR_TEST_H
#define DJSTAP_FACTS_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A task. Its real credentials are those by which it acts, and 1000 more. */
enum { TEST_FACT_TASKS = 3 };
struct test_fact_task {
    s32 tid, pid, group, session;
    u32 uid, euid, gid, egid, state, cpu;
    s32 priority, static_priority;
    u32 parent;
    bool has_memory, is_compat;
    char name[17]; /* without room for a NUL: as many as the kernel's has room for */
};
void test_fact_set(u32 number, const struct test_fact_task* from);
s64 test_fact_address(u32 number);
/* What the task has there is at this address from now on. */
enum test_fact_link {
    TEST_FACT_PARENT,
    TEST_FACT_SIGNAL,
    TEST_FACT_GROUP, /* of its signals */
    TEST_FACT_CREDENTIALS,
    TEST_FACT_REAL_CREDENTIALS,
    TEST_FACT_REGISTERS
};
void test_fact_link(u32 number, enum test_fact_link link, u64 to);

/* The arguments of a function, and of a system call. */
struct test_fact_registers {
    u64 arguments[6], call_arguments[6], ip, stack;
};
/* Those with which a task entered the kernel. */
struct test_fact_registers* test_fact_registers_of(u32 number);

/* The first task is the current one; `number`: the one that was interrupted, or -1. */
void test_fact_act_for(struct djs_ctx* ctx, int number);
void test_fact_hit(struct djs_ctx* ctx, struct test_fact_registers* registers);
extern bool test_fact_watched; /* RCU works here */
extern u32 test_fact_lookups;
extern s32 test_fact_traced, test_fact_reader;
extern unsigned long test_fact_biases[2];

/* The return addresses of the current task that the kernel has replaced, the latest first: at which
 * places of the stack, and what was there. */
enum { TEST_FACT_RETURNS = 130 };
struct test_fact_return {
    u64 stack, original;
};
void test_fact_replace(const struct test_fact_return* returns, u32 count);
/* This one leads to no other one, but to this address. */
void test_fact_break_return(u32 number, u64 next);
u64 test_fact_replaced_return(u64 slot);
u64 test_fact_return_address(u64 slot);

/* The words of `struct test_fact_registers`, and one more. */
enum { TEST_FACT_REGISTERS_COUNT = 15 };
u64 test_fact_kernel_register(struct djs_ctx* ctx, u32 index, u32 place);
u64 test_fact_user_register(struct djs_ctx* ctx, u32 index, u32 place);
void test_fact_print_regs(struct djs_ctx* ctx);
extern char test_fact_log[128];
enum { TEST_FACT_CPUS = 3, TEST_FACT_CPU_OFFLINE = 1 };

#define TEST_FACTS(with)                                                                           \
    with(pid) with(tid) with(ppid) with(pgrp) with(sid) with(uid) with(euid) with(gid) with(egid)  \
        with(__is_compat_task) with(cpu) with(target) with(stp_pid) with(task_current)             \
            with(is_return) with(user_mode) with(registers_valid) with(addr) with(returnval)       \
                with(uaddr) with(gettimeofday_ns) with(ktime_get_ns) with(local_clock_ns)          \
                    with(jiffies) with(HZ)
#define TEST_FACTS_OF_NUMBERS(with)                                                                \
    with(task_pid) with(task_tid) with(task_parent) with(pid2task) with(task_state)                \
        with(task_prio) with(task_nice) with(task_cpu) with(task_uid) with(task_euid)              \
            with(task_gid) with(task_egid) with(long_arg) with(cpu_clock_ns)
#define TEST_FACT_TEXTS(with)                                                                      \
    with(module_name) with(execname) with(pexecname) with(pp) with(pn) with(probefunc)             \
        with(ppfunc) with(probe_type)
#define TEST_FACT_DECLARED(name) s64 test_fact_##name(struct djs_ctx* ctx);
TEST_FACTS(TEST_FACT_DECLARED)
#undef TEST_FACT_DECLARED
#define TEST_FACT_DECLARED(name) s64 test_fact_##name(struct djs_ctx* ctx, s64 number);
TEST_FACTS_OF_NUMBERS(TEST_FACT_DECLARED)
#undef TEST_FACT_DECLARED
#define TEST_FACT_DECLARED(name) void test_fact_##name(struct djs_ctx* ctx, char* out);
TEST_FACT_TEXTS(TEST_FACT_DECLARED)
#undef TEST_FACT_DECLARED
void test_fact_task_execname(struct djs_ctx* ctx, char* out, s64 task);

#ifdef __cplusplus
}
#endif
#endif
