/* SPDX-License-Identifier: GPL-2.0-or-later
 * How much memory a session may take. An allocation that empties the machine makes the kernel kill
 * processes that have nothing to do with the session, whichever flags that allocation has: the next
 * page that anybody else needs is not there. So what is large is compared with what is available
 * before its first page is allocated.
 */
#ifndef DJSTAP_MEMORY_H
#define DJSTAP_MEMORY_H

#ifdef __KERNEL__
#include <linux/mm.h>
#endif
#include "cpu/cpu.h"

/* Returns whether `bytes` more leave others a quarter of the memory that is available now. */
static inline bool djs_memory_allows(u64 bytes)
{
	u64 available = max_t(s64, si_mem_available(), 0);

	return bytes >> PAGE_SHIFT <= available - available / 4;
}

#endif
