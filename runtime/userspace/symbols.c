// SPDX-License-Identifier: GPL-2.0-or-later
// The symbols that a script's object may refer to. A function of the language that is not here
// needs a kernel.
#include "include/floating.h"
#include "include/functions.h"
#include "include/regex.h"
#include "include/text.h"
#include "state/state.h"
#include "userspace/internal.h"

/* clang-format off */
#define RUNTIME(F) \
	F(djs_enter) F(djs_leave) F(djs_lock_enter) F(djs_lock_leave) F(djs_fail_alone) \
	F(djs_reserve) F(djs_commit) F(djs_fail) F(djs_load) F(djs_load_user) F(djs_store) F(djs_counter_read) \
	F(djs_copy_memory) F(djs_counter_clear) F(djs_statistic_read) F(djs_statistic_clear) \
	F(djs_statistic_record) F(djs_statistic_add) F(djs_statistic_avg) \
	F(djs_statistic_variance) F(djs_histogram_store) F(djs_map_find) F(djs_map_find_long) \
	F(djs_map_insert) F(djs_map_insert_long) F(djs_map_find_slot) F(djs_map_insert_slot) F(djs_map_erase) F(djs_map_erase_slot) F(djs_erase_slice) \
	F(djs_has_slice) F(djs_map_clear) F(djs_foreach_begin) F(djs_foreach_next) F(djs_more_actions) F(djs_map_key) F(djs_map_value) \
	F(djs_format) F(djs_text_copy) F(djs_text_concat) F(djs_text_compare) \
	F(djs_text_length) F(djs_shown_string) F(djs_regex_search) F(djs_match_regex) F(memcpy) F(memmove) F(memset) \
	F(memcmp) F(strlen) F(djs_conditions_changed) F(djs_fp_from_single)

#define LANGUAGE(F) \
	F(pid) F(tid) F(ppid) F(pgrp) F(sid) F(uid) F(euid) F(gid) F(egid) F(execname) \
	F(pexecname) F(cpu) F(target) F(stp_pid) F(pp) F(pn) F(probefunc) F(ppfunc) F(probe_type) \
	F(is_return) F(user_mode) F(__is_compat_task) F(registers_valid) F(addr) F(returnval) F(long_arg) \
	F(gettimeofday_ns) F(ktime_get_ns) F(local_clock_ns) F(cpu_clock_ns) F(get_cycles) \
	F(jiffies) F(HZ) F(randint) F(speculation) F(speculate) F(commit) F(discard) F(exit) F(abort) F(error) F(warn) F(system) F(switch_file) F(tz_gmtoff) F(tz_name) F(host_name) F(strlen) F(strtol) \
	F(isinstr) F(strpos) F(stringat) F(substr) F(tokenize) F(text_str) \
	F(text_strn) F(__json_quoted) F(str_replace) F(matched) F(ngroups) F(kernel_string) F(kernel_string_n) \
	F(user_string) F(user_string_n) F(__buffer_quoted) F(__string_utf) F(errno_str) F(signal_str) \
	F(string_to_fp) F(fp_to_string) F(fp_to_long) F(long_to_fp) F(fp32_to_fp64) F(fp_add) F(fp_sub) F(fp_mul) F(fp_div) \
	F(fp_rem) F(fp_sqrt) F(fp_eq) F(fp_lt) F(fp_le)
/* clang-format on */

struct symbol {
	const char *name;
	void *address;
};

#define RUNTIME_ROW(function)  {#function, (void *)function},
#define LANGUAGE_ROW(function) {"djs_fn_" #function, (void *)djs_fn_##function},
static const struct symbol symbols[] = {
    RUNTIME(RUNTIME_ROW) LANGUAGE(LANGUAGE_ROW){"djs_traced_pid", &djs_traced_pid},
    {"djs_gate", &djs_gate}};

void *djs_user_symbol(const char *name)
{
	size_t i;

	if (!strcmp(name, "djs_counters"))
		return djs_user_counters();
	for (i = 0; i < ARRAY_SIZE(symbols); i++)
		if (!strcmp(symbols[i].name, name))
			return symbols[i].address;
	return NULL;
}
