// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel_for_test.h"

/* What other sources have of this. */
#define djs_sites test_procfs_site_runs
#define djs_enter test_procfs_enter
#define djs_leave test_procfs_leave
#define djs_run_in_task test_procfs_run_in_task
#define djs_session_message test_procfs_message
#define djs_may_open test_procfs_may_be_opened
#define djs_file_set test_procfs_set
#define djs_file_append test_procfs_append
#define djs_file_get test_procfs_get
#define vfs_getattr test_procfs_getattr
#define mutex test_mutex

#include <fcntl.h>

#include "linux/fs.h"
#include "linux/list.h"
#include "linux/moduleparam.h"
#include "linux/mount.h"
#include "linux/mutex.h"
#include "linux/proc_fs.h"
#include "linux/rwsem.h"
#include "linux/sched.h"
#include "linux/stat.h"

#include "log_for_test.h"
#include "procfs_for_test.h"

char test_procfs_log[2048];
#define note(...) log_for_test(test_procfs_log, sizeof(test_procfs_log), __VA_ARGS__)

#define IS_ERR_OR_NULL(pointer) (!(pointer) || IS_ERR(pointer))
#define max3(a, b, c) max(a, max(b, c))
#define GFP_KERNEL_ACCOUNT GFP_KERNEL
#define ERESTARTSYS 512
#define FILES_OF_PROC "proc"
static bool hold_module(void);
static void release_module(void);
#define try_module_get(module) hold_module()
#define module_put(module) release_module()
static void wait_some(u32 ms);
#define msecs_to_jiffies(ms) (ms)
#define schedule_timeout_idle(ms) wait_some(ms)
static void fput(struct file* file);
static int scnprintf(char* to, size_t size, const char* format, ...)
    __attribute__((__format__(__printf__, 3, 4)));
#define mutex_lock_interruptible(lock) (test_procfs_is_interrupted ? -EINTR : (mutex_lock(lock), 0))
static unsigned long take_from_user(void* to, const void* from, unsigned long bytes);
#undef copy_from_user
#define copy_from_user(to, from, bytes) take_from_user(to, from, bytes)
static ssize_t simple_read_from_buffer(void* to, size_t size, loff_t* at, const void* from,
                                       size_t available);

struct djs_ctx* djs_enter(const struct djs_handler* handler, const struct djs_site* site);
void djs_leave(struct djs_ctx* ctx);

#include "procfs/procfs.c"

#include "sites_at_end_for_test.h"

bool test_procfs_armed[TEST_PROCFS_SITES], test_procfs_disarmed[TEST_PROCFS_SITES];
bool test_procfs_has_root, test_procfs_has_own, test_procfs_refuses_root, test_procfs_refuses_own,
    test_procfs_refuses_file, test_procfs_is_unloaded, test_procfs_may_open,
    test_procfs_is_interrupted, test_procfs_no_context, test_procfs_faults;
u32 test_procfs_others, test_procfs_waited;
int test_procfs_mount_error, test_procfs_open_error, test_procfs_stat_error, test_procfs_module,
    test_procfs_mounts, test_procfs_asked;
void (*test_procfs_blocks)(void);
void (*test_procfs_waits)(void);

static bool params_are_locked;
static struct task_struct task_of_test, callers[TEST_PROCFS_CALLS];
static struct file_call calls_of_test[TEST_PROCFS_CALLS];

LOG_SESSION_MESSAGES(test_procfs_log)

static int scnprintf(char* to, size_t size, const char* format, ...) {
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(to, size, format, arguments);
    va_end(arguments);
    return length < (int)size ? length : (int)size - 1;
}

/* ---- the kernel ---- */

static bool hold_module(void) {
    test_procfs_module += !test_procfs_is_unloaded;
    return !test_procfs_is_unloaded;
}

static void release_module(void) {
    test_put(&test_procfs_module);
}

static void wait_some(u32 ms) {
    test_may_sleep();
    test_procfs_waited += ms;
    if (test_procfs_waits)
        test_procfs_waits();
    else if (test_procfs_waited > 10000)
        abort(); /* for ever */
}

static void access_user_memory(void) {
    test_may_sleep();
    if (handlers_run.readers) /* it may block */
        abort();
    if (test_procfs_blocks)
        test_procfs_blocks();
}

static unsigned long take_from_user(void* to, const void* from, unsigned long bytes) {
    access_user_memory();
    if (test_procfs_faults)
        return bytes;
    memcpy(to, from, bytes);
    return 0;
}

/* As the kernel describes it. */
static ssize_t simple_read_from_buffer(void* to, size_t size, loff_t* at, const void* from,
                                       size_t available) {
    const size_t left = (size_t)*at < available ? available - (size_t)*at : 0;
    const size_t bytes = size < left ? size : left;

    if (*at < 0)
        return -EINVAL;
    if (!bytes)
        return 0;
    access_user_memory();
    if (test_procfs_faults)
        return -EFAULT;
    memcpy(to, (const char*)from + *at, bytes);
    *at += (loff_t)bytes;
    return (ssize_t)bytes;
}

void kernel_param_lock(struct module* module) {
    test_may_sleep();
    if (module || params_are_locked)
        abort();
    params_are_locked = true;
}

void kernel_param_unlock(struct module* module) {
    if (module || !params_are_locked)
        abort();
    params_are_locked = false;
}

static struct proc_dir_entry {
    int unused;
} root_folder, own_folder;
static struct test_proc_file {
    const char* name;
    unsigned mode;
    struct inode inode;
    void* data;
    const struct proc_ops* ops;
} proc_files[TEST_PROCFS_FILES];
static u32 proc_file_count;

/* The kernel's warnings end the test: about what exists, and what does not. */
struct proc_dir_entry* proc_mkdir(const char* name, struct proc_dir_entry* parent) {
    const bool is_root = !strcmp(name, "systemtap");

    test_may_sleep();
    if (parent || !params_are_locked || (!is_root && strcmp(name, "systemtap/djstap")))
        abort();
    if (is_root ? test_procfs_has_root : !test_procfs_has_root || test_procfs_has_own)
        abort();
    if (is_root ? test_procfs_refuses_root : test_procfs_refuses_own)
        return NULL;
    *(is_root ? &test_procfs_has_root : &test_procfs_has_own) = true;
    return is_root ? &root_folder : &own_folder;
}

struct proc_dir_entry* proc_create_data(const char* name, umode_t mode,
                                        struct proc_dir_entry* parent, const struct proc_ops* ops,
                                        void* data) {
    struct test_proc_file* file = &proc_files[proc_file_count];
    u32 i;

    test_may_sleep();
    for (i = 0; i < proc_file_count; i++)
        if (!strcmp(proc_files[i].name, name))
            abort();
    if (parent != &own_folder || !test_procfs_has_own || proc_file_count == TEST_PROCFS_FILES)
        abort();
    if (test_procfs_refuses_file)
        return NULL;
    if (!(mode & 07777)) /* the kernel's default */
        mode |= 0444;
    note("file %s 0%o\n", name, mode);
    *file = (struct test_proc_file){
        .name = name, .mode = mode, .inode = {.i_mode = mode}, .data = data, .ops = ops};
    proc_file_count++;
    return &root_folder;
}

void* pde_data(const struct inode* inode) {
    return container_of(inode, struct test_proc_file, inode)->data;
}

void proc_remove(struct proc_dir_entry* entry) {
    test_may_sleep();
    if (entry != &own_folder || !test_procfs_has_own)
        abort();
    if (djs_procfs_calls()) /* it would wait for them */
        abort();
    test_procfs_has_own = false;
    proc_file_count = 0;
}

void remove_proc_entry(const char* name, struct proc_dir_entry* parent) {
    test_may_sleep();
    if (parent || strcmp(name, "systemtap") || !params_are_locked || !test_procfs_has_root ||
        test_procfs_has_own || test_procfs_others)
        abort();
    test_procfs_has_root = false;
}

loff_t default_llseek(struct file* file, loff_t offset, int whence) {
    return -EINVAL;
}

static int type_of_proc, mount_of_proc;
static struct file opened_folder;

struct file_system_type* get_fs_type(const char* name) {
    return strcmp(name, FILES_OF_PROC) ? NULL : (struct file_system_type*)&type_of_proc;
}

struct vfsmount* kern_mount(struct file_system_type* type) {
    test_may_sleep();
    if ((int*)type != &type_of_proc)
        abort();
    if (test_procfs_mount_error)
        return ERR_PTR(test_procfs_mount_error);
    test_procfs_mounts++;
    return (struct vfsmount*)&mount_of_proc;
}

void kern_unmount(struct vfsmount* mount) {
    test_may_sleep();
    if ((int*)mount != &mount_of_proc)
        abort();
    test_put(&test_procfs_mounts);
}

struct file* file_open_root_mnt(struct vfsmount* mount, const char* name, int flags,
                                unsigned mode) {
    test_may_sleep();
    if ((int*)mount != &mount_of_proc || strcmp(name, "systemtap") ||
        flags != (O_RDONLY | O_DIRECTORY) || mode)
        abort();
    if (test_procfs_open_error || !test_procfs_has_root)
        return ERR_PTR(test_procfs_open_error ?: -ENOENT);
    test_procfs_mounts++;
    return &opened_folder;
}

static void fput(struct file* file) {
    if (file != &opened_folder)
        abort();
    test_put(&test_procfs_mounts);
}

int vfs_getattr(const struct path* path, struct kstat* stat, unsigned mask, unsigned flags) {
    test_may_sleep();
    if (path != &opened_folder.f_path || mask != STATX_NLINK || flags != AT_STATX_SYNC_AS_STAT)
        abort();
    if (test_procfs_stat_error)
        return test_procfs_stat_error;
    stat->nlink = 2 + test_procfs_others + test_procfs_has_own;
    return 0;
}

/* ---- the rest of the runtime ---- */

static struct djs_ctx ctx_of_test;

bool djs_may_open(bool writes) {
    test_procfs_asked = writes;
    return test_procfs_may_open;
}

static void note_handler(const struct djs_handler* handler, const struct djs_site* site,
                         const char* how) {
    if (handlers_run.readers != 1) /* nobody would wait for it */
        abort();
    note("%s %d%s\n", how, (int)(site - djs_script.sites),
         handler == &djs_script.handlers[site->handler] ? "" : ", another one");
}

struct djs_ctx* djs_enter(const struct djs_handler* handler, const struct djs_site* site) {
    note_handler(handler, site, "handler");
    if (test_procfs_no_context)
        return NULL;
    test_atomic_depth++;
    return &ctx_of_test;
}

void djs_leave(struct djs_ctx* ctx) {
    if (ctx != &ctx_of_test || ctx->file_text) /* the next handler on the CPU would write there */
        abort();
    test_atomic_depth--;
}

bool djs_run_in_task(const struct djs_handler* handler, const struct djs_site* site,
                     void (*prepare)(struct djs_ctx* ctx, void* data), void* data) {
    note_handler(handler, site, "task");
    if (test_procfs_no_context)
        return false;
    prepare(&ctx_of_test, data);
    handler->body(&ctx_of_test);
    ctx_of_test.file_text = NULL;
    return true;
}

/* ---- what a test does ---- */

static struct file open_files[4];

void test_procfs_begin(void) {
    forget_sites(TEST_PROCFS_SITES);
    memset(test_procfs_armed, 0, sizeof(test_procfs_armed));
    memset(test_procfs_disarmed, 0, sizeof(test_procfs_disarmed));
    memset(&ctx_of_test, 0, sizeof(ctx_of_test));
    test_procfs_log[0] = 0;
    test_procfs_has_root = test_procfs_has_own = test_procfs_refuses_root = false;
    test_procfs_refuses_own = test_procfs_refuses_file = test_procfs_is_unloaded = false;
    test_procfs_is_interrupted = test_procfs_no_context = test_procfs_faults = false;
    test_procfs_may_open = true;
    test_procfs_others = test_procfs_waited = 0;
    test_procfs_mount_error = test_procfs_open_error = test_procfs_stat_error = 0;
    test_procfs_asked = -1;
    test_procfs_blocks = test_procfs_waits = NULL;
    session_over = false;
    test_current = &task_of_test;
}

static void tell_sites(void) {
    u32 i;

    place_sites(djs_script.site_count);
    for (i = 0; i < djs_script.site_count; i++) {
        runs_of_test[i].site = &djs_script.sites[i];
        runs_of_test[i].mechanism = djs_script.sites[i].mechanism;
        runs_of_test[i].disarmed = test_procfs_disarmed[i];
    }
}

static void ask_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++)
        test_procfs_armed[i] = runs_of_test[i].armed;
}

int test_procfs_attach(void) {
    int error;

    tell_sites();
    error = djs_ops_procfs.attach();
    ask_sites();
    return error;
}

void test_procfs_disarm(void) {
    tell_sites();
    djs_ops_procfs.disarm();
    ask_sites();
}

void test_procfs_detach(void) {
    djs_ops_procfs.detach();
}

void test_procfs_finish(void) {
    djs_procfs_finish();
}

bool test_procfs_is_over(void) {
    return session_over;
}

u64 test_procfs_calls(void) {
    return djs_procfs_calls();
}

void test_procfs_call_begins(u32 number, const char* comm, pid_t pid, bool writes) {
    struct task_struct* task = &callers[number];

    snprintf(task->comm, sizeof(task->comm), "%s", comm);
    task->pid = pid;
    test_current = task;
    if (!call_begins(&calls_of_test[number], writes))
        abort();
    test_current = &task_of_test;
}

void test_procfs_call_ends(u32 number) {
    call_ends(&calls_of_test[number]);
}

int test_procfs_open(u32 descriptor, const char* name, unsigned mode) {
    u32 i;

    for (i = 0; i < proc_file_count; i++)
        if (!strcmp(proc_files[i].name, name)) {
            open_files[descriptor] = (struct file){.f_inode = &proc_files[i].inode, .f_mode = mode};
            return procfs_ops.proc_open(&proc_files[i].inode, &open_files[descriptor]);
        }
    return -ENOENT;
}

void test_procfs_close(u32 descriptor) {
    procfs_ops.proc_release(open_files[descriptor].f_inode, &open_files[descriptor]);
}

ssize_t test_procfs_read(u32 descriptor, char* to, size_t size, loff_t* at) {
    return procfs_ops.proc_read(&open_files[descriptor], to, size, at);
}

ssize_t test_procfs_write(u32 descriptor, const char* from, size_t size) {
    loff_t at = 0;

    return procfs_ops.proc_write(&open_files[descriptor], from, size, &at);
}
