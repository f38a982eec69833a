/* SPDX-License-Identifier: GPL-2.0-or-later
 * What a fentry site calls, for this runtime and for modules that have djprobes of their own
 * (capi).
 */
#ifndef DJSTAP_CALLEE_H
#define DJSTAP_CALLEE_H

#include <linux/uaccess.h>

#include "arch/runtime.h"

/* Where the site's call leads; 0: there is none. */
static inline unsigned long djs_callee_of(unsigned long site)
{
	u8 text[DJS_CALL_BYTES];

	if (copy_from_kernel_nofault(text, (void *)site, sizeof(text)))
		return 0;
	return djs_callee(text, site);
}

#endif
