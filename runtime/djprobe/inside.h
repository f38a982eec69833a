/* SPDX-License-Identifier: GPL-2.0-or-later
 * Calls of functions with return djprobes that have not returned, for direct.c, inside.c and
 * stacks.c.
 */
#ifndef DJSTAP_INSIDE_H
#define DJSTAP_INSIDE_H

#include "include/platform.h"

/* A target with return handlers is going to be attached: from now on somebody may be inside,
 * whatever becomes of its sites. */
void djs_inside_expect(void);

/* True unless the stacks of all tasks but the current one show that they are outside. Proves it for
 * the time to come only where nobody can enter any more. May sleep. */
bool djs_anybody_inside(void);

/* Whether the task that djs_anybody_inside found last may still be inside: false tells nothing of
 * others. */
bool djs_last_found_inside(void);
void djs_forget_last_found(void);

/* The calls that the current task is in and comes back to. S32_MAX: some, its stack does not tell
 * how many. */
s64 djs_calls_of_current(void);

/* ": cat (231), sleep (17)": the tasks that are certainly inside; as many as there is room for. */
void djs_name_inside(char *text, size_t size);

#endif
