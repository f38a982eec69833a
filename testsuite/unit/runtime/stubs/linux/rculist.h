/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's header, of which hashtable.h has what is needed. */
