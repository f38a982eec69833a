/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_MOUNT_H
#define DJSTAP_TEST_MOUNT_H
struct file;
struct file_system_type;
struct vfsmount;
struct file_system_type* get_fs_type(const char* name);
struct vfsmount* kern_mount(struct file_system_type* type);
void kern_unmount(struct vfsmount* mount);
struct file* file_open_root_mnt(struct vfsmount* mount, const char* name, int flags, unsigned mode);
#endif
