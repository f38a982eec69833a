/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_TASK_STACK_H
#define DJSTAP_TEST_TASK_STACK_H
struct task_struct;
void* task_stack_page(const struct task_struct* task);
#endif
