/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's registers, for capi_for_test.c. */
#ifndef DJSTAP_TEST_PTRACE_H
#define DJSTAP_TEST_PTRACE_H
struct pt_regs {
    unsigned long ip;
};
#define instruction_pointer(registers) ((registers)->ip)
#endif
