/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_CAPABILITY_H
#define DJSTAP_TEST_CAPABILITY_H
#include <stdbool.h>
#define CAP_SYS_ADMIN 21
#define CAP_PERFMON 38
bool capable(int capability);
/* CAP_SYS_ADMIN includes the other one. */
#define perfmon_capable() (capable(CAP_PERFMON) || capable(CAP_SYS_ADMIN))
#endif
