// SPDX-License-Identifier: GPL-2.0-or-later
// The files that programs map (runtime/ustack/images.c), for files that are made up.
#include "kernel_for_test.h"

#include "linux/fs.h"
#include "linux/mm_types.h"
#include "linux/mutex.h"
#include "linux/rculist.h"
#include "linux/sched.h"
#include "linux/stat.h"

/* places_for_test.c has its own. */
#define djs_user_image test_user_image

#include "images_for_test.h"
#include "ustack_for_test.h"

static unsigned long vdso_at;
#define djs_vdso_address(mm) ((void)(mm), vdso_at)

static char* kstrdup(const char* text, unsigned how) {
    char* copy = kmalloc(strlen(text) + 1, how);

    return copy ? strcpy(copy, text) : NULL;
}
static char* file_path(struct file* file, char* buffer, int bytes);

/* The test need not fill sixteen thousand. */
#include "ustack/ustack.h"
#undef DJS_USER_IMAGES_MAX
#define DJS_USER_IMAGES_MAX TEST_IMAGES_MAX
/* Behind the last bucket there is no memory: whoever looks there ends the test. */
#define buckets (*buckets_of_test)
#include "ustack/images.c"
#undef buckets

__attribute__((constructor)) static void place_buckets(void) {
    static void* end;

    buckets_of_test = (__typeof__(buckets_of_test))guarded_end(&end) - 1;
}

u32 test_paths_made;
static const struct test_mapped* mapped;
static struct inode mapped_inode;
static struct mm_struct mapped_memory;

static char* file_path(struct file* file, char* buffer, int bytes) {
    test_may_sleep();
    (void)file;
    test_paths_made++;
    if (bytes != PATH_MAX)
        abort();
    return mapped->path ? strcpy(buffer, mapped->path) : (char*)(long)-ENAMETOOLONG;
}

int vfs_getattr(const struct path* path, struct kstat* stat, unsigned mask, unsigned flags) {
    const struct test_identity* identity = &mapped->identity;

    test_may_sleep();
    if (!path || mask != STATX_BASIC_STATS || flags != AT_STATX_DONT_SYNC)
        abort();
    *stat = (struct kstat){
        .dev = identity->device,
        .ino = identity->inode,
        .size = identity->size,
        .mtime = {identity->modified, identity->modified_ns},
        .ctime = {identity->changed, identity->changed_ns},
    };
    return mapped->is_known ? 0 : -EIO;
}

static struct test_image seen(const struct djs_user_image* image) {
    return image ? (struct test_image){image->path, image->number, image->unwind.rows,
                                       image->is_refused}
                 : (struct test_image){0};
}

int test_images_init(void) {
    return djs_user_images_init();
}

void test_images_exit(void) {
    djs_user_images_exit();
}

struct test_image test_map(const struct test_mapped* file) {
    struct file* opened = test_image_file(NULL, 0);

    mapped = file;
    mapped_inode.i_mode = file->is_regular ? S_IFREG : S_IFDIR;
    opened->f_inode = &mapped_inode;
    opened->f_mode = file->is_readable ? FMODE_READ : 0;
    return seen(djs_user_image_of(opened));
}

struct test_image test_image_of(u32 number) {
    return seen(djs_user_image(number));
}

struct test_image test_map_kernel(u64 address, bool has_memory) {
    static struct task_struct task;

    task.mm = has_memory ? &mapped_memory : NULL;
    test_current = &task;
    vdso_at = address;
    djs_user_read_kernel_image();
    return seen(djs_user_image_of_kernel());
}
