/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of a process that has hit a probe, which the tests of runtime/uprobe/ make up. */
#ifndef DJSTAP_UPROBE_REGISTERS_FOR_TEST_H
#define DJSTAP_UPROBE_REGISTERS_FOR_TEST_H

struct pt_regs {
    unsigned long ip, sp, ax;
};
#define instruction_pointer(regs) ((regs)->ip)
#define user_stack_pointer(regs) ((regs)->sp)
#define djs_returned_from(regs) ((regs)->sp - 8)
#define regs_return_value(regs) ((regs)->ax)
#define regs_set_return_value(regs, value) ((void)((regs)->ax = (value)))

#endif
