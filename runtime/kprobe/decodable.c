// SPDX-License-Identifier: GPL-2.0-or-later
// Where the kernel would fault when it registers a kprobe. Whatever a kprobe wants, the kernel
// looks whether it can become a jump, and decodes the symbol that contains it for that
// (can_optimize in arch/x86/kernel/kprobes/opt.c). A module's last symbol ends with the last page
// of its text, so an instruction that its padding happens to make there is read from behind that
// page. From 6.4 on, with a module's text in a mapping of its own, nothing is mapped there.
#include <linux/kallsyms.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "kprobe/kprobe.h"

/* Returns the end of the symbol that contains an address, as can_optimize sees it; 0: none does. */
static unsigned long end_of_symbol(unsigned long address)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned long offset, size;
	const char *place;

	sprint_symbol(name, address);
	place = strrchr(name, '+');
	if (!place || sscanf(place, "+0x%lx/0x%lx", &offset, &size) != 2)
		return 0;
	return address - offset + size;
}

bool djs_kprobe_refused(struct djs_site_run *run)
{
	unsigned long end;
	u8 byte;

	if (!djs_image_is_module(run->image) || djs_at_fentry_site(run))
		return false;
	end = end_of_symbol(run->probe);
	if (!end || !copy_from_kernel_nofault(&byte, (void *)end, 1))
		return false;
	djs_site_failed(run, -EFAULT,
			"the kernel would read behind the module's text to place a kprobe there");
	return true;
}
