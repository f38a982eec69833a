// SPDX-License-Identifier: GPL-2.0-or-later
// procfs("name").read, .write: files below /proc/systemtap/MODULE. A read probe produces the
// content when a file is read from its beginning; each write call is one hit of the write probe.
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

#include "context/context.h"
#include "include/text.h"
#include "procfs/procfs.h"

#define PROCFS_ROOT	  "systemtap" /* where users of SystemTap's scripts look for it */
#define CALLS_PATIENCE_MS 100
#define CALLS_POLL_MS	  10

struct djs_file {
	const char *name;
	const struct djs_site *reader, *writer; /* the first of each kind; NULL: none */
	/* size of the content of either, including the terminator */
	u32 bytes;
};
static struct djs_file *procfs_files;
static u32 procfs_count;
static struct proc_dir_entry *procfs_folder;

/* The state of one open file, which several tasks may share. */
struct djs_open_file {
	const struct djs_file *file;
	struct mutex use; /* protects what follows */
	size_t length;
	char text[];
};

/*
 * A call that reads or writes a file. It copies from or to a process's memory, which may block for
 * long (userfaultfd, FUSE), and the kernel waits for the call when the file is removed. Therefore
 * the files are removed only when there is no call, and a call holds a reference to the module.
 */
struct file_call {
	struct list_head others;
	struct task_struct *task;
	bool writes;
};
static LIST_HEAD(calls);
static DEFINE_SPINLOCK(calls_lock);
static bool session_over;	    /* no further call begins: changed with both locks held */
static DECLARE_RWSEM(handlers_run); /* these never wait for a process's memory */

static bool call_begins(struct file_call *call, bool writes)
{
	bool begins;

	if (!try_module_get(THIS_MODULE))
		return false;
	call->task = current;
	call->writes = writes;
	spin_lock(&calls_lock);
	begins = !session_over;
	if (begins)
		list_add_tail(&call->others, &calls);
	spin_unlock(&calls_lock);
	if (!begins)
		module_put(THIS_MODULE);
	return begins;
}

static void call_ends(struct file_call *call)
{
	spin_lock(&calls_lock);
	list_del(&call->others);
	spin_unlock(&calls_lock);
	module_put(THIS_MODULE); /* proc_remove waits for the rest of the call */
}

u64 djs_procfs_calls(void)
{
	struct file_call *call;
	u64 count = 0;

	spin_lock(&calls_lock);
	list_for_each_entry (call, &calls, others)
		count++;
	spin_unlock(&calls_lock);
	return count;
}

static void report_calls(void)
{
	struct file_call *call;
	char names[160] = "";
	size_t used = 0;
	u64 count = 0;

	spin_lock(&calls_lock);
	list_for_each_entry (call, &calls, others) {
		count++;
		if (used + TASK_COMM_LEN + 24 <= sizeof(names))
			used +=
			    scnprintf(names + used, sizeof(names) - used, "%s%s (%d) %s",
				      used ? ", " : ": ", call->task->comm, task_pid_nr(call->task),
				      call->writes ? "writes" : "reads");
	}
	spin_unlock(&calls_lock);
	if (count)
		djs_session_message(DJS_RECORD_WARNING,
				    count == 1 ? "%llu call for a procfs file has not returned%s"
					       : "%llu calls for procfs files have not returned%s",
				    count, names);
}

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

static void set_file_text(struct djs_ctx *ctx, void *data)
{
	struct djs_open_file *open = data;

	ctx->file_text = open->text;
	ctx->file_bytes = open->file->bytes;
}

static bool run_site(const struct djs_site *site, struct djs_open_file *open)
{
	const struct djs_handler *handler = &djs_script.handlers[site->handler];
	struct djs_ctx *ctx;

	if (handler->flags & DJS_HANDLER_IN_TASK)
		return djs_run_in_task(handler, site, set_file_text, open);
	ctx = djs_enter(handler, site);
	if (!ctx)
		return false;
	set_file_text(ctx, open);
	handler->body(ctx);
	ctx->file_text = NULL;
	djs_leave(ctx);
	return true;
}

static bool is_of_file(const struct djs_site_run *run, const struct djs_file *file, bool writes)
{
	return run->mechanism == DJS_MECHANISM_PROCFS && run->data == file &&
	       !djs_script.handlers[run->site->handler].arguments[DJS_PROCFS_WRITES] == !writes;
}

/* Runs all probes of the file that a read, or a write, hits, in the script's order, except for
 * those that took too much time. False if the session is not running, or a lock cannot be taken. */
static bool run_file_handlers(struct djs_open_file *open, bool writes)
{
	bool ran;
	u32 i;

	down_read(&handlers_run);
	ran = !session_over;
	for (i = 0; i < djs_script.site_count && ran; i++)
		if (READ_ONCE(djs_sites[i].armed) && is_of_file(&djs_sites[i], open->file, writes))
			ran = run_site(djs_sites[i].site, open);
	up_read(&handlers_run);
	return ran;
}

/* True if the file's mode grants everybody what it is opened for. */
static bool open_to_all(const struct inode *inode, const struct file *file)
{
	return (!(file->f_mode & FMODE_READ) || (inode->i_mode & 0004)) &&
	       (!(file->f_mode & FMODE_WRITE) || (inode->i_mode & 0002));
}

static int procfs_open(struct inode *inode, struct file *file)
{
	const struct djs_file *what = pde_data(inode);
	struct djs_open_file *open;

	if (!open_to_all(inode, file) && !djs_may_open(file->f_mode & FMODE_WRITE))
		return -EPERM;
	open = kvzalloc(struct_size(open, text, what->bytes), GFP_KERNEL_ACCOUNT);
	if (!open)
		return -ENOMEM;
	open->file = what;
	mutex_init(&open->use);
	file->private_data = open;
	return 0;
}

static int procfs_release(struct inode *inode, struct file *file)
{
	kvfree(file->private_data);
	return 0;
}

static ssize_t read_text(struct djs_open_file *open, char __user *to, size_t size, loff_t *at)
{
	ssize_t result = 0;

	if (mutex_lock_interruptible(&open->use))
		return -ERESTARTSYS;
	if (*at == 0) {
		open->text[0] = 0;
		open->length = 0;
		if (run_file_handlers(open, false))
			open->length = djs_text_length(open->text);
		else
			result = -EAGAIN;
	}
	if (!result)
		result = simple_read_from_buffer(to, size, at, open->text, open->length);
	mutex_unlock(&open->use);
	return result;
}

static ssize_t procfs_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct djs_open_file *open = file->private_data;
	struct file_call call;
	ssize_t result;

	if (!open->file->reader)
		return -EINVAL;
	if (!call_begins(&call, false))
		return -EIO; /* as if the file were gone */
	result = read_text(open, to, size, at);
	call_ends(&call);
	return result;
}

static ssize_t write_text(struct djs_open_file *open, const char __user *from, size_t size)
{
	size_t taken = min_t(size_t, size, open->file->bytes - 1);
	ssize_t result = size; /* what exceeds the longest string is truncated */

	if (mutex_lock_interruptible(&open->use))
		return -ERESTARTSYS;
	open->length = 0; /* what was read is consumed */
	if (copy_from_user(open->text, from, taken)) {
		result = -EFAULT;
	} else {
		open->text[taken] = 0;
		if (!run_file_handlers(open, true))
			result = -EAGAIN;
	}
	mutex_unlock(&open->use);
	return result;
}

static ssize_t procfs_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct djs_open_file *open = file->private_data;
	struct file_call call;
	ssize_t result;

	if (!open->file->writer)
		return -EINVAL;
	if (!call_begins(&call, true))
		return -EIO;
	result = write_text(open, from, size);
	call_ends(&call);
	return result;
}

static const struct proc_ops procfs_ops = {
    .proc_open = procfs_open,
    .proc_release = procfs_release,
    .proc_read = procfs_read,
    .proc_write = procfs_write,
    .proc_lseek = default_llseek,
};

/*
 * The folder of all scripts. Each script is a module of its own, and they share only what is the
 * kernel's: its lock for the parameters of built-in modules, which any code may take, prevents one
 * script from creating the folder while another one removes it.
 */
static void folder_lock(void)
{
	kernel_param_lock(NULL);
}

static void folder_unlock(void)
{
	kernel_param_unlock(NULL);
}

/* Returns the number of links of the folder; 0: it does not exist, which proc_mkdir would report
 * only with a warning. Uses a mount of its own for the look-up: the task's mounts may hide the
 * folder. Negative: an error. */
static long folder_links(void)
{
	struct file_system_type *type = get_fs_type("proc"); /* built in */
	struct vfsmount *mount = type ? kern_mount(type) : ERR_PTR(-ENODEV);
	struct file *folder;
	struct kstat stat;
	long links;

	if (IS_ERR(mount))
		return PTR_ERR(mount);
	folder = file_open_root_mnt(mount, PROCFS_ROOT, O_RDONLY | O_DIRECTORY, 0);
	if (IS_ERR(folder)) {
		links = PTR_ERR(folder) == -ENOENT ? 0 : PTR_ERR(folder);
	} else {
		links = vfs_getattr(&folder->f_path, &stat, STATX_NLINK, AT_STATX_SYNC_AS_STAT);
		if (!links)
			links = stat.nlink;
		fput(folder);
	}
	kern_unmount(mount);
	return links;
}

/* The folder of all scripts disappears with the last script's. */
static void remove_root_if_empty(void)
{
	if (folder_links() == 2)
		remove_proc_entry(PROCFS_ROOT, NULL);
}

/* Creates a script's folder in that of all scripts, or returns an error. */
static struct proc_dir_entry *make_folder(void)
{
	char path[sizeof(PROCFS_ROOT) + 1 + MODULE_NAME_LEN];
	struct proc_dir_entry *folder = NULL;
	long links;

	snprintf(path, sizeof(path), PROCFS_ROOT "/%s", THIS_MODULE->name);
	folder_lock();
	links = folder_links();
	if (links > 0 || (!links && proc_mkdir(PROCFS_ROOT, NULL)))
		folder = proc_mkdir(path, NULL);
	if (!folder)
		remove_root_if_empty();
	folder_unlock();
	if (links < 0)
		return ERR_PTR(links);
	return folder ?: ERR_PTR(-ENOMEM);
}

/* No task is in a call, or what is left of the call does not wait. */
static void remove_folder(struct proc_dir_entry *folder)
{
	proc_remove(folder);
	folder_lock();
	remove_root_if_empty();
	folder_unlock();
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

/* For a file without any rights, the kernel's are those that it gives to files of unknown rights:
 * everybody may read. Root, whose file it is, may do that anyway. */
static umode_t mode_of_file(const struct djs_file *file)
{
	return (mode_of(file->reader) | mode_of(file->writer)) ?: 0400;
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
		file = file_named(djs_site_text(site->function));
		if (handler->arguments[DJS_PROCFS_WRITES])
			file->writer = file->writer ?: site;
		else
			file->reader = file->reader ?: site;
		file->bytes = max3(file->bytes, djs_script.string_bytes,
				   (u32)handler->arguments[DJS_PROCFS_BYTES]);
		djs_sites[i].data = file;
		djs_sites[i].armed = 1;
	}
}

/* Runs after everything else: a file that is visible works. */
static int procfs_attach(void)
{
	u32 i, planned = 0;

	for (i = 0; i < djs_script.site_count; i++)
		planned += djs_sites[i].mechanism == DJS_MECHANISM_PROCFS;
	if (!planned || procfs_files)
		return 0;
	procfs_files = kvcalloc(planned, sizeof(*procfs_files), GFP_KERNEL);
	if (!procfs_files)
		return -ENOMEM;
	collect_files();
	procfs_folder = make_folder();
	if (IS_ERR(procfs_folder))
		return PTR_ERR(procfs_folder);
	for (i = 0; i < procfs_count; i++) {
		struct djs_file *file = &procfs_files[i];

		if (!proc_create_data(file->name, mode_of_file(file), procfs_folder, &procfs_ops,
				      file))
			return -EINVAL;
	}
	return 0;
}

/* The files of probes that took too much time stay, without content. The handlers themselves see
 * whether their condition holds, and whether they are switched on. */
static void procfs_disarm(void)
{
	bool any = false;
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->mechanism != DJS_MECHANISM_PROCFS || !run->armed || !run->disarmed)
			continue;
		WRITE_ONCE(run->armed, 0);
		any = true;
	}
	if (any) { /* waits for those that run */
		down_write(&handlers_run);
		up_write(&handlers_run);
	}
}

static void remove_files(void)
{
	if (!IS_ERR_OR_NULL(procfs_folder))
		remove_folder(procfs_folder);
	procfs_folder = NULL;
	kvfree(procfs_files);
	procfs_files = NULL;
	procfs_count = 0;
}

/* Waits for the handlers, but for no reader or writer: if the memory of one blocks, the files stay,
 * without their handlers, and djs_procfs_finish removes them. */
static void procfs_detach(void)
{
	u32 waited;

	if (!procfs_files)
		return;
	down_write(&handlers_run);
	spin_lock(&calls_lock);
	session_over = true;
	spin_unlock(&calls_lock);
	up_write(&handlers_run);
	for (waited = 0; djs_procfs_calls() && waited < CALLS_PATIENCE_MS; waited += CALLS_POLL_MS)
		schedule_timeout_idle(msecs_to_jiffies(CALLS_POLL_MS));
	if (djs_procfs_calls())
		report_calls();
	else
		remove_files();
}

void djs_procfs_finish(void)
{
	/* Only after a failed init: a module that a call references is not unloaded. */
	while (djs_procfs_calls())
		schedule_timeout_idle(msecs_to_jiffies(CALLS_POLL_MS));
	remove_files();
}

const struct djs_mechanism_ops djs_ops_procfs = {
    .attach = procfs_attach,
    .disarm = procfs_disarm,
    .detach = procfs_detach,
    .last = true,
};
