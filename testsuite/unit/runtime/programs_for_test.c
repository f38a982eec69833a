// SPDX-License-Identifier: GPL-2.0-or-later
// Programs, processes and calls (runtime/programs/), for tasks and files that are made up.
#include "kernel_for_test.h"

#include "programs_for_test.h"

#include "linux/fs.h"
#include "linux/mm_types.h"
#include "linux/namei.h"
#include "linux/rcupdate.h"
#include "linux/sched.h"

#include "programs/calls.c"

#include "programs/program.c"

#include "programs/tree.c"

struct task_struct* test_current;
static struct task_struct tasks[TEST_TASKS];
static struct mm_struct memories[TEST_TASKS];
static struct super_block devices[TEST_FILES];
static struct inode inodes[TEST_FILES];
static struct dentry dentries[TEST_FILES];
static struct file files[TEST_FILES];
static const char* paths[TEST_FILES];
static int paths_held[TEST_FILES];

void test_set_task(u32 number, const struct test_task* task) {
    memories[number].exe_file = task->file < TEST_FILES ? &files[task->file] : NULL;
    tasks[number] = (struct task_struct){
        .pid = task->pid,
        .tgid = task->tgid,
        .flags = task->flags,
        .start_boottime = task->started,
        .self_exec_id = task->executed,
        .mm = task->has_memory ? &memories[number] : NULL,
        .real_parent = &tasks[task->parent],
        .group_leader = &tasks[task->leader],
    };
}

void test_set_file(u32 number, const struct test_file* file) {
    paths[number] = file->path;
    devices[number].s_dev = file->device;
    inodes[number] = (struct inode){
        .i_mode = file->mode,
        .i_ino = file->inode,
        .i_sb = &devices[number],
        .i_generation = file->generation,
    };
    dentries[number].d_inode = &inodes[number];
    files[number].f_inode = &inodes[number];
}

struct task_struct* test_task(u32 number) {
    return &tasks[number];
}

void test_be_task(u32 number) {
    test_current = &tasks[number];
}

u32 test_paths_held(void) {
    u32 i, held = 0;

    for (i = 0; i < TEST_FILES; i++)
        held += paths_held[i];
    return held;
}

u32 test_tasks_locked(void) {
    u32 i, locked = 0;

    for (i = 0; i < TEST_TASKS; i++)
        locked += tasks[i].is_locked;
    return locked;
}

int kern_path(const char* name, unsigned flags, struct path* path) {
    u32 i;

    test_may_sleep();
    for (i = 0; i < TEST_FILES; i++)
        if (paths[i] && !strcmp(paths[i], name) && flags == LOOKUP_FOLLOW) {
            path->dentry = &dentries[i];
            paths_held[i]++;
            return 0;
        }
    return -ENOENT;
}

void path_put(const struct path* path) {
    test_may_sleep();
    if (!path->dentry)
        abort();
    test_put(&paths_held[path->dentry - dentries]);
}
