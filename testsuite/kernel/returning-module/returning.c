// SPDX-License-Identifier: GPL-2.0-or-later
// A module for tests of return probes: the writer to /proc/returning does what it writes.
//     stay       sleeps in returning_stay() until `go` is written
//     die        a thread ends inside returning_die()
//     leftover   sleeps until `go`, outside of returning_quick(), but with all that its call left
//                on the stack
//     deep       calls itself until `kept` bytes of its stack are left
//     interrupt  the same in an interrupt, on a stack that is not aligned to its size
//     kill-ftrace  does what ftrace does when it finds unexpected text
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

static DECLARE_WAIT_QUEUE_HEAD(staying);
static int gone; // number of deaths

noinline int returning_stay(int until);
noinline int returning_stay(int until) {
    return wait_event_interruptible(staying, READ_ONCE(gone) >= until);
}

noinline int returning_quick(int number);
noinline int returning_quick(int number) {
    return READ_ONCE(gone) + number;
}

static noinline void go_deep(void) {
    unsigned long room[8];

    OPTIMIZER_HIDE_VAR(room[0]);
    returning_quick(1);
    barrier_data(room);
}

static noinline void stay_above_leftovers(void) {
    unsigned long room[64] __attribute__((uninitialized));

    barrier_data(room);
    wait_event_interruptible(staying, READ_ONCE(gone) > 0);
    barrier_data(room);
}

static int levels; // of the last `deep`
module_param(levels, int, 0444);
static int kept = 2048;
module_param(kept, int, 0644);

static unsigned long lowest; // of the stack pointer

noinline int returning_deep(int level);
noinline int returning_deep(int level) {
    unsigned long room[32] __attribute__((uninitialized));

    barrier_data(room);
    levels = level;
    if (current_stack_pointer > lowest)
        level = returning_deep(level + 1) - 1;
    barrier_data(room);
    return level;
}

static void interrupted(struct irq_work* work) {
    // The stack has been empty but for the entry of the interrupt.
    lowest = current_stack_pointer - IRQ_STACK_SIZE + 512 + kept;
    returning_deep(1);
}
static DEFINE_IRQ_WORK(interrupt, interrupted);

static bool alive = true; // makes the compiler assume that returning_die() returns
module_param(alive, bool, 0644);

noinline int returning_die(void);
noinline int returning_die(void) {
    if (READ_ONCE(alive))
        kthread_complete_and_exit(NULL, 0);
    return 1;
}

static int dying_thread(void* unused) {
    return returning_die();
}

static int kill_ftrace(void) {
    struct kprobe place = {.symbol_name = "ftrace_kill", .flags = KPROBE_FLAG_DISABLED};
    int error = register_kprobe(&place); // tells its address

    if (error)
        return error;
    unregister_kprobe(&place);
    ((void (*)(void))place.addr)();
    return 0;
}

static ssize_t write_command(struct file* file, const char __user* from, size_t size,
                             loff_t* position) {
    char text[32] = "";

    if (size >= sizeof(text) || copy_from_user(text, from, size))
        return -EFAULT;
    if (!strncmp(text, "stay", 4)) {
        returning_stay(READ_ONCE(gone) + 1);
    } else if (!strncmp(text, "go", 2)) {
        gone++;
        wake_up_all(&staying);
    } else if (!strncmp(text, "die", 3)) {
        kthread_run(dying_thread, NULL, "dying");
    } else if (!strncmp(text, "leftover", 8)) {
        go_deep();
        stay_above_leftovers();
    } else if (!strncmp(text, "deep", 4)) {
        lowest = (current_stack_pointer & ~(THREAD_SIZE - 1)) + kept;
        return returning_deep(1) == 1 ? size : -EIO;
    } else if (!strncmp(text, "interrupt", 9)) {
        irq_work_queue(&interrupt);
        irq_work_sync(&interrupt);
    } else if (!strncmp(text, "kill-ftrace", 11)) {
        return kill_ftrace() ?: size;
    } else {
        return -EINVAL;
    }
    return size;
}

static const struct proc_ops operations = {.proc_write = write_command};

static int __init returning_init(void) {
    return proc_create("returning", 0200, NULL, &operations) ? 0 : -ENOMEM;
}

static void __exit returning_exit(void) {
    remove_proc_entry("returning", NULL);
}

module_init(returning_init);
module_exit(returning_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("functions that return late, or never, for djstap's tests");
