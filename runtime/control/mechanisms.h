/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mechanisms of this runtime, by the rows of mechanisms.def. */
#ifndef DJSTAP_MECHANISM_TABLE_H
#define DJSTAP_MECHANISM_TABLE_H

#include "sites/mechanism.h"

#define DJS_MECHANISM(id, id_, name, ops, flags)                                                   \
	extern const struct djs_mechanism_ops djs_ops_##ops;
#include "include/mechanisms.def"
#undef DJS_MECHANISM

/* Returns the operations of the row with this number; several rows may share them. Those of an
 * unknown number do nothing. */
const struct djs_mechanism_ops *djs_mechanism_ops(u32 mechanism);
/* The same unless an earlier row has them, then NULL: visits each set of operations once. */
const struct djs_mechanism_ops *djs_mechanism_ops_once(u32 mechanism);

/* Returns the rows that have these operations, as bits. */
u32 djs_mechanism_rows(const struct djs_mechanism_ops *ops);
/* Called once, when handlers run. */
void djs_mechanisms_begin(void);

/* Visits each set of operations once, in the order of detaching; `i` is a u32. */
#define djs_for_each_ops_backwards(i, ops)                                                         \
	for ((i) = DJS_MECHANISM_COUNT; (i)-- > 0;)                                                \
		if (!((ops) = djs_mechanism_ops_once(i)))                                          \
			;                                                                          \
		else

#endif
