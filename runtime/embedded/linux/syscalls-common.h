/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of constants and their names. SystemTap's aux_syscalls.stp defines the functions that look
 * names up; other tapsets may come before it. */
#ifndef DJSTAP_SYSCALLS_COMMON_H
#define DJSTAP_SYSCALLS_COMMON_H

typedef struct {
	long val;
	char *name;
} _stp_val_array;
#define V(constant) {constant, #constant}

static void _stp_lookup_str2(const _stp_val_array *const array, long val, char *ptr, int len,
			     int base);
static inline void _stp_lookup_str(const _stp_val_array *const array, long val, char *ptr, int len);
static void _stp_lookup_or_str2(const _stp_val_array *const array, long val, char *ptr, int len,
				int base);
static inline void _stp_lookup_or_str(const _stp_val_array *const array, long val, char *ptr,
				      int len);

#endif
