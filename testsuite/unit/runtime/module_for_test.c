// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this, and what the tests of others have. */
#define djs_access_init test_module_of_access_init
#define djs_arming_exit test_module_of_arming_exit
#define djs_arming_init test_module_of_arming_init
#define djs_clock_read test_module_of_clock_read
#define djs_conditions_exit test_module_of_conditions_exit
#define djs_contexts_exit test_module_of_contexts_exit
#define djs_contexts_init test_module_of_contexts_init
#define djs_control test_module_of_control
#define djs_deferred_finish test_module_of_deferred_finish
#define djs_deferred_init test_module_of_deferred_init
#define djs_fn_host_name test_module_of_fn_host_name
#define djs_fn_tz_gmtoff test_module_of_fn_tz_gmtoff
#define djs_fn_tz_name test_module_of_fn_tz_name
#define djs_gate test_module_gate
#define djs_globals_exit test_module_of_globals_exit
#define djs_globals_init test_module_of_globals_init
#define djs_inside_finish test_module_of_inside_finish
#define djs_kernel_bias test_module_of_kernel_bias
#define djs_kernel_clock_init test_module_of_kernel_clock_init
#define djs_load_time test_module_of_load_time
#define djs_overwrite test_module_overwrites
#define djs_pin_wait test_module_of_pin_wait
#define djs_pinned test_module_of_pinned
#define djs_proc_exit test_module_of_proc_exit
#define djs_proc_init test_module_of_proc_init
#define djs_process_memory_init test_module_of_process_memory_init
#define djs_procfs_finish test_module_of_procfs_finish
#define djs_reader_ever test_module_of_reader_ever
#define djs_rings_exit test_module_of_rings_exit
#define djs_rings_init test_module_of_rings_init
#define djs_rings_to_log test_module_of_rings_to_log
#define djs_session_exit test_module_of_session_exit
#define djs_session_init test_module_of_session_init
#define djs_session_start test_module_of_session_start
#define djs_session_stop test_module_of_session_stop
#define djs_symbol_pages test_module_of_symbol_pages
#define djs_symbols_exit test_module_of_symbols_exit
#define djs_symbols_init test_module_of_symbols_init
#define djs_traced_pid test_module_traced
#define djs_ustack_exit test_module_of_ustack_exit
#define djs_ustack_init test_module_of_ustack_init
#define djs_zone_name test_module_zone
#include "kernel_for_test.h"

#include "linux/utsname.h"

#include "log_for_test.h"
#include "module_for_test.h"

char test_module_log[2048];
#define note(...) log_for_test(test_module_log, sizeof(test_module_log), __VA_ARGS__)
#undef pr_err
#define pr_err(...) note(__VA_ARGS__)

typedef unsigned uint;
#define __init
#define __exit
#define module_param(name, type, mode) struct test_module_declaration
#define module_param_named(name, variable, type, mode) struct test_module_declaration
#define MODULE_PARM_DESC(name, text) struct test_module_declaration
#define MODULE_LICENSE(name) struct test_module_declaration
#define MODULE_DESCRIPTION(name) struct test_module_declaration
#define module_init(function) struct test_module_declaration
#define module_exit(function) struct test_module_declaration
#define djs_interrupts_are_virtual() test_module_interrupts_are_virtual
static long read_memory(void* to, const void* from, size_t bytes);
#undef copy_from_kernel_nofault
#define copy_from_kernel_nofault(to, from, bytes) read_memory(to, from, bytes)

#include "control/module.c"

const char *test_module_release, *test_module_version, *test_module_node, *test_module_fails;
u8 test_module_id[TEST_MODULE_ID_MOST];
bool test_module_id_faults, test_module_pinned, test_module_had_reader,
    test_module_interrupts_are_virtual, test_module_overwrites;
u64 test_module_ring_bytes;
s32 test_module_traced;
u32 test_module_gate;
struct djs_control_page test_module_control;
struct djs_control_page* djs_control;
struct djs_clock djs_load_time;

static void (*stop_session)(void);

/* ---- the kernel ---- */

struct new_utsname* init_utsname(void) {
    static struct new_utsname names;

    snprintf(names.nodename, sizeof(names.nodename), "%s", test_module_node);
    snprintf(names.release, sizeof(names.release), "%s", test_module_release);
    snprintf(names.version, sizeof(names.version), "%s", test_module_version);
    return &names;
}

unsigned long djs_kernel_bias(void) {
    return TEST_MODULE_BIAS;
}

static long read_memory(void* to, const void* from, size_t bytes) {
    if ((u64)from != TEST_MODULE_ID_AT + TEST_MODULE_BIAS || test_module_id_faults)
        return -EFAULT;
    memcpy(to, test_module_id, bytes);
    return 0;
}

/* ---- parts of the runtime ---- */

static int begin(const char* name) {
    test_may_sleep();
    note("%s ", name);
    return test_module_fails && !strcmp(test_module_fails, name) ? -ENOMEM : 0;
}

#define PART(function, name)                                                                       \
    int function(void) {                                                                           \
        return begin(name);                                                                        \
    }
#define STEP(function, name)                                                                       \
    void function(void) {                                                                          \
        begin(name);                                                                               \
    }
PART(djs_symbols_init, "symbols")
PART(djs_ustack_init, "ustack")
PART(djs_contexts_init, "contexts")
PART(djs_globals_init, "globals")
PART(djs_arming_init, "arming")
PART(djs_session_start, "start")
PART(djs_proc_init, "proc")
STEP(djs_access_init, "access")
STEP(djs_deferred_init, "deferred")
STEP(djs_process_memory_init, "process")
STEP(djs_kernel_clock_init, "clock")
STEP(djs_session_stop, "stop")
STEP(djs_procfs_finish, "-procfs")
STEP(djs_inside_finish, "-inside")
STEP(djs_deferred_finish, "-deferred")
STEP(djs_conditions_exit, "-conditions")
STEP(djs_session_exit, "-session")
STEP(djs_arming_exit, "-arming")
STEP(djs_globals_exit, "-globals")
STEP(djs_contexts_exit, "-contexts")
STEP(djs_ustack_exit, "-ustack")
STEP(djs_symbols_exit, "-symbols")
STEP(djs_rings_exit, "-rings")
STEP(djs_pin_wait, "pin-wait")
STEP(djs_proc_exit, "-proc")

void djs_clock_read(struct djs_clock* clock) {
    *clock = (struct djs_clock){.cycles = 111, .monotonic_ns = 222, .realtime_ns = 333};
}

int djs_rings_init(u64 bytes) {
    test_module_ring_bytes = bytes;
    return begin("rings");
}

void djs_rings_to_log(unsigned int most) {
    note("log(%u) ", most);
}

/* From here on there is a control page. */
int djs_session_init(void (*stop)(void)) {
    djs_control = &test_module_control;
    stop_session = stop;
    return begin("session");
}

unsigned long djs_symbol_pages(void) {
    return 44;
}

bool djs_pinned(void) {
    return test_module_pinned;
}

bool djs_reader_ever(void) {
    return test_module_had_reader;
}

/* ---- what a test does ---- */

void test_module_begin(const struct test_module_parameters* parameters) {
    static char host[32], zone[32];

    hold = parameters->hold;
    overwrite = parameters->overwrite;
    ring_kb = parameters->ring_kb;
    target = parameters->target;
    reader = parameters->reader;
    tz_gmtoff = parameters->tz_gmtoff;
    snprintf(host, sizeof(host), "%s", parameters->host ?: "");
    known_as = parameters->host ? host : NULL;
    snprintf(zone, sizeof(zone), "%s", parameters->tz_name ?: "");
    tz_name = zone;
    test_module_release = "6.1.0";
    test_module_version = "#1 SMP";
    test_module_node = "node";
    test_module_fails = NULL;
    memset(test_module_id, 0, sizeof(test_module_id));
    memset(&test_module_control, 0, sizeof(test_module_control));
    memset(&djs_load_time, 0, sizeof(djs_load_time));
    test_module_id_faults = test_module_pinned = test_module_had_reader = false;
    test_module_interrupts_are_virtual = test_module_overwrites = false;
    test_module_ring_bytes = test_module_traced = test_module_gate = 0;
    test_module_log[0] = 0;
    djs_control = NULL;
    stop_session = NULL;
}

int test_module_load(void) {
    const int error = djs_module_init();

    if (!error && stop_session != djs_session_stop)
        abort();
    return error;
}

void test_module_unload(void) {
    djs_module_exit();
}

void test_module_host_name(char* out) {
    djs_fn_host_name(NULL, out);
}

s64 test_module_zone_offset(void) {
    return djs_fn_tz_gmtoff(NULL);
}

void test_module_zone_name(char* out) {
    djs_fn_tz_name(NULL, out);
}
