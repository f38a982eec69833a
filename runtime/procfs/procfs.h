/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below /proc/systemtap. */
#ifndef DJSTAP_PROCFS_MECHANISM_H
#define DJSTAP_PROCFS_MECHANISM_H

#include "sites/mechanism.h"

/* Removes the files that detaching left because the memory of a reader or writer blocked. Call it
 * before anything is freed. */
void djs_procfs_finish(void);
/* active calls that read or write a file: each holds a reference to the module */
u64 djs_procfs_calls(void);

#endif
