/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Static markers: probe points that the author of kernel code puts into it. This header needs no
 * other file of djstap.
 *
 *	#include <linux/module.h>
 *	#include "marker.h"
 *
 *	static int __init queue_init(void)
 *	{
 *		int i;
 *
 *		for (i = 0; i < 1000; i++)
 *			DJSTAP_MARK(queued, "%d %s", i, i % 2 ? "odd" : "even");
 *		return 0;
 *	}
 *	module_init(queue_init);
 *	MODULE_DESCRIPTION("a queue with a marker");
 *	MODULE_LICENSE("GPL");
 *
 * Built with the kernel's headers ("obj-m := queue.o", make -C /lib/modules/$(uname -r)/build
 * M=$PWD), the module runs with or without djstap. A script probes its marker:
 *
 *	djstap -e 'global n; probe module("/path/to/queue.ko").mark("queued") { n += $arg1 }'
 *
 * DJSTAP_MARK(name, format, arguments…) is a statement. The name is a C identifier, which may stand
 * in any number of places and in inline functions. The format is a literal of printf's language: it
 * gives the number of the arguments, at most 10, and their types, which the compiler checks. A
 * conversion of another kind than d, i, u, x, o, c, s and p compiles, but cannot be probed. A %s is
 * an address, from which a script reads by kernel_string(). A marker may stand wherever
 * preemption can be disabled and RCU is watching, interrupt handlers included; not in code that is
 * marked noinstr.
 *
 * As long as no script probes the marker, it is one no-op of two or five bytes, and its arguments
 * are not evaluated; the kernel patches this to a jump when a script comes (a static key).
 * DJSTAP_MARK_GENERIC is for code that cannot be patched, such as kernels whose text is read-only
 * for good: it loads a pointer, compares it with 0 and does not branch. DJSTAP_MARK_NOPREEMPT and
 * DJSTAP_MARK_GENERIC_NOPREEMPT are for places where preemption is disabled already, and save two
 * instructions while probed.
 *
 * A marker is a tracepoint of the module that contains it, named "mark:NAME": the kernel keeps,
 * connects and releases it (include/linux/tracepoint.h). Its text, with the format behind it,
 * stands in the section .djstap.marks, from which djstap lists it. Text, tracepoint and alias stand
 *behind the statement: where the compiler drops it, there is no marker.
 */
#ifndef DJSTAP_MARKER_H
#define DJSTAP_MARKER_H

#include <linux/compiler.h>
#include <linux/jump_label.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/tracepoint-defs.h>

#ifndef CONFIG_TRACEPOINTS
#error "markers need a kernel with tracepoints (CONFIG_TRACEPOINTS)"
#endif

#define DJSTAP_MARK(name, format, ...)                                                             \
	__DJSTAP_MARK(__djstap_the_name_of_a_marker_is_an_identifier_##name, #name,                \
		      __djstap_patched, preempt_disable_notrace, preempt_enable_notrace, format,   \
		      ##__VA_ARGS__)
#define DJSTAP_MARK_NOPREEMPT(name, format, ...)                                                   \
	__DJSTAP_MARK(__djstap_the_name_of_a_marker_is_an_identifier_##name, #name,                \
		      __djstap_patched, __djstap_nothing, __djstap_nothing, format, ##__VA_ARGS__)
#define DJSTAP_MARK_GENERIC(name, format, ...)                                                     \
	__DJSTAP_MARK(__djstap_the_name_of_a_marker_is_an_identifier_##name, #name,                \
		      __djstap_loaded, preempt_disable_notrace, preempt_enable_notrace, format,    \
		      ##__VA_ARGS__)
#define DJSTAP_MARK_GENERIC_NOPREEMPT(name, format, ...)                                           \
	__DJSTAP_MARK(__djstap_the_name_of_a_marker_is_an_identifier_##name, #name,                \
		      __djstap_loaded, __djstap_nothing, __djstap_nothing, format, ##__VA_ARGS__)

/* What follows is private. */

#define __DJSTAP_MARK(identifier, text, connected, enter, leave, format, ...)                      \
	do {                                                                                       \
		extern char identifier __maybe_unused;                                             \
		_Static_assert(__DJSTAP_COUNT(__VA_ARGS__) <= 10,                                  \
			       "the marker " text " has more than 10 arguments");                  \
		static const char __djstap_text[] __aligned(1) __section(".djstap.marks") =        \
		    "mark:" text "\0" format;                                                      \
		static struct tracepoint __djstap_point __aligned(8)                               \
		    __section("__tracepoints") = {.name = __djstap_text};                          \
		__djstap_list(__djstap_point, text);                                               \
		if (0) {                                                                           \
			_Pragma("GCC diagnostic push")                                             \
			    _Pragma("GCC diagnostic error \"-Wformat\"")                           \
				_Pragma("GCC diagnostic error \"-Wformat-extra-args\"")            \
				    __djstap_check(text, "marker " format, ##__VA_ARGS__);         \
			_Pragma("GCC diagnostic pop")                                              \
		}                                                                                  \
		if (connected(__djstap_point)) {                                                   \
			enter();                                                                   \
			__djstap_call(                                                             \
			    &__djstap_point, __DJSTAP_COUNT(__VA_ARGS__),                          \
			    __DJSTAP_TEN(_, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));         \
			leave();                                                                   \
		}                                                                                  \
	} while (0)

#define __djstap_patched(point) static_key_false((struct static_key *)&(point).key)
#define __djstap_loaded(point)	unlikely(rcu_access_pointer((point).funcs))
#define __djstap_nothing()                                                                         \
	do {                                                                                       \
	} while (0)

/* Its arguments have the numbers of the macros' own, in the compiler's messages. */
static inline __printf(2, 3) void __djstap_check(const char *name, const char *format, ...)
{
}

/* depmod lists the aliases of all modules, so that djstap finds those with markers. */
#ifdef MODULE
#define __DJSTAP_ALIAS(text)                                                                       \
	".pushsection .modinfo, \"a\"\n\t.asciz \"alias=djstap_mark:" text "\"\n\t.popsection\n\t"
#else
#define __DJSTAP_ALIAS(text) ""
#endif

/*
 * Lists the tracepoint where the kernel expects the module's. The compiler may copy the statement
 * (in loops and inline functions), the assembler then keeps one entry.
 */
#ifdef CONFIG_HAVE_ARCH_PREL32_RELOCATIONS
#define __DJSTAP_ENTRY ".balign 4\n\t.long %c0 - .\n\t"
#elif defined(CONFIG_64BIT)
#define __DJSTAP_ENTRY ".balign 8\n\t.quad %c0\n\t"
#else
#define __DJSTAP_ENTRY ".balign 4\n\t.long %c0\n\t"
#endif
#define __djstap_list(point, text)                                                                 \
	asm_inline volatile(".ifndef .Ldjstap_%c0\n\t"                                             \
			    ".set .Ldjstap_%c0, 1\n\t"                                             \
			    ".pushsection __tracepoints_ptrs, \"a\"\n\t" __DJSTAP_ENTRY            \
			    ".popsection\n\t" __DJSTAP_ALIAS(text) ".endif" : : "i"(&(point)))

#define __DJSTAP_COUNT(...)                                                                        \
	__DJSTAP_TWENTY_FIRST(_, ##__VA_ARGS__, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7,   \
			      6, 5, 4, 3, 2, 1, 0)
#define __DJSTAP_TWENTY_FIRST(_, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, ...) t

/* Ten numbers, the arguments first: (_, arguments…, ten zeros). */
#define __DJSTAP_TEN(_, a, b, c, d, e, f, g, h, i, j, ...)                                         \
	__DJSTAP_N(a), __DJSTAP_N(b), __DJSTAP_N(c), __DJSTAP_N(d), __DJSTAP_N(e), __DJSTAP_N(f),  \
	    __DJSTAP_N(g), __DJSTAP_N(h), __DJSTAP_N(i), __DJSTAP_N(j)
#define __DJSTAP_N(argument) (__djstap_n)(argument)

/*
 * Usually one handler is connected. Its call needs no variable that outlives it, so that a function
 * saves no registers for its marker. Several handlers are called by a function of its own, which is
 * compiled only for numbers of arguments that the file's markers have.
 */
typedef unsigned long __djstap_n;
#define __DJSTAP_HANDLERS(count, types, parameters, ...)                                           \
	typedef void(*__djstap_handler_##count) types;                                             \
	static noinline notrace __cold __maybe_unused void __djstap_call_all_##count parameters    \
	{                                                                                          \
		do {                                                                               \
			((__djstap_handler_##count)at->func)(data, ##__VA_ARGS__);                 \
			data = (++at)->data;                                                       \
		} while (at->func);                                                                \
	}
#define __DJSTAP_CALL(count, ...)                                                                  \
	do {                                                                                       \
		if (likely(!at[1].func))                                                           \
			((__djstap_handler_##count)at->func)(at->data, ##__VA_ARGS__);             \
		else                                                                               \
			__djstap_call_all_##count(at->data, ##__VA_ARGS__, at);                    \
	} while (0)

__DJSTAP_HANDLERS(0, (void *), (void *data, struct tracepoint_func *at))
__DJSTAP_HANDLERS(1, (void *, __djstap_n), (void *data, __djstap_n a, struct tracepoint_func *at),
		  a)
__DJSTAP_HANDLERS(2, (void *, __djstap_n, __djstap_n),
		  (void *data, __djstap_n a, __djstap_n b, struct tracepoint_func *at), a, b)
__DJSTAP_HANDLERS(3, (void *, __djstap_n, __djstap_n, __djstap_n),
		  (void *data, __djstap_n a, __djstap_n b, __djstap_n c,
		   struct tracepoint_func *at),
		  a, b, c)
__DJSTAP_HANDLERS(4, (void *, __djstap_n, __djstap_n, __djstap_n, __djstap_n),
		  (void *data, __djstap_n a, __djstap_n b, __djstap_n c, __djstap_n d,
		   struct tracepoint_func *at),
		  a, b, c, d)
__DJSTAP_HANDLERS(5, (void *, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n),
		  (void *data, __djstap_n a, __djstap_n b, __djstap_n c, __djstap_n d, __djstap_n e,
		   struct tracepoint_func *at),
		  a, b, c, d, e)
__DJSTAP_HANDLERS(6,
		  (void *, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n),
		  (void *data, __djstap_n a, __djstap_n b, __djstap_n c, __djstap_n d, __djstap_n e,
		   __djstap_n f, struct tracepoint_func *at),
		  a, b, c, d, e, f)
__DJSTAP_HANDLERS(7,
		  (void *, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n,
		   __djstap_n),
		  (void *data, __djstap_n a, __djstap_n b, __djstap_n c, __djstap_n d, __djstap_n e,
		   __djstap_n f, __djstap_n g, struct tracepoint_func *at),
		  a, b, c, d, e, f, g)
__DJSTAP_HANDLERS(8,
		  (void *, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n,
		   __djstap_n, __djstap_n),
		  (void *data, __djstap_n a, __djstap_n b, __djstap_n c, __djstap_n d, __djstap_n e,
		   __djstap_n f, __djstap_n g, __djstap_n h, struct tracepoint_func *at),
		  a, b, c, d, e, f, g, h)
__DJSTAP_HANDLERS(9,
		  (void *, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n,
		   __djstap_n, __djstap_n, __djstap_n),
		  (void *data, __djstap_n a, __djstap_n b, __djstap_n c, __djstap_n d, __djstap_n e,
		   __djstap_n f, __djstap_n g, __djstap_n h, __djstap_n i,
		   struct tracepoint_func *at),
		  a, b, c, d, e, f, g, h, i)
__DJSTAP_HANDLERS(10,
		  (void *, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n, __djstap_n,
		   __djstap_n, __djstap_n, __djstap_n, __djstap_n),
		  (void *data, __djstap_n a, __djstap_n b, __djstap_n c, __djstap_n d, __djstap_n e,
		   __djstap_n f, __djstap_n g, __djstap_n h, __djstap_n i, __djstap_n j,
		   struct tracepoint_func *at),
		  a, b, c, d, e, f, g, h, i, j)

/* Calls the handlers that are connected with the first `count` numbers, a constant. */
static __always_inline void __djstap_call(struct tracepoint *point, int count, __djstap_n a,
					  __djstap_n b, __djstap_n c, __djstap_n d, __djstap_n e,
					  __djstap_n f, __djstap_n g, __djstap_n h, __djstap_n i,
					  __djstap_n j)
{
	struct tracepoint_func *at = rcu_dereference_raw(point->funcs);

	if (!at)
		return;
	switch (count) {
	case 0:
		__DJSTAP_CALL(0);
		break;
	case 1:
		__DJSTAP_CALL(1, a);
		break;
	case 2:
		__DJSTAP_CALL(2, a, b);
		break;
	case 3:
		__DJSTAP_CALL(3, a, b, c);
		break;
	case 4:
		__DJSTAP_CALL(4, a, b, c, d);
		break;
	case 5:
		__DJSTAP_CALL(5, a, b, c, d, e);
		break;
	case 6:
		__DJSTAP_CALL(6, a, b, c, d, e, f);
		break;
	case 7:
		__DJSTAP_CALL(7, a, b, c, d, e, f, g);
		break;
	case 8:
		__DJSTAP_CALL(8, a, b, c, d, e, f, g, h);
		break;
	case 9:
		__DJSTAP_CALL(9, a, b, c, d, e, f, g, h, i);
		break;
	default:
		__DJSTAP_CALL(10, a, b, c, d, e, f, g, h, i, j);
	}
}

#endif
