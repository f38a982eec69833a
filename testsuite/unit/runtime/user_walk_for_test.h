/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks over the stack of a program (runtime/ustack/walk.c) whose files, mappings and memory are
 * made up. */
#ifndef DJSTAP_USER_WALK_FOR_TEST_H
#define DJSTAP_USER_WALK_FOR_TEST_H

#include "include/script.h"
#include "include/unwind.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The memory that can be read. */
enum { TEST_WALK_WORDS = 32 };
extern u64 test_walk_stack[TEST_WALK_WORDS];

/* What the process maps; unknown as a whole if it has no map. */
enum { TEST_WALK_MAPPINGS = 3, TEST_WALK_IMAGES = 2 };
struct test_walk_mapping {
    u64 begin, end, bias;
    u32 image, place;
};
#define TEST_WALK_NO_IMAGE (~0u)
extern struct test_walk_mapping test_walk_mappings[TEST_WALK_MAPPINGS];
extern struct djs_unwind_image test_walk_images[TEST_WALK_IMAGES];
extern bool test_walk_has_map;
extern u32 test_walk_finds; /* how often rules were looked for in a file */

/* The task, and the registers with which it entered the kernel. */
struct test_walk_registers {
    u64 ip, stack;
    bool is_compat;
};
extern struct test_walk_registers test_walk_entered;
extern bool test_walk_has_memory, test_walk_of_kernel, test_walk_other_tables;
extern u32 test_walk_due; /* how often it was to tell what it maps */
/* The kernel has replaced the return address at this place by its own. */
extern u64 test_walk_replaced_at, test_walk_original;

/* `interrupted`: these registers of the program were interrupted; NULL: it has called the kernel.
 */
void test_walk_take(struct djs_ctx* ctx, struct test_walk_registers* interrupted, u64* stack);
void test_walk_trace(struct djs_ctx* ctx, struct test_walk_registers* interrupted, u64* stack);
u64 test_walk_word(struct djs_ctx* ctx, u64 address, u32 returns);
const char* test_walk_path(u64 word);
u64 test_walk_incomplete(void);

int test_walk_init(void);
void test_walk_exit(void);
extern const char* test_walk_fails; /* what cannot begin */
extern char test_walk_log[256];
bool test_walk_names_symbols(void);

#ifdef __cplusplus
}
#endif
#endif
