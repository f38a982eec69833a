// SPDX-License-Identifier: GPL-2.0-or-later
// The files that programs map to run them. An image is kept until the session ends: words
// (include/words.h) refer to it.
//
// Files are read without a lock: a file system may take for ever, and only tasks that map such a
// file may wait for it. Of two that read the same file, the second one drops what it has read.
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/stat.h>

#include "arch/runtime.h"
#include "ustack/ustack.h"

#define IMAGE_BUCKET_BITS 10
#define PATH_KEPT_MAX	  512
#define OTHERS_MOST	  1024 /* files that are remembered although they are no images */

/* What tells one file's content from another's. */
struct identity {
	dev_t device;
	u64 inode, size;
	struct timespec64 modified, changed;
};

struct entry {
	struct hlist_node link;
	struct identity identity;
	struct djs_user_image image;
	bool is_image;
	bool is_partial; /* the next task that maps the file reads it again */
};

static struct hlist_head buckets[1 << IMAGE_BUCKET_BITS];
static HLIST_HEAD(replaced);	       /* partial ones, to which words may refer */
static DEFINE_MUTEX(images_mutex);     /* of the lists; nothing waits while holding it */
static struct djs_user_image **images; /* by number */
static u32 image_count, other_count;
static struct entry *kernel_entry;

static void free_entry(struct entry *entry)
{
	djs_user_image_free(&entry->image);
	kfree(entry->image.path);
	kfree(entry);
}

static const char *path_of(struct file *file)
{
	char *buffer = kmalloc(PATH_MAX, GFP_KERNEL), *path, *kept;
	size_t length;

	if (!buffer)
		return NULL;
	path = file_path(file, buffer, PATH_MAX);
	if (IS_ERR(path))
		path = strcpy(buffer, "?");
	length = strlen(path);
	/* The end of a path tells more than its begin. */
	kept =
	    kstrdup(length < PATH_KEPT_MAX ? path : path + length - PATH_KEPT_MAX + 1, GFP_KERNEL);
	kfree(buffer);
	return kept;
}

/* Takes `path` over. */
static struct entry *read_entry(struct djs_user_source *source, const char *path)
{
	struct entry *entry = path ? kzalloc(sizeof(*entry), GFP_KERNEL) : NULL;

	if (!entry) {
		kfree(path);
		return NULL;
	}
	entry->image.path = path;
	entry->is_image = djs_user_image_read(&entry->image, source);
	entry->is_partial = source->may_succeed_later;
	return entry;
}

/* Under the mutex. Returns whether there is room for it. */
static bool number_image(struct entry *entry)
{
	if (image_count == DJS_USER_IMAGES_MAX)
		return false;
	entry->image.number = image_count;
	images[image_count] = &entry->image;
	image_count++;
	return true;
}

static bool identify(struct file *file, struct identity *identity)
{
	struct kstat stat;

	if (vfs_getattr(&file->f_path, &stat, STATX_BASIC_STATS, AT_STATX_DONT_SYNC))
		return false;
	memset(identity, 0, sizeof(*identity));
	identity->device = stat.dev;
	identity->inode = stat.ino;
	identity->size = stat.size;
	identity->modified = stat.mtime;
	identity->changed = stat.ctime;
	return true;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       timespec64_equal(&a->modified, &b->modified) &&
	       timespec64_equal(&a->changed, &b->changed);
}

/* Under the mutex. */
static struct entry *find_entry(const struct identity *identity)
{
	struct hlist_head *bucket = &buckets[hash_64(identity->inode, IMAGE_BUCKET_BITS)];
	struct entry *entry;

	hlist_for_each_entry(entry, bucket, link)
	{
		if (is_same(&entry->identity, identity))
			return entry;
	}
	return NULL;
}

/* Returns what is now remembered of the file, NULL: nothing. So a file has at most two numbers:
 * that of a partial image, and that of the whole one. */
static struct entry *publish(struct entry *entry)
{
	struct entry *other;

	mutex_lock(&images_mutex);
	other = find_entry(&entry->identity);
	if ((!other || (other->is_partial && !entry->is_partial)) &&
	    (entry->is_image ? number_image(entry) : other_count < OTHERS_MOST)) {
		other_count += !entry->is_image;
		if (other) {
			hlist_del(&other->link);
			hlist_add_head(&other->link, &replaced);
		} else if (entry->image.is_refused) {
			djs_user_image_refuse();
		}
		hlist_add_head(&entry->link,
			       &buckets[hash_64(entry->identity.inode, IMAGE_BUCKET_BITS)]);
		other = entry;
	}
	mutex_unlock(&images_mutex);
	if (other != entry) {
		if (!other && entry->is_image)
			djs_user_image_refuse();
		free_entry(entry);
	}
	return other;
}

const struct djs_user_image *djs_user_image_of(struct file *file)
{
	struct djs_user_source source = {.file = file};
	struct identity identity;
	struct entry *entry, *fresh;

	if (!S_ISREG(file_inode(file)->i_mode) || !(file->f_mode & FMODE_READ) ||
	    !identify(file, &identity))
		return NULL;
	mutex_lock(&images_mutex);
	entry = find_entry(&identity);
	mutex_unlock(&images_mutex);
	if (!entry || entry->is_partial) {
		fresh = read_entry(&source, path_of(file));
		if (!fresh) {
			djs_user_image_refuse();
		} else if (fresh->is_partial &&
			   (!fresh->is_image || fatal_signal_pending(current))) {
			free_entry(fresh); /* nothing is known, and no stack needs it */
		} else {
			fresh->identity = identity;
			entry = publish(fresh);
		}
	}
	return entry && entry->is_image ? &entry->image : NULL;
}

void djs_user_read_kernel_image(void)
{
	struct djs_user_source source = {};

	if (!current->mm)
		return;
	source.memory = djs_vdso_address(current->mm);
	kernel_entry = source.memory ? read_entry(&source, kstrdup("vdso", GFP_KERNEL)) : NULL;
	if (kernel_entry && kernel_entry->image.is_refused)
		djs_user_image_refuse();
	if (kernel_entry && !(kernel_entry->is_image && number_image(kernel_entry))) {
		free_entry(kernel_entry);
		kernel_entry = NULL;
	}
}

const struct djs_user_image *djs_user_image_of_kernel(void)
{
	return kernel_entry ? &kernel_entry->image : NULL;
}

DJS_HANDLER_CODE const struct djs_user_image *djs_user_image(u32 number)
{
	return images[number];
}

int djs_user_images_init(void)
{
	images = kvcalloc(DJS_USER_IMAGES_MAX, sizeof(*images), GFP_KERNEL);
	return images ? 0 : -ENOMEM;
}

void djs_user_images_exit(void)
{
	struct hlist_node *next;
	struct entry *entry;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		hlist_for_each_entry_safe(entry, next, &buckets[i], link) free_entry(entry);
		INIT_HLIST_HEAD(&buckets[i]);
	}
	hlist_for_each_entry_safe(entry, next, &replaced, link) free_entry(entry);
	INIT_HLIST_HEAD(&replaced);
	if (kernel_entry)
		free_entry(kernel_entry);
	kernel_entry = NULL;
	kvfree(images);
	images = NULL;
	image_count = 0;
	other_count = 0;
}
