/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_PID_NAMESPACE_H
#define DJSTAP_TEST_PID_NAMESPACE_H
#include "linux/pid.h"
struct pid_namespace {
    int unused;
};
struct pid_namespace* task_active_pid_ns(struct task_struct* task);
#endif
