// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks of programs (runtime/ustack/): what is read of files, and the mappings of address spaces.
#include "kernel_for_test.h"

#include "linux/fs.h"
#include "linux/mm_types.h"
#include "linux/rcupdate.h"
#include "linux/sched.h"

#include "ustack_for_test.h"

#include <linux/elf.h>

#define elf_check_arch(header) ((header)->e_machine == EM_X86_64)

#include "ustack/read_image.c"

/* Behind the last bucket there is no memory: whoever looks there ends the test. */
#define buckets_of_spaces (*buckets_of_test)
#include "ustack/spaces.c"
#undef buckets_of_spaces

__attribute__((constructor)) static void place_buckets(void) {
    static void* end;

    buckets_of_test = (__typeof__(buckets_of_test))guarded_end(&end) - 1;
}

u64 test_read_most;
long test_reads_left, test_read_result;
bool test_is_killed;
struct work_struct* test_queued;
static struct file image_file;
static struct mm_struct test_spaces[TEST_SPACES];

struct file* test_image_file(const char* text, u64 bytes) {
    if (text) {
        image_file.text = text;
        image_file.bytes = bytes;
    }
    return &image_file;
}

ssize_t kernel_read(struct file* file, void* to, size_t bytes, loff_t* position) {
    const u64 at = *position;

    test_may_sleep();
    if (!test_reads_left)
        return test_read_result;
    test_reads_left--;
    if (at >= file->bytes)
        return 0;
    bytes = min_t(u64, min_t(u64, bytes, test_read_most), file->bytes - at);
    memcpy(to, file->text + at, bytes);
    *position += bytes;
    return bytes;
}

/* Of the file's bytes, which are in memory, too. */
unsigned long test_copy_from_user(void* to, const void* from, unsigned long bytes) {
    const u64 at = (u64)from - (u64)image_file.text;

    test_may_sleep();
    if (at > image_file.bytes || bytes > image_file.bytes - at)
        return bytes;
    memcpy(to, from, bytes);
    return 0;
}

struct mm_struct* test_space(u32 number) {
    return &test_spaces[number];
}

void test_set_users(u32 number, int users) {
    atomic_set(&test_spaces[number].mm_users, users);
}

int test_space_references(u32 number) {
    return test_spaces[number].references;
}

struct djs_user_map* test_make_map(u32 count, u64 order) {
    struct djs_user_map* map =
        kvmalloc(sizeof(*map) + count * sizeof(map->mappings[0]), GFP_KERNEL);
    u32 i;

    map->order = order;
    map->count = count;
    map->places = 0;
    for (i = 0; i < count; i++)
        map->mappings[i] = (struct djs_user_mapping){.image = DJS_NO_USER_IMAGE};
    return map;
}

void test_free_map(struct djs_user_map* map) {
    kvfree(map);
}

bool test_is_queued(void) {
    return test_queued != NULL;
}

bool test_run_queued(void) {
    struct work_struct* work = test_queued;

    test_queued = NULL;
    if (work)
        work->run(work);
    return work != NULL;
}
