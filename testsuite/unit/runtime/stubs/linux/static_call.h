/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for direct_for_test.c, which defines it. */
#ifndef DJSTAP_TEST_STATIC_CALL_H
#define DJSTAP_TEST_STATIC_CALL_H
struct static_call_key {
    void *func, *mods;
};
static void __static_call_update(struct static_call_key* key, void* trampoline, void* function);
#endif
