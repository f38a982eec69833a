// SPDX-License-Identifier: GPL-2.0-or-later
#include "tiny.h"

// The kernel has a function of this name in a header that main.c includes.
static int sort(int value)
{
	return value + 1;
}

__attribute__((__noinline__)) int djs_double(int value)
{
	return value * 2;
}

__attribute__((__noinline__, __section__(".kprobes.text"))) int djs_apply(int (*function)(int),
									  int value)
{
	return sort(function(value));
}
