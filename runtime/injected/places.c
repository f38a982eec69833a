// SPDX-License-Identifier: GPL-2.0-or-later
// Where in the program a handler was called from.
#include "injected/internal.h"
#include "include/functions.h"
#include "userspace/kernel.h"

static const struct djs_place *places;
static u32 place_count;

unsigned long *djs_biases; /* handlers load from it */

void djs_injected_places(const struct djs_place *given, u32 count, unsigned long *biases)
{
	djs_biases = biases;
	places = given;
	place_count = count;
}

static const struct djs_place *place_of_return(u64 return_address)
{
	u32 low = 0, high = place_count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (places[middle].return_address < return_address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < place_count && places[low].return_address == return_address ? &places[low]
										 : NULL;
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
