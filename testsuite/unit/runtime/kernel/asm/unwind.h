/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: a test says what it finds. */
#ifndef DJSTAP_TEST_UNWIND_H
#define DJSTAP_TEST_UNWIND_H
#include <stdbool.h>
struct pt_regs;
struct task_struct;
struct unwind_state {
    struct task_struct* task;
    unsigned at;
};
void unwind_start(struct unwind_state* state, struct task_struct* task, struct pt_regs* regs,
                  unsigned long* frame);
bool unwind_done(const struct unwind_state* state);
bool unwind_next_frame(struct unwind_state* state);
bool unwind_error(const struct unwind_state* state);
struct pt_regs* unwind_get_entry_regs(const struct unwind_state* state, bool* partial);
unsigned long unwind_get_return_address(const struct unwind_state* state);
#endif
