// SPDX-License-Identifier: GPL-2.0-or-later
// The files in which uprobes are placed, found when the session starts and kept until it ends: a
// file that replaces one under its name is not probed.
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "uprobe/uprobe.h"

struct program {
	struct path path;
	int error; /* 0: it is found */
	bool known;
	const char *why;
};
static struct program *programs; /* by image */

/* What processes map: of an overlay, the file in one of its layers. */
static struct inode *file_of(const struct path *path)
{
	return d_real_inode(path->dentry);
}

#define BUILD_ID_MAX 64

static u64 offset_of_build_id(u32 image)
{
	u64 address = djs_script.images[image].build_id_address;
	u32 i;

	for (i = 0; i < djs_script.segment_count; i++)
		if (djs_script.segments[i].image == image &&
		    address >= djs_script.segments[i].address &&
		    address < djs_script.segments[i].check_address)
			return address - djs_script.segments[i].file_distance;
	return 0;
}

/* The addresses in the script are those of one build of the program. */
static int check_build(u32 image, const struct path *path)
{
	const struct djs_image *wanted = &djs_script.images[image];
	loff_t offset = offset_of_build_id(image);
	u8 found[BUILD_ID_MAX];
	struct file *file;
	ssize_t bytes;

	if (!wanted->build_id_bytes || wanted->build_id_bytes > sizeof(found) || !offset)
		return 0;
	file = dentry_open(path, O_RDONLY | O_LARGEFILE, current_cred());
	if (IS_ERR(file))
		return PTR_ERR(file);
	bytes = kernel_read(file, found, wanted->build_id_bytes, &offset);
	fput(file);
	if (bytes < 0)
		return bytes;
	return bytes == wanted->build_id_bytes && !memcmp(found, wanted->build_id, bytes)
		   ? 0
		   : -ENOEXEC;
}

static void find_program_file(u32 image, struct program *program)
{
	program->known = true;
	program->error = kern_path(djs_script.images[image].name, LOOKUP_FOLLOW, &program->path);
	program->why = "there is no such file";
	if (program->error)
		return;
	if (!S_ISREG(file_of(&program->path)->i_mode))
		program->error = -EACCES;
	else
		program->error = check_build(image, &program->path);
	program->why = program->error == -ENOEXEC  ? "the file is another build of the program"
		       : program->error == -EACCES ? "it is not a program"
						   : "the file cannot be read";
	if (program->error)
		path_put(&program->path);
}

struct inode *djs_program_file(const struct djs_site_run *run, const char **why)
{
	struct program *program;

	*why = "there is no memory";
	if (!programs)
		programs = kcalloc(djs_script.image_count, sizeof(*programs), GFP_KERNEL);
	if (!programs)
		return ERR_PTR(-ENOMEM);
	program = &programs[run->image];
	if (!program->known)
		find_program_file(run->image, program);
	*why = program->why;
	return program->error ? ERR_PTR(program->error) : file_of(&program->path);
}

int djs_program_check_code(const struct djs_site_run *run)
{
	loff_t offset = djs_offset_in_file(run->site);
	struct file *file;
	u32 wanted = run->site->code_bytes;
	u8 found[16];
	ssize_t bytes;

	if (!wanted || wanted > sizeof(found))
		return 0;
	file = dentry_open(&programs[run->image].path, O_RDONLY | O_LARGEFILE, current_cred());
	if (IS_ERR(file))
		return PTR_ERR(file);
	bytes = kernel_read(file, found, wanted, &offset);
	fput(file);
	if (bytes < 0)
		return bytes;
	return bytes == wanted && !memcmp(found, djs_script.site_texts + run->site->code, wanted)
		   ? 0
		   : -ENOEXEC;
}

void djs_programs_release(void)
{
	u32 i;

	if (!programs)
		return;
	for (i = 0; i < djs_script.image_count; i++)
		if (programs[i].known && !programs[i].error)
			path_put(&programs[i].path);
	kfree(programs);
	programs = NULL;
}
