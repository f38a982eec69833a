// SPDX-License-Identifier: GPL-2.0-or-later
// The numbers of places: an image, and the distance of its addresses in a process to those for
// which it was linked. Processes that run the same program without randomized addresses share them.
//
// A place gets a number when a stack first mentions it, by one compare-and-exchange, and keeps it.
#include <linux/atomic.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "include/symbols.h"
#include "ustack/ustack.h"

#define TRIED	   32
#define BIAS_SHIFT 12 /* the least size of a page */
#define IMAGE_AT   (DJS_WORD_ADDRESS_BITS - BIAS_SHIFT)
#define MULTIPLIER 0x9e3779b97f4a7c15ull

static atomic64_t missed = ATOMIC64_INIT(0);
static u64 *places; /* 1 << DJS_WORD_PLACE_BITS; 0: free. Number 0 is not used. */

int djs_user_places_init(void)
{
	places = kvcalloc(1u << DJS_WORD_PLACE_BITS, sizeof(*places), GFP_KERNEL);
	return places ? 0 : -ENOMEM;
}

void djs_user_places_exit(void)
{
	kvfree(places);
	places = NULL;
}

u64 djs_user_places_missed(void)
{
	return atomic64_read(&missed);
}

DJS_HANDLER_CODE u32 djs_user_place(u32 image, u64 bias, bool may_add, bool *is_new)
{
	u64 key = (u64)(image + 1) << IMAGE_AT | bias >> BIAS_SHIFT, found;
	u32 place = key * MULTIPLIER >> (64 - DJS_WORD_PLACE_BITS), tries;

	for (tries = 0; tries < TRIED; tries++, place++) {
		place &= (1u << DJS_WORD_PLACE_BITS) - 1;
		if (!place)
			continue;
		found = READ_ONCE(places[place]);
		if (!found) {
			if (!may_add)
				break;
			found = cmpxchg(&places[place], 0, key);
			*is_new = !found;
			if (!found)
				return place;
		}
		if (found == key)
			return place;
	}
	atomic64_inc(&missed);
	return 0;
}

DJS_HANDLER_CODE bool djs_user_place_find(u32 place, u32 *image, u64 *bias)
{
	u64 key = places && place < 1u << DJS_WORD_PLACE_BITS ? READ_ONCE(places[place]) : 0;

	if (!key)
		return false;
	*image = (u32)(key >> IMAGE_AT) - 1;
	*bias = (key & ((1ull << IMAGE_AT) - 1)) << BIAS_SHIFT;
	return true;
}

DJS_HANDLER_CODE u32 djs_user_word_text(char *out, u64 word)
{
	u64 address = djs_word_address(word), bias;
	const struct djs_user_image *image;
	u32 number, length;

	if (!djs_user_place_find(djs_word_place(word), &number, &bias))
		return scnprintf(out, DJS_SYMBOL_MAX, "0x%llx", address);
	image = djs_user_image(number);
	length = scnprintf(out, DJS_SYMBOL_MAX, "0x%llx [%s+0x%llx]", address, image->path,
			   address - bias);
	return length + 1 +
	       scnprintf(out + length + 1, DJS_SYMBOL_MAX - length - 1, "%*phN",
			 (int)image->build_id_bytes, image->build_id);
}
