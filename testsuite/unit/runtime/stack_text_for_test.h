/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of stacks and addresses (runtime/context/stack_text.c), with symbols that a test makes
 * up. */
#ifndef DJSTAP_STACK_TEXT_FOR_TEST_H
#define DJSTAP_STACK_TEXT_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
#define TEST_RECORDS 8
#define TEST_TRACE 4

/* What is known of an address, or of the word of a program's. */
extern void (*test_symbol_text)(char* symbol, u64 address);
extern bool test_has_slots; /* of an address, the one whose last bit is turned */
/* The stack of the kernel and of the program. */
extern u64 test_trace[TEST_TRACE];
extern u32 test_trace_count;
/* The file at a program's addresses, and where; NULL: none. */
extern const char* test_user_path;
extern u8 test_build_id[20];
/* The records: of the kind and the size that were asked for. */
struct test_record {
    u32 id, size;
    u64 words[32]; /* behind the header */
};
extern struct test_record test_records[TEST_RECORDS];
extern u32 test_record_count;
extern bool test_no_room_for_records;
void test_records_taken(void); /* fills in test_records */

void djs_fn_sprint_backtrace(struct djs_ctx* ctx, char* out);
void djs_fn_sprint_ubacktrace(struct djs_ctx* ctx, char* out);
void djs_fn_sprint_syms(struct djs_ctx* ctx, char* out, const char* addresses);
void djs_fn_sprint_usyms(struct djs_ctx* ctx, char* out, const char* addresses);
void djs_fn_sprint_stack(struct djs_ctx* ctx, char* out, const char* addresses);
void djs_fn_sprint_ustack(struct djs_ctx* ctx, char* out, const char* addresses);
void djs_fn_print_stack(struct djs_ctx* ctx, const char* addresses);
void djs_fn_print_syms(struct djs_ctx* ctx, const char* addresses);
void djs_fn_print_usyms(struct djs_ctx* ctx, const char* addresses);
void djs_fn_print_ustack(struct djs_ctx* ctx, const char* addresses);
void djs_fn_symdata(struct djs_ctx* ctx, char* out, s64 address);
void djs_fn_symname(struct djs_ctx* ctx, char* out, s64 address);
void djs_fn_modname(struct djs_ctx* ctx, char* out, s64 address);
void djs_fn_usymdata(struct djs_ctx* ctx, char* out, s64 address);
void djs_fn_usymname(struct djs_ctx* ctx, char* out, s64 address);
void djs_fn_usymfile(struct djs_ctx* ctx, char* out, s64 address);
void djs_fn_usymfileline(struct djs_ctx* ctx, char* out, s64 address);
void djs_fn_usymline(struct djs_ctx* ctx, char* out, s64 address);
void djs_fn_umodname(struct djs_ctx* ctx, char* out, s64 address);
s64 djs_fn_umodaddr(struct djs_ctx* ctx, s64 address);
void djs_fn_umodbuildid(struct djs_ctx* ctx, char* out, s64 address);
s64 djs_fn_ustack(struct djs_ctx* ctx, s64 depth);
#ifdef __cplusplus
}
#endif
#endif
