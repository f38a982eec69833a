/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below /proc/systemtap. */
#ifndef DJSTAP_PROCFS_MECHANISM_H
#define DJSTAP_PROCFS_MECHANISM_H

#include "sites/mechanism.h"

/* Removes the files that detaching left, because one's memory was long in coming. Before anything
 * is freed. */
void djs_procfs_finish(void);
u64 djs_procfs_calls(void); /* that read or write a file just now: each holds the module */

#endif
