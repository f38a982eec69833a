// SPDX-License-Identifier: GPL-2.0-or-later
// Reads strings that may end at an unmapped page: in pieces, none of which crosses a page boundary.
// If such a page comes before both the terminator and the requested number of bytes, there is no
// string.
#include <linux/uaccess.h>

#include "access/access.h"

#define PIECE 64u

static __always_inline bool copy_kernel(char *out, u64 at, u32 bytes)
{
#ifdef __KERNEL__ /* a process reads its own memory for both kinds */
	if (!djs_is_kernel(at))
		return false;
#endif
	return !copy_from_kernel_nofault(out, (const void *)at, bytes);
}

static __always_inline long read_string(char *out, u64 address, size_t size, bool user)
{
	size_t done = 0;

	if (!size)
		return 0;
	while (done < size - 1) {
		u32 piece = min_t(size_t, PIECE, size - 1 - done);
		u64 at = address + done;
		const char *end;

		piece = min_t(u64, piece, PAGE_SIZE - (at & (PAGE_SIZE - 1)));
		if (user ? copy_from_user_nofault(out + done, (const void __user *)at, piece)
			 : !copy_kernel(out + done, at, piece)) {
			*out = 0;
			return -EFAULT;
		}
		end = memchr(out + done, 0, piece);
		if (end)
			return end - out;
		done += piece;
	}
	out[done] = 0;
	return done;
}

DJS_HANDLER_CODE long djs_read_kernel_string(char *out, u64 address, size_t size)
{
	return read_string(out, address, size, false);
}

DJS_HANDLER_CODE long djs_read_user_string(char *out, u64 address, size_t size)
{
	return read_string(out, address, size, true);
}

DJS_HANDLER_CODE bool djs_read_bytes(char *out, u64 address, size_t size, bool user)
{
	/* What wraps around faults before it does: the last page of all is never mapped. */
	return user ? !copy_from_user_nofault(out, (const void __user *)address, size)
		    : copy_kernel(out, address, size);
}
