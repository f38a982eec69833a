// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/utsname.h>

#include "access/access.h"
#include "arch/runtime.h"
#include "context/context.h"
#include "context/kernel_clock.h"
#include "control/arming.h"
#include "djprobe/djprobe.h"
#include "globals/globals.h"
#include "include/functions.h"
#include "procfs/procfs.h"
#include "record/symbols.h"
#include "ustack/ustack.h"

static bool hold;
module_param(hold, bool, 0444);
MODULE_PARM_DESC(hold, "wait for a reader to start the session");
static uint ring_kb;
module_param(ring_kb, uint, 0444);
MODULE_PARM_DESC(ring_kb, "size of each CPU's record buffer, KB; rounded up to a power of two");
static int target;
module_param(target, int, 0444);
MODULE_PARM_DESC(target, "process id that target() yields");

static int reader;
module_param(reader, int, 0444);
MODULE_PARM_DESC(reader, "process id of who loads it: whose end is to take it along");

/* The time zone of who loads it: seconds west of UTC, and its name. */
static int tz_gmtoff;
module_param(tz_gmtoff, int, 0444);
MODULE_PARM_DESC(tz_gmtoff, "seconds west of UTC that tz_gmtoff() yields");
static char *tz_name = "UTC";
module_param(tz_name, charp, 0444);
MODULE_PARM_DESC(tz_name, "name of the time zone that tz_name() yields");

/* The name by which djstap --hosts knows this machine. */
static char *known_as;
module_param_named(host, known_as, charp, 0444);
MODULE_PARM_DESC(host,
		 "name of this machine that host_name() yields; its node name if none is given");

DJS_HANDLER_CODE void djs_fn_host_name(struct djs_ctx *ctx, char *out)
{
	djs_return_text(out, known_as ? known_as : init_utsname()->nodename);
}

DJS_HANDLER_CODE s64 djs_fn_tz_gmtoff(struct djs_ctx *ctx)
{
	return tz_gmtoff;
}

DJS_HANDLER_CODE void djs_fn_tz_name(struct djs_ctx *ctx, char *out)
{
	djs_return_text(out, tz_name);
}

DJS_HANDLER_CODE const char *djs_zone_name(void)
{
	return tz_name;
}

static bool overwrite;
module_param(overwrite, bool, 0444);
MODULE_PARM_DESC(overwrite, "flight recorder: new records replace the oldest; no reader is needed");

#define RING_KB_MIN   4u
#define RING_KB_MAX   (1024u * 1024)
#define LOG_LINES_MAX 100
#define BUILD_ID_MAX  64

/* True if this kernel has the script's build-id at the expected address: distinguishes kernels with
 * the same name. */
static bool has_build_id(void)
{
	const struct djs_image *kernel = &djs_script.images[0];
	u8 found[BUILD_ID_MAX];

	return kernel->build_id_bytes <= sizeof(found) &&
	       !copy_from_kernel_nofault(found,
					 (void *)(kernel->build_id_address + djs_kernel_bias()),
					 kernel->build_id_bytes) &&
	       !memcmp(found, kernel->build_id, kernel->build_id_bytes);
}

/* The addresses in the script are those of one build of the kernel; modversions does not
 * distinguish builds. */
static int check_kernel(void)
{
	const struct new_utsname *kernel = init_utsname();

	if (djs_script.abi_version != DJS_ABI_VERSION) {
		djs_error("compiled for version %u of the runtime, this is %u",
			  djs_script.abi_version, DJS_ABI_VERSION);
		return -ENOEXEC;
	}
	if (!djs_script.segment_count || !djs_script.image_count ||
	    djs_script.images[0].kind != DJS_IMAGE_KERNEL) {
		djs_error("the script is damaged: its tables do not describe the kernel");
		return -ENOEXEC;
	}
	if (djs_script.kernel_release && strcmp(djs_script.kernel_release, kernel->release)) {
		djs_error("compiled for kernel %s, this is %s", djs_script.kernel_release,
			  kernel->release);
		return -ENOEXEC;
	}
	if (djs_script.kernel_version && strcmp(djs_script.kernel_version, kernel->version)) {
		djs_error("compiled for another build of kernel %s: %s, this is %s",
			  kernel->release, djs_script.kernel_version, kernel->version);
		return -ENOEXEC;
	}
	if (djs_script.images[0].build_id_bytes && !has_build_id()) {
		djs_error("compiled for another build of kernel %s: %*phN is not its build-id",
			  kernel->release, djs_script.images[0].build_id_bytes,
			  djs_script.images[0].build_id);
		return -ENOEXEC;
	}
	return 0;
}

static u64 ring_bytes(void)
{
	u64 kb = ring_kb ?: djs_script.ring_bytes / 1024;
	u64 least = overwrite ? DJS_PARTS_MIN * DJS_PART_BYTES / 1024 : RING_KB_MIN;

	return roundup_pow_of_two(clamp_t(u64, kb, least, RING_KB_MAX)) * 1024;
}

static void free_all(void)
{
	djs_procfs_finish();
	djs_pin_wait();
	djs_inside_finish();
	djs_deferred_finish();
	djs_conditions_exit();
	djs_session_exit();
	djs_arming_exit();
	djs_globals_exit();
	djs_contexts_exit();
	djs_ustack_exit();
	djs_symbols_exit();
	djs_rings_exit();
}

static int __init djs_module_init(void)
{
	int error = check_kernel();

	if (error)
		return error;
	djs_traced_pid = target;
	djs_overwrite = overwrite;
	djs_clock_read(&djs_load_time);
	djs_access_init();
	djs_deferred_init();
	djs_process_memory_init();
	error = djs_rings_init(ring_bytes());
	if (error) {
		djs_error("no memory for the record buffers (%llu KB per CPU)",
			  ring_bytes() / 1024);
		return error;
	}
	error = djs_symbols_init();
	if (error) {
		djs_error("no memory for the table of symbols");
		goto no_symbols;
	}
	error = djs_ustack_init();
	if (error) {
		djs_error("cannot find out what processes run: error %d", error);
		goto no_stacks;
	}
	error = djs_contexts_init();
	if (error)
		goto no_contexts;
	error = djs_globals_init();
	if (error)
		goto no_globals;
	error = djs_arming_init();
	if (error)
		goto no_sites;
	djs_kernel_clock_init();
	if (djs_interrupts_are_virtual())
		djs_gate_add(DJS_GATE_NO_INLINE_LOCKS);
	error = djs_session_init(djs_session_stop);
	if (error)
		goto no_session;
	djs_control->clock = djs_load_time;
	djs_control->symbol_pages = djs_symbol_pages();
	error = hold ? 0 : djs_session_start();
	if (error)
		goto not_started;
	/* Last: a module whose init fails is freed, however many tasks have its file open. */
	error = djs_proc_init();
	if (!error)
		return 0;

not_started:
	djs_session_stop();
	djs_procfs_finish();
	if (djs_pinned()) {
		djs_error("not started: error %d", error);
		return 0;
	}
	djs_rings_to_log(LOG_LINES_MAX);
	djs_inside_finish();
	djs_deferred_finish();
	djs_conditions_exit();
	djs_session_exit();
no_session:
	djs_arming_exit();
no_sites:
	djs_globals_exit();
no_globals:
	djs_contexts_exit();
no_contexts:
	djs_ustack_exit();
no_stacks:
	djs_symbols_exit();
no_symbols:
	djs_rings_exit();
	djs_error("not loaded: error %d", error);
	return error;
}

static void __exit djs_module_exit(void)
{
	djs_session_stop();
	djs_proc_exit();
	if (!djs_reader_ever())
		djs_rings_to_log(LOG_LINES_MAX);
	free_all();
}

module_init(djs_module_init);
module_exit(djs_module_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a probe script, made by djstap");
