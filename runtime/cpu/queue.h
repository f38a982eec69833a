/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's queue of work items that any CPU may execute: its former name is deprecated, and the
 * kernel says so in its log. */
#ifndef DJSTAP_QUEUE_H
#define DJSTAP_QUEUE_H

#include <linux/workqueue.h>

#ifdef DJS_HAVE_DFL_QUEUE
#define DJS_QUEUE system_dfl_wq
#else
#define DJS_QUEUE system_unbound_wq
#endif

#endif
