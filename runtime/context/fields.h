/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of the kernel's structures at addresses that a script gives: the memory may be unmapped.
 */
#ifndef DJSTAP_FIELDS_H
#define DJSTAP_FIELDS_H

#include "access/access.h"

/* The field's value; 0, and a script error, when it cannot be read. */
#define FIELD_OR_FAIL(ctx, address, type, field)                                                   \
	djs_load_here(ctx, (u64)(address) + offsetof(type, field), sizeof(((type *)0)->field),     \
		      DJS_NO_PLACE)

/* Puts `bytes` bytes in front of the text of `length` bytes. What does not fit is lost from its
 * end. Returns the new length. */
static __always_inline u32 djs_prepend(char *out, u32 length, const char *from, u32 bytes)
{
	u32 room = djs_script.string_bytes - 1;

	bytes = min(bytes, room);
	length = min(length, room - bytes);
	memmove(out + bytes, out, length);
	memcpy(out, from, bytes);
	return bytes + length;
}

#endif
