/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions of the language tell of a hit (runtime/context/{place,time}.c and
 * runtime/access/registers.c), which a test makes. */
#ifndef DJSTAP_HIT_FOR_TEST_H
#define DJSTAP_HIT_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Registers of a processor that is made up: the arguments, the first six in order. */
struct test_hit_registers {
    unsigned long arguments[6], sp, ip;
};
enum { TEST_HIT_REGISTERS = 8 };
extern struct test_hit_registers test_hit_of_program; /* where the task left user mode */
extern bool test_hit_has_memory;                      /* whether the task is a program's */
/* What is read is the address and this. */
#define TEST_HIT_READ 0x100000000ull
#define TEST_HIT_READ_OF_USER 0x200000000ull
enum { TEST_HIT_BIAS = 0x1000, TEST_HIT_SYSCALL_ARGUMENT = 0x100 };
extern char test_hit_log[256]; /* of records */
enum { TEST_HIT_CPUS = 3, TEST_HIT_CPU_OFFLINE = 1 };

void test_hit_point(struct djs_ctx* ctx, char* out);
void test_hit_name(struct djs_ctx* ctx, char* out);
void test_hit_function(struct djs_ctx* ctx, char* out);
void test_hit_function_or_site(struct djs_ctx* ctx, char* out);
void test_hit_type(struct djs_ctx* ctx, char* out);
s64 test_hit_is_return(struct djs_ctx* ctx);
s64 test_hit_user_mode(struct djs_ctx* ctx);
s64 test_hit_registers_valid(struct djs_ctx* ctx);
s64 test_hit_address(struct djs_ctx* ctx);
s64 test_hit_result(struct djs_ctx* ctx);
s64 test_hit_argument_at(struct djs_ctx* ctx, s64 n);
s64 test_hit_user_address(struct djs_ctx* ctx);
u64 test_hit_kernel_register(struct djs_ctx* ctx, u32 index, u32 place);
u64 test_hit_user_register(struct djs_ctx* ctx, u32 index, u32 place);
void test_hit_print_registers(struct djs_ctx* ctx);
s64 test_hit_real_time(struct djs_ctx* ctx);
s64 test_hit_monotonic_time(struct djs_ctx* ctx);
s64 test_hit_local_clock(struct djs_ctx* ctx);
s64 test_hit_jiffies(struct djs_ctx* ctx);
s64 test_hit_hz(struct djs_ctx* ctx);
s64 test_hit_cpu_clock(struct djs_ctx* ctx, s64 cpu);
#ifdef __cplusplus
}
#endif
#endif
