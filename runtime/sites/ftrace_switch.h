/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of kernel.ftrace_enabled, which is the same one for all modules. */
#ifndef DJSTAP_SITES_FTRACE_SWITCH_H
#define DJSTAP_SITES_FTRACE_SWITCH_H

struct file;

/* In a work item: opens it, or returns an error. */
struct file *djs_ftrace_switch_open(int flags);

#endif
