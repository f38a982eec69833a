/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks through structures of the kernel (runtime/context/paths.c, ancestors.c) that a test makes
 * up. */
#ifndef DJSTAP_PATHS_FOR_TEST_H
#define DJSTAP_PATHS_FOR_TEST_H

#include "include/script.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "stubs/linux/dcache.h"

struct test_mount {
    struct test_mount* parent;
    struct dentry* mountpoint;
    struct vfsmount mnt;
};

void djs_fn_reverse_path_walk(struct djs_ctx* ctx, char* out, s64 dentry);
void djs_fn___path_below(struct djs_ctx* ctx, char* out, s64 dentry, s64 vfsmount, s64 root_dentry,
                         s64 root_vfsmount, s64 mnt, s64 parent, s64 mountpoint);
s64 djs_fn___find_linked(struct djs_ctx* ctx, s64 entry, s64 link, s64 end, s64 field, s64 value);
s64 djs_fn___bits_set(struct djs_ctx* ctx, s64 address, s64 bits);
void djs_fn_pstrace(struct djs_ctx* ctx, char* out, s64 task);
void djs_fn_task_ancestry(struct djs_ctx* ctx, char* out, s64 task, s64 with_time);
#ifdef __cplusplus
}
#endif
#endif
