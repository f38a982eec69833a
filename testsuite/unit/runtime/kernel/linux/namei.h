/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include. */
#ifndef DJSTAP_TEST_NAMEI_H
#define DJSTAP_TEST_NAMEI_H
struct path;
#define LOOKUP_FOLLOW 1
int kern_path(const char* name, unsigned flags, struct path* path);
#endif
