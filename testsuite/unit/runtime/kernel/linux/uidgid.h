/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: IDs of users and groups. */
#ifndef DJSTAP_TEST_UIDGID_H
#define DJSTAP_TEST_UIDGID_H
typedef struct {
    u32 val;
} kuid_t;
typedef struct {
    u32 val;
} kgid_t;
#define __kuid_val(id) ((id).val)
#define __kgid_val(id) ((id).val)
#endif
