/* SPDX-License-Identifier: GPL-2.0-or-later
 * What a fentry site calls, for this runtime and for modules that have djprobes of their own
 * (capi).
 */
#ifndef DJSTAP_CALLEE_H
#define DJSTAP_CALLEE_H

#include <linux/ftrace.h>
#include <linux/uaccess.h>

/* Where the site's call leads; 0: there is none. */
static inline unsigned long djs_callee_of(unsigned long site)
{
	u8 text[MCOUNT_INSN_SIZE];

	if (copy_from_kernel_nofault(text, (void *)site, sizeof(text)) || text[0] != 0xe8)
		return 0;
	return site + sizeof(text) + *(s32 *)(text + 1);
}

#endif
