// SPDX-License-Identifier: GPL-2.0-or-later
#include "control/mechanisms.h"

const struct djs_mechanism_ops djs_ops_session = {};

static const struct djs_mechanism_ops *const all_ops[] = {
#define DJS_MECHANISM(id, id_, name, ops, flags) &djs_ops_##ops,
#include "include/mechanisms.def"
#undef DJS_MECHANISM
};

const struct djs_mechanism_ops *djs_mechanism_ops(u32 mechanism)
{
	return mechanism < DJS_MECHANISM_COUNT ? all_ops[mechanism] : &djs_ops_session;
}

const struct djs_mechanism_ops *djs_mechanism_ops_once(u32 mechanism)
{
	u32 i;

	for (i = 0; i < mechanism; i++)
		if (all_ops[i] == all_ops[mechanism])
			return NULL;
	return all_ops[mechanism];
}

u32 djs_mechanism_rows(const struct djs_mechanism_ops *ops)
{
	u32 i, rows = 0;

	for (i = 0; i < DJS_MECHANISM_COUNT; i++)
		rows |= all_ops[i] == ops ? 1u << i : 0;
	return rows;
}

void djs_mechanisms_begin(void)
{
	const struct djs_mechanism_ops *ops;
	u32 i;

	djs_sites_lock();
	for (i = 0; i < DJS_MECHANISM_COUNT; i++) {
		ops = djs_mechanism_ops_once(i);
		if (ops && ops->begin)
			ops->begin();
	}
	djs_sites_unlock();
}
