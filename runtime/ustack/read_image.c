// SPDX-License-Identifier: GPL-2.0-or-later
// Reads what a stack needs of a file: where its code is mapped, its unwind information, its
// build-id. What a file says of itself is not trusted; its unwind information is copied as it is,
// and read when a stack needs it (unwind/frames.c).
#include <linux/elf.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
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

static atomic64_t image_bytes = ATOMIC64_INIT(0);
static atomic64_t refused = ATOMIC64_INIT(0);

u64 djs_user_images_refused(void)
{
	return atomic64_read(&refused);
}

void djs_user_image_refuse(void)
{
	atomic64_inc(&refused);
}

/* What has failed by this may succeed later, and in another task. */
static void *note_failure(struct djs_user_source *source)
{
	source->may_succeed_later = true;
	return NULL;
}

static bool read_at(struct djs_user_source *source, u64 offset, void *to, size_t bytes)
{
	loff_t position = offset;

	if (offset > S64_MAX - bytes)
		return false;
	if (!source->file)
		return !copy_from_user(to, (const void __user *)(source->memory + offset), bytes);
	while (bytes) {
		ssize_t done = kernel_read(source->file, to, bytes, &position);

		if (done < 0)
			note_failure(source);
		if (done <= 0)
			return false;
		to = (char *)to + done;
		bytes -= done;
	}
	return true;
}

static bool reserve(struct djs_user_source *source, u64 bytes)
{
	if (atomic64_add_return(bytes, &image_bytes) <= SESSION_MOST) {
		if (djs_memory_allows(bytes))
			return true;
		note_failure(source);
	}
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

static void *copy_section(struct djs_user_source *source, u64 offset, u32 bytes)
{
	void *copy;

	if (!bytes || bytes > FILE_MOST || !reserve(source, bytes))
		return NULL;
	copy = kvmalloc(bytes, GFP_KERNEL) ?: note_failure(source);
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
static bool read_unwind(struct djs_user_image *image, struct djs_user_source *source,
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
static bool is_frames(struct djs_user_source *source, const struct elf64_shdr *names,
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
static bool make_index(struct djs_unwind_image *unwind, struct djs_user_source *source)
{
	u32 room = unwind->frames_bytes / LEAST_ENTRY, offset = 0, before;
	u64 bytes = (u64)room * sizeof(struct djs_unwind_listed);
	struct djs_unwind_listed *rows;

	if (!room || !reserve(source, bytes))
		return false;
	rows = kvmalloc_array(room, sizeof(*rows), GFP_KERNEL) ?: note_failure(source);
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
	if (fatal_signal_pending(current)) {
		note_failure(source);
		unwind->rows = 0;
	}
	if (!unwind->rows) {
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
static bool read_frames(struct djs_user_image *image, struct djs_user_source *source,
			const struct elf64_shdr *section)
{
	struct djs_unwind_image unwind = {
	    .frames_at = section->sh_addr,
	    .frames_bytes = section->sh_size,
	};

	unwind.frames = copy_section(source, section->sh_offset, unwind.frames_bytes);
	if (!unwind.frames)
		return false;
	if (!make_index(&unwind, source)) {
		free_section(unwind.frames, unwind.frames_bytes);
		return false;
	}
	image->unwind = unwind;
	return true;
}

static void find_frames(struct djs_user_image *image, struct djs_user_source *source,
			const struct elf64_hdr *elf)
{
	struct elf64_shdr *sections;
	u32 i;

	if (elf->e_shentsize != sizeof(*sections) || !elf->e_shnum || elf->e_shnum > SECTIONS_MAX ||
	    elf->e_shstrndx >= elf->e_shnum)
		return;
	sections =
	    kvmalloc_array(elf->e_shnum, sizeof(*sections), GFP_KERNEL) ?: note_failure(source);
	if (sections && read_at(source, elf->e_shoff, sections, elf->e_shnum * sizeof(*sections))) {
		for (i = 0; i < elf->e_shnum; i++)
			if (is_frames(source, &sections[elf->e_shstrndx], &sections[i]))
				break;
		if (i < elf->e_shnum && !read_frames(image, source, &sections[i]))
			image->is_refused = true;
	}
	kvfree(sections);
}

static void read_build_id(struct djs_user_image *image, struct djs_user_source *source,
			  const struct elf64_phdr *header)
{
	u32 bytes = min_t(u64, header->p_filesz, NOTES_MAX), at = 0;
	char *notes = kmalloc(NOTES_MAX, GFP_KERNEL) ?: note_failure(source);

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

bool djs_user_image_read(struct djs_user_image *image, struct djs_user_source *source)
{
	struct elf64_phdr *headers;
	struct elf64_hdr elf;
	bool has_index = false;
	u32 i;

	if (!read_at(source, 0, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 || !elf_check_arch(&elf) ||
	    elf.e_phentsize != sizeof(*headers) || !elf.e_phnum || elf.e_phnum > HEADERS_MAX)
		return false;
	headers = kmalloc_array(elf.e_phnum, sizeof(*headers), GFP_KERNEL) ?: note_failure(source);
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
				image->is_refused = true;
		}
	}
	if (!has_index && image->load_count)
		find_frames(image, source, &elf);
	kfree(headers);
	return image->load_count;
}

void djs_user_image_free(struct djs_user_image *image)
{
	free_section(image->unwind.index, image->unwind.index_bytes);
	free_section(image->unwind.frames, image->unwind.frames_bytes);
}
