// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <sys/types.h>

#include "linux/slab.h"

#include "linux/atomic.h"

#include "instructions_for_test.h"

#define CONFIG_UNWINDER_ORC 1
/* What other sources have of this, and what the tests of others have. */
#define djs_trace_stack test_walk_trace_stack
#define djs_take_stack test_walk_take_stack
#define djs_take_stack_at_entry test_walk_take_stack_at_entry
#define djs_copy_stack test_copy_stack
#define djs_stack_text test_text_of_stack
#define djs_fn_addr test_walk_addr
#include "stack_for_test.h"

unsigned long test_frames[TEST_FRAMES], test_probed_function, test_task_stack;
u32 test_frames_seen;

struct pt_regs {
    unsigned long ip;
};
#define instruction_pointer(registers) ((registers)->ip)
#define DJS_ENTRY_REGISTERS(pointer, frame) {.ip = ((const unsigned long*)(pointer))[-1]}
#define within_module(address, module) ((address) - TEST_OWN < TEST_OWN_BYTES)
#define scnprintf snprintf /* of words that have room */
#define THREAD_SIZE 16384ul
#define task_stack_page(task) ((void)(task), test_task_stack)

struct unwind_state {
    u32 at;
};
#define unwind_start(frames, task, registers, first)                                               \
    ((void)(task), (void)(registers), (void)((frames)->at = 0))
#define unwind_done(frames) ((frames)->at == TEST_FRAMES)
#define unwind_next_frame(frames) ((void)(frames)->at++)
#define unwind_get_return_address(frames) (test_frames_seen++, test_frames[(frames)->at])

#include "context/stack.c"

s64 djs_fn_addr(struct djs_ctx* ctx) {
    return (s64)test_probed_function;
}

static struct pt_regs registers_of_test;

u32 test_take_stack(struct djs_ctx* ctx, unsigned long address, bool user, u64* stack) {
    registers_of_test.ip = address;
    ctx->regs = address ? &registers_of_test : NULL;
    ctx->user_regs = user;
    test_frames_seen = 0;
    djs_take_stack(ctx, stack);
    return (u32)stack[0];
}

void test_backtrace(struct djs_ctx* ctx, char* out) {
    djs_fn_backtrace(ctx, out);
}

s64 test_stack_at(struct djs_ctx* ctx, s64 depth) {
    return djs_fn_stack(ctx, depth);
}

void test_take_stack_at_entry(struct djs_ctx* ctx, u64* stack, u64 pointer) {
    test_frames_seen = 0;
    djs_take_stack_at_entry(ctx, stack, pointer, 0);
}

s64 test_stack_size(void) {
    return djs_fn_stack_size(NULL);
}

s64 test_stack_used(void) {
    return djs_fn_stack_used(NULL);
}
