// SPDX-License-Identifier: GPL-2.0-or-later
// The files that programs map to run them. What a file says of itself is not trusted; its unwind
// information is copied as it is, and read when a stack needs it (unwind/frames.c).
//
// An image is kept until the session ends: words (include/words.h) refer to it.
//
// Files are read without a lock: a file system may take for ever, and only tasks that map such a
// file may wait for it. Of two that read the same file, the second one drops what it has read.
#include <linux/build_bug.h>
#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/stat.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "cpu/memory.h"
#include "ustack/ustack.h"

#define BUILD_ID_NOTE 3 /* NT_GNU_BUILD_ID */
#define HEADERS_MAX   64
#define SECTIONS_MAX  4096
#define NOTES_MAX     4096
#define LEAST_ENTRY   16 /* bytes of an entry of .eh_frame, with its length */
#define ROWS_AT_ONCE  4096u
#define FILE_MOST     (128u << 20) /* bytes of unwind information of a file */
#define UNSORTED_MOST (8u << 20)   /* the same without .eh_frame_hdr: it is listed and sorted */
#define SESSION_MOST  (512u << 20) /* and of all files */
#define BUCKET_BITS   10
#define PATH_KEPT_MAX 512
#define OTHERS_MOST   1024 /* files that are remembered although they are no images */

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
};

static struct hlist_head buckets[1 << BUCKET_BITS];
static DEFINE_MUTEX(images_mutex);     /* of the lists; nothing waits while holding it */
static struct djs_user_image **images; /* by number */
static u32 image_count, other_count;
static atomic64_t image_bytes = ATOMIC64_INIT(0);
static struct entry *kernel_entry;
static atomic64_t refused = ATOMIC64_INIT(0);

u64 djs_user_images_refused(void)
{
	return atomic64_read(&refused);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A file, or an image of one in the memory of the current task. */
struct source {
	struct file *file;
	unsigned long memory;
};

static bool read_at(const struct source *source, u64 offset, void *to, size_t bytes)
{
	loff_t position = offset;

	if (offset > S64_MAX - bytes)
		return false;
	if (!source->file)
		return !copy_from_user(to, (const void __user *)(source->memory + offset), bytes);
	while (bytes) {
		ssize_t done = kernel_read(source->file, to, bytes, &position);

		if (done <= 0)
			return false;
		to = (char *)to + done;
		bytes -= done;
	}
	return true;
}

static bool reserve(u64 bytes)
{
	if (atomic64_add_return(bytes, &image_bytes) <= SESSION_MOST && djs_memory_allows(bytes))
		return true;
	atomic64_sub(bytes, &image_bytes);
	return false;
}

/* Returns the offset in the file of an address; false: the file does not contain `bytes` there. */
static bool offset_of(const struct elf64_phdr *headers, u32 count, u64 address, u64 bytes,
		      u64 *offset)
{
	u32 i;

	for (i = 0; i < count; i++) {
		const struct elf64_phdr *header = &headers[i];

		if (header->p_type != PT_LOAD || address < header->p_vaddr ||
		    address - header->p_vaddr > header->p_filesz ||
		    bytes > header->p_filesz - (address - header->p_vaddr))
			continue;
		*offset = header->p_offset + (address - header->p_vaddr);
		return true;
	}
	return false;
}

static void *copy_section(const struct source *source, u64 offset, u32 bytes)
{
	void *copy;

	if (!bytes || bytes > FILE_MOST || !reserve(bytes))
		return NULL;
	copy = kvmalloc(bytes, GFP_KERNEL);
	if (copy && read_at(source, offset, copy, bytes))
		return copy;
	kvfree(copy);
	atomic64_sub(bytes, &image_bytes);
	return NULL;
}

static void free_section(const void *copy, u64 bytes)
{
	if (!copy)
		return;
	kvfree(copy);
	atomic64_sub(bytes, &image_bytes);
}

/* False: it has unwind information that cannot be used. */
static bool read_unwind(struct djs_user_image *image, const struct source *source,
			const struct elf64_phdr *headers, u32 count, const struct elf64_phdr *index)
{
	struct djs_unwind_image unwind = {
	    .index_at = index->p_vaddr,
	    .index_bytes = min_t(u64, index->p_filesz, U32_MAX),
	};
	u64 last, offset;
	u32 length;

	unwind.index = copy_section(source, index->p_offset, unwind.index_bytes);
	if (!unwind.index)
		return false;
	if (djs_unwind_open(&unwind, &last) ||
	    !offset_of(headers, count, last, sizeof(length), &offset) ||
	    !read_at(source, offset, &length, sizeof(length)) ||
	    djs_unwind_size(&unwind, last, length) ||
	    !offset_of(headers, count, unwind.frames_at, unwind.frames_bytes, &offset))
		goto failed;
	unwind.frames = copy_section(source, offset, unwind.frames_bytes);
	if (!unwind.frames)
		goto failed;
	image->unwind = unwind;
	return true;

failed:
	free_section(unwind.index, unwind.index_bytes);
	return false;
}

/* Returns whether the section of this header is .eh_frame, of a reasonable size. */
static bool is_frames(const struct source *source, const struct elf64_shdr *names,
		      const struct elf64_shdr *section)
{
	static const char name[] = ".eh_frame";
	char found[sizeof(name)];

	return section->sh_flags & SHF_ALLOC && section->sh_type != SHT_NOBITS &&
	       section->sh_size && section->sh_size <= UNSORTED_MOST &&
	       read_at(source, names->sh_offset + section->sh_name, found, sizeof(found)) &&
	       !memcmp(found, name, sizeof(name));
}

static int compare_rows(const void *a, const void *b)
{
	const struct djs_unwind_listed *one = a, *other = b;

	return one->begin < other->begin ? -1 : one->begin > other->begin;
}

/* Lists the functions of .eh_frame. */
static bool make_index(struct djs_unwind_image *unwind)
{
	u32 room = unwind->frames_bytes / LEAST_ENTRY, offset = 0, before;
	u64 bytes = (u64)room * sizeof(struct djs_unwind_listed);
	struct djs_unwind_listed *rows;

	if (!room || !reserve(bytes))
		return false;
	rows = kvmalloc_array(room, sizeof(*rows), GFP_KERNEL);
	if (!rows) {
		atomic64_sub(bytes, &image_bytes);
		return false;
	}
	do {
		before = offset;
		unwind->rows += djs_unwind_list(unwind, &offset, rows + unwind->rows,
						min(room - unwind->rows, ROWS_AT_ONCE));
		cond_resched();
	} while (offset != before && unwind->rows < room && !fatal_signal_pending(current));
	if (!unwind->rows || fatal_signal_pending(current)) {
		unwind->rows = 0;
		free_section(rows, bytes);
		return false;
	}
	sort(rows, unwind->rows, sizeof(*rows), compare_rows, NULL);
	unwind->index = (const u8 *)rows;
	unwind->index_at = unwind->frames_at;
	unwind->index_bytes = bytes;
	return true;
}

/* The same for a file without .eh_frame_hdr: static programs have none. */
static bool read_frames(struct djs_user_image *image, const struct source *source,
			const struct elf64_shdr *section)
{
	struct djs_unwind_image unwind = {
	    .frames_at = section->sh_addr,
	    .frames_bytes = section->sh_size,
	};

	unwind.frames = copy_section(source, section->sh_offset, unwind.frames_bytes);
	if (!unwind.frames)
		return false;
	if (!make_index(&unwind)) {
		free_section(unwind.frames, unwind.frames_bytes);
		return false;
	}
	image->unwind = unwind;
	return true;
}

static void find_frames(struct djs_user_image *image, const struct source *source,
			const struct elf64_hdr *elf)
{
	struct elf64_shdr *sections;
	u32 i;

	if (elf->e_shentsize != sizeof(*sections) || !elf->e_shnum || elf->e_shnum > SECTIONS_MAX ||
	    elf->e_shstrndx >= elf->e_shnum)
		return;
	sections = kvmalloc_array(elf->e_shnum, sizeof(*sections), GFP_KERNEL);
	if (sections && read_at(source, elf->e_shoff, sections, elf->e_shnum * sizeof(*sections))) {
		for (i = 0; i < elf->e_shnum; i++)
			if (is_frames(source, &sections[elf->e_shstrndx], &sections[i]))
				break;
		if (i < elf->e_shnum && !read_frames(image, source, &sections[i]))
			atomic64_inc(&refused);
	}
	kvfree(sections);
}

static void read_build_id(struct djs_user_image *image, const struct source *source,
			  const struct elf64_phdr *header)
{
	u32 bytes = min_t(u64, header->p_filesz, NOTES_MAX), at = 0;
	char *notes = kmalloc(NOTES_MAX, GFP_KERNEL);

	if (!notes || !read_at(source, header->p_offset, notes, bytes))
		bytes = 0;
	while (bytes - at > sizeof(struct elf64_note)) {
		const struct elf64_note *note = (const void *)(notes + at);
		u64 name = at + sizeof(*note), text = name + ALIGN((u64)note->n_namesz, 4);
		u64 next = text + ALIGN((u64)note->n_descsz, 4);

		if (next > bytes)
			break;
		if (note->n_type == BUILD_ID_NOTE && note->n_namesz == sizeof("GNU") &&
		    !memcmp(notes + name, "GNU", sizeof("GNU")) &&
		    note->n_descsz <= DJS_BUILD_ID_MAX) {
			memcpy(image->build_id, notes + text, note->n_descsz);
			image->build_id_bytes = note->n_descsz;
			break;
		}
		at = next;
	}
	kfree(notes);
}

static void note_load(struct djs_user_image *image, const struct elf64_phdr *header)
{
	struct djs_user_load *load = &image->loads[image->load_count];

	if (!(header->p_flags & PF_X) || image->load_count == DJS_USER_LOADS_MAX)
		return;
	load->offset = header->p_offset;
	load->bytes = header->p_filesz;
	load->address = header->p_vaddr;
	image->load_count++;
}

/* False: it is no program or library that this kernel runs in its own word size. */
static bool read_image(struct djs_user_image *image, const struct source *source)
{
	struct elf64_phdr *headers;
	struct elf64_hdr elf;
	bool has_index = false;
	u32 i;

	if (!read_at(source, 0, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 || !elf_check_arch(&elf) ||
	    elf.e_phentsize != sizeof(*headers) || !elf.e_phnum || elf.e_phnum > HEADERS_MAX)
		return false;
	headers = kmalloc_array(elf.e_phnum, sizeof(*headers), GFP_KERNEL);
	if (!headers)
		return false;
	if (!read_at(source, elf.e_phoff, headers, elf.e_phnum * sizeof(*headers))) {
		kfree(headers);
		return false;
	}
	for (i = 0; i < elf.e_phnum; i++) {
		const struct elf64_phdr *header = &headers[i];

		if (header->p_type == PT_LOAD)
			note_load(image, header);
		else if (header->p_type == PT_NOTE && !image->build_id_bytes)
			read_build_id(image, source, header);
		else if (header->p_type == PT_GNU_EH_FRAME && !has_index) {
			has_index = true;
			if (!read_unwind(image, source, headers, elf.e_phnum, header))
				atomic64_inc(&refused);
		}
	}
	if (!has_index && image->load_count)
		find_frames(image, source, &elf);
	kfree(headers);
	return image->load_count;
}

/* ---- the images that there are --------------------------------------------------------------- */

static void free_entry(struct entry *entry)
{
	free_section(entry->image.unwind.index, entry->image.unwind.index_bytes);
	free_section(entry->image.unwind.frames, entry->image.unwind.frames_bytes);
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
static struct entry *read_entry(const struct source *source, const char *path)
{
	struct entry *entry = path ? kzalloc(sizeof(*entry), GFP_KERNEL) : NULL;

	if (!entry) {
		kfree(path);
		return NULL;
	}
	entry->image.path = path;
	entry->is_image = read_image(&entry->image, source);
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
	struct hlist_head *bucket = &buckets[hash_64(identity->inode, BUCKET_BITS)];
	struct entry *entry;

	hlist_for_each_entry(entry, bucket, link)
	{
		if (is_same(&entry->identity, identity))
			return entry;
	}
	return NULL;
}

/* Returns what is now remembered of the file, NULL: nothing. */
static struct entry *publish(struct entry *entry)
{
	struct entry *other;

	mutex_lock(&images_mutex);
	other = find_entry(&entry->identity);
	if (!other && (entry->is_image ? number_image(entry) : other_count < OTHERS_MOST)) {
		other_count += !entry->is_image;
		hlist_add_head(&entry->link, &buckets[hash_64(entry->identity.inode, BUCKET_BITS)]);
		other = entry;
	}
	mutex_unlock(&images_mutex);
	if (other != entry) {
		if (!other && entry->is_image)
			atomic64_inc(&refused);
		free_entry(entry);
	}
	return other;
}

const struct djs_user_image *djs_user_image_of(struct file *file)
{
	struct source source = {.file = file};
	struct identity identity;
	struct entry *entry;

	if (!S_ISREG(file_inode(file)->i_mode) || !(file->f_mode & FMODE_READ) ||
	    !identify(file, &identity))
		return NULL;
	mutex_lock(&images_mutex);
	entry = find_entry(&identity);
	mutex_unlock(&images_mutex);
	if (!entry) {
		entry = read_entry(&source, path_of(file));
		if (!entry) {
			atomic64_inc(&refused);
			return NULL;
		}
		entry->identity = identity;
		entry = publish(entry);
	}
	return entry && entry->is_image ? &entry->image : NULL;
}

void djs_user_read_kernel_image(void)
{
	struct source source = {};

	if (!current->mm)
		return;
	source.memory = djs_vdso_address(current->mm);
	kernel_entry = source.memory ? read_entry(&source, kstrdup("vdso", GFP_KERNEL)) : NULL;
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
	if (kernel_entry)
		free_entry(kernel_entry);
	kernel_entry = NULL;
	kvfree(images);
	images = NULL;
	image_count = 0;
	other_count = 0;
}
