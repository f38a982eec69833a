// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions that C code calls, as this file's header declares them. */
#define djs_embedded_argument test_embedded_argument
#define djs_embedded_begin test_embedded_first
#define djs_embedded_copy_user test_embedded_copy_user
#define djs_embedded_copy_user_string test_embedded_copy_user_string
#define djs_embedded_error test_embedded_error
#define djs_embedded_escape test_embedded_escape
#define djs_embedded_exit test_embedded_exit
#define djs_embedded_fail_access test_embedded_fail_access
#define djs_embedded_is_compat test_embedded_is_compat
#define djs_embedded_leave test_embedded_leave
#define djs_embedded_print test_embedded_print
#define djs_embedded_print_stack test_embedded_print_stack
#define djs_embedded_read test_embedded_read
#define djs_embedded_read_number test_embedded_real_read_number
#define djs_embedded_read_text test_embedded_read_text
#define djs_embedded_reader test_embedded_reader
#define djs_embedded_session_state test_embedded_session
#define djs_embedded_stack_address test_embedded_stack_address
#define djs_embedded_stack_text test_embedded_stack_text
#define djs_embedded_symbol test_embedded_symbol
#define djs_embedded_system test_embedded_system
#define djs_embedded_target test_embedded_target
#define djs_embedded_time test_embedded_time
#define djs_embedded_user_registers test_embedded_user_registers
#define djs_embedded_warn test_embedded_warn
#define djs_embedded_write_number test_embedded_real_write_number
#define djs_embedded_write_text test_embedded_real_write_text
#define djs_embedded_zone test_embedded_zone
#define djs_embedded_zone_offset test_embedded_zone_offset
/* What other sources have of this. */
#define djs_control test_embedded_of_control
#define djs_cpu test_embedded_of_cpu
#define djs_fail_number test_embedded_of_fail_number
#define djs_fail_text test_embedded_of_fail_text
#define djs_fn_abort test_embedded_of_fn_abort
#define djs_fn_backtrace test_embedded_of_fn_backtrace
#define djs_fn_exit test_embedded_of_fn_exit
#define djs_fn_gettimeofday_ns test_embedded_of_fn_gettimeofday_ns
#define djs_fn_pp test_embedded_of_fn_pp
#define djs_fn_print_stack test_embedded_of_fn_print_stack
#define djs_fn_print_ustack test_embedded_of_fn_print_ustack
#define djs_fn_sprint_backtrace test_embedded_of_fn_sprint_backtrace
#define djs_fn_sprint_ubacktrace test_embedded_of_fn_sprint_ubacktrace
#define djs_fn_stack test_embedded_of_fn_stack
#define djs_fn_symdata test_embedded_of_fn_symdata
#define djs_fn_symname test_embedded_of_fn_symname
#define djs_fn_system test_embedded_of_fn_system
#define djs_fn_tz_gmtoff test_embedded_of_fn_tz_gmtoff
#define djs_fn_ubacktrace test_embedded_of_fn_ubacktrace
#define djs_fn_usymdata test_embedded_of_fn_usymdata
#define djs_fn_usymname test_embedded_of_fn_usymname
#define djs_fn_ustack test_embedded_of_fn_ustack
#define djs_read_bytes test_embedded_of_read_bytes
#define djs_read_kernel_string test_embedded_of_read_kernel_string
#define djs_read_number test_embedded_of_read_number
#define djs_read_user_string test_embedded_of_read_user_string
#define djs_reader_pid test_embedded_of_reader_pid
#define djs_record_text test_embedded_of_record_text
#define djs_traced_pid test_embedded_of_traced_pid
#define djs_vfail_text test_embedded_of_vfail_text
#define djs_write_number test_embedded_of_write_number
#define djs_zone_name test_embedded_of_zone_name
#include "kernel_for_test.h"

/* There is one processor. */
#undef DECLARE_PER_CPU
#define DECLARE_PER_CPU(type, name) extern type name
#define this_cpu_read(place) (place)
/* In place of cpu/level.h. */
#define DJSTAP_LEVEL_H
#define djs_level() test_embedded_level

#include "embedded_for_test.h"
#include "log_for_test.h"

#include "linux/sched.h"
#include "linux/sched/signal.h"
#include "linux/sched/task_stack.h"

struct pt_regs {
    unsigned long di, si, dx, cx, r8, r9, sp;
    bool of_program, is_compat;
};
static struct pt_regs* registers_of_task(const struct task_struct* task);
#define task_pt_regs(task) registers_of_task(task)
#define user_mode(regs) ((regs)->of_program)
#define djs_is_unwindable(regs) (!(regs)->is_compat)
#define DJS_REGISTER_ARGUMENTS 6
#define djs_stack_argument(regs, n) ((regs)->sp + ((n) - DJS_REGISTER_ARGUMENTS) * sizeof(long))
#define djs_register_argument(regs, n) ((&(regs)->di)[(n) - 1])
static struct task_struct current_task;
#undef current
#define current (&current_task)
static int scnprintf(char* to, size_t size, const char* format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

#include "embedded/embedded.c"

#include "embedded/stacks.c"

char test_embedded_log[4096];
#define note(...) log_for_test(test_embedded_log, sizeof(test_embedded_log), __VA_ARGS__)

char test_embedded_user[TEST_EMBEDDED_BYTES], test_embedded_kernel[TEST_EMBEDDED_BYTES];
u32 test_embedded_reads_left, test_embedded_accesses, test_embedded_level;
struct djs_control_page test_embedded_control;
struct djs_control_page* djs_control = &test_embedded_control;
struct test_embedded_registers test_embedded_registers;
bool test_embedded_has_memory;
s32 djs_traced_pid = 123, djs_reader_pid = 456;
struct djs_cpu djs_cpu;

static struct djs_ctx contexts_of_cpu[4], ctx_of_test;
static struct pt_regs registers_of_test;
static char* memory_of_handler;

/* ---- memory ---- */

static char* memory_at(u64 address, size_t size) {
    if (address >= TEST_EMBEDDED_USER && size <= TEST_EMBEDDED_BYTES &&
        address <= TEST_EMBEDDED_USER + TEST_EMBEDDED_BYTES - size)
        return test_embedded_user + (address - TEST_EMBEDDED_USER);
    if (address >= TEST_EMBEDDED_KERNEL && size <= TEST_EMBEDDED_BYTES &&
        address <= TEST_EMBEDDED_KERNEL + TEST_EMBEDDED_BYTES - size)
        return test_embedded_kernel + (address - TEST_EMBEDDED_KERNEL);
    return NULL;
}

/* As the real one: it has no other sizes. */
static char* number_at(u64 address, u32 size) {
    if (size != 1 && size != 2 && size != 4 && size != 8)
        abort();
    test_embedded_accesses++;
    return memory_at(address, size);
}

bool djs_read_number(u64 address, u32 size, u64* value) {
    const char* memory = number_at(address, size);

    *value = 0;
    if (!memory || !test_embedded_reads_left)
        return false;
    test_embedded_reads_left--;
    memcpy(value, memory, size);
    return true;
}

bool djs_write_number(u64 address, u32 size, u64 value) {
    char* memory = number_at(address, size);

    if (memory)
        memcpy(memory, &value, size);
    return memory;
}

bool djs_read_bytes(char* out, u64 address, size_t size, bool user) {
    const char* memory = memory_at(address, 1);

    if (!memory || user != djs_is_user(address))
        return false;
    if (size > DJS_WORK_BYTES)
        abort();
    /* What follows is as much as anybody asks for, if it is the whole memory. */
    memset(out, '.', size);
    memcpy(out, memory, min_t(size_t, size, TEST_EMBEDDED_BYTES));
    note("bytes %zu\n", size);
    return true;
}

static long read_string(char* out, u64 address, size_t size, bool user) {
    const char* memory = memory_at(address, 1);
    size_t length;

    if (user != djs_is_user(address))
        abort(); /* the caller checks that */
    if (!memory)
        return -EFAULT;
    length = strnlen(memory, min_t(size_t, size - 1, TEST_EMBEDDED_BYTES));
    memcpy(out, memory, length);
    out[length] = 0;
    note("string %zu\n", size);
    return (long)length;
}

long djs_read_kernel_string(char* out, u64 address, size_t size) {
    return read_string(out, address, size, false);
}

long djs_read_user_string(char* out, u64 address, size_t size) {
    return read_string(out, address, size, true);
}

/* ---- errors and records ---- */

void djs_vfail_text(struct djs_ctx* ctx, u32 place, const char* format, va_list arguments) {
    static char text[256];

    if (place != DJS_NO_PLACE)
        abort();
    vsnprintf(text, sizeof(text), format, arguments);
    ctx->error = text;
}

void djs_fail_text(struct djs_ctx* ctx, u32 place, const char* format, ...) {
    va_list arguments;

    va_start(arguments, format);
    djs_vfail_text(ctx, place, format, arguments);
    va_end(arguments);
}

void djs_fail_number(struct djs_ctx* ctx, const char* verb, u64 address, u32 size, bool user,
                     u32 place) {
    djs_fail_text(ctx, place, "%s %u at %#llx of %s", verb, size, (unsigned long long)address,
                  user ? "a process" : "the kernel");
}

/* Who waits for room may not: this one neither waits nor moves to another processor. */
bool djs_record_text(struct djs_ctx* ctx, u32 id, const char* text, s64 number) {
    if (!test_preempt_depth || ctx != &contexts_of_cpu[test_embedded_level] || number != -1)
        abort();
    note("%s%zu %s\n",
         id == DJS_RECORD_TEXT      ? "text "
         : id == DJS_RECORD_WARNING ? "warning "
                                    : "?",
         strlen(text), text);
    return true;
}

/* ---- functions of the language ---- */

void djs_fn_pp(struct djs_ctx* ctx, char* out) {
    memset(out, 0, djs_script.string_bytes); /* it has room for that */
    snprintf(out, djs_script.string_bytes, "a probe");
}

void djs_fn_abort(struct djs_ctx* ctx) {
    note("abort\n");
}

void djs_fn_exit(struct djs_ctx* ctx) {
    note("exit\n");
}

void djs_fn_system(struct djs_ctx* ctx, const char* command) {
    note("system %s\n", command);
}

s64 djs_fn_gettimeofday_ns(struct djs_ctx* ctx) {
    return 789;
}

s64 djs_fn_tz_gmtoff(struct djs_ctx* ctx) {
    return -3600;
}

const char* djs_zone_name(void) {
    return "CET";
}

#define TEXT(name)                                                                                 \
    void djs_fn_##name(struct djs_ctx* ctx, char* out) {                                           \
        snprintf(out, djs_script.string_bytes, "%s", #name);                                       \
    }
#define PRINTED(name)                                                                              \
    void djs_fn_##name(struct djs_ctx* ctx, const char* addresses) {                               \
        note("%s of %s\n", #name, addresses);                                                      \
    }
#define SYMBOL(name)                                                                               \
    void djs_fn_##name(struct djs_ctx* ctx, char* out, s64 address) {                              \
        snprintf(out, djs_script.string_bytes, "%s %lld", #name, (long long)address);              \
    }
TEXT(backtrace)
TEXT(ubacktrace)
TEXT(sprint_backtrace)
TEXT(sprint_ubacktrace)
PRINTED(print_stack)
PRINTED(print_ustack)
SYMBOL(symname)
SYMBOL(symdata)
SYMBOL(usymname)
SYMBOL(usymdata)

s64 djs_fn_stack(struct djs_ctx* ctx, s64 depth) {
    return 1000 + depth;
}

s64 djs_fn_ustack(struct djs_ctx* ctx, s64 depth) {
    return 2000 + depth;
}

static int scnprintf(char* to, size_t size, const char* format, ...) {
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(to, size, format, arguments);
    va_end(arguments);
    return length < (int)size ? length : (int)size - 1;
}

/* ---- what a test does ---- */

static void tell_registers(void) {
    registers_of_test = (struct pt_regs){.di = test_embedded_registers.di,
                                         .si = test_embedded_registers.si,
                                         .dx = test_embedded_registers.dx,
                                         .cx = test_embedded_registers.cx,
                                         .r8 = test_embedded_registers.r8,
                                         .r9 = test_embedded_registers.r9,
                                         .sp = test_embedded_registers.sp,
                                         .of_program = test_embedded_registers.of_program,
                                         .is_compat = test_embedded_registers.is_compat};
}

static struct pt_regs* registers_of_task(const struct task_struct* task) {
    if (!task->mm) /* there are none on its stack */
        abort();
    tell_registers();
    return &registers_of_test;
}

void test_embedded_begin(void) {
    memset(&test_embedded_registers, 0, sizeof(test_embedded_registers));
    memset(&test_embedded_control, 0, sizeof(test_embedded_control));
    memset(test_embedded_user, 0, sizeof(test_embedded_user));
    memset(test_embedded_kernel, 0, sizeof(test_embedded_kernel));
    memset(&ctx_of_test, 0, sizeof(ctx_of_test));
    guarded_free(memory_of_handler);
    djs_script.embedded_bytes = DJS_EMBEDDED_BYTES(djs_script.string_bytes);
    /* What a run of another handler has left, and nothing behind it. */
    memory_of_handler = guarded_allocate(1, djs_work_bytes(), 0xa5);
    djs_work_init(&ctx_of_test, memory_of_handler);
    test_embedded_log[0] = 0;
    test_embedded_reads_left = ~0u;
    test_embedded_accesses = test_embedded_level = 0;
    test_embedded_has_memory = false;
    djs_cpu.contexts = contexts_of_cpu;
}

void test_embedded_end(void) {
    guarded_free(memory_of_handler);
    memory_of_handler = NULL;
}

struct djs_ctx* test_embedded_ctx(void) {
    tell_registers();
    ctx_of_test.regs = &registers_of_test;
    return &ctx_of_test;
}

struct test_embedded_context test_embedded_first_use(struct djs_ctx* ctx) {
    const struct context* context = djs_embedded_context(ctx);

    return (struct test_embedded_context){
        .last_error = context->last_error,
        .probe_point = context->probe_point,
        .probe_type = context->probe_type,
        .user_mode_p = context->user_mode_p,
        .aborted = context->aborted,
        .has_kregs = context->kregs && context->kregs == ctx->regs,
        .has_uregs = context->uregs && context->uregs == ctx->regs,
        .is_of_handler = context->handler == ctx,
        .regparm = context->regparm,
        .returnval_override_p = context->returnval_override_p,
    };
}

void test_embedded_set(struct djs_ctx* ctx, const char* last_error, bool aborted) {
    struct context* context = djs_embedded_context(ctx);

    context->last_error = last_error;
    context->aborted = aborted;
}

/* C++ does not know the enumeration. */
bool test_embedded_read_number(int space, u64 address, u32 size, u64* value) {
    return djs_embedded_read_number((enum djs_embedded_space)space, address, size, value);
}

bool test_embedded_write_number(int space, u64 address, u32 size, u64 value) {
    return djs_embedded_write_number((enum djs_embedded_space)space, address, size, value);
}

bool test_embedded_write_text(int space, const char* text, u64 address, size_t bytes) {
    return djs_embedded_write_text((enum djs_embedded_space)space, text, address, bytes);
}

int test_embedded_argument_at(int n, int registers, size_t word, long* value) {
    tell_registers();
    return djs_embedded_argument(n, registers, &registers_of_test, word, value);
}

int test_embedded_state(void) {
    return atomic_read(djs_embedded_session_state());
}

static int memory_of_task;

bool test_embedded_is_compat_task(bool has_memory) {
    struct task_struct task = {.mm = has_memory ? (struct mm_struct*)&memory_of_task : NULL};

    return djs_embedded_is_compat(&task);
}

bool test_embedded_has_user_registers(void) {
    current_task.mm = test_embedded_has_memory ? (struct mm_struct*)&memory_of_task : NULL;
    return djs_embedded_user_registers() == &registers_of_test;
}
