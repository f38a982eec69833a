/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: what they read of files. */
#ifndef DJSTAP_TEST_FS_H
#define DJSTAP_TEST_FS_H
#include <sys/stat.h>
#include <sys/types.h>

#include "include/platform.h"

struct super_block {
    dev_t s_dev;
};
struct inode {
    unsigned i_mode;
    unsigned long i_ino;
    struct super_block* i_sb;
    u32 i_generation;
};
struct dentry {
    struct inode* d_inode;
};
struct path {
    struct dentry* dentry;
};
struct file {
    struct inode* f_inode;
    struct path f_path;
    unsigned f_mode;
    const char* text;
    u64 bytes;
    void* private_data;
};

#define FMODE_READ 1u
#define FMODE_WRITE 2u
#define file_inode(file) ((file)->f_inode)

static inline struct inode* d_inode(const struct dentry* dentry) {
    return dentry->d_inode;
}
void path_put(const struct path* path);
ssize_t kernel_read(struct file* file, void* to, size_t bytes, loff_t* position);
#endif
