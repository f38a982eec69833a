// SPDX-License-Identifier: GPL-2.0-or-later
// Walks over the stack of the program that a handler interrupted, or that called the kernel. All
// that is read of the process is read without faults; everything else is in tables (ustack.h).
#include <linux/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "access/access.h"
#include "arch/runtime.h"
#include "cpu/cpu.h"
#include "include/functions.h"
#include "include/symbols.h"
#include "record/symbols.h"
#include "unwind/short.h"
#include "ustack/ustack.h"

/* ---- rows that were found before ------------------------------------------------------------- */

#define CACHED_BITS	 14
#define CACHED_FLAT_BITS 9 /* few functions have such rows */

/* A row's number changes before and after it is written, and is odd meanwhile. */
struct cached {
	u64 key; /* the image and an address for which it was linked; 0: free */
	u32 version;
	struct djs_unwind_short_row row;
};
struct cached_flat {
	u64 key;
	u32 version;
	struct djs_unwind_flat_row row;
};
static struct cached *cache;
static struct cached_flat *flat_cache;
static atomic64_t incomplete = ATOMIC64_INIT(0);

u64 djs_user_stacks_incomplete(void)
{
	return atomic64_read(&incomplete);
}

static __always_inline u64 cache_key(u32 image, u64 address)
{
	return (u64)(image + 1) << DJS_WORD_ADDRESS_BITS | address;
}

static __always_inline u64 cached_slot(u64 key, u32 bits)
{
	return key * 0x9e3779b97f4a7c15ull >> (64 - bits);
}

/* Returns whether a row is complete. What was copied of it is valid if is_unchanged() follows. */
static __always_inline bool is_complete(const u32 *version_at, u32 *version)
{
	*version = smp_load_acquire(version_at);
	return !(*version & 1);
}

static __always_inline bool is_unchanged(const u32 *version_at, u32 version)
{
	smp_rmb();
	return READ_ONCE(*version_at) == version;
}

/* Whoever finds that another one writes, perhaps the code that it interrupted, does not. */
static __always_inline bool begin_row(u32 *version_at)
{
	u32 version = READ_ONCE(*version_at);

	if (version & 1 || cmpxchg(version_at, version, version + 1) != version)
		return false;
	smp_wmb();
	return true;
}

static __always_inline void end_row(u32 *version_at)
{
	smp_store_release(version_at, *version_at + 1);
}

static __always_inline bool find_cached(u64 key, struct djs_unwind_short_row *row)
{
	const struct cached *cached = &cache[cached_slot(key, CACHED_BITS)];
	u32 version;

	if (!is_complete(&cached->version, &version) || READ_ONCE(cached->key) != key)
		return false;
	*row = cached->row;
	return is_unchanged(&cached->version, version);
}

static DJS_HANDLER_CODE void add_cached(u64 key, const struct djs_unwind_short_row *row)
{
	struct cached *cached = &cache[cached_slot(key, CACHED_BITS)];

	if (!begin_row(&cached->version))
		return;
	WRITE_ONCE(cached->key, key);
	cached->row = *row;
	end_row(&cached->version);
}

static DJS_HANDLER_CODE bool find_cached_flat(u64 key, struct djs_unwind_flat_row *row)
{
	const struct cached_flat *cached = &flat_cache[cached_slot(key, CACHED_FLAT_BITS)];
	u32 version;

	if (!is_complete(&cached->version, &version) || READ_ONCE(cached->key) != key)
		return false;
	*row = cached->row;
	return is_unchanged(&cached->version, version);
}

static DJS_HANDLER_CODE void add_cached_flat(u64 key, const struct djs_unwind_flat_row *row)
{
	struct cached_flat *cached = &flat_cache[cached_slot(key, CACHED_FLAT_BITS)];

	if (!begin_row(&cached->version))
		return;
	WRITE_ONCE(cached->key, key);
	cached->row = *row;
	end_row(&cached->version);
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* In ctx->work. */
struct walk {
	struct djs_unwind_frame frame, before;
	struct djs_unwind_row row;
	struct djs_unwind_scratch scratch;
	struct djs_unwind_short_row short_row;
	struct djs_unwind_flat_row flat_row;
};
DJS_STATIC_ASSERT(sizeof(struct walk) <= DJS_WORK_BYTES, "the work area is too small");

/* The first read has shown that the memory of the current task can be read here. */
static __always_inline bool read_word(void *unused, u64 address, u64 *value)
{
	const u64 __user *from = (const u64 __user *)address;

	if (!user_read_access_begin(from, sizeof(*from)))
		return false;
	unsafe_get_user(*value, from, fault);
	user_read_access_end();
	return true;
fault:
	user_read_access_end();
	return false;
}

/* Returns the registers of the program: those that the probe interrupted, or those with which it
 * entered the kernel. NULL: there is none. */
static DJS_HANDLER_CODE const struct pt_regs *program_registers(const struct djs_ctx *ctx)
{
	const struct pt_regs *regs = ctx->user_regs ? ctx->regs : NULL;

	if (!current->mm || current->flags & PF_KTHREAD)
		return NULL;
	if (!regs)
		regs = task_pt_regs(current);
	return djs_is_unwindable(regs) ? regs : NULL;
}

/* Finds the caller by rules that have no short form, or were not needed yet. */
static noinline DJS_HANDLER_CODE enum djs_unwind_result
step_slow(struct walk *walk, const struct djs_user_image *image, u64 address, u64 key)
{
	enum djs_unwind_result result;

	if (find_cached_flat(key, &walk->flat_row))
		return djs_unwind_step_flat(&walk->frame, &walk->flat_row, read_word, NULL);
	if (!image->unwind.rows)
		return DJS_UNWIND_UNKNOWN;
	result = djs_unwind_find(&image->unwind, address, &walk->row, &walk->scratch);
	if (result)
		return result;
	if (djs_unwind_shorten(&walk->short_row, &walk->row)) {
		add_cached(key, &walk->short_row);
		return djs_unwind_step_short(&walk->frame, &walk->short_row, read_word, NULL);
	}
	if (djs_unwind_flatten(&walk->flat_row, &image->unwind, &walk->row)) {
		add_cached_flat(key, &walk->flat_row);
		return djs_unwind_step_flat(&walk->frame, &walk->flat_row, read_word, NULL);
	}
	return djs_unwind_step(&image->unwind, &walk->frame, &walk->row, &walk->before, read_word,
			       NULL);
}

static __always_inline enum djs_unwind_result step(struct walk *walk,
						   const struct djs_user_mapping *mapping)
{
	struct djs_unwind_short_row row;
	u64 address, key;

	if (!mapping || mapping->image == DJS_NO_USER_IMAGE)
		return DJS_UNWIND_UNKNOWN;
	address = djs_unwind_place(&walk->frame) - mapping->bias;
	key = cache_key(mapping->image, address);
	if (likely(find_cached(key, &row)))
		return step_short(&walk->frame, &row, read_word, NULL);
	return step_slow(walk, djs_user_image(mapping->image), address, key);
}

/* Returns where the code of a frame is mapped, or NULL. A return address that leads nowhere may be
 * the kernel's, in place of the program's. */
static DJS_HANDLER_CODE struct djs_user_mapping *mapping_of_frame(struct walk *walk,
								  struct djs_user_map *map)
{
	struct djs_user_mapping *mapping = djs_user_mapping_at(map, djs_unwind_place(&walk->frame));
	u64 slot = walk->frame.values[DJS_DWARF_STACK] - sizeof(slot), original;

	if (walk->frame.is_interrupted || (mapping && mapping->image != DJS_NO_USER_IMAGE))
		return mapping;
	original = djs_user_replaced_return(slot);
	if (!original)
		return mapping;
	walk->frame.values[DJS_DWARF_RETURN] = original;
	return djs_user_mapping_at(map, djs_unwind_place(&walk->frame));
}

/* Stores at most `most` words; returns their number, and whether no caller is missing. */
static DJS_HANDLER_CODE u32 walk_frames(struct walk *walk, struct djs_user_map *map, u64 *words,
					u32 most, enum djs_unwind_result *result)
{
	struct djs_user_mapping *mapping = NULL;
	u64 above = 0; /* the part of a word that is the same in a mapping */
	u32 count = 0;

	for (;;) {
		u64 address = walk->frame.values[DJS_DWARF_RETURN];
		u64 place = djs_unwind_place(&walk->frame);

		if (!mapping || place < mapping->begin || place >= mapping->end) {
			mapping = map ? mapping_of_frame(walk, map) : NULL;
			address = walk->frame.values[DJS_DWARF_RETURN];
			if (address >> DJS_WORD_ADDRESS_BITS) {
				*result = DJS_UNWIND_UNKNOWN;
				return count;
			}
			above = djs_user_word_in(map, mapping, 0, true);
		}
		words[count++] =
		    address | (walk->frame.is_interrupted ? above & ~DJS_WORD_RETURNS : above);
		if (count == most)
			return count;
		*result = step(walk, mapping);
		if (*result)
			return count;
	}
}

static DJS_HANDLER_CODE u32 walk_program(struct djs_ctx *ctx, u64 *words, u32 most)
{
	const struct pt_regs *regs = program_registers(ctx);
	enum djs_unwind_result result = DJS_UNWIND_OK;
	struct walk *walk = (struct walk *)ctx->work;
	struct djs_user_map *map;
	u64 ignored;
	u32 count;

	if (!regs)
		return 0;
	memset(&walk->frame, 0, sizeof(walk->frame));
	walk->scratch.instructions = 0;
	djs_dwarf_registers(walk->frame.values, regs);
	walk->frame.is_interrupted = true;
	map = djs_user_map_of(current->mm);
	/* Also checks that the page tables are those of this task: an NMI may have interrupted
	 * their change. */
	if (copy_from_user_nofault(&ignored,
				   (const void __user *)walk->frame.values[DJS_DWARF_STACK],
				   sizeof(ignored)))
		map = NULL;
	pagefault_disable();
	count = walk_frames(walk, map, words, most, &result);
	pagefault_enable();
	if (likely(result == DJS_UNWIND_OK || result == DJS_UNWIND_LAST))
		return count;
	atomic64_inc(&incomplete);
	/* In a system call the task may not return to user mode for long, and unloading would wait
	 * for it. */
	if (result == DJS_UNWIND_UNKNOWN && !ctx->level && ctx->user_regs)
		djs_user_prepare_soon();
	return count;
}

/* The words of a walk, where the caller wants them in the work area, too. */
#define WORDS_AT ALIGN(sizeof(struct walk), sizeof(u64))
#define WORDS	 ((DJS_WORK_BYTES - WORDS_AT) / sizeof(u64))
DJS_STATIC_ASSERT(WORDS >= DJS_BACKTRACE_MAX, "the work area is too small");

DJS_HANDLER_CODE void djs_user_trace(struct djs_ctx *ctx, u64 *stack)
{
	u64 *words = (u64 *)(ctx->work + WORDS_AT);
	u32 count = walk_program(ctx, words, min_t(u32, djs_script.max_backtrace, WORDS));

	memmove(stack + 1, words, count * sizeof(u64));
	stack[0] = count;
}

DJS_HANDLER_CODE const struct djs_user_image *djs_user_image_at(u64 word, u64 *bias)
{
	u32 image;

	return djs_user_place_find(djs_word_place(word), &image, bias) ? djs_user_image(image)
								       : NULL;
}

DJS_HANDLER_CODE const char *djs_user_path(u64 word)
{
	u64 bias;
	const struct djs_user_image *image = djs_user_image_at(word, &bias);

	return image ? image->path : NULL;
}

DJS_HANDLER_CODE void djs_take_user_stack(struct djs_ctx *ctx, u64 *stack)
{
	stack[0] = walk_program(ctx, stack + 1, djs_script.max_backtrace);
}

DJS_HANDLER_CODE u64 djs_user_word(struct djs_ctx *ctx, u64 address, u32 returns)
{
	struct djs_user_map *map;

	/* The upper bits of what is no address of a program are not the number of a place. */
	if (djs_is_user_word(address))
		return djs_word_address(address);
	if (!cache || address >> DJS_WORD_ADDRESS_BITS || !current->mm)
		return address;
	map = djs_user_map_of(current->mm);
	return djs_user_word_in(map, map ? djs_user_mapping_at(map, address - !!returns) : NULL,
				address, returns);
}

/* ---- begin and end --------------------------------------------------------------------------- */

int djs_user_walk_init(void)
{
	cache = vzalloc(sizeof(*cache) << CACHED_BITS);
	flat_cache = vzalloc(sizeof(*flat_cache) << CACHED_FLAT_BITS);
	return cache && flat_cache ? 0 : -ENOMEM;
}

void djs_user_walk_exit(void)
{
	vfree(cache);
	vfree(flat_cache);
	cache = NULL;
	flat_cache = NULL;
}

int djs_ustack_init(void)
{
	int error;

	if (!djs_script.user_stacks)
		return 0;
	error = djs_user_walk_init() ?: djs_user_images_init() ?: djs_user_places_init();
	if (!error)
		djs_user_read_kernel_image();
	if (!error) {
		djs_symbol_of_program = djs_user_word_text;
		error = djs_user_prepare_init();
	}
	if (error)
		djs_ustack_exit();
	return error;
}

void djs_ustack_exit(void)
{
	if (!djs_script.user_stacks)
		return;
	djs_user_prepare_exit();
	djs_user_spaces_exit();
	djs_symbol_of_program = NULL;
	djs_user_places_exit();
	djs_user_images_exit();
	djs_user_walk_exit();
}
