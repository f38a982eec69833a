/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_DELAY_H
#define DJSTAP_TEST_DELAY_H
void usleep_range(unsigned long least, unsigned long most);
#endif
