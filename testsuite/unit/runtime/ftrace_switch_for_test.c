// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>

#include "kernel_for_test.h"

/* What other sources have of this. */
#define djs_ftrace_dead test_switch_ftrace_dead
#define djs_ftrace_switch_open test_switch_open
#define djs_ftrace_enabled test_switch_is_on
#define djs_ftrace_enable test_switch_set
#define djs_ftrace_keep test_keep_ftrace
#define djs_ftrace_let_go test_let_ftrace_go
#define path_put test_switch_path_put
#define kernel_read test_switch_read
#define ftrace_free_filter test_switch_free_filter

#include "linux/fs.h"
#include "linux/ftrace.h"
#include "linux/pid.h"
#include "linux/rcupdate.h"
#include "linux/sched/signal.h"
#include "linux/workqueue.h"

#include "ftrace_switch_for_test.h"
#include "log_for_test.h"

char test_switch_log[1024];
#define note(...) log_for_test(test_switch_log, sizeof(test_switch_log), __VA_ARGS__)

#define INIT_WORK_ONSTACK(what, function) ((void)((what)->run = (function)))
/* Whoever asks may have no root directory, and may be about to exit; the worker has what it needs.
 */
static struct work_struct* queued;
static bool is_worker;
#undef queue_work
#define queue_work(queue, what) ((void)(queued = (what)))
static void flush(struct work_struct* work);
#define flush_work(what) flush(what)
#define destroy_work_on_stack(what) (queued ? abort() : (void)(what))
static struct file* file_open_root(const struct path* root, const char* name, int flags, int mode);
static ssize_t kernel_write(struct file* file, const void* from, size_t bytes, loff_t* position);
static int filp_close(struct file* file, void* id);

#include "sites/ftrace_switch.c"

char test_switch_text[8];
long test_switch_most;
int test_switch_open_error, test_switch_error;
bool test_switch_has_process;
int test_keeper_filter_error, test_keeper_error, test_keeper_end_error;

static struct task_struct first_process;
static int root_references, open_files, root_folder;
static struct file file_of_test;
static struct dentry root_of_test;

static void flush(struct work_struct* work) {
    test_may_sleep();
    if (queued != work)
        abort();
    queued = NULL;
    is_worker = true;
    work->run(work);
    is_worker = false;
}

struct pid* find_pid_ns(int number, struct pid_namespace* names) {
    if (number != 1 || names != &init_pid_ns || !test_rcu_depth)
        abort();
    return (struct pid*)&first_process;
}

struct pid_namespace {
    int unused;
} init_pid_ns;

struct task_struct* pid_task(struct pid* pid, enum pid_type type) {
    if (!test_rcu_depth) /* it exits meanwhile */
        abort();
    return test_switch_has_process ? (struct task_struct*)pid : NULL;
}

void get_fs_root(struct fs_struct* fs, struct path* root) {
    if (fs != (struct fs_struct*)&root_folder || !first_process.is_locked ||
        !first_process.references)
        abort();
    root->dentry = &root_of_test;
    root_references++;
}

void path_put(const struct path* path) {
    test_may_sleep();
    if (path->dentry != &root_of_test)
        abort();
    test_put(&root_references);
}

static struct file* file_open_root(const struct path* root, const char* name, int flags, int mode) {
    test_may_sleep();
    if (!is_worker || root->dentry != &root_of_test || !root_references || mode ||
        strcmp(name, "proc/sys/kernel/ftrace_enabled"))
        abort();
    if (test_switch_open_error)
        return ERR_PTR(test_switch_open_error);
    open_files++;
    file_of_test.f_mode = flags == O_RDONLY ? FMODE_READ : flags == O_WRONLY ? FMODE_WRITE : 0;
    return &file_of_test;
}

static int filp_close(struct file* file, void* id) {
    if (file != &file_of_test || id)
        abort();
    test_put(&open_files);
    return 0;
}

ssize_t kernel_read(struct file* file, void* to, size_t bytes, loff_t* position) {
    const size_t length = strlen(test_switch_text);

    test_may_sleep();
    if (!open_files || file->f_mode != FMODE_READ || *position)
        abort();
    if (test_switch_error)
        return test_switch_error;
    bytes = min_t(size_t, bytes, min_t(size_t, length, (size_t)test_switch_most));
    memcpy(to, test_switch_text, bytes);
    return (ssize_t)bytes;
}

static ssize_t kernel_write(struct file* file, const void* from, size_t bytes, loff_t* position) {
    test_may_sleep();
    if (!open_files || file->f_mode != FMODE_WRITE || *position ||
        bytes >= sizeof(test_switch_text))
        abort();
    if (test_switch_error)
        return test_switch_error;
    memset(test_switch_text, 0, sizeof(test_switch_text));
    memcpy(test_switch_text, from, bytes);
    return min_t(ssize_t, (ssize_t)bytes, test_switch_most);
}

void kernel_halt(void) {}

static bool is_registered; /* the ops of which the kernel knows */

int ftrace_set_filter_ip(struct ftrace_ops* ops, unsigned long address, int remove, int reset) {
    test_may_sleep();
    note("filter%s\n", ops->func && (ops->flags & FTRACE_OPS_FL_PERMANENT) ? "" : " of others");
    if (address != (unsigned long)kernel_halt || remove || reset)
        abort();
    return test_keeper_filter_error;
}

void ftrace_free_filter(struct ftrace_ops* ops) {
    test_may_sleep();
    if (is_registered) /* the kernel would warn */
        abort();
    note("no filter\n");
}

int register_ftrace_function(struct ftrace_ops* ops) {
    test_may_sleep();
    note("on\n");
    if (is_registered)
        abort();
    is_registered = !test_keeper_error;
    return test_keeper_error;
}

int unregister_ftrace_function(struct ftrace_ops* ops) {
    test_may_sleep();
    note("off\n");
    if (!is_registered)
        abort();
    is_registered = test_keeper_end_error != 0;
    return test_keeper_end_error;
}

void test_switch_has_no_root(void) {
    first_process.fs = NULL; /* it is exiting */
}

int test_switch_references(void) {
    return first_process.references + root_references + open_files;
}

void test_switch_begin(void) {
    strcpy(test_switch_text, "1\n");
    test_switch_most = sizeof(test_switch_text);
    test_switch_open_error = test_switch_error = 0;
    test_switch_has_process = true;
    test_keeper_filter_error = test_keeper_error = test_keeper_end_error = 0;
    test_switch_log[0] = 0;
    memset(&first_process, 0, sizeof(first_process));
    first_process.fs = (struct fs_struct*)&root_folder;
    keeping = is_registered = false;
}
