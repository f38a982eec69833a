/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's header: each test that needs something of it has that. */
