// SPDX-License-Identifier: GPL-2.0-or-later
// procfs("name").read, .write: files below /proc/systemtap/MODULE. A read probe makes the text when
// a file is read from its beginning; what one write call brings is one hit of the write probe.
#include <linux/mm.h>
#include <linux/namei.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "control/runtime.h"
#include "include/text.h"

#define PROCFS_ROOT "systemtap" /* where SystemTap's scripts are looked for */

struct djs_file {
	const char *name;
	const struct djs_site *reader, *writer; /* NULL: none */
	u32 bytes;				/* of the text of either, with its end */
};
static struct djs_file *procfs_files;
static u32 procfs_count;
static char procfs_folder[sizeof(PROCFS_ROOT) + 1 + MODULE_NAME_LEN];

/* One of these an open file. */
struct djs_open_file {
	const struct djs_file *file;
	size_t length;
	char text[];
};

DJS_HANDLER_CODE void djs_file_set(struct djs_ctx *ctx, const char *text)
{
	if (ctx->file_text)
		djs_text_copy(ctx->file_text, text, ctx->file_bytes);
}

DJS_HANDLER_CODE void djs_file_append(struct djs_ctx *ctx, const char *text)
{
	size_t length = ctx->file_text ? djs_text_length(ctx->file_text) : 0;

	if (ctx->file_text)
		djs_text_copy(ctx->file_text + length, text, ctx->file_bytes - length);
}

DJS_HANDLER_CODE const char *djs_file_get(struct djs_ctx *ctx)
{
	return ctx->file_text ?: "";
}

/* False where the session does not run, or a lock is not to be had. */
static bool run_file_handler(const struct djs_site *site, struct djs_open_file *open)
{
	const struct djs_handler *handler = &djs_script.handlers[site->handler];
	struct djs_ctx *ctx = djs_enter(handler, site);

	if (!ctx)
		return false;
	ctx->file_text = open->text;
	ctx->file_bytes = open->file->bytes;
	handler->body(ctx);
	ctx->file_text = NULL;
	djs_leave(ctx);
	return true;
}

static int procfs_open(struct inode *inode, struct file *file)
{
	const struct djs_file *what = pde_data(inode);
	struct djs_open_file *open = kvzalloc(struct_size(open, text, what->bytes), GFP_KERNEL);

	if (!open)
		return -ENOMEM;
	open->file = what;
	file->private_data = open;
	return 0;
}

static int procfs_release(struct inode *inode, struct file *file)
{
	kvfree(file->private_data);
	return 0;
}

static ssize_t procfs_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct djs_open_file *open = file->private_data;

	if (!open->file->reader)
		return -EINVAL;
	if (*at == 0) {
		open->text[0] = 0;
		if (!run_file_handler(open->file->reader, open))
			return -EAGAIN;
		open->length = djs_text_length(open->text);
	}
	return simple_read_from_buffer(to, size, at, open->text, open->length);
}

static ssize_t procfs_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct djs_open_file *open = file->private_data;
	size_t taken = min_t(size_t, size, open->file->bytes - 1);

	if (!open->file->writer)
		return -EINVAL;
	if (copy_from_user(open->text, from, taken))
		return -EFAULT;
	open->text[taken] = 0;
	if (!run_file_handler(open->file->writer, open))
		return -EAGAIN;
	return size; /* what is longer than a string can be is cut */
}

static const struct proc_ops procfs_ops = {
    .proc_open = procfs_open,
    .proc_release = procfs_release,
    .proc_read = procfs_read,
    .proc_write = procfs_write,
    .proc_lseek = default_llseek,
};

/* proc_mkdir complains in the kernel's log of a folder that is there already. */
static bool root_exists(u32 *links)
{
	struct kstat stat;
	struct path path;
	bool there = !kern_path("/proc/" PROCFS_ROOT, LOOKUP_FOLLOW, &path);

	*links = 0;
	if (!there)
		return false;
	if (!vfs_getattr(&path, &stat, STATX_NLINK, AT_STATX_SYNC_AS_STAT))
		*links = stat.nlink;
	path_put(&path);
	return true;
}

static struct djs_file *file_named(const char *name)
{
	u32 i;

	for (i = 0; i < procfs_count; i++)
		if (!strcmp(procfs_files[i].name, name))
			return &procfs_files[i];
	procfs_files[procfs_count].name = name;
	return &procfs_files[procfs_count++];
}

static umode_t mode_of(const struct djs_site *site)
{
	const struct djs_handler *handler;

	if (!site)
		return 0;
	handler = &djs_script.handlers[site->handler];
	return (handler->arguments[DJS_PROCFS_WRITES] ? 0222 : 0444) &
	       ~handler->arguments[DJS_PROCFS_UMASK];
}

static void collect_files(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		const struct djs_site *site = djs_sites[i].site;
		const struct djs_handler *handler = &djs_script.handlers[site->handler];
		struct djs_file *file;

		if (djs_sites[i].mechanism != DJS_MECHANISM_PROCFS)
			continue;
		file = file_named(site->function);
		if (handler->arguments[DJS_PROCFS_WRITES])
			file->writer = site;
		else
			file->reader = site;
		file->bytes = max3(file->bytes, djs_script.string_bytes,
				   (u32)handler->arguments[DJS_PROCFS_BYTES]);
		djs_sites[i].armed = 1;
	}
}

/* After everything else: a file that can be seen works. */
int djs_procfs_attach(void)
{
	u32 i, planned = 0, links;

	for (i = 0; i < djs_script.site_count; i++)
		planned += djs_sites[i].mechanism == DJS_MECHANISM_PROCFS;
	if (!planned || procfs_files)
		return 0;
	procfs_files = kvcalloc(planned, sizeof(*procfs_files), GFP_KERNEL);
	if (!procfs_files)
		return -ENOMEM;
	collect_files();
	snprintf(procfs_folder, sizeof(procfs_folder), PROCFS_ROOT "/%s", THIS_MODULE->name);
	if (!root_exists(&links) && !proc_mkdir(PROCFS_ROOT, NULL))
		return -ENOMEM;
	if (!proc_mkdir(procfs_folder, NULL))
		return -ENOMEM;
	for (i = 0; i < procfs_count; i++) {
		struct djs_file *file = &procfs_files[i];
		char path[sizeof(procfs_folder) + 256];

		if (snprintf(path, sizeof(path), "%s/%s", procfs_folder, file->name) >=
			(int)sizeof(path) ||
		    !proc_create_data(path, mode_of(file->reader) | mode_of(file->writer), NULL,
				      &procfs_ops, file))
			return -EINVAL;
	}
	return 0;
}

/* Waits for who is in the handlers. */
void djs_procfs_detach(void)
{
	u32 links;

	if (!procfs_files)
		return;
	remove_proc_subtree(procfs_folder, NULL);
	if (root_exists(&links) && links == 2) /* no other script's folder is in it */
		remove_proc_entry(PROCFS_ROOT, NULL);
	kvfree(procfs_files);
	procfs_files = NULL;
	procfs_count = 0;
}
