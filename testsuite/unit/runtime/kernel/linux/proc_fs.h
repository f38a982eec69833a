/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_PROC_FS_H
#define DJSTAP_TEST_PROC_FS_H
#include "linux/fs.h"

typedef unsigned umode_t;
struct poll_table_struct;
struct proc_dir_entry;
struct vm_area_struct;
struct proc_ops {
    int (*proc_open)(struct inode* inode, struct file* file);
    int (*proc_release)(struct inode* inode, struct file* file);
    ssize_t (*proc_read)(struct file* file, char* to, size_t size, loff_t* at);
    ssize_t (*proc_write)(struct file* file, const char* from, size_t size, loff_t* at);
    loff_t (*proc_lseek)(struct file* file, loff_t offset, int whence);
    unsigned (*proc_poll)(struct file* file, struct poll_table_struct* table);
    int (*proc_mmap)(struct file* file, struct vm_area_struct* vma);
    long (*proc_ioctl)(struct file* file, unsigned command, unsigned long argument);
};
loff_t default_llseek(struct file* file, loff_t offset, int whence);
void* pde_data(const struct inode* inode);
struct proc_dir_entry* proc_mkdir(const char* name, struct proc_dir_entry* parent);
struct proc_dir_entry* proc_create_data(const char* name, umode_t mode,
                                        struct proc_dir_entry* parent, const struct proc_ops* ops,
                                        void* data);
struct proc_dir_entry* proc_create(const char* name, umode_t mode, struct proc_dir_entry* parent,
                                   const struct proc_ops* ops);
void proc_remove(struct proc_dir_entry* entry);
void remove_proc_entry(const char* name, struct proc_dir_entry* parent);
#endif
