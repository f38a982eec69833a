// SPDX-License-Identifier: GPL-2.0-or-later
// Where the kernel uses ftrace for a kprobe. A post handler is dangerous there (on 6.1, two
// kprobes, one of them with a post handler, both removed: panic).
#include <linux/delay.h>
#include <linux/uaccess.h>

#include "arch/runtime.h"
#include "kprobe/kprobe.h"

/* While ftrace writes to a site, it begins with a breakpoint; one that stays is a kprobe's. */
#define WRITTEN_MS 20

static bool is_call_or_no_op(unsigned long address)
{
	u8 text[DJS_CALL_BYTES];
	u32 waited;

	for (waited = 0; waited < WRITTEN_MS; waited++) {
		if (copy_from_kernel_nofault(text, (void *)address, sizeof(text)))
			return false;
		if (!djs_is_breakpoint(text))
			return djs_is_call(text) || djs_is_no_op(text);
		msleep(1);
	}
	return false;
}

/* The kernel does not skip a sealed one. Nobody writes to it while the kernel runs. */
static u32 landing_pad_at(unsigned long address)
{
	u8 text[DJS_LANDING_PAD_MAX];

	return copy_from_kernel_nofault(text, (void *)address, sizeof(text))
		   ? 0
		   : djs_landing_pad(text);
}

/* The compiler knows the sites of a file, but not those of a kernel of which only a dump of symbols
 * is known. A function there whose first instruction is an ordinary call is treated as a site, too:
 * the kernel does not replace calls with jumps. */
bool djs_at_fentry_site(const struct djs_site_run *run)
{
	unsigned long entry = djs_site_entry(run->site) + djs_site_bias(run->site);
	u32 pad;

	if (run->site->fentry != DJS_FENTRY_UNKNOWN) {
		if (run->probe != run->address) /* a fallback behind the site */
			return false;
		return run->site->fentry == DJS_FENTRY_YES ||
		       (run->site->fentry == DJS_FENTRY_PAD && landing_pad_at(run->probe));
	}
	pad = landing_pad_at(entry);
	if (run->probe == entry)
		return is_call_or_no_op(entry + pad);
	return (run->probe == entry + pad || run->probe == entry + DJS_LANDING_PAD_MAX) &&
	       is_call_or_no_op(run->probe);
}
