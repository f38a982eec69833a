// SPDX-License-Identifier: GPL-2.0-or-later
// Probes in programs (runtime/uprobe/), for files, tasks and registers that are made up.
#include "kernel_for_test.h"

#include "linux/fs.h"
#include "linux/rcupdate.h"
#include "linux/sched.h"
#include "linux/uprobes.h"

#include "uprobe_for_test.h"
#include "uprobe_registers_for_test.h"
#include "ustack_for_test.h"

#define d_real_inode(dentry) ((dentry)->d_inode)
#undef O_RDONLY
#undef O_LARGEFILE
#define O_RDONLY 0
#define O_LARGEFILE 0
#define current_cred() NULL
#define DJS_HAVE_UPROBE_OBJECT

/* What the rest of the runtime does with handlers and sites is no part of the test. */
#define djs_sites test_sites
#define djs_site_failed test_site_failed
#define djs_enter test_enter
#define djs_leave test_leave
#define djs_run_handler_at test_run_handler_at
#define djs_calls_make test_calls_make

struct djs_ctx* test_enter(const struct djs_handler* handler, const struct djs_site* site);
void test_leave(struct djs_ctx* ctx);
static struct file* dentry_open(const struct path* path, int flags, const void* cred);
static void fput(struct file* file);

#include "programs/programs.h"

#include "uprobe/files.c"

#include "uprobe/uprobe.c"

#undef djs_calls_make
struct djs_calls* djs_calls_make(u32 count, u32 words);

enum { MOST_SITES = 8192, MOST_REGISTERED = 16 };
static struct djs_site_run runs[MOST_SITES];
static const char* failures[MOST_SITES];
struct djs_site_run* test_sites = runs;
int test_uprobe_error, test_open_error;
u32 test_files_open, test_uprobe_waits, test_runs_at, test_contexts_left, test_calls_made;
bool test_has_context;
u64 test_run_address;
static struct djs_ctx context;
struct uprobe {
    struct test_registered what;
    struct uprobe_consumer* consumer;
};
static struct uprobe* registered[MOST_REGISTERED];
static u32 registered_count;

/* ---- the rest of the runtime ---- */

void test_site_failed(struct djs_site_run* run, int error, const char* why) {
    run->error = error;
    failures[run - runs] = why;
}

struct djs_ctx* test_enter(const struct djs_handler* handler, const struct djs_site* site) {
    if (!test_has_context)
        return NULL;
    test_contexts_left++;
    context.handler = handler;
    context.site = site;
    context.error = NULL;
    return &context;
}

void test_leave(struct djs_ctx* ctx) {
    if (ctx->regs || ctx->saved || ctx->returned || ctx->user_regs)
        abort();
    if (!test_contexts_left--)
        abort();
}

void test_run_handler_at(const struct djs_handler* handler, const struct djs_site* site,
                         struct pt_regs* regs, unsigned long address) {
    if (&djs_script.handlers[site->handler] != handler || regs->ip != address)
        abort();
    test_run_address = address;
    test_runs_at++;
}

struct djs_calls* test_calls_make(u32 count, u32 words) {
    test_calls_made = count;
    return djs_calls_make(count, words);
}

/* ---- the kernel ---- */

static struct file* dentry_open(const struct path* path, int flags, const void* cred) {
    test_may_sleep();
    if (!path->dentry || flags || cred)
        abort();
    if (test_open_error)
        return ERR_PTR(test_open_error);
    test_files_open++;
    return test_image_file(NULL, 0);
}

static void fput(struct file* file) {
    if (file != test_image_file(NULL, 0) || !test_files_open)
        abort();
    test_files_open--;
}

struct uprobe* uprobe_register(struct inode* inode, loff_t offset, loff_t semaphore,
                               struct uprobe_consumer* consumer) {
    struct uprobe* uprobe;

    test_may_sleep();
    if (test_uprobe_error)
        return ERR_PTR(test_uprobe_error);
    uprobe = malloc(sizeof(*uprobe)); /* none of the memory that a test counts */
    if (!uprobe || registered_count == MOST_REGISTERED)
        abort();
    uprobe->what =
        (struct test_registered){inode->i_ino, offset, semaphore, consumer->ret_handler != NULL};
    uprobe->consumer = consumer;
    registered[registered_count++] = uprobe;
    return uprobe;
}

void uprobe_unregister_nosync(struct uprobe* uprobe, struct uprobe_consumer* consumer) {
    u32 i;

    for (i = 0; i < registered_count && registered[i] != uprobe; i++)
        ;
    if (i == registered_count || uprobe->consumer != consumer)
        abort();
    free(uprobe);
    registered_count--;
    memmove(&registered[i], &registered[i + 1], (registered_count - i) * sizeof(registered[0]));
}

void uprobe_unregister_sync(void) {
    test_wait_for_others();
    test_uprobe_waits++;
}

/* ---- for the test ---- */

void test_uprobe_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++) {
        const struct djs_site* site = &djs_script.sites[i];

        failures[i] = NULL;
        runs[i] = (struct djs_site_run){
            .site = site,
            .image = djs_script.segments[site->segment].image,
            .mechanism = site->mechanism,
            .wanted = 1,
        };
    }
}

void test_uprobe_want(u32 site, bool wanted) {
    runs[site].wanted = wanted;
}

bool test_uprobe_armed(u32 site) {
    return runs[site].armed;
}

const char* test_uprobe_failure(u32 site) {
    return runs[site].error ? failures[site] : NULL;
}

int test_uprobe_attach(void) {
    return djs_ops_uprobe.attach();
}

void test_uprobe_disarm(void) {
    djs_ops_uprobe.disarm();
}

void test_uprobe_free(void) {
    djs_ops_uprobe.free();
}

u32 test_registered_count(void) {
    return registered_count;
}

struct test_registered test_registered(u32 number) {
    return registered[number]->what;
}

static int hit(u32 number, u64 function, bool returns, struct test_registers* registers) {
    struct uprobe_consumer* consumer = registered[number]->consumer;
    struct pt_regs regs = {registers->address, registers->stack, registers->result};
    const int told = returns ? consumer->ret_handler(consumer, function, &regs)
                             : consumer->handler(consumer, &regs);

    registers->result = regs.ax;
    return told;
}

int test_enters(u32 number, struct test_registers* registers) {
    return hit(number, 0, false, registers);
}

int test_returns(u32 number, u64 function, struct test_registers* registers) {
    return hit(number, function, true, registers);
}
