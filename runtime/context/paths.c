// SPDX-License-Identifier: GPL-2.0-or-later
// Walks through structures of the kernel whose number a program decides: folders, mounts, open
// files. Nothing is locked, so lists may change meanwhile; every walk has a bound of its own.
#include <linux/dcache.h>
#include <linux/mount.h>

#include "context/fields.h"
#include "include/functions.h"
#include "state/state.h"

/* A path of PATH_MAX bytes has fewer components. */
#define MOST_STEPS    2048
#define MOST_ENTRIES  4096
#define MOST_BITS     (1 << 20) /* the kernel's own limit of open files (sysctl_nr_open) */
#define COUNTED_WORDS 64

/* Reads the dentry's name to `name`, which has room for NAME_MAX bytes and a NUL; returns its
 * length. */
static DJS_HANDLER_CODE u32 read_name(struct djs_ctx *ctx, char *name, u64 dentry)
{
	u32 bytes = FIELD_OR_FAIL(ctx, dentry, struct dentry, d_name.len);
	u64 address = ctx->error ? 0 : FIELD_OR_FAIL(ctx, dentry, struct dentry, d_name.name);
	long read;

	if (ctx->error)
		return 0;
	read = djs_read_kernel_string(name, address, min_t(u32, bytes, NAME_MAX) + 1);
	if (read >= 0)
		return read;
	djs_fail_access(ctx, "read a string", address, false, DJS_NO_PLACE);
	return 0;
}

static DJS_HANDLER_CODE void unknown_path(char *out)
{
	strscpy(out, "<unknown>", djs_script.string_bytes);
}

DJS_HANDLER_CODE void djs_fn_reverse_path_walk(struct djs_ctx *ctx, char *out, s64 dentry)
{
	u32 length = 0, steps, bytes;
	s64 parent;

	for (steps = 0; steps < MOST_STEPS; steps++, dentry = parent) {
		parent = FIELD_OR_FAIL(ctx, dentry, struct dentry, d_parent);
		if (ctx->error || (parent == dentry && steps))
			break;
		bytes = read_name(ctx, ctx->work, dentry);
		ctx->work[bytes] = '/';
		length = djs_prepend(out, length, ctx->work, bytes + (length > 0));
	}
	out[ctx->error ? 0 : length] = 0;
	if (steps == MOST_STEPS)
		unknown_path(out);
}

/* The path of a dentry in a mount, from a root on: "" if it is the root, "<unknown>" if it is not
 * below it, or too far below. The script has the offsets of the members of struct mount, which the
 * headers of the kernel do not show. */
DJS_HANDLER_CODE void djs_fn___path_below(struct djs_ctx *ctx, char *out, s64 dentry, s64 vfsmount,
					  s64 root_dentry, s64 root_vfsmount, s64 mnt, s64 parent,
					  s64 mountpoint)
{
	u32 length = 0, steps;

	for (steps = 0; dentry != root_dentry || vfsmount != root_vfsmount; steps++) {
		s64 top = FIELD_OR_FAIL(ctx, vfsmount, struct vfsmount, mnt_root);
		u64 above;

		if (steps >= MOST_ENTRIES) { /* mounts can be on top of each other */
			unknown_path(out);
			return;
		}
		if (!ctx->error && dentry == top) {
			u64 mount = vfsmount - mnt;

			above = djs_load_here(ctx, mount + parent, sizeof(u64), DJS_NO_PLACE);
			if (ctx->error || above == mount)
				break;
			dentry = djs_load_here(ctx, mount + mountpoint, sizeof(u64), DJS_NO_PLACE);
			vfsmount = above + mnt;
		} else if (!ctx->error) {
			above = FIELD_OR_FAIL(ctx, dentry, struct dentry, d_parent);
			if (ctx->error)
				break;
			if (above == (u64)dentry || steps >= MOST_STEPS) {
				unknown_path(out);
				return;
			}
			ctx->work[0] = '/';
			length = djs_prepend(out, length, ctx->work,
					     1 + read_name(ctx, ctx->work + 1, dentry));
			dentry = above;
		}
		if (ctx->error)
			break;
	}
	out[ctx->error ? 0 : length] = 0;
}

/* Follows the pointers at offset `link` from the first entry of a list on. Returns the entry whose
 * word at offset `field` is `value`; 0 if there is none before the entry `end`. */
DJS_HANDLER_CODE s64 djs_fn___find_linked(struct djs_ctx *ctx, s64 entry, s64 link, s64 end,
					  s64 field, s64 value)
{
	u32 steps;

	for (steps = 0; entry && entry != end && steps < MOST_ENTRIES; steps++) {
		if ((s64)djs_load_here(ctx, entry + field, sizeof(u64), DJS_NO_PLACE) == value)
			return ctx->error ? 0 : entry;
		if (!ctx->error)
			entry = djs_load_here(ctx, entry + link, sizeof(u64), DJS_NO_PLACE);
		if (ctx->error)
			return 0;
	}
	return 0;
}

static DJS_HANDLER_CODE u32 bits_in(u64 word)
{
	/* Sums of 2, 4 and 8 bits, then of all bytes: popcnt is not on every processor. */
	word -= word >> 1 & 0x5555555555555555;
	word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return word * 0x0101010101010101 >> 56;
}

/* The number of bits that are set among `bits` bits, which fill whole words. */
DJS_HANDLER_CODE s64 djs_fn___bits_set(struct djs_ctx *ctx, s64 address, s64 bits)
{
	u64 *words = (u64 *)ctx->work;
	u32 left = clamp_t(s64, bits, 0, MOST_BITS) / 64, piece, i, count = 0;

	for (; left; left -= piece, address += piece * sizeof(u64)) {
		piece = min_t(u32, left, COUNTED_WORDS);
		if (!djs_read_bytes(ctx->work, address, piece * sizeof(u64), false)) {
			djs_fail_access(ctx, "read a buffer", address, false, DJS_NO_PLACE);
			return 0;
		}
		for (i = 0; i < piece; i++)
			count += bits_in(words[i]);
	}
	return count;
}
