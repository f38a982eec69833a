/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's header, of which sites_for_test.c needs nothing. */
