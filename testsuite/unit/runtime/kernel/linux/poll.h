/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_POLL_H
#define DJSTAP_TEST_POLL_H
#include "linux/wait.h"
typedef unsigned __poll_t;
typedef struct poll_table_struct {
    wait_queue_head_t* queue;
} poll_table;
#define EPOLLIN 1u
#define EPOLLPRI 2u
#define poll_wait(file, on, table) ((void)(file), (void)((table)->queue = (on)))
#endif
