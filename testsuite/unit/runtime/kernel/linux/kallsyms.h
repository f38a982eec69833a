/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_KALLSYMS_H
#define DJSTAP_TEST_KALLSYMS_H
#define KSYM_SYMBOL_LEN 512
int sprint_symbol(char* text, unsigned long address);
#endif
