/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of functions with return djprobes that have not returned yet, for direct.c, inside.c and
 * stacks.c.
 */
#ifndef DJSTAP_INSIDE_H
#define DJSTAP_INSIDE_H

#include "include/platform.h"

/* A trampoline with return handlers is about to be attached: from now on tasks may be inside,
 * whatever happens to its sites. */
void djs_inside_expect(void);

/* True unless the stacks of all tasks but the current one show that they are outside. The result
 * stays valid only if no task can enter any more. May sleep. */
bool djs_anybody_inside(void);

/* True if the task that djs_anybody_inside found last may still be inside; false says nothing about
 * other tasks. */
bool djs_last_found_inside(void);
void djs_forget_last_found(void);

/* Returns the number of calls that the current task is inside of and will return to. S32_MAX: some,
 * but its stack does not tell how many. */
s64 djs_calls_of_current(void);

/* Writes ": cat (231), sleep (17)": the tasks that are certainly inside, as many as fit. */
void djs_name_inside(char *text, size_t size);

#endif
