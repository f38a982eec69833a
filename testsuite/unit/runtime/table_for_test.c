// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>

#include "kernel_for_test.h"

#define DJS_HAVE_FTRACE_DIRECT_MULTI 1
/* What the tests of others have. */
#define djs_direct_room test_table_direct_room
#define djs_direct_lock test_table_direct_lock
#define djs_direct_unlock test_table_direct_unlock
#define djs_ftrace_switch_open test_table_switch_open
#include "log_for_test.h"
#include "table_for_test.h"

char test_table_log[512];
#define note(...) log_for_test(test_table_log, sizeof(test_table_log), __VA_ARGS__)

struct test_table test_table;
struct test_table* test_table_address;
bool test_has_table_symbol, test_has_switch, test_table_kprobe_is_placed;

struct kprobe {
    const char* symbol_name;
    unsigned int flags;
    void* addr;
};
#define KPROBE_FLAG_DISABLED 2
static int register_kprobe(struct kprobe* kprobe) {
    note("%s%s\n", kprobe->symbol_name, kprobe->flags & KPROBE_FLAG_DISABLED ? "" : ", armed");
    kprobe->addr = test_has_table_symbol ? &test_table_address : NULL;
    return test_table_kprobe_is_placed ? 0 : -EINVAL; /* it is no code */
}
static void unregister_kprobe(struct kprobe* kprobe) {
    note("no kprobe\n");
}

struct file {
    int unused;
};
static struct file file_of_test;
#define TASK_SIZE_MAX TEST_KERNEL
#define pr_warn_once(...) note("unknown\n")
#define INIT_WORK_ONSTACK(work, function) ((void)((work)->run = (function)))
#undef queue_work
#define queue_work(queue, work) ((work)->run(work))
#define flush_work(work) note("has opened it\n")
#define destroy_work_on_stack(work) ((void)(work))
#define file_inode(file) (file)
#define inode_lock(inode) note((inode) == &file_of_test ? "locked\n" : "another file\n")
#define inode_unlock(inode) note((inode) == &file_of_test ? "unlocked\n" : "another file\n")
#define filp_close(file, id) note("closed\n")

#include "djprobe/table.c"

struct file* djs_ftrace_switch_open(int flags) {
    return test_has_switch && flags == O_RDONLY ? &file_of_test : (struct file*)(long)-ENOENT;
}

void test_table_begin(void) {
    found_table = 0;
    test_table = (struct test_table){12, TEST_KERNEL, 100};
    test_table_address = &test_table;
    test_has_table_symbol = test_has_switch = true;
    test_table_kprobe_is_placed = false;
    test_table_log[0] = 0;
}

u32 test_table_room(bool is_known, u32 own) {
    return djs_direct_room(is_known ? (unsigned long)&test_table_address : 0, own);
}

void test_table_lock(void) {
    struct file* lock = djs_direct_lock();

    note("between\n");
    djs_direct_unlock(lock);
}
