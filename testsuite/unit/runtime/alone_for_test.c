// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this, and what the tests of others have. */
#define djs_cpu test_alone_cpu
#define djs_gate test_alone_gate
#define djs_fail_alone test_alone_fail
#define djs_lacks_stack test_alone_lacks_stack
#define djs_read_number test_alone_read_number
#define djs_read_user_string test_alone_read_user_string
#include "kernel_for_test.h"

/* There is one processor. */
#undef DECLARE_PER_CPU
#define DECLARE_PER_CPU(type, name) extern type name
#define this_cpu_read(place) (place)
#define this_cpu_inc(place) ((void)(place)++)

#include "alone_for_test.h"
#include "log_for_test.h"

char test_alone_log[1024];
#define note(...) log_for_test(test_alone_log, sizeof(test_alone_log), __VA_ARGS__)

u32 test_alone_level, test_alone_gate;
bool test_alone_lacks;
u64 test_alone_number;
const char* test_alone_text;

/* In place of cpu/level.h. */
#define DJSTAP_LEVEL_H
#define djs_level() test_alone_level

#include "access/alone.c"

struct djs_cpu djs_cpu;
static struct djs_ctx contexts_of_test[DJS_LEVELS];

void djs_fail_alone(const char* message, u32 place) {
    note("%s near %u\n", message, place);
}

u32 djs_lacks_stack(u32 bytes) {
    note("stack %u\n", bytes);
    return test_alone_lacks;
}

/* Whoever interrupts the read, or is probed in it, finds this level's context busy; the overload
 * protection finds no handler there. */
static const char* processor(void) {
    const struct djs_ctx* ctx = &contexts_of_test[test_alone_level];

    return ctx->busy == DJS_BUSY_LOCKED && !ctx->handler && test_preempt_depth == 1
               ? ""
               : " without its context";
}

bool djs_read_number(u64 address, u32 size, u64* value) {
    note("number %llx %u%s\n", (unsigned long long)address, size, processor());
    *value = test_alone_number;
    return test_alone_text != NULL;
}

long djs_read_user_string(char* out, u64 address, size_t size) {
    size_t length;

    note("text %llx %zu%s\n", (unsigned long long)address, size, processor());
    if (!test_alone_text)
        return -EFAULT;
    length = strnlen(test_alone_text, size - 1);
    memcpy(out, test_alone_text, length);
    out[length] = 0;
    return (long)length;
}

void test_alone_begin(void) {
    memset(&djs_cpu, 0, sizeof(djs_cpu));
    memset(contexts_of_test, 0, sizeof(contexts_of_test));
    djs_cpu.contexts = contexts_of_test;
    test_alone_level = test_alone_gate = 0;
    test_alone_lacks = false;
    test_alone_number = 0;
    test_alone_text = "";
    test_alone_log[0] = 0;
}

struct djs_ctx* test_alone_context(u32 level) {
    return &contexts_of_test[level];
}

u64 test_alone_skipped(void) {
    return djs_cpu.skipped_busy;
}
