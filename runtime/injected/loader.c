// SPDX-License-Identifier: GPL-2.0-or-later
// Libraries that the program maps and unmaps while it runs. The dynamic loader calls a function for
// debuggers when it has done so, and before anything in a new library runs; a stub there has djstap
// place the probes meanwhile. The loader holds its lock: one thread asks at a time.
#include <linux/futex.h>
#include <linux/mman.h>

#include "arch/runtime.h"
#include "injected/internal.h"
#include "state/state.h"
#include "userspace/internal.h"
#include "userspace/kernel.h"

#define LOADER_PATIENCE_NS 10000000000ull /* djstap may have been stopped or killed */

static struct djs_loader loader;

struct djs_loader *djs_injected_loader(void)
{
	return &loader;
}

/* Whether the program goes on without an answer: from then on djstap does not change its code. If
 * djstap is at work, it is waited for, but not for ever: it may have been stopped or killed. */
static bool gives_up(u64 until, u64 latest)
{
	const u64 now = djs_user_now();
	const bool is_over = READ_ONCE(djs_gate) & DJS_HANDLER_CHECKS_STATE;
	u32 waits = DJS_LOADER_WAITS;

	if (!is_over && now < until)
		return false;
	if (!__atomic_compare_exchange_n(&loader.state, &waits,
					 (u32)(is_over ? DJS_LOADER_IS_OVER : DJS_LOADER_IS_DEAF),
					 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		if (now < latest)
			return false;
		WRITE_ONCE(loader.state, DJS_LOADER_IS_DEAF);
	}
	return true;
}

static bool is_answered(u32 question)
{
	static const struct __kernel_timespec {
		long seconds, nanoseconds;
	} a_while = {0, 20000000};
	const u64 until = djs_user_now() + LOADER_PATIENCE_NS;
	u32 answered;

	for (;;) {
		answered = __atomic_load_n(&loader.answered, __ATOMIC_ACQUIRE);
		if (answered == question)
			return true;
		if (gives_up(until, until + LOADER_PATIENCE_NS))
			return false;
		djs_syscall6(__NR_futex, (long)&loader.answered, FUTEX_WAIT, answered,
			     (long)&a_while, 0, 0);
	}
}

void djs_loader_changed(void)
{
	u32 question;

	while (READ_ONCE(loader.state) < DJS_LOADER_IS_DEAF) {
		question = loader.asked + 1;
		__atomic_store_n(&loader.asked, question, __ATOMIC_RELEASE);
		if (!is_answered(question))
			return;
		if (loader.unmap.bytes)
			djs_syscall6(__NR_munmap, loader.unmap.at, loader.unmap.bytes, 0, 0, 0, 0);
		if (loader.map.bytes)
			loader.mapped = djs_syscall6(
			    __NR_mmap, loader.map.at, loader.map.bytes, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (!loader.unmap.bytes && !loader.map.bytes)
			return;
	}
}
