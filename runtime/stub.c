// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces a script's object while the runtime is built, so that modpost sees every kernel symbol
// that a script's object may need, and gives a version to it. It is not linked into scripts.
// Only names matter here: without the kernel's headers it is compiled in a moment.
#if !defined(DJS_HAVE_PCPU_HOT) && !defined(DJS_HAVE_CURRENT_TASK)
#include <linux/sched.h>
#define djs_current current
#endif

#include "arch/stub.h"

/* In the place of a struct djs_script: the version of an ABI that no runtime has. */
extern const unsigned int djs_script;
const unsigned int djs_script = 0;

extern void *volatile djs_stub_sink;
void *volatile djs_stub_sink;

#define CALL(name) DJS_STUB_CALL(#name)
/* Its type does not matter. */
#define VARIABLE(name)                                                                             \
	do {                                                                                       \
		extern char name[];                                                                \
		djs_stub_sink = name;                                                              \
	} while (0);
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
	/* clang-format off */
	CALL(memcpy) CALL(memset) CALL(memmove) CALL(memcmp) CALL(strlen)
	/* clang-format on */
#ifdef djs_current
	    djs_stub_sink = djs_current;
#endif
#ifdef DJS_HAVE_PCPU_HOT
	VARIABLE(pcpu_hot)
#endif
#ifdef DJS_HAVE_CURRENT_TASK
	VARIABLE(current_task)
#endif
#ifdef DJS_HAVE_PREEMPT_COUNT
	VARIABLE(__preempt_count)
#endif
#ifdef DJS_HAVE_CPU_NUMBER
	VARIABLE(cpu_number)
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
