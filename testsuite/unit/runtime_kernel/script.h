/* SPDX-License-Identifier: GPL-2.0-or-later
 * Pieces for script objects written by hand, in place of those that code generation makes.
 */
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <asm/ibt.h>

#include "include/script.h"
#include "context/functions.h"
#include "addresses.h" /* made from the kernel's symbols */
#include "formats.h"

/* A direct call's target that calls a C function with the probed function's arguments. */
#define DIRECT(name)                                                                               \
	void name##_direct(void);                                                                  \
	void name(u64 a0, u64 a1);                                                                 \
	asm(".pushsection .kprobes.text,\"ax\",@progbits\n.type " #name                            \
	    "_direct,@function\n.globl " #name "_direct\n" #name "_direct:\n" ASM_ENDBR            \
	    "pushq %rbp\nmovq %rsp,%rbp\n"                                                         \
	    "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\npushq "         \
	    "%rax\npushq %r10\n"                                                                   \
	    "pushq %r11\ncall " #name                                                              \
	    "\npopq %r11\npopq %r10\npopq %rax\npopq %r9\npopq %r8\npopq %rcx\n"                   \
	    "popq %rdx\npopq %rsi\npopq %rdi\nleave\n" ASM_RET ".size " #name "_direct,.-" #name   \
	    "_direct\n.popsection\n");

static __always_inline char *put_long(char *to, s64 value)
{
	*(s64 *)to = value;
	return to + 8;
}

static __always_inline char *put_text(char *to, const char *text)
{
	u32 length = strlen(text);

	*(u32 *)to = length;
	memcpy(to + 4, text, length);
	return to + DJS_ALIGN8(4 + length);
}

static __always_inline u32 text_bytes(const char *text)
{
	return DJS_ALIGN8(4 + strlen(text));
}

static __always_inline void print_long(struct djs_ctx *ctx, u32 format, s64 value)
{
	struct djs_record *record = djs_reserve(ctx, format, sizeof(*record) + 8);

	if (!record)
		return;
	put_long((char *)(record + 1), value);
	djs_commit(ctx, record, sizeof(*record) + 8);
}

static const char *const test_formats[] = TEST_FORMATS;
static const char *const test_types[] = TEST_TYPES;
static const char *const test_places[] = {"identifier 'nothing' at test:1:1",
					  "operator '/' at test:2:3"};

#define SCRIPT_COMMON                                                                              \
	.abi_version = DJS_ABI_VERSION, .handlers = handlers,                                      \
	.handler_count = ARRAY_SIZE(handlers), .sites = sites, .site_count = ARRAY_SIZE(sites),    \
	.formats = test_formats, .format_types = test_types, .format_count = TEST_FORMAT_COUNT,    \
	.places = test_places, .place_count = 2, .anchor = ADDRESS_printk,                         \
	.kernel_release = TEST_RELEASE, .max_errors = 0, .max_skipped = 100, .max_trylock = 1000,  \
	.string_bytes = 128, .max_backtrace = 20, .ring_bytes = 1 << 18, .scratch_bytes = 512,     \
	.meta = "{}", .meta_bytes = 2
