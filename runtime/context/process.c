// SPDX-License-Identifier: GPL-2.0-or-later
// The current task: pid(), execname(), task_*(). Fields of other tasks are read as memory that may
// be unmapped.
#include <linux/cred.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/sched/signal.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>

#include "access/access.h"
#include "arch/runtime.h"
#include "context/fields.h"
#include "include/functions.h"

/* Reads a field of the structure at a kernel address; 0 when it cannot be read. */
#define FIELD_AT(address, type, field)                                                             \
	({                                                                                         \
		u64 value_;                                                                        \
		djs_read_number((u64)(address) + offsetof(type, field),                            \
				sizeof(((type *)0)->field), &value_)                               \
		    ? value_                                                                       \
		    : 0;                                                                           \
	})

/* Returns the task that the handler runs for. */
static __always_inline struct task_struct *task_of(const struct djs_ctx *ctx)
{
	return unlikely(ctx->task) ? ctx->task : current;
}

DJS_HANDLER_CODE s64 djs_fn_pid(struct djs_ctx *ctx)
{
	return task_of(ctx)->tgid;
}

DJS_HANDLER_CODE s64 djs_fn_tid(struct djs_ctx *ctx)
{
	return task_of(ctx)->pid;
}

DJS_HANDLER_CODE s64 djs_fn_ppid(struct djs_ctx *ctx)
{
	return (s32)FIELD_AT(FIELD_AT(task_of(ctx), struct task_struct, real_parent),
			     struct task_struct, tgid);
}

/* Returns the ID of its process group or session in the initial namespace. */
static DJS_HANDLER_CODE s64 signal_pid(const struct djs_ctx *ctx, enum pid_type type)
{
	u64 signal = FIELD_AT(task_of(ctx), struct task_struct, signal);
	u64 pid = signal ? FIELD_AT(signal, struct signal_struct, pids[type]) : 0;

	return pid ? (s32)FIELD_AT(pid, struct pid, numbers[0].nr) : 0;
}

DJS_HANDLER_CODE s64 djs_fn_pgrp(struct djs_ctx *ctx)
{
	return signal_pid(ctx, PIDTYPE_PGID);
}

DJS_HANDLER_CODE s64 djs_fn_sid(struct djs_ctx *ctx)
{
	return signal_pid(ctx, PIDTYPE_SID);
}

/* For a task that is not the current one. */
static DJS_HANDLER_CODE s64 own_credential(const struct djs_ctx *ctx, size_t offset)
{
	u64 cred = FIELD_AT(ctx->task, struct task_struct, cred), value;

	return cred && djs_read_number(cred + offset, sizeof(u32), &value) ? (s64)value : 0;
}

DJS_HANDLER_CODE s64 djs_fn_uid(struct djs_ctx *ctx)
{
	if (unlikely(ctx->task))
		return own_credential(ctx, offsetof(struct cred, uid));
	return __kuid_val(current_uid());
}

DJS_HANDLER_CODE s64 djs_fn_euid(struct djs_ctx *ctx)
{
	if (unlikely(ctx->task))
		return own_credential(ctx, offsetof(struct cred, euid));
	return __kuid_val(current_euid());
}

DJS_HANDLER_CODE s64 djs_fn_gid(struct djs_ctx *ctx)
{
	if (unlikely(ctx->task))
		return own_credential(ctx, offsetof(struct cred, gid));
	return __kgid_val(current_gid());
}

DJS_HANDLER_CODE s64 djs_fn_egid(struct djs_ctx *ctx)
{
	if (unlikely(ctx->task))
		return own_credential(ctx, offsetof(struct cred, egid));
	return __kgid_val(current_egid());
}

DJS_HANDLER_CODE s64 djs_fn___is_compat_task(struct djs_ctx *ctx)
{
	struct pt_regs registers;

	if (likely(!ctx->task))
		return current->mm && !djs_is_unwindable(task_pt_regs(current));
	/* Its stack may be gone with it by now. */
	return FIELD_AT(ctx->task, struct task_struct, mm) &&
	       !copy_from_kernel_nofault(&registers, task_pt_regs(ctx->task), sizeof(registers)) &&
	       !djs_is_unwindable(&registers);
}

DJS_HANDLER_CODE s64 djs_fn_cpu(struct djs_ctx *ctx)
{
	return unlikely(ctx->task) ? ctx->cpu : raw_smp_processor_id();
}

DJS_HANDLER_CODE s64 djs_fn_target(struct djs_ctx *ctx)
{
	return djs_traced_pid;
}

DJS_HANDLER_CODE void djs_fn_module_name(struct djs_ctx *ctx, char *out)
{
	strscpy(out, THIS_MODULE->name,
		min_t(size_t, djs_script.string_bytes, sizeof(THIS_MODULE->name)));
}

DJS_HANDLER_CODE s64 djs_fn_stp_pid(struct djs_ctx *ctx)
{
	return READ_ONCE(djs_reader_pid);
}

DJS_HANDLER_CODE void djs_fn_execname(struct djs_ctx *ctx, char *out)
{
	strscpy(out, task_of(ctx)->comm, min_t(size_t, djs_script.string_bytes, TASK_COMM_LEN));
}

static DJS_HANDLER_CODE void name_of(char *out, u64 task)
{
	if (djs_read_kernel_string(out, task + offsetof(struct task_struct, comm),
				   min_t(size_t, djs_script.string_bytes, TASK_COMM_LEN)) < 0)
		*out = 0;
}

DJS_HANDLER_CODE void djs_fn_pexecname(struct djs_ctx *ctx, char *out)
{
	name_of(out, FIELD_AT(task_of(ctx), struct task_struct, real_parent));
}

DJS_HANDLER_CODE s64 djs_fn_task_current(struct djs_ctx *ctx)
{
	return (s64)task_of(ctx);
}

DJS_HANDLER_CODE s64 djs_fn_task_pid(struct djs_ctx *ctx, s64 task)
{
	return (s32)FIELD_OR_FAIL(ctx, task, struct task_struct, tgid);
}

DJS_HANDLER_CODE s64 djs_fn_task_tid(struct djs_ctx *ctx, s64 task)
{
	return (s32)FIELD_OR_FAIL(ctx, task, struct task_struct, pid);
}

DJS_HANDLER_CODE s64 djs_fn_task_parent(struct djs_ctx *ctx, s64 task)
{
	return FIELD_OR_FAIL(ctx, task, struct task_struct, real_parent);
}

/* Returns the task_struct of the thread with this ID in the initial namespace, as pid() and tid()
 * number threads; 0 if there is none. A thread that is exiting may have no namespace of its own any
 * more. */
DJS_HANDLER_CODE s64 djs_fn_pid2task(struct djs_ctx *ctx, s64 id)
{
	struct task_struct *task;

	/* In the idle loop nothing keeps the tables of IDs from being freed. */
	if (id != (s32)id || !rcu_is_watching())
		return 0;
	rcu_read_lock();
	task = pid_task(find_pid_ns((s32)id, &init_pid_ns), PIDTYPE_PID);
	rcu_read_unlock();
	return (s64)task;
}

DJS_HANDLER_CODE s64 djs_fn_task_state(struct djs_ctx *ctx, s64 task)
{
	return FIELD_OR_FAIL(ctx, task, struct task_struct, __state);
}

DJS_HANDLER_CODE s64 djs_fn_task_prio(struct djs_ctx *ctx, s64 task)
{
	return (s32)FIELD_OR_FAIL(ctx, task, struct task_struct, prio) - MAX_RT_PRIO;
}

DJS_HANDLER_CODE s64 djs_fn_task_nice(struct djs_ctx *ctx, s64 task)
{
	return PRIO_TO_NICE((s32)FIELD_OR_FAIL(ctx, task, struct task_struct, static_prio));
}

DJS_HANDLER_CODE s64 djs_fn_task_cpu(struct djs_ctx *ctx, s64 task)
{
	return (s32)djs_load_here(ctx, (u64)task + offsetof(struct task_struct, thread_info.cpu),
				  sizeof(u32), DJS_NO_PLACE);
}

static DJS_HANDLER_CODE s64 credential(struct djs_ctx *ctx, s64 task, size_t offset)
{
	u64 cred = FIELD_OR_FAIL(ctx, task, struct task_struct, real_cred);

	return ctx->error ? 0 : djs_load_here(ctx, cred + offset, sizeof(u32), DJS_NO_PLACE);
}

DJS_HANDLER_CODE s64 djs_fn_task_uid(struct djs_ctx *ctx, s64 task)
{
	return credential(ctx, task, offsetof(struct cred, uid));
}

DJS_HANDLER_CODE s64 djs_fn_task_euid(struct djs_ctx *ctx, s64 task)
{
	return credential(ctx, task, offsetof(struct cred, euid));
}

DJS_HANDLER_CODE s64 djs_fn_task_gid(struct djs_ctx *ctx, s64 task)
{
	return credential(ctx, task, offsetof(struct cred, gid));
}

DJS_HANDLER_CODE s64 djs_fn_task_egid(struct djs_ctx *ctx, s64 task)
{
	return credential(ctx, task, offsetof(struct cred, egid));
}

DJS_HANDLER_CODE void djs_fn_task_execname(struct djs_ctx *ctx, char *out, s64 task)
{
	name_of(out, task);
	if (!*out)
		djs_load_here(ctx, (u64)task + offsetof(struct task_struct, comm), 1,
			      DJS_NO_PLACE); /* fails if it is not a task */
}
