/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of the language that the runtime implements. Script function NAME is
 * djs_fn_NAME(ctx, [char *out,] arguments). A long is s64, a string const char *; a string result
 * is written to `out`, which has room for djs_script.string_bytes. The declarations in tapsets/
 * document what they do. */
#ifndef DJSTAP_FUNCTIONS_H
#define DJSTAP_FUNCTIONS_H

#include "include/script.h"

/* The largest argument of randint(), and the error for larger ones: both are SystemTap's. */
#define DJS_RANDOM_MAX	 (1024 * 1024)
#define DJS_RANDOM_ERROR "range too wide"

/* clang-format off */
#define DJS_LONG_FUNCTIONS(F0) \
	F0(pid) F0(tid) F0(ppid) F0(pgrp) F0(sid) F0(uid) F0(euid) F0(gid) F0(egid) \
	F0(cpu) F0(target) F0(stp_pid) F0(is_return) F0(gettimeofday_ns) F0(get_cycles) \
	F0(jiffies) F0(ktime_get_ns) F0(local_clock_ns) F0(task_current) F0(addr) \
	F0(stack_size) F0(stack_used) F0(uaddr) F0(tz_gmtoff) F0(user_mode) F0(registers_valid) F0(returnval) \
	F0(__is_compat_task)
#define DJS_LONG_FUNCTIONS_OF_LONG(F1) \
	F1(cpu_clock_ns) F1(task_pid) F1(task_tid) F1(task_parent) F1(pid2task) F1(task_state) F1(task_prio) \
	F1(task_nice) F1(task_cpu) F1(task_uid) F1(task_euid) F1(task_gid) F1(task_egid) \
	F1(stack) F1(ustack) F1(umodaddr) F1(long_arg) F1(randint) \
	F1(fp_sqrt) F1(long_to_fp) F1(fp32_to_fp64)
#define DJS_LONG_FUNCTIONS_OF_TWO_LONGS(F2) \
	F2(fp_add) F2(fp_sub) F2(fp_mul) F2(fp_div) F2(fp_rem) F2(fp_eq) F2(fp_lt) F2(fp_le)
#define DJS_STRING_FUNCTIONS(S0) \
	S0(execname) S0(pexecname) S0(pp) S0(pn) S0(probefunc) S0(ppfunc) S0(backtrace) S0(ubacktrace) \
	S0(probe_type) S0(tz_name) S0(host_name) S0(module_name)
#define DJS_STRING_FUNCTIONS_OF_LONG(S1) \
	S1(symname) S1(symdata) S1(task_execname) S1(kernel_string) S1(user_string) S1(modname) \
	S1(usymname) S1(usymdata) S1(usymfileline) S1(usymfile) S1(usymline) S1(umodname) S1(umodbuildid) \
	S1(errno_str) S1(signal_str)
/* clang-format on */

#define DECLARE_L0(name) s64 djs_fn_##name(struct djs_ctx *ctx);
#define DECLARE_L1(name) s64 djs_fn_##name(struct djs_ctx *ctx, s64 argument);
#define DECLARE_L2(name) s64 djs_fn_##name(struct djs_ctx *ctx, s64 a, s64 b);
#define DECLARE_S0(name) void djs_fn_##name(struct djs_ctx *ctx, char *out);
#define DECLARE_S1(name) void djs_fn_##name(struct djs_ctx *ctx, char *out, s64 argument);

DJS_LONG_FUNCTIONS(DECLARE_L0)
DJS_LONG_FUNCTIONS_OF_LONG(DECLARE_L1)
DJS_LONG_FUNCTIONS_OF_TWO_LONGS(DECLARE_L2)
DJS_STRING_FUNCTIONS(DECLARE_S0)
DJS_STRING_FUNCTIONS_OF_LONG(DECLARE_S1)

void djs_fn_pstrace(struct djs_ctx *ctx, char *out, s64 task);
void djs_fn_task_ancestry(struct djs_ctx *ctx, char *out, s64 task, s64 with_time);
void djs_fn___user_strings(struct djs_ctx *ctx, char *out, s64 address, s64 end, s64 first,
			   s64 last, const char *delimiter);
void djs_fn___user_variable(struct djs_ctx *ctx, char *out, s64 address, s64 end, const char *name);
void djs_fn_reverse_path_walk(struct djs_ctx *ctx, char *out, s64 dentry);
void djs_fn___path_below(struct djs_ctx *ctx, char *out, s64 dentry, s64 vfsmount, s64 root_dentry,
			 s64 root_vfsmount, s64 mnt, s64 parent, s64 mountpoint);
s64 djs_fn___find_linked(struct djs_ctx *ctx, s64 entry, s64 link, s64 end, s64 field, s64 value);
s64 djs_fn___bits_set(struct djs_ctx *ctx, s64 address, s64 bits);
void djs_fn_kernel_string_n(struct djs_ctx *ctx, char *out, s64 address, s64 size);
void djs_fn_user_string_n(struct djs_ctx *ctx, char *out, s64 address, s64 size);
void djs_fn___buffer_quoted(struct djs_ctx *ctx, char *out, s64 address, s64 size, s64 most,
			    s64 in_user_space);
void djs_fn___string_utf(struct djs_ctx *ctx, char *out, s64 address, s64 bytes, s64 in_user_space);
#define DECLARE_WRITES(space)                                                                      \
	void djs_fn_set_##space##_char(struct djs_ctx *ctx, s64 address, s64 value);               \
	void djs_fn_set_##space##_short(struct djs_ctx *ctx, s64 address, s64 value);              \
	void djs_fn_set_##space##_int(struct djs_ctx *ctx, s64 address, s64 value);                \
	void djs_fn_set_##space##_long(struct djs_ctx *ctx, s64 address, s64 value);               \
	void djs_fn_set_##space##_pointer(struct djs_ctx *ctx, s64 address, s64 value);            \
	void djs_fn_set_##space##_string(struct djs_ctx *ctx, s64 address, const char *text);      \
	void djs_fn_set_##space##_string_n(struct djs_ctx *ctx, s64 address, s64 n,                \
					   const char *text);
DECLARE_WRITES(kernel)
DECLARE_WRITES(user)
s64 djs_fn_fp_to_long(struct djs_ctx *ctx, s64 a, s64 mode, s64 exact);
void djs_fn_fp_to_string(struct djs_ctx *ctx, char *out, s64 a, s64 precision);
s64 djs_fn_string_to_fp(struct djs_ctx *ctx, const char *text);
s64 djs_fn_HZ(struct djs_ctx *ctx);
void djs_fn_sprint_backtrace(struct djs_ctx *ctx, char *out);
void djs_fn_sprint_ubacktrace(struct djs_ctx *ctx, char *out);
void djs_fn_print_usyms(struct djs_ctx *ctx, const char *addresses);
void djs_fn_sprint_usyms(struct djs_ctx *ctx, char *out, const char *addresses);
void djs_fn_print_ustack(struct djs_ctx *ctx, const char *addresses);
void djs_fn_sprint_ustack(struct djs_ctx *ctx, char *out, const char *addresses);
void djs_fn_print_stack(struct djs_ctx *ctx, const char *addresses);
void djs_fn_sprint_syms(struct djs_ctx *ctx, char *out, const char *addresses);
void djs_fn_sprint_stack(struct djs_ctx *ctx, char *out, const char *addresses);
void djs_fn_print_syms(struct djs_ctx *ctx, const char *addresses);
void djs_fn_print_regs(struct djs_ctx *ctx);
void djs_fn_exit(struct djs_ctx *ctx);
void djs_fn_abort(struct djs_ctx *ctx);
void djs_fn_error(struct djs_ctx *ctx, const char *message);
void djs_fn_warn(struct djs_ctx *ctx, const char *message);
void djs_fn_system(struct djs_ctx *ctx, const char *command);
void djs_fn_switch_file(struct djs_ctx *ctx);
const char *djs_zone_name(void); /* tz_name() */
void djs_fn_raise(struct djs_ctx *ctx, s64 signal);
void djs_fn_printk(struct djs_ctx *ctx, s64 level, const char *message);
s64 djs_fn_speculation(struct djs_ctx *ctx);
void djs_fn_speculate(struct djs_ctx *ctx, s64 id, const char *text);
void djs_fn_commit(struct djs_ctx *ctx, s64 id);
void djs_fn_discard(struct djs_ctx *ctx, s64 id);
s64 djs_fn_strlen(struct djs_ctx *ctx, const char *text);
s64 djs_fn_strtol(struct djs_ctx *ctx, const char *text, s64 base);
s64 djs_fn_isinstr(struct djs_ctx *ctx, const char *text, const char *part);
s64 djs_fn_strpos(struct djs_ctx *ctx, const char *text, const char *part);
s64 djs_fn_stringat(struct djs_ctx *ctx, const char *text, s64 index);
void djs_fn_substr(struct djs_ctx *ctx, char *out, const char *text, s64 start, s64 length);
void djs_fn_tokenize(struct djs_ctx *ctx, char *out, const char *text, const char *delimiters);
void djs_fn_text_str(struct djs_ctx *ctx, char *out, const char *text);
void djs_fn_text_strn(struct djs_ctx *ctx, char *out, const char *text, s64 length, s64 quoted);
void djs_fn___json_quoted(struct djs_ctx *ctx, char *out, const char *text);
void djs_fn_matched(struct djs_ctx *ctx, char *out, s64 group);
s64 djs_fn_ngroups(struct djs_ctx *ctx);
void djs_fn_str_replace(struct djs_ctx *ctx, char *out, const char *text, const char *old,
			const char *new);

#endif
