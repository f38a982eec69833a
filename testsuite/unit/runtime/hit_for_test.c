// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of the language, as this file's header declares them. */
#define djs_fn_pp test_hit_point
#define djs_fn_pn test_hit_name
#define djs_fn_probefunc test_hit_function
#define djs_fn_ppfunc test_hit_function_or_site
#define djs_fn_probe_type test_hit_type
#define djs_fn_is_return test_hit_is_return
#define djs_fn_user_mode test_hit_user_mode
#define djs_fn_registers_valid test_hit_registers_valid
#define djs_fn_addr test_hit_address
#define djs_fn_returnval test_hit_result
#define djs_fn_long_arg test_hit_argument_at
#define djs_fn_uaddr test_hit_user_address
#define djs_kernel_register test_hit_kernel_register
#define djs_user_register test_hit_user_register
#define djs_fn_print_regs test_hit_print_registers
#define djs_fn_gettimeofday_ns test_hit_real_time
#define djs_fn_ktime_get_ns test_hit_monotonic_time
#define djs_fn_local_clock_ns test_hit_local_clock
#define djs_fn_jiffies test_hit_jiffies
#define djs_fn_HZ test_hit_hz
#define djs_fn_get_cycles test_hit_cycles
#define djs_fn_cpu_clock_ns test_hit_cpu_clock
/* What other sources have of this. */
#define djs_biases test_hit_biases
#define djs_read_number test_hit_read_number
#define djs_load_user test_hit_load_user
#define djs_record_text test_hit_record_text
#include "kernel_for_test.h"

#include "hit_for_test.h"
#include "log_for_test.h"

#include "linux/sched.h"

char test_hit_log[256];

struct pt_regs {
    struct test_hit_registers all;
};
struct test_hit_registers test_hit_of_program;
bool test_hit_has_memory;
static struct task_struct task_of_test;
static struct task_struct* current_task(void) {
    task_of_test.mm = test_hit_has_memory ? (struct mm_struct*)&test_hit_of_program : NULL;
    return &task_of_test;
}
#undef current
#define current current_task()
#define task_pt_regs(task) ((void)(task), (struct pt_regs*)&test_hit_of_program)
#define instruction_pointer(regs) ((regs)->all.ip)
#define DJS_REGISTER_ARGUMENTS 6
#define djs_register_argument(regs, n) ((regs)->all.arguments[(n) - 1])
#define djs_stack_argument(regs, n) ((regs)->all.sp + ((n) - DJS_REGISTER_ARGUMENTS) * sizeof(long))
#define DJS_SYSCALL_ARGUMENTS 6
#define djs_syscall_argument(n) ((size_t)(n) * TEST_HIT_SYSCALL_ARGUMENT)
#define djs_format_registers(to, bytes, regs)                                                      \
    snprintf(to, bytes, "registers of %lx\n", (regs)->all.ip)

#define ktime_get_real_fast_ns() 11
#define ktime_get_mono_fast_ns() 12
#define local_clock() 13
#define jiffies 14
#define CONFIG_HZ 15
#define sched_clock_cpu(cpu) (100 + (cpu))
#undef nr_cpu_ids
#define nr_cpu_ids TEST_HIT_CPUS
#define cpu_online(cpu)                                                                            \
    ((cpu) < 0 || (cpu) >= TEST_HIT_CPUS ? (abort(), false) : (cpu) != TEST_HIT_CPU_OFFLINE)

#include "context/place.c"

#include "context/time.c"

#include "access/registers.c"

static unsigned long biases_of_test[1] = {TEST_HIT_BIAS};
unsigned long* djs_biases = biases_of_test;

bool djs_read_number(u64 address, u32 size, u64* value) {
    *value = address + TEST_HIT_READ;
    return size == sizeof(long);
}

u64 djs_load_user(struct djs_ctx* ctx, u64 address, u32 size, u32 place) {
    return size == sizeof(long) && place == DJS_NO_PLACE ? address + TEST_HIT_READ_OF_USER : 0;
}

bool djs_record_text(struct djs_ctx* ctx, u32 id, const char* text, s64 number) {
    log_for_test(test_hit_log, sizeof(test_hit_log), "%s%s",
                 id == DJS_RECORD_TEXT ? "" : "no text: ", text);
    return true;
}
