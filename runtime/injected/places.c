// SPDX-License-Identifier: GPL-2.0-or-later
// Where in the program a handler was called from.
#include "injected/internal.h"
#include "include/functions.h"
#include "userspace/kernel.h"

static const struct djs_places *files;
static u32 file_count;

unsigned long *djs_biases; /* handlers load from it */

void djs_injected_places(const struct djs_places *given, u32 count, unsigned long *biases)
{
	djs_biases = biases;
	files = given;
	file_count = count;
}

static const struct djs_place *find_place(const struct djs_places *file, u64 return_address)
{
	const struct djs_place *places = file->places;
	u32 low = 0, high = file->count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (places[middle].return_address < return_address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < file->count && places[low].return_address == return_address ? &places[low]
										 : NULL;
}

static const struct djs_place *place_of_return(u64 return_address)
{
	u32 i;

	for (i = 0; i < file_count; i++)
		if (return_address >= READ_ONCE(files[i].begin) &&
		    return_address < READ_ONCE(files[i].end))
			return find_place(&files[i], return_address);
	return NULL;
}

const struct djs_site *djs_find_site(const struct djs_handler *handler, u64 return_address)
{
	const struct djs_place *place = place_of_return(return_address);
	u32 site = place ? (u32)place->site : DJS_NO_INDEX;

	while (site != DJS_NO_INDEX) {
		const struct djs_site *found = &djs_script.sites[site];

		if (&djs_script.handlers[found->handler] == handler)
			return found;
		site = found->next;
	}
	return NULL;
}

u64 djs_site_run_address(const struct djs_site *site)
{
	return site->segment == DJS_NO_INDEX ? 0 : site->address + djs_biases[site->segment];
}
