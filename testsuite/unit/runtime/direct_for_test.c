// SPDX-License-Identifier: GPL-2.0-or-later
#define djs_biases test_direct_biases
#include "kernel_for_test.h"

#include "instructions_for_test.h"

#define DJS_HAVE_FTRACE_DIRECT_MULTI 1
#define DJS_HAVE_FTRACE_OPS_FUNC 1
#define CONFIG_HAVE_STATIC_CALL 1
/* What other sources have of this. */
#define djs_sites test_direct_site_runs
#define djs_site_failed test_direct_site_failed
#define djs_site_use test_direct_site_use
#define djs_message_alone test_direct_message
#define djs_run_handler test_direct_run_handler
#define djs_find_site test_direct_find_site
#define djs_not_aimed test_direct_not_aimed
#define djs_inside_expect test_direct_inside_expect
#define djs_direct_room test_direct_room_of_table
#define djs_direct_lock test_direct_table_lock
#define djs_direct_unlock test_direct_table_unlock
#define djs_groups_any_to_attach test_direct_any_to_attach
#define djs_groups_attach test_direct_groups_attach
#define djs_groups_detach test_direct_groups_detach
#define sprint_symbol test_direct_symbol
#define ftrace_free_filter test_direct_free_filter
#include "direct_for_test.h"
#include "log_for_test.h"

char test_direct_log[2048];
#define note(...) log_for_test(test_direct_log, sizeof(test_direct_log), __VA_ARGS__)

#define MCOUNT_INSN_SIZE 5
#define DJS_LANDING_PAD_BYTES 4
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "too large")
#define strstarts(text, start) (!strncmp(text, start, strlen(start)))
#define ftrace_get_regs(regs) ((struct pt_regs*)(regs))
/* Addresses of this module are those from here on. */
enum { OWN = 0x5000, OTHERS = 0x7000 };
#define within_module(address, module) ((address) >= OWN && (address) < OTHERS)
static unsigned long djs_callee(const u8* text, unsigned long address);
#define synchronize_rcu() test_synchronize_rcu()
struct ftrace_ops;
static int register_ftrace_direct_multi(struct ftrace_ops* ops, unsigned long trampoline);
static int unregister_ftrace_direct_multi(struct ftrace_ops* ops, unsigned long trampoline);
static int register_ftrace_function(struct ftrace_ops* ops);
static int unregister_ftrace_function(struct ftrace_ops* ops);
const struct djs_site* djs_find_site(const struct djs_handler* handler, u64 return_address);
void djs_not_aimed(void);

#include "djprobe/direct.c"

#include "djprobe/ftrace.c"

#include "sites_at_end_for_test.h"

struct test_direct_site test_direct_sites[TEST_DIRECT_SITES];
struct test_callee test_callees[3];
int test_direct_error, test_direct_groups_error;
u32 test_direct_table_room;
bool test_direct_none_to_attach;

static unsigned long biases_of_test[1] = {TEST_TABLE_BIAS};
unsigned long* djs_biases = biases_of_test;
static struct djs_group groups_of_test[TEST_DIRECT_GROUPS];
static bool table_is_locked;

/* ---- the kernel ---- */

static unsigned long djs_callee(const u8* text, unsigned long address) {
    const u32 number = (u32)(text[1] - '0');

    if (text[0] != 'c')
        return 0;
    return (test_callees[number].is_own ? OWN : OTHERS) + number;
}

int sprint_symbol(char* text, unsigned long address) {
    return snprintf(text, KSYM_SYMBOL_LEN, "%s", test_callees[address % 0x1000].symbol);
}

static const struct djs_group* group_of(struct ftrace_ops* ops) {
    return container_of(ops, struct djs_group, ops);
}

static void note_group(const char* what, struct ftrace_ops* ops, unsigned long trampoline) {
    note("%s %d", what, (int)(group_of(ops) - groups_of_test));
    if (trampoline)
        note(" with %lx", trampoline);
    note("\n");
}

static int register_ftrace_direct_multi(struct ftrace_ops* ops, unsigned long trampoline) {
    test_may_sleep();
    note_group("direct", ops, trampoline);
    return test_direct_error;
}

/* It clears the table only of what is registered. */
static int unregister_ftrace_direct_multi(struct ftrace_ops* ops, unsigned long trampoline) {
    test_may_sleep();
    note_group(ops->flags & FTRACE_OPS_FL_ENABLED ? "not direct" : "refused: not direct", ops,
               trampoline);
    return -ENOENT;
}

static int register_ftrace_function(struct ftrace_ops* ops) {
    test_may_sleep();
    note_group("ftrace", ops, 0);
    return test_direct_error;
}

/* It waits for an ops that may be freed. */
static int unregister_ftrace_function(struct ftrace_ops* ops) {
    test_may_sleep();
    note_group(ops->flags & FTRACE_OPS_FL_DYNAMIC ? "no ftrace, waits" : "no ftrace", ops, 0);
    return test_direct_error;
}

void ftrace_free_filter(struct ftrace_ops* ops) {
    note_group("free", ops, 0);
    if (ops->flags & FTRACE_OPS_FL_ENABLED) /* the kernel would warn */
        abort();
}

static void __static_call_update(struct static_call_key* key, void* trampoline, void* function) {
    test_may_sleep();
    note("aim %lx at %ld: %ld\n", (unsigned long)trampoline,
         ((unsigned long)function - (unsigned long)test_direct_sites) / sizeof(*test_direct_sites),
         (unsigned long)key);
}

/* ---- the rest of the runtime ---- */

void djs_site_failed(struct djs_site_run* run, int error, const char* why) {
    run->error = error;
    note("failed %d: %s (%d)\n", (int)(run - runs_of_test), why, error);
}

void djs_site_use(struct djs_site_run* run, u32 mechanism) {
    run->mechanism = (u8)mechanism;
}

void djs_message_alone(const char* text) {
    note("%s\n", text);
}

void djs_inside_expect(void) {
    note("tasks may be inside\n");
}

u32 djs_direct_room(unsigned long symbol, u32 own) {
    if (!table_is_locked)
        abort();
    note("room at %lx, %u are own\n", symbol, own);
    return test_direct_table_room;
}

struct file* djs_direct_lock(void) {
    test_may_sleep();
    table_is_locked = true;
    return (struct file*)&table_is_locked;
}

void djs_direct_unlock(struct file* lock) {
    if (lock != (struct file*)&table_is_locked || !table_is_locked)
        abort();
    table_is_locked = false;
}

static const struct djs_group_kind* kind_of(bool by_ftrace) {
    return by_ftrace ? &ops_kind : &direct_kind;
}

bool djs_groups_any_to_attach(const struct djs_group_kind* kind) {
    if (kind != &direct_kind || table_is_locked)
        abort();
    return !test_direct_none_to_attach;
}

int djs_groups_attach(const struct djs_group_kind* kind) {
    if (table_is_locked != (kind == &direct_kind))
        abort();
    note("attach %s\n", kind == &direct_kind ? "directs" : "ftraces");
    return test_direct_groups_error;
}

void djs_groups_detach(const struct djs_group_kind* kind) {
    note("detach %s\n", kind == &direct_kind ? "directs" : "ftraces");
}

const struct djs_site* djs_find_site(const struct djs_handler* handler, u64 return_address) {
    note("find %d, %lx\n", (int)(handler - djs_script.handlers), (unsigned long)return_address);
    return &djs_script.sites[1];
}

void djs_run_handler(const struct djs_handler* handler, const struct djs_site* site,
                     struct pt_regs* regs) {
    note("handler %d of %d with %lx\n", (int)(handler - djs_script.handlers),
         (int)(site - djs_script.sites), (unsigned long)regs);
}

/* ---- what a test does ---- */

void test_direct_begin(void) {
    u32 i;

    memset(test_direct_sites, 0, sizeof(test_direct_sites));
    forget_sites(TEST_DIRECT_SITES);
    memset(groups_of_test, 0, sizeof(groups_of_test));
    memset(test_callees, 0, sizeof(test_callees));
    for (i = 0; i < TEST_DIRECT_SITES; i++)
        test_direct_sites[i].group = -1;
    test_direct_log[0] = 0;
    test_direct_error = test_direct_groups_error = 0;
    test_direct_table_room = 100;
    test_direct_none_to_attach = table_is_locked = false;
    direct_count = 0;
}

static void tell_sites(void) {
    u32 i;

    place_sites(djs_script.site_count);
    for (i = 0; i < djs_script.site_count; i++)
        runs_of_test[i].follows = 0;
    for (i = 0; i < djs_script.site_count; i++) {
        const struct test_direct_site* site = &test_direct_sites[i];
        struct djs_site_run* run = &runs_of_test[i];

        run->site = &djs_script.sites[i];
        run->mechanism = site->mechanism;
        run->wanted = site->wanted;
        run->armed = site->armed;
        run->disarmed = site->disarmed;
        run->error = site->error;
        run->fallback = site->fallback;
        run->address = run->probe = (unsigned long)site->text;
        run->data = site->group < 0 ? NULL : &groups_of_test[site->group];
        run->next = site->next ? &runs_of_test[site->next] : NULL;
        if (site->next)
            run->next->follows = 1;
    }
}

static void ask_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++) {
        test_direct_sites[i].mechanism = runs_of_test[i].mechanism;
        test_direct_sites[i].disarmed = runs_of_test[i].disarmed;
        test_direct_sites[i].error = runs_of_test[i].error;
        test_direct_sites[i].fallback = runs_of_test[i].fallback;
        test_direct_sites[i].probe = runs_of_test[i].probe;
    }
}

void test_direct_group(u32 group, u32 number, u32 count, u32 site) {
    groups_of_test[group] = (struct djs_group){
        .number = number, .count = count, .first = (unsigned long)&test_direct_sites[site]};
}

void test_direct_prepare(bool by_ftrace, u32 group) {
    tell_sites();
    kind_of(by_ftrace)->prepare(&groups_of_test[group]);
}

bool test_direct_has_returns(u32 group) {
    return groups_of_test[group].returns;
}

u64 test_direct_flags(u32 group) {
    return groups_of_test[group].ops.flags;
}

void test_direct_set_flags(u32 group, u64 flags) {
    groups_of_test[group].ops.flags = flags;
}

int test_direct_share(u32 group, u32 command) {
    return groups_of_test[group].ops.ops_func(&groups_of_test[group].ops,
                                              (enum ftrace_ops_cmd)command);
}

int test_direct_attach(bool by_ftrace, u32 group) {
    return kind_of(by_ftrace)->attach(&groups_of_test[group]);
}

int test_direct_disconnect(bool by_ftrace, u32 group) {
    tell_sites();
    return kind_of(by_ftrace)->disconnect(&groups_of_test[group]);
}

void test_direct_release(bool by_ftrace, u32 group) {
    kind_of(by_ftrace)->release(&groups_of_test[group]);
}

void test_direct_refused(bool by_ftrace, u32 site, int error) {
    tell_sites();
    kind_of(by_ftrace)->refused(&runs_of_test[site], error);
    ask_sites();
}

bool test_direct_takes(bool by_ftrace, u32 site) {
    tell_sites();
    return kind_of(by_ftrace)->takes(&runs_of_test[site]);
}

void test_ftrace_hit(u32 group, u64 ip, u64 regs) {
    struct ftrace_ops* ops = &groups_of_test[group].ops;

    ops->func(ip, 0, ops, (struct ftrace_regs*)regs);
}

bool test_ftrace_calls(u32 group, void (*function)(void)) {
    return (void (*)(void))groups_of_test[group].ops.func == function;
}

static const struct djs_mechanism_ops* ops_of(bool by_ftrace) {
    return by_ftrace ? &djs_ops_ftrace : &djs_ops_djprobe;
}

int test_directs_attach(bool by_ftrace) {
    int error;

    tell_sites();
    error = ops_of(by_ftrace)->attach();
    if (table_is_locked)
        abort();
    ask_sites();
    return error;
}

void test_directs_disarm(bool by_ftrace) {
    ops_of(by_ftrace)->disarm();
}

void test_directs_disarm_sharing(void) {
    tell_sites();
    djs_direct_disarm_sharing();
    ask_sites();
}
