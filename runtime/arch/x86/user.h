/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DJSTAP_X86_USER_H
#define DJSTAP_X86_USER_H

#include <asm/prctl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef DJS_INJECTED
#include "arch/x86/injected.h"
#endif

#define cpu_relax() __builtin_ia32_pause()

static inline uint64_t djs_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

/* The addresses of user space are below this one, and none belongs to the kernel. */
static inline uint64_t djs_kernel_memory(void)
{
	return ~0ull << 47;
}
#define DJS_KERNEL_MEMORY_END 0xffffffffff600000ull

#ifndef DJS_INJECTED
/* Instructions on per-CPU memory use the gs segment, as in the kernel. */
static inline void djs_set_percpu_base(uint64_t distance)
{
	syscall(SYS_arch_prctl, ARCH_SET_GS, distance);
}
#endif

#endif
