/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_PID_H
#define DJSTAP_TEST_PID_H
struct pid;
struct pid_namespace;
struct task_struct;
enum pid_type { PIDTYPE_PID };
extern struct pid_namespace init_pid_ns;
struct pid* find_vpid(int number);
int pid_nr(struct pid* pid);
struct pid* find_pid_ns(int number, struct pid_namespace* names);
struct task_struct* pid_task(struct pid* pid, enum pid_type type);
#endif
