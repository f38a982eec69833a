// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/init.h>
#include <linux/module.h>
#include <linux/sort.h>
#include "tiny.h"

#if !defined(TINY_HAVE_PRINTK) || !defined(TINY_HAVE_MODULE)
#error "a feature that the kernel has was not found"
#endif
#if defined(TINY_HAVE_NOTHING) || defined(TINY_HAVE_NO_FILE)
#error "a feature that the kernel does not have was found"
#endif

int djs_answer;
module_param_named(answer, djs_answer, int, 0444);

static int __init tiny_init(void)
{
	djs_answer = djs_script.run(djs_script.count);
	pr_info("%s: the answer is %d\n", THIS_MODULE->name, djs_answer);
	return 0;
}

static void __exit tiny_exit(void)
{
	pr_info("%s: bye\n", THIS_MODULE->name);
}

module_init(tiny_init);
module_exit(tiny_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("test runtime");
