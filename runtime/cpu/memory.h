/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits the memory that a session may take. An allocation that exhausts the machine's memory makes
 * the kernel kill unrelated processes, whatever the allocation's flags are: the next page that
 * anything else needs is missing. Large sizes are therefore compared with the available memory
 * before the first page is allocated.
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
