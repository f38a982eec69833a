// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests of user stacks: who writes "hold" to /proc/holding keeps the mappings of its
// process locked, until somebody writes "go" or it is killed.
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

static DECLARE_WAIT_QUEUE_HEAD(holding);
static bool gone;

noinline int holding_stay(void);
noinline int holding_stay(void) {
    return wait_event_killable(holding, READ_ONCE(gone));
}

static ssize_t write_command(struct file* file, const char __user* from, size_t size,
                             loff_t* position) {
    char first;

    if (!size || get_user(first, from))
        return -EFAULT;
    if (first == 'h') {
        int error;

        mmap_write_lock(current->mm);
        error = holding_stay();
        mmap_write_unlock(current->mm);
        return error ? error : size;
    }
    WRITE_ONCE(gone, true);
    wake_up_all(&holding);
    return size;
}

static const struct proc_ops operations = {.proc_write = write_command};

static int __init holding_init(void) {
    return proc_create("holding", 0200, NULL, &operations) ? 0 : -ENOMEM;
}

static void __exit holding_exit(void) {
    remove_proc_entry("holding", NULL);
}

module_init(holding_init);
module_exit(holding_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a process whose mappings stay locked, for djstap's tests");
