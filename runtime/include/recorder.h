/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flight recorder: rings in overwrite mode (module parameter overwrite=1), where new records
 * replace the oldest. Handlers write as they always do. A ring is a row of parts that no record
 * crosses; a handler that finds its part full moves to the next one, which is zeroed first. The
 * unused rest of the old part holds one padding record, or nothing where a header does not fit.
 *
 * A reader copies a part and then checks whether it was handed to writers again in the meantime. A
 * ring can therefore be read at any time, by any reader, any number of times. */
#ifndef DJSTAP_RECORDER_H
#define DJSTAP_RECORDER_H

#include "include/platform.h"
#include "include/record.h"

#define DJS_PART_BYTES DJS_RECORD_MAX /* a power of two; the largest record */
#define DJS_PARTS_MIN  4u	      /* parts of a ring, at least */

/* The page before a ring's data, which readers map together with it. */
struct djs_ring_page {
	u64 tail; /* written by the reader; not used by a recorder */
	/* recorder: offset of the newest part, counted in all bytes ever handed to writers */
	u64 newest;
};

/*
 * Marker pages, for crash dumps: they describe where the rings lie in physical memory and are found
 * there by their magic. Nothing else in the kernel needs to be intact or known. A ring has as many
 * marker pages as its pages require; the first page listed is its djs_ring_page. The table of
 * symbols (symbols.h) is described in the same way, without such a page, as the ring of
 * DJS_DUMP_SYMBOLS.
 */
static inline u64 djs_hash_bytes(const char *bytes, size_t size) /* FNV-1a */
{
	u64 hash = 0xcbf29ce484222325ull;

	while (size--)
		hash = (hash ^ (u8)*bytes++) * 0x100000001b3ull;
	return hash;
}

#define DJS_DUMP_MAGIC	 "djstap rings \x01\x02\x05" /* 16 bytes, without the terminator */
#define DJS_DUMP_PAGES	 502u
#define DJS_DUMP_SYMBOLS (~0u) /* in place of a CPU's number */

struct djs_dump_page {
	char magic[16];
	/* identifies the script: djs_hash_bytes() of its description (section .djstap.meta) */
	u64 identity;
	u64 ring_bytes; /* excluding the djs_ring_page; of the table of symbols */
	u32 cpu;
	u32 first; /* index in the ring of the first page listed here */
	u32 count; /* number of pages listed here */
	u32 overwrite;
	struct djs_clock clock;	    /* when the module was loaded */
	u64 frames[DJS_DUMP_PAGES]; /* physical page numbers */
};

#endif
