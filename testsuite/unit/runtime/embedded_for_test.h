/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a script's embedded C code calls (runtime/embedded/{embedded,stacks}.c). */
#ifndef DJSTAP_EMBEDDED_FOR_TEST_H
#define DJSTAP_EMBEDDED_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
/* There are 64 bytes at each of these addresses, which are a process's and the kernel's. */
enum { TEST_EMBEDDED_BYTES = 64 };
#define TEST_EMBEDDED_USER 0x10000ull
#define TEST_EMBEDDED_KERNEL 0xffff888000000000ull
extern char test_embedded_user[TEST_EMBEDDED_BYTES], test_embedded_kernel[TEST_EMBEDDED_BYTES];
extern u32 test_embedded_reads_left; /* after these, nothing can be read */
extern u32 test_embedded_accesses;   /* how many numbers were read or written */
enum { TEST_ANYWHERE, TEST_KERNEL_ONLY, TEST_USER_ONLY };

/* A line for each record, message and call. */
extern char test_embedded_log[4096];
extern u32 test_embedded_level; /* of the caller: its context is one of four */
extern struct djs_control_page test_embedded_control;

/* Registers at a hit. */
struct test_embedded_registers {
    unsigned long di, si, dx, cx, r8, r9, sp;
    bool of_program, is_compat;
};
extern struct test_embedded_registers test_embedded_registers;
extern bool test_embedded_has_memory; /* the current task is no thread of the kernel */

/* CONTEXT, as C code sees it. */
struct test_embedded_context {
    const char *last_error, *probe_point;
    int probe_type, user_mode_p, aborted;
    bool has_kregs, has_uregs, is_of_handler;
    int regparm, returnval_override_p;
};

void test_embedded_begin(void);
void test_embedded_end(void);
/* The context of a handler, and memory for it. */
struct djs_ctx* test_embedded_ctx(void);
struct test_embedded_context test_embedded_first_use(struct djs_ctx* ctx);
void test_embedded_set(struct djs_ctx* ctx, const char* last_error, bool aborted);
void test_embedded_leave(struct djs_ctx* ctx);

void test_embedded_error(struct djs_ctx* ctx, const char* format, ...);
bool test_embedded_read_number(int space, u64 address, u32 size, u64* value);
bool test_embedded_write_number(int space, u64 address, u32 size, u64 value);
bool test_embedded_write_text(int space, const char* text, u64 address, size_t bytes);
void test_embedded_fail_access(struct djs_ctx* ctx, const char* verb, u64 address, u32 size);
size_t test_embedded_read(char* to, u64 address, size_t size);
void test_embedded_print(struct djs_ctx* ctx, const char* format, ...);
void test_embedded_warn(const char* format, ...);
bool test_embedded_read_text(char* to, u64 address, size_t bytes);
unsigned long test_embedded_copy_user(char* to, u64 from, unsigned long bytes);
long test_embedded_copy_user_string(char* to, u64 from, long bytes);
int test_embedded_escape(struct djs_ctx* ctx, char* to, u64 from, int bytes, int room, int quoted,
                         int user, int buffer);
int test_embedded_argument_at(int n, int registers, size_t word, long* value);
int test_embedded_state(void);
bool test_embedded_is_compat_task(bool has_memory);
bool test_embedded_has_user_registers(void);
s64 test_embedded_target(void);
s64 test_embedded_reader(void);
s64 test_embedded_time(struct djs_ctx* ctx);
s64 test_embedded_zone_offset(void);
const char* test_embedded_zone(void);
void test_embedded_exit(struct djs_ctx* ctx);
void test_embedded_system(struct djs_ctx* ctx, const char* command);

void test_embedded_print_stack(struct djs_ctx* ctx, bool of_program);
void test_embedded_stack_text(struct djs_ctx* ctx, char* out, size_t bytes, int what,
                              bool of_program);
s64 test_embedded_stack_address(struct djs_ctx* ctx, u32 depth, bool of_program);
int test_embedded_symbol(struct djs_ctx* ctx, char* out, size_t bytes, u64 address, int what,
                         bool of_program);
#ifdef __cplusplus
}
#endif
#endif
