/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks of user programs.
 *
 *   image     a file that programs map to run it: its unwind information, path and build-id
 *   place     an image at the addresses at which some process has it
 *   space     the executable mappings of a process's address space
 *
 * Tasks prepare what handlers look up (prepare.c): handlers take no lock, read no file, and find in
 * these tables whatever a stack can contain.
 */
#ifndef DJSTAP_USTACK_H
#define DJSTAP_USTACK_H

#include "include/script.h"
#include "include/unwind.h"
#include "include/words.h"

struct file;
struct mm_struct;
struct pt_regs;

/* ---- images ---------------------------------------------------------------------------------- */

#define DJS_USER_LOADS_MAX  8
#define DJS_USER_IMAGES_MAX 16384
#define DJS_BUILD_ID_MAX    32
#define DJS_NO_USER_IMAGE   (~0u)

/* What is mapped of a file, as its program headers tell it. */
struct djs_user_load {
	u64 offset, bytes, address;
};

struct djs_user_image {
	struct djs_unwind_image unwind; /* no rows: the file has no unwind information */
	const char *path;
	u32 number;
	u32 load_count;
	struct djs_user_load loads[DJS_USER_LOADS_MAX]; /* those with code */
	u8 build_id[DJS_BUILD_ID_MAX];
	u32 build_id_bytes;
	bool is_refused; /* it has unwind information that was not read, or cannot be used */
};

/* ---- read_image.c: in a task ----------------------------------------------------------------- */

/* A file, or an image of one in the memory of the current task. */
struct djs_user_source {
	struct file *file;
	unsigned long memory;
	/* Out: something failed that need not fail again: the task was killed meanwhile, there was
	 * no memory, or the file system had an error. */
	bool may_succeed_later;
};

/* False: it is no program or library that this kernel runs in its own word size. */
bool djs_user_image_read(struct djs_user_image *image, struct djs_user_source *source);
/* Frees what was read, but not the path. */
void djs_user_image_free(struct djs_user_image *image);
/* Counts a file whose unwind information was not read for lack of memory, or is damaged. */
void djs_user_image_refuse(void);
u64 djs_user_images_refused(void);

/* ---- images.c: in a task, unless it says otherwise ------------------------------------------- */

int djs_user_images_init(void);
/* No handler runs any more, and no task reads the table of symbols. */
void djs_user_images_exit(void);
/* Returns the image of a file, which is read if it is new; NULL: it is none, or there is no room.
 */
const struct djs_user_image *djs_user_image_of(struct file *file);
/* Reads the kernel's own library, in the memory of the task that loads the module. */
void djs_user_read_kernel_image(void);
/* Returns its image, or NULL. */
const struct djs_user_image *djs_user_image_of_kernel(void);
/* Any context. `number`: of an image that exists. */
const struct djs_user_image *djs_user_image(u32 number);

/* ---- places.c: any context ------------------------------------------------------------------- */

int djs_user_places_init(void);
void djs_user_places_exit(void);
/* Returns the number of a place, from 1 on; 0: it has none, and there is no room, or !may_add.
 * Stores in `*is_new` whether it has been added: the caller initializes it to false. */
u32 djs_user_place(u32 image, u64 bias, bool may_add, bool *is_new);
/* How often there was no number. */
u64 djs_user_places_missed(void);
/* Returns what a number stands for: whether there is such a place. */
bool djs_user_place_find(u32 place, u32 *image, u64 *bias);
/* Writes what is known of the address of a word without symbols (include/words.h): a text, its
 * terminator, and the build-id; returns the length of all. `out`: DJS_SYMBOL_MAX bytes. */
u32 djs_user_word_text(char *out, u64 word);

/* ---- spaces.c -------------------------------------------------------------------------------- */

struct djs_user_mapping {
	u64 begin, end;
	u64 bias;  /* of its addresses to those for which the image was linked */
	u32 image; /* DJS_NO_USER_IMAGE: code of another origin */
	u32 place; /* 0: not yet known; set by handlers */
};
/* The mappings of a process, sorted by address; replaced as a whole. */
struct djs_user_map {
	struct rcu_head rcu;
	u64 order; /* of what was seen: the larger, the later */
	u32 count;
	u32 places; /* added by handlers for this address space, about */
	struct djs_user_mapping mappings[];
};

void djs_user_spaces_exit(void);
/* Replaces what is known of an address space unless that was seen later, and takes `map` over. Task
 * context. */
int djs_user_space_set(struct mm_struct *mm, struct djs_user_map *map);
/* Returns NULL if nothing is known. Any context, with preemption disabled. */
struct djs_user_map *djs_user_map_of(const struct mm_struct *mm);
/* Returns NULL if there is none at that address. */
struct djs_user_mapping *djs_user_mapping_at(struct djs_user_map *map, u64 address);
/* The word of an address (include/words.h). `mapping`: of `map`, or NULL. */
u64 djs_user_word_in(struct djs_user_map *map, struct djs_user_mapping *mapping, u64 address,
		     bool returns);

/* ---- prepare.c ------------------------------------------------------------------------------- */

int djs_user_prepare_init(void);
void djs_user_prepare_exit(void);
/* Warns if stacks have addresses of files that got no number of a place. No handler runs. */
void djs_user_places_report(void);
/* Has the current task tell what it maps before it returns to user mode. Any context. */
void djs_user_prepare_soon(void);

/* ---- returns.c: in handlers -------------------------------------------------------------------
 */

/* Returns where the call of the current task returns whose return address, at `slot` on the stack,
 * the kernel has replaced; 0: it has not. */
u64 djs_user_replaced_return(u64 slot);

/* ---- walk.c: in handlers --------------------------------------------------------------------- */

#define DJS_BACKTRACE_MAX 128 /* MAXBACKTRACE */
/* As djs_take_user_stack(), where `stack` may be the begin of ctx->work. */
void djs_user_trace(struct djs_ctx *ctx, u64 *stack);
/* Returns the path of the file that a word refers to, or NULL. */
const char *djs_user_path(u64 word);
/* Returns the image that a word refers to, and in `*bias` how far it is from where it was linked;
 * NULL: none. */
const struct djs_user_image *djs_user_image_at(u64 word, u64 *bias);

int djs_user_walk_init(void);
void djs_user_walk_exit(void);
/* Stacks that end before their outermost caller. */
u64 djs_user_stacks_incomplete(void);

/* The whole of it, if the script takes stacks of programs. */
int djs_ustack_init(void);
/* Handlers no longer run. */
void djs_ustack_exit(void);

#endif
