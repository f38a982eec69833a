/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's timers, which the tests that include this let expire: they define what starts and
 * forwards one. */
#ifndef DJSTAP_TEST_HRTIMER_H
#define DJSTAP_TEST_HRTIMER_H
enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
struct hrtimer {
    enum hrtimer_restart (*function)(struct hrtimer* timer);
};
#define hrtimer_init(timer, clock, mode) ((void)(timer))
#define ms_to_ktime(ms) ((long)(ms) * 1000000)
#define ns_to_ktime(ns) ((long)(ns))
#endif
