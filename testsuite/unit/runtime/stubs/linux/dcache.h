/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's structures for paths_for_test.c, as far as they are read. */
#ifndef DJSTAP_TEST_DCACHE_H
#define DJSTAP_TEST_DCACHE_H
struct dentry {
    struct dentry* d_parent;
    struct {
        unsigned int len;
        const char* name;
    } d_name;
};

struct vfsmount {
    struct dentry* mnt_root;
};

#define TASK_COMM_LEN 16
struct task_struct {
    struct task_struct* real_parent;
    unsigned long start_boottime;
    int tgid;
    char comm[TASK_COMM_LEN];
};
#define NSEC_PER_SEC 1000000000L
#endif
