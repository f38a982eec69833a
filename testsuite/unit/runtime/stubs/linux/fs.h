/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's header, of which capi_for_test.c needs the name of a structure. */
struct file;
