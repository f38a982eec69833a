/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's header, of which stack_for_test.c has what is needed. */
