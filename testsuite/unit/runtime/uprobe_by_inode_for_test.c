// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this, and what the tests of others have. */
#define djs_sites test_by_inode_site_runs
#define djs_site_failed test_by_inode_site_failed
#define djs_enter test_by_inode_enter
#define djs_leave test_by_inode_leave
#define djs_run_handler_at test_by_inode_run_handler_at
#define djs_program_file test_by_inode_file
#define djs_program_check_code test_by_inode_check_code
#define djs_programs_release test_by_inode_release
#define djs_ops_uprobe test_by_inode_ops
#include "kernel_for_test.h"

#include "linux/fs.h"
#include "linux/sched.h"
#include "linux/uprobes.h"

#include "log_for_test.h"
#include "uprobe_by_inode_for_test.h"
#include "uprobe_registers_for_test.h"

char test_by_inode_log[1024];
#define note(...) log_for_test(test_by_inode_log, sizeof(test_by_inode_log), __VA_ARGS__)

static int uprobe_register_refctr(struct inode* inode, loff_t offset, loff_t semaphore,
                                  struct uprobe_consumer* consumer);
static void uprobe_unregister(struct inode* inode, loff_t offset, struct uprobe_consumer* consumer);
#define DJS_HAVE_UPROBE_REFCTR

#include "uprobe/uprobe.c"

int test_by_inode_error;
static struct djs_site_run runs_of_test[TEST_BY_INODE_SITES];
struct djs_site_run* djs_sites = runs_of_test;
static struct inode inode_of_test = {.i_ino = 17};

/* ---- the kernel ---- */

static struct uprobe_consumer* registered[TEST_BY_INODE_SITES];

static int uprobe_register_refctr(struct inode* inode, loff_t offset, loff_t semaphore,
                                  struct uprobe_consumer* consumer) {
    u32 i;

    test_may_sleep();
    if (test_by_inode_error)
        return test_by_inode_error;
    for (i = 0; i < TEST_BY_INODE_SITES && registered[i]; i++)
        ;
    if (i == TEST_BY_INODE_SITES || (!consumer->handler && !consumer->ret_handler))
        abort();
    registered[i] = consumer;
    note("on %lu+%#llx %#llx\n", inode->i_ino, (unsigned long long)offset,
         (unsigned long long)semaphore);
    return 0;
}

/* It waits for the consumer's handlers. */
static void uprobe_unregister(struct inode* inode, loff_t offset,
                              struct uprobe_consumer* consumer) {
    u32 i;

    test_wait_for_others();
    for (i = 0; i < TEST_BY_INODE_SITES && registered[i] != consumer; i++)
        ;
    if (i == TEST_BY_INODE_SITES)
        abort();
    registered[i] = NULL;
    note("off %lu+%#llx\n", inode->i_ino, (unsigned long long)offset);
}

/* ---- the rest of the runtime ---- */

void djs_site_failed(struct djs_site_run* run, int error, const char* why) {
    run->error = error;
    note("failed %d: %s (%d)\n", (int)(run - runs_of_test), why, error);
}

/* Nothing is hit here. */
struct djs_ctx* djs_enter(const struct djs_handler* handler, const struct djs_site* site) {
    abort();
}

void djs_leave(struct djs_ctx* ctx) {
    abort();
}

void djs_run_handler_at(const struct djs_handler* handler, const struct djs_site* site,
                        struct pt_regs* regs, unsigned long address) {
    abort();
}

struct inode* djs_program_file(const struct djs_site_run* run, const char** why) {
    test_may_sleep();
    *why = "";
    return &inode_of_test;
}

int djs_program_check_code(const struct djs_site_run* run) {
    return 0;
}

void djs_programs_release(void) {}

/* ---- for the test ---- */

void test_by_inode_begin(void) {
    u32 i;

    memset(runs_of_test, 0, sizeof(runs_of_test));
    for (i = 0; i < djs_script.site_count; i++) {
        runs_of_test[i].site = &djs_script.sites[i];
        runs_of_test[i].mechanism = djs_script.sites[i].mechanism;
        runs_of_test[i].wanted = 1;
    }
    test_by_inode_error = 0;
    test_by_inode_log[0] = 0;
}

void test_by_inode_want(u32 site, bool wanted) {
    runs_of_test[site].wanted = wanted;
}

bool test_by_inode_armed(u32 site) {
    return runs_of_test[site].armed && runs_of_test[site].data;
}

int test_by_inode_attach(void) {
    return djs_ops_uprobe.attach();
}

void test_by_inode_disarm(void) {
    djs_ops_uprobe.disarm();
}

void test_by_inode_free(void) {
    djs_ops_uprobe.free();
}
