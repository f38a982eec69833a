/* SPDX-License-Identifier: GPL-2.0-or-later
 * The flight recorder: rings whose oldest records give way to new ones (module parameter
 * overwrite=1). Handlers write as they always do; a ring is a row of parts that no record crosses,
 * and a handler that finds its part full moves to the next one, which is zeroed first. What of the
 * old part was left over holds one padding record, or nothing where a header does not fit.
 *
 * Whoever reads copies a part and then looks whether it was given to writers again meanwhile. So it
 * is read at any time, by anybody, any number of times.
 */
#ifndef DJSTAP_RECORDER_H
#define DJSTAP_RECORDER_H

#include "include/platform.h"
#include "include/record.h"

#define DJS_PART_BYTES DJS_RECORD_MAX /* a power of two; no record is longer */
#define DJS_PARTS_MIN  4u	      /* of a ring */

/* The page before a ring's data, which its reader maps with it. */
struct djs_ring_page {
	u64 tail;   /* written by the reader; not used by a recorder */
	u64 newest; /* recorder: where the newest part begins, in bytes ever given to writers */
};

/*
 * For a crash dump: pages that tell where the rings lie in physical memory, found there by their
 * first bytes. Nothing else of the kernel needs to be intact, nor known. A ring has as many of
 * these as its pages need; the first page listed is its djs_ring_page.
 */
static inline u64 djs_hash_bytes(const char *bytes, size_t size) /* FNV-1a */
{
	u64 hash = 0xcbf29ce484222325ull;

	while (size--)
		hash = (hash ^ (u8)*bytes++) * 0x100000001b3ull;
	return hash;
}

#define DJS_DUMP_MAGIC "djstap rings \x01\x02\x04" /* 16 bytes, without the terminator */
#define DJS_DUMP_PAGES 502u

struct djs_dump_page {
	char magic[16];
	u64 identity;	/* of the script: djs_hash_bytes() of its description (section .djstap.meta)
			 */
	u64 ring_bytes; /* without the djs_ring_page */
	u32 cpu;
	u32 first; /* index in the ring of the first page listed here */
	u32 count; /* listed here */
	u32 overwrite;
	struct djs_clock clock;	    /* when the module was loaded */
	u64 frames[DJS_DUMP_PAGES]; /* physical page numbers */
};

#endif
