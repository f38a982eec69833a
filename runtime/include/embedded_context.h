/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What C code of SystemTap's tapsets expects of its runtime: CONTEXT, functions, and macros that
 * tell what the kernel has (STAPCONF_…). docs/language.md lists what is missing. */
#ifndef DJSTAP_EMBEDDED_CONTEXT_H
#define DJSTAP_EMBEDDED_CONTEXT_H

#include <linux/cred.h>
#include <linux/fdtable.h>
#include <linux/ptrace.h>

enum stp_probe_type {
	stp_probe_type_been,
	stp_probe_type_itrace,
	stp_probe_type_marker,
	stp_probe_type_perf,
	stp_probe_type_procfs,
	stp_probe_type_timer,
	stp_probe_type_hrtimer,
	stp_probe_type_profile_timer,
	stp_probe_type_utrace,
	stp_probe_type_utrace_syscall,
	stp_probe_type_kprobe,
	stp_probe_type_kretprobe,
	stp_probe_type_uprobe,
	stp_probe_type_uretprobe,
	stp_probe_type_hwbkpt,
	stp_probe_type_tracepoint,
	stp_probe_type_netfilter,
};

enum djs_embedded_session {
	STAP_SESSION_UNINITIALIZED,
	STAP_SESSION_STARTING,
	STAP_SESSION_RUNNING,
	STAP_SESSION_ERROR,
	STAP_SESSION_STOPPING,
	STAP_SESSION_STOPPED,
};

enum djs_embedded_message {
	STP_SYSTEM,
};

/* What is shown of an address: with SIMPLE and what follows it, name, offset, size and module. */
enum djs_embedded_symbols {
	_STP_SYM_NONE,
	_STP_SYM_SYMBOL,
	_STP_SYM_DATA,
	_STP_SYM_SIMPLE,
	_STP_SYM_BRIEF,
	_STP_SYM_FULL,
	_STP_SYM_FULLER,
	_STP_SYM_LINENUMBER = 0x10,
	_STP_SYM_FILENAME = 0x20,
};

/* The runtime, which does not know MAXSTRINGLEN, accesses all but the strings (embedded.c). */
struct context {
	/* The message of an error that ends the handler, unless it is caught. */
	const char *last_error;
	const char *last_stmt; /* without effect */
	const char *probe_point;
	enum stp_probe_type probe_type;
	int user_mode_p;
	struct pt_regs *kregs; /* at the hit, if it is not in a program; NULL: there are none */
	struct pt_regs *uregs; /* at the hit in a program, or with which it entered the kernel */
	struct pt_regs *sregs; /* whatever C code stores in it, else NULL, as the following */
	int regparm;
	int aborted; /* ends the handler */
	int64_t returnval_override;
	int returnval_override_p;
	struct djs_ctx *handler;
	char *tok_start, *tok_end;
	char buf[128];
#ifdef MAXSTRINGLEN
	char error_buffer[MAXSTRINGLEN];
	char out_str[MAXSTRINGLEN];
	char tok_str[MAXSTRINGLEN];
#else
	char strings[];
#endif
};

/* Returns CONTEXT, initialized when a run of the handler uses it first. */
struct context *djs_embedded_begin(struct djs_ctx *ctx);
void djs_embedded_leave(struct djs_ctx *ctx);

static __always_inline struct context *djs_embedded_context(struct djs_ctx *ctx)
{
	return likely(ctx->embedded_used) ? (struct context *)ctx->embedded
					  : djs_embedded_begin(ctx);
}
#define CONTEXT djs_embedded_context(djs_context)

static __always_inline void djs_embedded_end(struct djs_ctx **called)
{
	if ((*called)->embedded_used)
		djs_embedded_leave(*called);
}

#ifdef MAXSTRINGLEN
static_assert(sizeof(struct context) + MAXSTRINGLEN <= DJS_EMBEDDED_BYTES(MAXSTRINGLEN));

/* ---- functions of its runtime ---------------------------------------------------------------- */

#define _STP_REGPARM	  0x8000
#define _STP_REGPARM_MASK ((_STP_REGPARM) - 1)

#define RREG(name, regs) ((regs)->name)
#define REG_IP(regs)	 instruction_pointer(regs)
#define REG_SP(regs)	 kernel_stack_pointer(regs)

/* Whether a task executes a 32-bit program. */
#define _stp_is_compat_task2(task) djs_embedded_is_compat(task)
#define _stp_is_compat_task()	   djs_embedded_is_compat(current)
/* The registers with which the current task entered the kernel; NULL for a thread of the kernel. */
#define _stp_current_pt_regs() djs_embedded_user_registers()
/* The process of -c or -x, and the one that reads the output. */
#define _stp_target ((int)djs_embedded_target())
#define _stp_pid    ((int)djs_embedded_reader())

/* Reads memory of the current process: 0, or the number of bytes, of which none has been written
 * then. */
#define _stp_copy_from_user(to, from, bytes)                                                       \
	djs_embedded_copy_user((char *)(to), (u64)(unsigned long)(from), (bytes))
/* Returns the length of a string of the current process, or a negative error. */
#define _stp_strncpy_from_user(to, from, bytes)                                                    \
	djs_embedded_copy_user_string((to), (u64)(unsigned long)(from), (bytes))
/* Escapes a string of the kernel or of the current process; `buffer`: NUL bytes, too. */
#define _stp_text_str(to, from, from_bytes, to_bytes, quoted, user, buffer)                        \
	djs_embedded_escape(djs_context, (to), (u64)(unsigned long)(from), (from_bytes),           \
			    (to_bytes) <= 0 ? MAXSTRINGLEN - 1                                     \
					    : min_t(int, (to_bytes), MAXSTRINGLEN - 1),            \
			    (quoted), (user), (buffer))
#define _stp_snprintf	 scnprintf
#define _stp_printf(...) djs_embedded_print(djs_context, __VA_ARGS__)
#define _stp_print(text) djs_embedded_print(djs_context, "%s", (text))
#define _stp_warn(...)	 djs_embedded_warn(__VA_ARGS__)
#define _stp_error(...)	 djs_embedded_warn(__VA_ARGS__)

/* Stacks of the kernel and of the program, and what an address means (enum djs_embedded_symbols).
 */
#define _stp_stack_kernel_print(context, what) djs_embedded_print_stack(djs_context, false)
#define _stp_stack_user_print(context, what)   djs_embedded_print_stack(djs_context, true)
#define _stp_stack_kernel_sprint(to, bytes, context, what)                                         \
	djs_embedded_stack_text(djs_context, (to), (bytes), (what), false)
#define _stp_stack_user_sprint(to, bytes, context, what)                                           \
	djs_embedded_stack_text(djs_context, (to), (bytes), (what), true)
#define _stp_stack_kernel_get(context, depth)                                                      \
	djs_embedded_stack_address(djs_context, (depth), false)
#define _stp_stack_user_get(context, depth) djs_embedded_stack_address(djs_context, (depth), true)
/* `task`: NULL, or current for an address in its process. */
#define _stp_snprint_addr(to, bytes, address, what, task)                                          \
	djs_embedded_symbol(djs_context, (to), (bytes), (u64)(address), (what), (task) != NULL)

#define _stp_gettimeofday_ns() djs_embedded_time(djs_context)
/* The time zone of who loads the module. */
#define tz_gmtoff djs_embedded_zone_offset()
#define tz_name	  djs_embedded_zone()
/* Ends the session, as exit() does. */
#define _stp_exit() djs_embedded_exit(djs_context)
/* Its state. What C code stores there has no effect. */
#define session_state() djs_embedded_session_state()
/* Starts a command, as system() does. There are no other messages to the reader. */
#define _stp_ctl_send(type, text, bytes)                                                           \
	do {                                                                                       \
		BUILD_BUG_ON((type) != STP_SYSTEM);                                                \
		djs_embedded_system(djs_context, (text));                                          \
	} while (0)

static inline int64_t __stp_sign_extend32(int64_t value)
{
	return (int32_t)value;
}
static inline int64_t __stp_sign_extend16(int64_t value)
{
	return (int16_t)value;
}
static inline int64_t __stp_sign_extend8(int64_t value)
{
	return (int8_t)value;
}

/* Finds argument `n` of a function that passes the first `registers` in registers: 0 and its value,
 * 1 and its address in the kernel, 2 and its address in the program, or -1. */
#define _stp_get_arg64_by_number(n, registers, regs, value)                                        \
	djs_embedded_argument((n), (registers), (regs), sizeof(long), (value))
#define _stp_get_arg32_by_number(n, registers, regs, value)                                        \
	djs_embedded_argument((n), (registers), (regs), sizeof(int), (value))
#endif

#define DJS_EMBEDDED_COPY_MAX	   65536 /* the most that _stp_copy_from_user() copies */
#define DJS_EMBEDDED_WARNING_BYTES 512	 /* of a text of _stp_warn(), with its NUL */

bool djs_embedded_is_compat(struct task_struct *task);
struct pt_regs *djs_embedded_user_registers(void);
s64 djs_embedded_target(void);
s64 djs_embedded_reader(void);
s64 djs_embedded_time(struct djs_ctx *ctx);
s64 djs_embedded_zone_offset(void);
const char *djs_embedded_zone(void);
void djs_embedded_exit(struct djs_ctx *ctx);
void djs_embedded_system(struct djs_ctx *ctx, const char *command);
atomic_t *djs_embedded_session_state(void);
unsigned long djs_embedded_copy_user(char *to, u64 from, unsigned long bytes);
long djs_embedded_copy_user_string(char *to, u64 from, long bytes);
int djs_embedded_escape(struct djs_ctx *ctx, char *to, u64 from, int bytes, int room, int quoted,
			int user, int buffer);
void djs_embedded_print_stack(struct djs_ctx *ctx, bool of_program);
void djs_embedded_stack_text(struct djs_ctx *ctx, char *out, size_t bytes, int what,
			     bool of_program);
s64 djs_embedded_stack_address(struct djs_ctx *ctx, u32 depth, bool of_program);
int djs_embedded_symbol(struct djs_ctx *ctx, char *out, size_t bytes, u64 address, int what,
			bool of_program);
int djs_embedded_argument(int n, int registers, struct pt_regs *regs, size_t word, long *value);
struct socket;
int djs_embedded_socket_option(struct socket *sock, int level, int name, char *value, int *bytes);
__printf(1, 2) void djs_embedded_warn(const char *format, ...);

/* A name that some kernels' headers have. */
#define intptr_t long
/* The names that they have had since. */
#ifdef DJS_HAVE_FILES_LOOKUP_FD_RAW
#define fcheck_files files_lookup_fd_raw
#endif
#ifndef DJS_HAVE_KERNEL_GETSOCKOPT
#define kernel_getsockopt djs_embedded_socket_option
#endif
#if !defined(__GFP_WAIT) && defined(__GFP_RECLAIM)
#define __GFP_WAIT __GFP_RECLAIM
#endif
#ifndef DJS_HAVE_NFSERR_EAGAIN
#define NFSERR_EAGAIN 11 /* of the protocol's version 2 */
#endif

/* ---- what the kernel has --------------------------------------------------------------------- */

/* Every kernel for which djstap compiles scripts has these. */
#define STAPCONF_BIO_BI_OPF	  1
#define STAPCONF_DPATH_PATH	  1
#define STAPCONF_FROM_KUID_MUNGED 1
#define STAPCONF_LINUX_UIDGID_H	  1
#define STAPCONF_MM_SHMEMPAGES	  1
#define STAPCONF_REAL_PARENT	  1
#define STAPCONF_X86_UNIREGS	  1 /* struct pt_regs has the same names for 32 and 64 bits */
#if __has_include(<linux/blk_types.h>)
#define STAPCONF_BLK_TYPES 1
#endif
#if __has_include(<linux/sched/signal.h>)
#define STAPCONF_LINUX_SCHED_HEADERS 1
#endif
#if __has_include(<linux/time32.h>)
#define STAPCONF_TIME32_OLD_H 1
#endif
#if __has_include(<linux/timerfd.h>)
#define STAPCONF_TIMERFD_H 1
#endif
#if __has_include(<uapi/linux/mount.h>)
#define STAPCONF_UAPI_LINUX_MOUNT_H 1
#endif
#ifdef DJS_HAVE_LOCAL_CLOCK
#define STAPCONF_LOCAL_CLOCK 1
#endif
#ifdef DJS_HAVE_CPU_CLOCK
#define STAPCONF_CPU_CLOCK 1
#endif
#ifdef DJS_HAVE_FILES_LOOKUP_FD_RAW
#define STAPCONF_FILES_LOOKUP_FD_RAW 1
#endif

#endif
