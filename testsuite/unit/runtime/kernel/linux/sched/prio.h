/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: its priorities. */
#ifndef DJSTAP_TEST_PRIO_H
#define DJSTAP_TEST_PRIO_H
#define MAX_RT_PRIO 100
#define PRIO_TO_NICE(prio) ((prio) - 120)
#endif
