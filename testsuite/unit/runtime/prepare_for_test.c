// SPDX-License-Identifier: GPL-2.0-or-later
// Who fills the tables of stacks, and when (runtime/ustack/prepare.c), for processes that are made
// up.
#include "kernel_for_test.h"

#include "linux/fs.h"
#include "linux/gfp.h"
#include "linux/hash.h"
#include "linux/kprobes.h"
#include "linux/list.h"
#include "linux/rcupdate.h"

#include "prepare_for_test.h"

struct vm_area_struct {
    unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
    struct file* vm_file;
    struct mm_struct* vm_mm;
};
struct mm_struct {
    struct vm_area_struct areas[TEST_AREAS];
    u32 count, locked, stored;
    int locks, users;
};
#define DJSTAP_TEST_MM_TYPES_H /* this is another one */
#include "linux/sched/signal.h"

#include "ustack_for_test.h"

struct linux_binprm;
struct pt_regs {
    u64 argument;
};
#define VM_EXEC 4
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define djs_register_argument(regs, n) ((n) == 1 ? (regs)->argument : 0)
#define djs_vdso_address(mm) ((void)(mm), test_vdso)
#define NOKPROBE_SYMBOL(function) struct test_unused
#define VMA_ITERATOR(name, mm, from) u32 name = (from) * !(mm)
#define for_each_vma(at, vma) for (; ((vma) = test_area_of(mm, (at)++)) != NULL;)
#define xchg(place, value) __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST)
#define for_each_process(task) for ((task) = processes; test_is_process(task); (task)++)
#undef fatal_signal_pending
#define fatal_signal_pending(task) ((void)(task), test_prepare_is_killed)
#define mmap_read_lock_killable(mm) test_lock_areas(mm, true)
#define mmap_read_trylock(mm) (!test_lock_areas(mm, false))
#define mmap_read_unlock(mm) test_put(&(mm)->locks)
#define get_task_mm(task) ((task)->mm ? ((task)->mm->users++, (task)->mm) : NULL)
#define mmput(mm) (test_may_sleep(), test_put(&(mm)->users))
#define get_file(file) (files_held++, (file))
#define fput(file) ((file) ? test_put(&files_held) : abort())

/* The rest of the runtime, and other sources' tests, have their own. */
#define djs_works_open test_prepare_works_open
#define djs_works_add test_prepare_works_add
#define djs_works_try test_prepare_works_try
#define djs_works_close test_prepare_works_close
#define djs_works_free test_prepare_works_free
#define djs_task_events_start test_prepare_events_start
#define djs_task_events_stop test_prepare_events_stop
#define djs_user_image_of test_prepare_image_of
#define djs_user_image_of_kernel test_prepare_image_of_kernel
#define djs_user_space_set test_prepare_space_set
#define djs_session_message test_prepare_message
#define register_kprobe test_prepare_register
#define unregister_kprobe test_prepare_unregister
const struct djs_user_image* test_prepare_image_of(struct file* file);
const struct djs_user_image* test_prepare_image_of_kernel(void);
int test_prepare_space_set(struct mm_struct* mm, struct djs_user_map* map);
int test_prepare_register(struct kprobe* kprobe);
void test_prepare_unregister(struct kprobe* kprobe);

static struct task_struct processes[TEST_PROCESSES];
static struct mm_struct memories[TEST_PROCESSES];
static int files_held;
static struct vm_area_struct* test_area_of(struct mm_struct* mm, u32 number);
static int test_lock_areas(struct mm_struct* mm, bool waits);
static bool test_is_process(const struct task_struct* task);

#include "ustack/prepare.c"

enum { MOST_PLACED = 64 };
u64 test_vdso;
bool test_prepare_is_killed, test_prepare_no_works;
int test_prepare_error, test_prepare_probe_error;
u32 test_prepare_sleeps;
bool test_prepare_add_may_sleep, test_prepare_add_warns;
static struct djs_user_image file_image = {.number = 5, .load_count = 1},
                             kernel_image = {
                                 .number = 6, .load_count = 1, .loads = {{0, 0x2000, 0}}};
static struct test_placed placed[MOST_PLACED];
static u32 placed_count, due_counts[TEST_PROCESSES];
static u64 placed_order;
static struct djs_works* used_works;
static struct djs_task_event* asked;
static struct kprobe* probed;
static struct file mapped_file;

/* ---- the kernel ---- */

static struct vm_area_struct* test_area_of(struct mm_struct* mm, u32 number) {
    if (!mm->locks)
        abort();
    return number < mm->count ? &mm->areas[number % TEST_AREAS] : NULL;
}

static int test_lock_areas(struct mm_struct* mm, bool waits) {
    if (waits)
        test_may_sleep();
    if (mm->locked && waits && test_prepare_is_killed) /* a free lock is taken even so */
        return -EINTR;
    if (!waits && mm->locked) {
        mm->locked--;
        return -EBUSY;
    }
    mm->locks++;
    return 0;
}

static bool test_is_process(const struct task_struct* task) {
    if (!test_rcu_depth) /* processes leave the list meanwhile */
        abort();
    return task < processes + TEST_PROCESSES;
}

void usleep_range(unsigned long least, unsigned long most) {
    test_may_sleep();
    test_prepare_sleeps += least < most;
}

int test_prepare_register(struct kprobe* kprobe) {
    test_may_sleep();
    if (strcmp(kprobe->symbol_name, "perf_event_mmap") || probed)
        abort();
    if (kprobe->addr) /* the kernel leaves the one that it has found, and refuses both */
        return -EINVAL;
    kprobe->addr = kprobe;
    if (test_prepare_probe_error)
        return test_prepare_probe_error;
    probed = kprobe;
    return 0;
}

void test_prepare_unregister(struct kprobe* kprobe) {
    test_may_sleep();
    if (probed != kprobe)
        abort();
    probed = NULL;
}

/* ---- the rest of the runtime ---- */

int test_prepare_works_open(struct djs_works* works) {
    test_may_sleep();
    used_works = works;
    works->open = true;
    return 0;
}

int test_prepare_works_add(struct djs_works* works, struct task_struct* task, gfp_t how) {
    test_prepare_add_may_sleep = gfpflags_allow_blocking(how);
    test_prepare_add_warns = !(how & __GFP_NOWARN);
    if (test_prepare_add_may_sleep)
        test_may_sleep();
    if (test_prepare_no_works)
        return -ENOSPC;
    due_counts[task - processes]++;
    return 0;
}

int test_prepare_works_try(struct djs_works* works) {
    return test_prepare_works_add(works, test_current, GFP_NOWAIT | __GFP_NOWARN);
}

void test_prepare_works_close(struct djs_works* works) {
    test_may_sleep();
    works->open = false;
}

void test_prepare_works_free(struct djs_works* works) {
    test_may_sleep();
    works->open = false;
}

int test_prepare_events_start(struct djs_task_event* events, u32 count) {
    test_may_sleep();
    if (count != 2)
        abort();
    asked = test_prepare_error ? NULL : events;
    return test_prepare_error;
}

void test_prepare_events_stop(struct djs_task_event* events, u32 count) {
    test_may_sleep();
    asked = NULL;
}

const struct djs_user_image* test_prepare_image_of(struct file* file) {
    test_may_sleep();
    return file == &mapped_file ? &file_image : NULL;
}

const struct djs_user_image* test_prepare_image_of_kernel(void) {
    return &kernel_image;
}

int test_prepare_space_set(struct mm_struct* mm, struct djs_user_map* map) {
    u32 i;

    test_may_sleep();
    mm->stored++;
    placed_order = map->order;
    placed_count = map->count;
    for (i = 0; i < map->count && i < MOST_PLACED; i++)
        placed[i] = (struct test_placed){map->mappings[i].begin, map->mappings[i].end,
                                         map->mappings[i].bias, map->mappings[i].image};
    kvfree(map);
    return 0;
}

void test_prepare_message(u32 id, const char* format, ...) {}

/* ---- for the test ---- */

static void run_as(u32 process) {
    test_current = &processes[process];
}

void test_set_areas(u32 process, const struct test_area* areas, u32 count) {
    struct mm_struct* mm = &memories[process];
    u32 i;

    memset(mm, 0, sizeof(*mm));
    mm->count = count;
    for (i = 0; i < count; i++)
        mm->areas[i] = (struct vm_area_struct){
            .vm_start = areas[i].begin,
            .vm_end = areas[i].end,
            .vm_pgoff = areas[i].page_in_file,
            .vm_flags = areas[i].is_code ? VM_EXEC | 1 : 1,
            .vm_file = areas[i].has_file ? &mapped_file : NULL,
            .vm_mm = mm,
        };
}

void test_set_area_count(u32 process, u32 count) {
    memories[process].count = count;
}

void test_set_load(u64 offset, u64 bytes, u64 address) {
    file_image.loads[0] = (struct djs_user_load){offset, bytes, address};
}

void test_set_locked(u32 process, u32 looks) {
    memories[process].locked = looks;
}

void test_set_flags(u32 process, unsigned flags, bool has_memory) {
    processes[process] = (struct task_struct){
        .pid = process + 1,
        .tgid = process + 1,
        .flags = flags,
        .mm = has_memory ? &memories[process] : NULL,
        .group_leader = &processes[process],
    };
    due_counts[process] = 0;
}

int test_prepare_init(u32 process) {
    run_as(process);
    mmap_probe.addr = NULL; /* as a module that is loaded again has it */
    return djs_user_prepare_init();
}

void test_prepare_exit(void) {
    djs_user_prepare_exit();
}

void test_prepare_soon(u32 process) {
    run_as(process);
    test_atomic_depth++;
    djs_user_prepare_soon();
    test_atomic_depth--;
}

void test_prepare_executes(u32 process) {
    void (*callback)(void*, struct task_struct*, pid_t, struct linux_binprm*) = asked[0].callback;

    run_as(process);
    test_atomic_depth++;
    callback(NULL, test_current, 0, NULL);
    test_atomic_depth--;
}

void test_prepare_forks(u32 parent, u32 child) {
    void (*callback)(void*, struct task_struct*, struct task_struct*) = asked[1].callback;

    run_as(parent);
    test_atomic_depth++;
    callback(NULL, test_current, &processes[child]);
    test_atomic_depth--;
}

void test_prepare_shares_memory(u32 process, u32 other) {
    processes[process].mm = processes[other].mm;
}

void test_prepare_maps(u32 process, bool is_code, u32 of) {
    struct vm_area_struct area = {.vm_flags = is_code ? VM_EXEC | 1 : 1, .vm_mm = &memories[of]};
    struct pt_regs regs = {(u64)&area};

    run_as(process);
    test_atomic_depth++;
    if (probed->pre_handler(probed, &regs))
        abort();
    test_atomic_depth--;
}

u32 test_prepare_due(u32 process) {
    return due_counts[process];
}

void test_prepare_runs(u32 process) {
    run_as(process);
    for (; due_counts[process]; due_counts[process]--)
        used_works->function();
}

u32 test_prepared(u32 process) {
    return memories[process].stored;
}

u32 test_placed_count(void) {
    return placed_count;
}

struct test_placed test_placed(u32 number) {
    return placed[number];
}

u64 test_placed_order(void) {
    return placed_order;
}

u32 test_prepare_held(void) {
    u32 i, held = files_held;

    for (i = 0; i < TEST_PROCESSES; i++)
        held += memories[i].locks + memories[i].users + processes[i].references;
    return held;
}

bool test_prepare_probed(void) {
    return probed;
}

bool test_prepare_asked(void) {
    return asked;
}
