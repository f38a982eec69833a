// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this: those of scripts in user space. */
#define djs_fn___is_compat_task test_fact___is_compat_task
#define djs_fn_HZ test_fact_HZ
#define djs_fn_addr test_fact_addr
#define djs_fn_cpu test_fact_cpu
#define djs_fn_cpu_clock_ns test_fact_cpu_clock_ns
#define djs_fn_egid test_fact_egid
#define djs_fn_euid test_fact_euid
#define djs_fn_execname test_fact_execname
#define djs_fn_get_cycles test_fact_get_cycles
#define djs_fn_gettimeofday_ns test_fact_gettimeofday_ns
#define djs_fn_gid test_fact_gid
#define djs_fn_is_return test_fact_is_return
#define djs_fn_jiffies test_fact_jiffies
#define djs_fn_ktime_get_ns test_fact_ktime_get_ns
#define djs_fn_local_clock_ns test_fact_local_clock_ns
#define djs_fn_long_arg test_fact_long_arg
#define djs_fn_module_name test_fact_module_name
#define djs_fn_pexecname test_fact_pexecname
#define djs_fn_pgrp test_fact_pgrp
#define djs_fn_pid test_fact_pid
#define djs_fn_pid2task test_fact_pid2task
#define djs_fn_pn test_fact_pn
#define djs_fn_pp test_fact_pp
#define djs_fn_ppfunc test_fact_ppfunc
#define djs_fn_ppid test_fact_ppid
#define djs_fn_probe_type test_fact_probe_type
#define djs_fn_probefunc test_fact_probefunc
#define djs_fn_registers_valid test_fact_registers_valid
#define djs_fn_returnval test_fact_returnval
#define djs_fn_sid test_fact_sid
#define djs_fn_stp_pid test_fact_stp_pid
#define djs_fn_target test_fact_target
#define djs_fn_task_cpu test_fact_task_cpu
#define djs_fn_task_current test_fact_task_current
#define djs_fn_task_egid test_fact_task_egid
#define djs_fn_task_euid test_fact_task_euid
#define djs_fn_task_execname test_fact_task_execname
#define djs_fn_task_gid test_fact_task_gid
#define djs_fn_task_nice test_fact_task_nice
#define djs_fn_task_parent test_fact_task_parent
#define djs_fn_task_pid test_fact_task_pid
#define djs_fn_task_prio test_fact_task_prio
#define djs_fn_task_state test_fact_task_state
#define djs_fn_task_tid test_fact_task_tid
#define djs_fn_task_uid test_fact_task_uid
#define djs_fn_tid test_fact_tid
#define djs_fn_uaddr test_fact_uaddr
#define djs_fn_uid test_fact_uid
#define djs_fn_user_mode test_fact_user_mode
#define djs_fn_print_regs test_fact_print_regs
#define djs_kernel_register test_fact_kernel_register
#define djs_record_text test_fact_record_text
#define djs_user_register test_fact_user_register
#define djs_user_replaced_return test_fact_replaced_return
#define djs_user_return_address test_fact_return_address
#define djs_user_stack_word test_fact_stack_word
#define djs_biases test_fact_of_biases
#define djs_reader_pid test_fact_reader
#define djs_traced_pid test_fact_traced
/* In place of headers of other tests, whose tasks have less. */
#define DJSTAP_TEST_PID_H
#define DJSTAP_TEST_PID_NAMESPACE_H
#define DJSTAP_TEST_SCHED_H
#define DJSTAP_TEST_SIGNAL_H
#define DJSTAP_TEST_UPROBES_H
#define DJS_HAVE_RETURN_INSTANCES
#include "kernel_for_test.h"

#include "facts_for_test.h"
#include "linux/rcupdate.h"
#include "linux/uidgid.h"
#include "log_for_test.h"

enum pid_type { PIDTYPE_PID, PIDTYPE_TGID, PIDTYPE_PGID, PIDTYPE_SID, PIDTYPE_MAX };
struct pid {
    u32 level;
    struct {
        s32 nr;
        void* names;
    } numbers[2]; /* in the initial namespace, and in one of its own */
};
struct signal_struct {
    u32 live;
    struct pid* pids[PIDTYPE_MAX];
};
struct cred {
    u32 usage;
    kuid_t uid;
    kgid_t gid;
    kuid_t euid;
    kgid_t egid;
};
struct pt_regs {
    struct test_fact_registers of;
    bool is_compat;
};
struct return_instance {
    u64 func;
    unsigned long stack, orig_ret_vaddr;
    struct return_instance* next;
};
struct uprobe_task {
    u32 state;
    struct return_instance* return_instances;
};
#define TASK_COMM_LEN 16
struct task_struct {
    u32 __state;
    struct {
        u32 cpu;
    } thread_info;
    s32 prio, static_prio, pid, tgid;
    struct task_struct* real_parent;
    const struct cred *cred, *real_cred;
    struct signal_struct* signal;
    void* mm;
    struct pt_regs* registers;
    struct uprobe_task* utask;
    char comm[TASK_COMM_LEN];
};
static struct task_struct tasks[TEST_FACT_TASKS];
#undef current
#define current (&tasks[0])
#define current_uid() (current->cred->uid)
#define current_euid() (current->cred->euid)
#define current_gid() (current->cred->gid)
#define current_egid() (current->cred->egid)
#define task_pt_regs(task) ((task)->registers)
#define instruction_pointer(regs) ((regs)->of.ip)
#define djs_is_unwindable(regs) (!(regs)->is_compat)
#define DJS_REGISTER_ARGUMENTS 6
#define DJS_SYSCALL_ARGUMENTS 6
#define djs_register_argument(regs, n) ((regs)->of.arguments[(n) - 1])
#define djs_stack_argument(regs, n)                                                                \
    ((regs)->of.stack + ((n) - DJS_REGISTER_ARGUMENTS) * sizeof(long))
#define djs_syscall_argument(n)                                                                    \
    (offsetof(struct pt_regs, of.call_arguments) + ((n) - 1) * sizeof(u64))
#undef raw_smp_processor_id
#define raw_smp_processor_id() 6
static const struct {
    char name[56];
} this_module = {"a_script_of_a_test"};
#undef THIS_MODULE
#define THIS_MODULE (&this_module)
static struct pid_namespace {
    u32 unused;
} init_pid_ns;
#define get_kernel_nofault(to, from) copy_from_kernel_nofault(&(to), from, sizeof(to))
#define djs_format_registers(to, size, regs)                                                       \
    snprintf(to, size, "%zu: ip %lx", (size_t)(size), (regs)->of.ip)
#define rcu_is_watching() test_fact_watched
#define ktime_get_real_fast_ns() 11
#define ktime_get_mono_fast_ns() 12
#define local_clock() 13
#define jiffies 14
#define CONFIG_HZ 15
#define sched_clock_cpu(cpu) (100 + (cpu))
#undef nr_cpu_ids
#define nr_cpu_ids TEST_FACT_CPUS
#define cpu_online(cpu)                                                                            \
    ((cpu) < 0 || (cpu) >= TEST_FACT_CPUS ? (abort(), false) : (cpu) != TEST_FACT_CPU_OFFLINE)
static struct pid* find_pid_ns(s32 number, struct pid_namespace* names);
static struct task_struct* pid_task(struct pid* pid, enum pid_type type);

#include "context/place.c"

#include "context/process.c"

#include "context/time.c"

#include "access/registers.c"

#include "ustack/returns.c"

bool test_fact_watched;
u32 test_fact_lookups;
s32 test_fact_traced = 123, test_fact_reader = 456;
unsigned long test_fact_biases[2];
unsigned long* djs_biases = test_fact_biases;

static struct cred credentials[TEST_FACT_TASKS], real_credentials[TEST_FACT_TASKS];
static struct signal_struct signals[TEST_FACT_TASKS];
static struct pid groups[TEST_FACT_TASKS], sessions[TEST_FACT_TASKS], own[TEST_FACT_TASKS];
static struct pt_regs registers[TEST_FACT_TASKS];

static void set_number(struct pid* pid, s32 number) {
    *pid = (struct pid){.level = 1, .numbers = {{.nr = number}, {.nr = number + 100}}};
}

void test_fact_set(u32 number, const struct test_fact_task* from) {
    struct task_struct* task = &tasks[number];

    credentials[number] = (struct cred){3, {from->uid}, {from->gid}, {from->euid}, {from->egid}};
    real_credentials[number] = (struct cred){
        3, {from->uid + 1000}, {from->gid + 1000}, {from->euid + 1000}, {from->egid + 1000}};
    set_number(&groups[number], from->group);
    set_number(&sessions[number], from->session);
    set_number(&own[number], from->tid);
    signals[number] = (struct signal_struct){
        .pids = {&own[number], &own[number], &groups[number], &sessions[number]}};
    memset(&registers[number], 0, sizeof(registers[number]));
    registers[number].is_compat = from->is_compat;
    *task = (struct task_struct){
        .__state = from->state,
        .thread_info = {from->cpu},
        .prio = from->priority,
        .static_prio = from->static_priority,
        .pid = from->tid,
        .tgid = from->pid,
        .real_parent = &tasks[from->parent],
        .cred = &credentials[number],
        .real_cred = &real_credentials[number],
        .signal = &signals[number],
        .mm = from->has_memory ? task : NULL,
        .registers = &registers[number],
    };
    memcpy(task->comm, from->name, TASK_COMM_LEN);
}

s64 test_fact_address(u32 number) {
    return (s64)&tasks[number];
}

void test_fact_link(u32 number, enum test_fact_link link, u64 to) {
    struct task_struct* task = &tasks[number];

    if (link == TEST_FACT_PARENT)
        task->real_parent = (struct task_struct*)to;
    else if (link == TEST_FACT_SIGNAL)
        task->signal = (struct signal_struct*)to;
    else if (link == TEST_FACT_GROUP)
        signals[number].pids[PIDTYPE_PGID] = (struct pid*)to;
    else if (link == TEST_FACT_CREDENTIALS)
        task->cred = (struct cred*)to;
    else if (link == TEST_FACT_REAL_CREDENTIALS)
        task->real_cred = (struct cred*)to;
    else
        task->registers = (struct pt_regs*)to;
}

struct test_fact_registers* test_fact_registers_of(u32 number) {
    return &registers[number].of;
}

void test_fact_act_for(struct djs_ctx* ctx, int number) {
    ctx->task = number < 0 ? NULL : &tasks[number];
}

void test_fact_hit(struct djs_ctx* ctx, struct test_fact_registers* registers_of_hit) {
    ctx->regs = (struct pt_regs*)registers_of_hit; /* nobody asks what they are of */
}

static struct return_instance instances[TEST_FACT_RETURNS];
static struct uprobe_task task_of_uprobes;
char test_fact_log[128];

void test_fact_replace(const struct test_fact_return* returns, u32 count) {
    u32 i;

    for (i = 0; i < count; i++)
        instances[i] = (struct return_instance){
            .func = 0x401000,
            .stack = returns[i].stack,
            .orig_ret_vaddr = returns[i].original,
            .next = i + 1 < count ? &instances[i + 1] : NULL,
        };
    task_of_uprobes = (struct uprobe_task){.return_instances = count ? instances : NULL};
    tasks[0].utask = &task_of_uprobes;
}

void test_fact_break_return(u32 number, u64 next) {
    instances[number].next = (struct return_instance*)next;
}

bool djs_record_text(struct djs_ctx* ctx, u32 id, const char* text, s64 number) {
    log_for_test(test_fact_log, sizeof(test_fact_log), "%s%s", id == DJS_RECORD_TEXT ? "" : "? ",
                 text);
    return true;
}

/* The kernel's tables of IDs are there while they are read. */
static struct pid* find_pid_ns(s32 number, struct pid_namespace* names) {
    u32 i;

    test_fact_lookups++;
    if (test_rcu_depth != 1 || names != &init_pid_ns)
        abort();
    for (i = 0; i < TEST_FACT_TASKS; i++)
        if (tasks[i].pid == number)
            return &own[i];
    return NULL;
}

static struct task_struct* pid_task(struct pid* pid, enum pid_type type) {
    if (test_rcu_depth != 1 || type != PIDTYPE_PID)
        abort();
    return pid ? &tasks[pid - own] : NULL;
}
