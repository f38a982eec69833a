// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this, and what the tests of others have. */
#define default_llseek test_proc_of_default_llseek
#define djs_calls_missed test_proc_of_calls_missed
#define djs_control test_proc_of_control
#define djs_cpu_sum test_proc_of_cpu_sum
#define djs_deep_hits test_proc_of_deep_hits
#define djs_error_count test_proc_of_error_count
#define djs_inside_count test_proc_of_inside_count
#define djs_kprobes_missed test_proc_of_kprobes_missed
#define djs_kretprobes_missed test_proc_of_kretprobes_missed
#define djs_may_open test_proc_of_may_open
#define djs_members_missed test_proc_of_members_missed
#define djs_perf_not_followed test_proc_of_perf_not_followed
#define djs_pinned test_proc_of_pinned
#define djs_probe_switch test_proc_of_probe_switch
#define djs_proc_exit test_proc_exit
#define djs_proc_init test_proc_init
#define djs_procfs_calls test_proc_of_procfs_calls
#define djs_reader_comes test_proc_of_reader_comes
#define djs_reader_goes test_proc_of_reader_goes
#define djs_reader_queue test_proc_of_reader_queue
#define djs_ring_page test_proc_of_ring_page
#define djs_ring_pages test_proc_of_ring_pages
#define djs_rings_lost test_proc_of_rings_lost
#define djs_rings_oversized test_proc_of_rings_oversized
#define djs_rings_overwritten test_proc_of_rings_overwritten
#define djs_session_abandoned test_proc_of_session_abandoned
#define djs_session_start test_proc_of_session_start
#define djs_session_stop test_proc_of_session_stop
#define djs_site_missed test_proc_of_site_missed
#define djs_sites test_proc_of_sites
#define djs_sites_failed_count test_proc_of_sites_failed_count
#define djs_sites_lock test_proc_of_sites_lock
#define djs_sites_unlock test_proc_of_sites_unlock
#define djs_symbol_page test_proc_of_symbol_page
#define djs_symbol_pages test_proc_of_symbol_pages
#define djs_symbols_fill test_proc_of_symbols_fill
#define djs_traced_executes test_proc_executes
#define djs_traced_pid test_proc_traced
#define djs_user_images_refused test_proc_of_user_images_refused
#define djs_user_stacks_incomplete test_proc_of_user_stacks_incomplete
#define find_vpid test_proc_of_find_vpid
#define init_pid_ns test_proc_of_init_pid_ns
#define pid_nr test_proc_of_pid_nr
#define proc_create test_proc_of_proc_create
#define proc_remove test_proc_of_proc_remove
#define DJS_HAVE_VM_FLAGS_SET 1
#include "kernel_for_test.h"

#include "linux/fs.h"
#include "linux/moduleparam.h"
#include "linux/pid_namespace.h"
#include "linux/poll.h"
#include "linux/proc_fs.h"
#include "linux/rcupdate.h"
#include "linux/sched.h"

#include "log_for_test.h"
#include "proc_for_test.h"

char test_proc_log[1024];
#define note(...) log_for_test(test_proc_log, sizeof(test_proc_log), __VA_ARGS__)
#undef pr_err
#define pr_err(...) note(__VA_ARGS__)

struct module {
    const char* name;
};
static struct task_struct caller;
#undef current
#define current (&caller)
static struct module module_of_test;
#undef THIS_MODULE
#define THIS_MODULE (module_of_test.name = test_proc_module_name, &module_of_test)
static bool hold_module(void);
static void release_module(void);
#define try_module_get(module) hold_module()
#define module_put(module) release_module()
#undef nr_cpu_ids
#define nr_cpu_ids ((unsigned)TEST_PROC_CPUS)
#define __user

struct page {
    char name[16];
};
struct vm_area_struct {
    unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
};
#define VM_WRITE TEST_VM_WRITE
#define VM_EXEC TEST_VM_EXEC
#define VM_MAYWRITE TEST_VM_MAYWRITE
#define VM_MAYSHARE TEST_VM_MAYSHARE
#define VM_DONTCOPY TEST_VM_DONTCOPY
#define VM_DONTEXPAND TEST_VM_DONTEXPAND
#define VM_DONTDUMP TEST_VM_DONTDUMP
#define vma_pages(vma) (((vma)->vm_end - (vma)->vm_start) / PAGE_SIZE)
#define vm_flags_mod(vma, set, clear)                                                              \
    ((void)((vma)->vm_flags = ((vma)->vm_flags | (set)) & ~(clear)))
static int map_page(struct vm_area_struct* vma, unsigned long address, const struct page* page);
#define vm_insert_page(vma, address, page) map_page(vma, address, page)
static struct page* page_of(const void* memory);
#define virt_to_page(memory) page_of(memory)
static unsigned long copy_user(void* to, const void* from, size_t bytes);
#undef copy_from_user
#define copy_from_user(to, from, bytes) copy_user(to, from, bytes)
#define copy_to_user(to, from, bytes) copy_user(to, from, bytes)
static ssize_t simple_read_from_buffer(void* to, size_t size, loff_t* at, const void* from,
                                       size_t available);

#include "control/proc.c"

#include "sites_at_end_for_test.h"

bool test_proc_may_open, test_proc_is_unloaded, test_proc_is_owned, test_proc_refuses_file,
    test_proc_has_file, test_proc_faults, test_proc_is_in_namespace, test_proc_executes;
int test_proc_references, test_proc_start_error, test_proc_switch_error, test_proc_page_left,
    test_proc_real_number, test_proc_site_error;
const char* test_proc_module_name;
s32 test_proc_traced;
u32 test_proc_site_mechanism, test_proc_site_fallback;
struct djs_control_page test_proc_control;
struct djs_control_page* djs_control = &test_proc_control;
DECLARE_WAIT_QUEUE_HEAD(djs_reader_queue);
struct pid_namespace init_pid_ns;

static const struct proc_ops* ops_of_file;
static bool is_locked;

/* ---- the kernel ---- */

static bool hold_module(void) {
    test_proc_references += !test_proc_is_unloaded;
    return !test_proc_is_unloaded;
}

static void release_module(void) {
    note("put ");
    test_put(&test_proc_references);
}

static ssize_t simple_read_from_buffer(void* to, size_t size, loff_t* at, const void* from,
                                       size_t available) {
    const size_t left = (size_t)*at < available ? available - (size_t)*at : 0;

    if (size > left)
        size = left;
    memcpy(to, (const char*)from + *at, size);
    *at += (loff_t)size;
    return (ssize_t)size;
}

loff_t default_llseek(struct file* file, loff_t offset, int whence) {
    return -EINVAL;
}

static int type_of_file;

struct proc_dir_entry* proc_create(const char* name, umode_t mode, struct proc_dir_entry* parent,
                                   const struct proc_ops* ops) {
    test_may_sleep();
    if (parent || test_proc_has_file)
        abort();
    note("create(%s, 0%o) ", name, mode);
    if (test_proc_refuses_file)
        return NULL;
    test_proc_has_file = true;
    ops_of_file = ops;
    return (struct proc_dir_entry*)&type_of_file;
}

void proc_remove(struct proc_dir_entry* entry) {
    test_may_sleep();
    if (!entry) /* as the kernel's */
        return;
    if ((int*)entry != &type_of_file || !test_proc_has_file)
        abort();
    test_proc_has_file = false;
}

static struct page* page_of(const void* memory) {
    static struct page control = {"control"};

    if (memory != &test_proc_control)
        abort();
    return &control;
}

static int map_page(struct vm_area_struct* vma, unsigned long address, const struct page* page) {
    if (!page || address < vma->vm_start || address >= vma->vm_end ||
        (address - vma->vm_start) % PAGE_SIZE)
        abort();
    if (!test_proc_page_left)
        return -ENOMEM;
    test_proc_page_left--;
    note("%lu:%s ", (address - vma->vm_start) / PAGE_SIZE, page->name);
    return 0;
}

static unsigned long copy_user(void* to, const void* from, size_t bytes) {
    test_may_sleep();
    if (is_locked) /* whoever handles its page fault may wait for that */
        abort();
    if (test_proc_faults)
        return bytes;
    memcpy(to, from, bytes);
    return 0;
}

static int process_of_caller;

struct pid* find_vpid(int number) {
    if (!test_rcu_depth)
        abort();
    return number == 7 && test_proc_real_number ? (struct pid*)&process_of_caller : NULL;
}

int pid_nr(struct pid* pid) {
    return pid ? test_proc_real_number : 0;
}

struct pid_namespace* task_active_pid_ns(struct task_struct* task) {
    static struct pid_namespace other;

    if (task != &caller)
        abort();
    return test_proc_is_in_namespace ? &other : &init_pid_ns;
}

/* ---- the rest of the runtime ---- */

void djs_sites_lock(void) {
    if (is_locked)
        abort();
    is_locked = true;
}

void djs_sites_unlock(void) {
    if (!is_locked)
        abort();
    is_locked = false;
}

bool djs_may_open(bool writes) {
    note("may-%s ", writes ? "write" : "read");
    return test_proc_may_open;
}

bool djs_reader_comes(void) {
    const bool comes = !test_proc_is_owned;

    if (!test_proc_references) /* the module would be gone meanwhile */
        abort();
    test_proc_is_owned = true;
    note("comes ");
    return comes;
}

void djs_reader_goes(void) {
    note("goes ");
    test_proc_is_owned = false;
}

void djs_session_abandoned(void) {
    note("abandoned ");
}

unsigned long djs_symbol_pages(void) {
    return TEST_PROC_SYMBOL_PAGES;
}

struct page* djs_symbol_page(unsigned long index) {
    static struct page page;

    if (index >= TEST_PROC_SYMBOL_PAGES)
        abort();
    snprintf(page.name, sizeof(page.name), "symbols%lu", index);
    return &page;
}

unsigned long djs_ring_pages(void) {
    return TEST_PROC_RING_PAGES;
}

struct page* djs_ring_page(unsigned int cpu, unsigned long index) {
    static struct page page;

    if (cpu >= TEST_PROC_CPUS || index >= TEST_PROC_RING_PAGES)
        abort();
    snprintf(page.name, sizeof(page.name), "ring%u.%lu", cpu, index);
    return cpu == 1 ? NULL : &page;
}

/* Each has a digit of its own. */
#define COUNT(function, n)                                                                         \
    u64 function(void) {                                                                           \
        if (!is_locked)                                                                            \
            abort();                                                                               \
        return n;                                                                                  \
    }
COUNT(djs_rings_lost, 1)
COUNT(djs_rings_overwritten, 2)
COUNT(djs_rings_oversized, 3)
COUNT(djs_calls_missed, 4)
COUNT(djs_perf_not_followed, 5)
COUNT(djs_members_missed, 50)
COUNT(djs_deep_hits, 6)
COUNT(djs_user_stacks_incomplete, 7)
COUNT(djs_user_images_refused, 8)
COUNT(djs_inside_count, 9)
COUNT(djs_procfs_calls, 90)

struct djs_misses djs_kprobes_missed(void) {
    return (struct djs_misses){.nested = 11, .without_instance = 99999};
}

struct djs_misses djs_kretprobes_missed(void) {
    return (struct djs_misses){.nested = 2200, .without_instance = 13};
}

u64 djs_cpu_sum(size_t field_offset) {
    return field_offset == offsetof(struct djs_cpu, skipped_busy)     ? 21
           : field_offset == offsetof(struct djs_cpu, skipped_locked) ? 22
           : field_offset == offsetof(struct djs_cpu, skipped_stack)  ? 23
                                                                      : 99999;
}

u32 djs_error_count(void) {
    return 31;
}

u32 djs_sites_failed_count(void) {
    return 32;
}

bool djs_pinned(void) {
    return true;
}

u64 djs_site_missed(const struct djs_site_run* run) {
    if (!is_locked)
        abort();
    return 100 + (u64)(run - djs_sites);
}

int djs_session_start(void) {
    note("start ");
    return test_proc_start_error;
}

void djs_session_stop(void) {
    note("stop ");
}

int djs_probe_switch(u32 probe, bool on) {
    note("switch(%u, %d) ", probe, on);
    return test_proc_switch_error;
}

void djs_symbols_fill(void) {
    note("fill ");
}

/* ---- what a test does ---- */

static struct file file_of(unsigned mode) {
    return (struct file){.f_mode = (mode & TEST_PROC_READS ? FMODE_READ : 0) |
                                   (mode & TEST_PROC_WRITES ? FMODE_WRITE : 0)};
}

void test_proc_begin(void) {
    test_proc_log[0] = 0;
    test_proc_may_open = true;
    test_proc_is_unloaded = test_proc_is_owned = test_proc_refuses_file = false;
    test_proc_has_file = test_proc_faults = test_proc_is_in_namespace = test_proc_executes = false;
    test_proc_references = test_proc_start_error = test_proc_switch_error = 0;
    test_proc_real_number = test_proc_traced = test_proc_site_error = 0;
    test_proc_page_left = 100;
    test_proc_module_name = "script";
    test_proc_site_mechanism = test_proc_site_fallback = 0;
    memset(&test_proc_control, 0, sizeof(test_proc_control));
    file_entry = NULL;
    ops_of_file = &file_operations_of_module;
    is_locked = false;
}

int test_proc_open(unsigned mode) {
    struct file file = file_of(mode);

    return ops_of_file->proc_open(NULL, &file);
}

int test_proc_release(unsigned mode) {
    struct file file = file_of(mode);

    return ops_of_file->proc_release(NULL, &file);
}

ssize_t test_proc_read(char* to, size_t size, loff_t* at) {
    return ops_of_file->proc_read(NULL, to, size, at);
}

unsigned test_proc_poll(void) {
    poll_table table = {NULL};
    const unsigned events = ops_of_file->proc_poll(NULL, &table);

    if (table.queue != &djs_reader_queue) /* nobody would be woken */
        abort();
    return events;
}

int test_proc_mmap(unsigned mode, u64 page, u64 pages, unsigned long* flags) {
    struct file file = file_of(mode);
    struct vm_area_struct vma = {.vm_start = 0x70000,
                                 .vm_end = 0x70000 + pages * PAGE_SIZE,
                                 .vm_flags = *flags,
                                 .vm_pgoff = page};
    const int error = ops_of_file->proc_mmap(&file, &vma);

    *flags = vma.vm_flags;
    return error;
}

long test_proc_ioctl(unsigned mode, unsigned command, void* argument) {
    struct file file = file_of(mode);
    u32 i;

    place_sites(djs_script.site_count);
    for (i = 0; i < djs_script.site_count; i++)
        djs_sites[i] = (struct djs_site_run){.mechanism = test_proc_site_mechanism + i,
                                             .fallback = test_proc_site_fallback,
                                             .error = test_proc_site_error};
    return ops_of_file->proc_ioctl(&file, command, (unsigned long)argument);
}
