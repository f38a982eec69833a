// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces a script's object while the runtime is built, so that modpost sees every kernel symbol
// that a script's object may need, and gives a version to it. It is not linked into scripts.
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "arch/runtime.h"
#include "include/script.h"

const struct djs_script djs_script = {.abi_version = 0};

void *volatile djs_stub_sink;
int (*volatile djs_stub_call)(void);

#define CALL(name) DJS_STUB_CALL(#name)
#define SIZES(name, end)                                                                           \
	CALL(name##1##end)                                                                         \
	CALL(name##2##end) CALL(name##4##end) CALL(name##8##end) CALL(name##16##end)
#define UNALIGNED(name) CALL(name##2) CALL(name##4) CALL(name##8) CALL(name##16)
#define ATOMICS(op)                                                                                \
	CALL(__tsan_atomic8_##op)                                                                  \
	CALL(__tsan_atomic16_##op) CALL(__tsan_atomic32_##op) CALL(__tsan_atomic64_##op)

void djs_stub(void);
void djs_stub(void)
{
	djs_stub_sink = &memcpy;
	djs_stub_sink = &memset;
	djs_stub_sink = &memmove;
	djs_stub_sink = &memcmp;
	djs_stub_sink = &strlen;
	djs_stub_sink = current;
#ifdef DJS_HAVE_PCPU_HOT
	djs_stub_sink = (void __force *)&pcpu_hot;
#endif
#ifdef DJS_HAVE_CURRENT_TASK
	djs_stub_sink = (void __force *)&current_task;
#endif
#ifdef DJS_HAVE_PREEMPT_COUNT
	djs_stub_sink = (void __force *)&__preempt_count;
#endif
#ifdef DJS_HAVE_CPU_NUMBER
	djs_stub_sink = (void __force *)&cpu_number;
#endif
	/* clang-format off */
	DJS_STUB_THUNKS
	/* What code calls that is instrumented for a sanitizer (compiler/codegen/sanitizer.h). */
#ifdef CONFIG_KASAN_GENERIC
	SIZES(__asan_load, _noabort) SIZES(__asan_store, _noabort) CALL(__asan_loadN_noabort) CALL(__asan_storeN_noabort)
#endif
#ifdef CONFIG_KCSAN
	SIZES(__tsan_read, ) SIZES(__tsan_write, ) SIZES(__tsan_read_write, )
	UNALIGNED(__tsan_unaligned_read) UNALIGNED(__tsan_unaligned_write) UNALIGNED(__tsan_unaligned_read_write)
	SIZES(__tsan_volatile_read, ) SIZES(__tsan_volatile_write, )
	UNALIGNED(__tsan_unaligned_volatile_read) UNALIGNED(__tsan_unaligned_volatile_write)
	ATOMICS(load) ATOMICS(store) ATOMICS(exchange) ATOMICS(fetch_add) ATOMICS(fetch_and) ATOMICS(fetch_or)
	ATOMICS(compare_exchange_val) CALL(__tsan_atomic_thread_fence) CALL(__tsan_atomic_signal_fence)
#endif
	/* clang-format on */
}
