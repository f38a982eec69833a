/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions of the runtime inside a probed program. */
#ifndef DJSTAP_X86_INJECTED_H
#define DJSTAP_X86_INJECTED_H

#include <asm/unistd.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns what the kernel does: an error is a negative errno. */
static inline long djs_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	register long fourth __asm__("r10") = d;
	register long fifth __asm__("r8") = e;
	register long sixth __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return result;
}

static inline uint64_t djs_thread_base(void)
{
	uint64_t base;

	__asm__ volatile("rdfsbase %0" : "=r"(base));
	return base;
}

static inline void djs_set_percpu_base(uint64_t distance)
{
	__asm__ volatile("wrgsbase %0" : : "r"(distance) : "memory");
}

static inline uint32_t djs_percpu_word(const uint32_t *place)
{
	uint32_t word;

	__asm__ volatile("movl %%gs:(%1), %0" : "=r"(word) : "r"(place));
	return word;
}

static inline bool djs_exchange_here(uint64_t *place, uint64_t expected, uint64_t next)
{
	bool done;

	__asm__ volatile("cmpxchgq %3, %1"
			 : "=@ccz"(done), "+m"(*place), "+a"(expected)
			 : "r"(next)
			 : "memory");
	return done;
}

/* As the trampolines store them: in the order of the kernel's pt_regs. */
#define DJS_REGISTER_ARGUMENTS 6
static inline uint64_t djs_argument_in_register(const uint64_t *registers, int64_t n)
{
	static const uint8_t places[] = {14, 13, 12, 11, 9, 8}; /* di, si, dx, cx, r8, r9 */

	return registers[places[n - 1]];
}

static inline uint64_t djs_argument_on_stack(const uint64_t *registers, int64_t n)
{
	enum { STACK_POINTER = 19, RETURN_ADDRESS = 8 };

	return registers[STACK_POINTER] + RETURN_ADDRESS + 8 * (n - DJS_REGISTER_ARGUMENTS - 1);
}

static inline uint64_t djs_hit_stack(const uint64_t *registers)
{
	return registers[19];
}

static inline void djs_set_hit_address(uint64_t *registers, uint64_t address)
{
	registers[16] = address;
}

static inline uint64_t *djs_hit_result(uint64_t *registers)
{
	return &registers[10];
}

/* The state behind a return instruction. */
static inline void djs_pass_return(uint64_t *registers)
{
	registers[16] = *(const uint64_t *)registers[19];
	registers[19] += 8;
}

#endif
