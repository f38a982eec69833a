/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_MODULEPARAM_H
#define DJSTAP_TEST_MODULEPARAM_H
#define MODULE_NAME_LEN 56
struct module;
void kernel_param_lock(struct module* module);
void kernel_param_unlock(struct module* module);
#endif
