/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kprobes and kretprobes (runtime/kprobe/) ask of the kernel, and do when they are hit. */
#ifndef DJSTAP_KPROBES_FOR_TEST_H
#define DJSTAP_KPROBES_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_KPROBES = 3, TEST_KPROBE_BYTES = 40, TEST_HOOKED = 1200 };

struct test_kprobe {
    u8 mechanism;
    bool at_fentry; /* the kernel uses ftrace there */
    bool by_ftrace; /* as it says of the probe */
    bool unreadable;
    int error;
    u8 text[TEST_KPROBE_BYTES]; /* what the kernel has at its address: instructions_for_test.h */
};
extern struct test_kprobe test_kprobe_sites[TEST_KPROBES];
/* A line for each call of the kernel's functions, each handler, and each message. */
extern char test_kprobes_log[2048];
/* When it becomes a jump, from now on; 0: never. How long somebody has waited. */
extern u32 test_kprobe_jumps_ms, test_kprobe_waited_ms;
/* The kernel's functions fail when they are called for this site; and the error. */
extern int test_kprobe_fails, test_kretprobe_fails, test_kprobe_error;
extern u32 test_kprobe_cpus;
/* No context for a handler. */
extern bool test_kprobe_no_context;

void test_kprobes_begin(void);
/* The functions of struct djs_registry, of kprobes or kretprobes. */
bool test_kprobe_is_one(bool returns, u32 number);
bool test_kprobe_may_become_one(bool returns, u32 number);
bool test_kprobe_latest_first(bool returns);
const char* test_kprobe_rejected(bool returns);
void test_kprobe_check(u32 number);
void test_kprobe_verify(u32 number);
struct test_filled {
    bool post;   /* it has a handler that does nothing, which prevents a jump */
    bool at_all; /* it has a handler */
    bool entry;
    u64 bytes; /* of the instances' data */
    int instances;
};
struct test_filled test_kprobe_fill(bool returns, u32 number);
bool test_kprobes_have_memory(u32 count);
int test_kprobe_register(bool returns, u32 number);
void test_kprobe_unregister(bool returns, u32 number);
/* Of the sites from 0 on. */
int test_kprobes_register(bool returns, u32 count);
void test_kprobes_unregister(bool returns, u32 count);
u32 test_kprobes_registered(void);
/* Of struct djs_mechanism_ops. */
int test_kprobes_attach(bool returns);
void test_kprobes_disarm(bool returns);
void test_kprobes_detach(bool returns);
void test_kprobes_forget(bool returns, u32 image);
u64 test_kprobe_missed(bool returns, u32 number);
u64 test_kprobes_missed(bool returns);
void test_kprobes_free(bool returns);

/* The processor has come to the instruction: returns where it goes on. */
u64 test_kprobe_hit(u32 number, u64 ip, int* result);
/* A function is entered, and returns. */
int test_kretprobe_enters(u32 number);
u64 test_kretprobe_returns(u32 number, u64 value, int* result);
extern struct djs_ctx test_kprobe_ctx;
u64 test_kprobe_regs_ip(const struct pt_regs* regs);

/* The current task's probed calls, the last one first: where the word is, and what it was. */
void test_kprobe_hooked(u32 number, u64 slot, u64 original);
u64 test_kprobe_replaced(u64 slot);
#ifdef __cplusplus
}
#endif
#endif
