/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The callee of an fentry site, for this runtime and for modules with djprobes of their own (capi).
 */
#ifndef DJSTAP_CALLEE_H
#define DJSTAP_CALLEE_H

#include <linux/uaccess.h>

#include "arch/runtime.h"

/* Returns the callee of the site's call; 0: no call. */
static inline unsigned long djs_callee_of(unsigned long site)
{
	u8 text[DJS_CALL_BYTES];

	if (copy_from_kernel_nofault(text, (void *)site, sizeof(text)))
		return 0;
	return djs_callee(text, site);
}

#endif
