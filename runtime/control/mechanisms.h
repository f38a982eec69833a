/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mechanisms that this runtime has, by the rows of mechanisms.def. */
#ifndef DJSTAP_MECHANISM_TABLE_H
#define DJSTAP_MECHANISM_TABLE_H

#include "sites/mechanism.h"

#define DJS_MECHANISM(id, id_, name, ops, flags)                                                   \
	extern const struct djs_mechanism_ops djs_ops_##ops;
#include "include/mechanisms.def"
#undef DJS_MECHANISM

/* Of the row with this number, several of which may have the same. Those of a number that this
 * runtime does not know do nothing. */
const struct djs_mechanism_ops *djs_mechanism_ops(u32 mechanism);
/* The same where no earlier row has it, else NULL: to have each once. */
const struct djs_mechanism_ops *djs_mechanism_ops_once(u32 mechanism);

/* Each of the operations once, in the order of detaching; `i` is a u32. */
#define djs_for_each_ops_backwards(i, ops)                                                         \
	for ((i) = DJS_MECHANISM_COUNT; (i)-- > 0;)                                                \
		if (!((ops) = djs_mechanism_ops_once(i)))                                          \
			;                                                                          \
		else

#endif
