/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: they have their own clocks. */
#ifndef DJSTAP_TEST_SCHED_CLOCK_H
#define DJSTAP_TEST_SCHED_CLOCK_H
#endif
