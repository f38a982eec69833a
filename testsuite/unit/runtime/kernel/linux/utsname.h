/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_UTSNAME_H
#define DJSTAP_TEST_UTSNAME_H
struct new_utsname {
    char nodename[65], release[65], version[65];
};
struct new_utsname* init_utsname(void);
#endif
