// SPDX-License-Identifier: GPL-2.0-or-later
#define djs_biases test_kprobe_biases
#include "kernel_for_test.h"

#include "instructions_for_test.h"
#include "linux/log2.h"

#define CONFIG_KRETPROBE_ON_RETHOOK 1
#define DJS_HAVE_RETHOOK_POOL 1
/* What other sources have of this. */
#define djs_session_message test_kprobes_message
#define djs_site_failed test_kprobe_failed
#define djs_run_handler test_kprobe_run_handler
#define djs_enter test_kprobe_enter
#define djs_leave test_kprobe_leave
#define djs_at_fentry_site test_kprobe_at_fentry_site
#define djs_registry_attach test_kprobes_registry_attach
#define djs_registry_disarm test_kprobes_registry_disarm
#define djs_registry_detach test_kprobes_registry_detach
#define djs_registry_forget test_kprobes_registry_forget
#define djs_registry_missed test_kprobes_registry_missed
#define djs_registry_free test_kprobes_registry_free
#define djs_registered_missed test_kprobes_one_missed
#include "kprobes_for_test.h"
#include "log_for_test.h"

char test_kprobes_log[2048];
#define note(...) log_for_test(test_kprobes_log, sizeof(test_kprobes_log), __VA_ARGS__)

struct pt_regs {
    unsigned long ip, ax;
};
#define instruction_pointer(regs) ((regs)->ip)
#define instruction_pointer_set(regs, value) ((void)((regs)->ip = (value)))
#define regs_return_value(regs) ((regs)->ax)
#define regs_set_return_value(regs, value) ((void)((regs)->ax = (value)))

typedef u8 kprobe_opcode_t;
struct kprobe;
typedef int (*kprobe_pre_handler_t)(struct kprobe* kprobe, struct pt_regs* regs);
struct kprobe {
    kprobe_opcode_t* addr;
    const char* symbol_name;
    u32 flags;
    kprobe_pre_handler_t pre_handler;
    void (*post_handler)(struct kprobe* kprobe, struct pt_regs* regs, unsigned long flags);
};
struct kretprobe_instance;
typedef int (*kretprobe_handler_t)(struct kretprobe_instance* instance, struct pt_regs* regs);
struct kretprobe {
    struct kprobe kp;
    kretprobe_handler_t handler, entry_handler;
    int maxactive;
    size_t data_size;
};
struct kretprobe_instance {
    struct kretprobe* of;
    char whatever[TEST_KPROBE_BYTES - sizeof(struct kretprobe*)];
    char data[];
};
#define KPROBE_FLAG_DISABLED 2
#define KPROBE_FLAG_FTRACE 8
#define get_kretprobe(instance) ((instance)->of)
#define PAGE_ALIGN(bytes) ALIGN(bytes, PAGE_SIZE)
#undef num_possible_cpus
#define num_possible_cpus() test_kprobe_cpus
#undef copy_from_kernel_nofault
#define copy_from_kernel_nofault(to, from, bytes) read_text(to, from, bytes)
static noinline long read_text(void* to, const void* from, size_t bytes);
static void pass(u32 ms);
#define msleep(ms) pass(ms)
static int register_kprobe(struct kprobe* kprobe);
static void unregister_kprobe(struct kprobe* kprobe);
static int register_kprobes(struct kprobe** batch, int count);
static void unregister_kprobes(struct kprobe** batch, int count);
static int register_kretprobe(struct kretprobe* kretprobe);
static void unregister_kretprobe(struct kretprobe* kretprobe);
static void unregister_kretprobes(struct kretprobe** batch, int count);
struct djs_ctx* djs_enter(const struct djs_handler* handler, const struct djs_site* site);
void djs_leave(struct djs_ctx* ctx);

struct test_hooks_of_task {
    struct {
        struct llist_node* first;
    } rethooks;
};
static struct test_hooks_of_task task_of_test;
#undef current
#define current (&task_of_test)

#include "kprobe/kprobe.c"

#include "kprobe/kretprobe.c"

struct test_kprobe test_kprobe_sites[TEST_KPROBES];
u32 test_kprobe_jumps_ms, test_kprobe_waited_ms, test_kprobe_cpus;
int test_kprobe_fails, test_kretprobe_fails, test_kprobe_error;
bool test_kprobe_no_context;
struct djs_ctx test_kprobe_ctx;

static struct djs_site_run runs_of_test[TEST_KPROBES];
static struct djs_registered probes_of_test[TEST_KPROBES];
static unsigned long biases_of_test[1] = {0x1000};
unsigned long* djs_biases = biases_of_test;

LOG_SESSION_MESSAGES(test_kprobes_log)

static int number_of_text(const u8* text) {
    u32 i;

    for (i = 0; i < TEST_KPROBES; i++)
        if (text == test_kprobe_sites[i].text)
            return (int)i;
    abort();
}

/* ---- the kernel ---- */

static long read_text(void* to, const void* from, size_t bytes) {
    if (test_kprobe_sites[number_of_text(from)].unreadable)
        return -EFAULT;
    memcpy(to, from, bytes);
    return 0;
}

static void pass(u32 ms) {
    u32 i;

    test_may_sleep();
    test_kprobe_waited_ms += ms;
    for (i = 0; i < TEST_KPROBES && test_kprobe_jumps_ms; i++)
        if (test_kprobe_waited_ms >= test_kprobe_jumps_ms)
            test_kprobe_sites[i].text[0] = 'j';
}

enum { MOST_REGISTERED = 2 * TEST_KPROBES };
static const struct kprobe* registered[MOST_REGISTERED];

static void remember(const struct kprobe* kprobe) {
    u32 i;

    for (i = 0; i < MOST_REGISTERED; i++)
        if (registered[i] == kprobe)
            abort();
    for (i = 0; registered[i]; i++)
        ;
    registered[i] = kprobe;
}

/* Whoever gives back what the kernel does not have ends the test. */
static void forget(const struct kprobe* kprobe) {
    u32 i;

    for (i = 0; registered[i] != kprobe; i++)
        if (i == MOST_REGISTERED - 1)
            abort();
    registered[i] = NULL;
}

u32 test_kprobes_registered(void) {
    u32 i, count = 0;

    for (i = 0; i < MOST_REGISTERED; i++)
        count += registered[i] != NULL;
    return count;
}

static int register_kprobe(struct kprobe* kprobe) {
    const int number = number_of_text(kprobe->addr);
    const bool fails = number == test_kprobe_fails;

    test_may_sleep();
    if (kprobe->symbol_name) /* the kernel refuses a symbol and an address */
        abort();
    note("kprobe %d%s%s%s\n", number, kprobe->flags & KPROBE_FLAG_DISABLED ? ", disabled" : "",
         kprobe->post_handler ? ", no jump" : "", fails ? ": rejected" : "");
    if (!fails)
        remember(kprobe);
    return fails ? test_kprobe_error : 0;
}

static void unregister_kprobe(struct kprobe* kprobe) {
    test_may_sleep();
    note("no kprobe %d\n", number_of_text(kprobe->addr));
    forget(kprobe);
}

static int register_kprobes(struct kprobe** batch, int count) {
    int i, error = 0;

    note("%d kprobes:\n", count);
    for (i = 0; i < count && !error; i++)
        error = register_kprobe(batch[i]);
    if (error)
        for (i--; i > 0; i--)
            forget(batch[i - 1]);
    return error;
}

static void unregister_kprobes(struct kprobe** batch, int count) {
    int i;

    note("no %d kprobes:\n", count);
    for (i = 0; i < count; i++)
        unregister_kprobe(batch[i]);
}

static int register_kretprobe(struct kretprobe* kretprobe) {
    const int number = number_of_text(kretprobe->kp.addr);
    const bool fails = number == test_kretprobe_fails;

    test_may_sleep();
    note("kretprobe %d%s\n", number, fails ? ": rejected" : "");
    if (!fails)
        remember(&kretprobe->kp);
    return fails ? test_kprobe_error : 0;
}

static void unregister_kretprobe(struct kretprobe* kretprobe) {
    test_may_sleep();
    note("no kretprobe %d\n", number_of_text(kretprobe->kp.addr));
    forget(&kretprobe->kp);
}

static void unregister_kretprobes(struct kretprobe** batch, int count) {
    int i;

    note("no %d kretprobes:\n", count);
    for (i = 0; i < count; i++)
        unregister_kretprobe(batch[i]);
}

/* ---- the rest of the runtime ---- */

void djs_site_failed(struct djs_site_run* run, int error, const char* why) {
    run->error = error;
    note("failed %d: %s (%d)\n", (int)(run - runs_of_test), why, error);
}

bool djs_at_fentry_site(const struct djs_site_run* run) {
    return test_kprobe_sites[run - runs_of_test].at_fentry;
}

static void note_handler(const char* what, const struct djs_handler* handler,
                         const struct djs_site* site) {
    note("%s %d%s\n", what, (int)(site - djs_script.sites),
         handler == &djs_script.handlers[site->handler] ? "" : ", another one");
}

void djs_run_handler(const struct djs_handler* handler, const struct djs_site* site,
                     struct pt_regs* regs) {
    note_handler("handler", handler, site);
    if (regs->ip != (unsigned long)test_kprobe_sites[site - djs_script.sites].text)
        note("somewhere else\n");
}

struct djs_ctx* djs_enter(const struct djs_handler* handler, const struct djs_site* site) {
    note_handler("enter", handler, site);
    return test_kprobe_no_context ? NULL : &test_kprobe_ctx;
}

/* What a hit leaves in it would be seen by the next one. */
void djs_leave(struct djs_ctx* ctx) {
    if (ctx != &test_kprobe_ctx || ctx->regs || ctx->saved || ctx->returned)
        abort();
    note("leave\n");
}

static const char* name_of(const struct djs_registry* kind) {
    return kind == &kprobes ? "kprobes" : kind == &kretprobes ? "kretprobes" : "others";
}

int djs_registry_attach(struct djs_registry* kind) {
    note("attach %s\n", name_of(kind));
    return -ENOMEM;
}

void djs_registry_disarm(struct djs_registry* kind) {
    note("disarm %s\n", name_of(kind));
}

void djs_registry_detach(struct djs_registry* kind) {
    note("detach %s\n", name_of(kind));
}

void djs_registry_forget(struct djs_registry* kind, u32 image) {
    note("forget %s of %u\n", name_of(kind), image);
}

void djs_registry_free(struct djs_registry* kind) {
    note("free %s\n", name_of(kind));
}

struct djs_misses djs_registry_missed(const struct djs_registry* kind) {
    return (struct djs_misses){kind == &kprobes ? 3 : 4, 0};
}

u64 djs_registered_missed(const struct djs_registered* probe) {
    return 10 + (u64)(probe - probes_of_test);
}

/* ---- what a test does ---- */

void test_kprobes_begin(void) {
    memset(test_kprobe_sites, 0, sizeof(test_kprobe_sites));
    memset(runs_of_test, 0, sizeof(runs_of_test));
    memset(probes_of_test, 0xa5, sizeof(probes_of_test));
    memset(registered, 0, sizeof(registered));
    memset(&test_kprobe_ctx, 0, sizeof(test_kprobe_ctx));
    task_of_test.rethooks.first = NULL;
    test_kprobes_log[0] = 0;
    test_kprobe_jumps_ms = test_kprobe_waited_ms = 0;
    test_kprobe_cpus = 4;
    test_kprobe_fails = test_kretprobe_fails = -1;
    test_kprobe_error = -EINVAL;
    test_kprobe_no_context = false;
}

static struct djs_site_run* run_of(u32 number) {
    struct djs_site_run* run = &runs_of_test[number];

    run->site = &djs_script.sites[number];
    run->mechanism = test_kprobe_sites[number].mechanism;
    run->error = test_kprobe_sites[number].error;
    run->probe = (unsigned long)test_kprobe_sites[number].text;
    run->data = &probes_of_test[number];
    return run;
}

static void ask(u32 number) {
    test_kprobe_sites[number].mechanism = runs_of_test[number].mechanism;
    test_kprobe_sites[number].error = runs_of_test[number].error;
}

static const struct djs_registry* kind_of(bool returns) {
    return returns ? &kretprobes : &kprobes;
}

bool test_kprobe_is_one(bool returns, u32 number) {
    return kind_of(returns)->is_one(run_of(number));
}

bool test_kprobe_may_become_one(bool returns, u32 number) {
    return kind_of(returns)->may_become_one(run_of(number));
}

bool test_kprobe_latest_first(bool returns) {
    return kind_of(returns)->latest_first;
}

const char* test_kprobe_rejected(bool returns) {
    return kind_of(returns)->rejected;
}

void test_kprobe_check(u32 number) {
    kprobes.check(run_of(number));
    ask(number);
}

/* As registered.c fills it. */
static struct djs_registered* filled(bool returns, u32 number) {
    struct djs_registered* probe = &probes_of_test[number];

    memset(&probe->kretprobe, 0, sizeof(probe->kretprobe));
    probe->run = run_of(number);
    probe->kretprobe.kp.addr = (kprobe_opcode_t*)probe->run->probe;
    probe->kretprobe.kp.flags = test_kprobe_sites[number].by_ftrace ? KPROBE_FLAG_FTRACE : 0;
    kind_of(returns)->fill(probe);
    return probe;
}

void test_kprobe_verify(u32 number) {
    kprobes.verify(filled(false, number));
    ask(number);
}

struct test_filled test_kprobe_fill(bool returns, u32 number) {
    const struct kretprobe* kretprobe = &filled(returns, number)->kretprobe;

    if (kretprobe->kp.post_handler && kretprobe->kp.post_handler != djs_kprobe_after)
        abort();
    return (struct test_filled){
        .post = kretprobe->kp.post_handler != NULL,
        .at_all = kretprobe->kp.pre_handler || kretprobe->handler,
        .entry = kretprobe->entry_handler != NULL,
        .bytes = kretprobe->data_size,
        .instances = kretprobe->maxactive,
    };
}

bool test_kprobes_have_memory(u32 count) {
    u32 i;

    for (i = 0; i < count; i++)
        filled(true, i);
    return kretprobes.has_memory(probes_of_test, count);
}

int test_kprobe_register(bool returns, u32 number) {
    return kind_of(returns)->register_one(filled(returns, number));
}

void test_kprobe_unregister(bool returns, u32 number) {
    kind_of(returns)->unregister_one(&probes_of_test[number]);
}

static void* batch_of_test[TEST_KPROBES];

static void** make_batch(bool returns, u32 count, bool fills) {
    u32 i;

    for (i = 0; i < count; i++)
        batch_of_test[i] = fills ? &filled(returns, i)->kretprobe : &probes_of_test[i].kretprobe;
    return batch_of_test;
}

int test_kprobes_register(bool returns, u32 count) {
    return kind_of(returns)->register_batch(make_batch(returns, count, true), count);
}

void test_kprobes_unregister(bool returns, u32 count) {
    kind_of(returns)->unregister_batch(make_batch(returns, count, false), count);
}

static const struct djs_mechanism_ops* ops_of(bool returns) {
    return returns ? &djs_ops_kretprobe : &djs_ops_kprobe;
}

int test_kprobes_attach(bool returns) {
    return ops_of(returns)->attach();
}

void test_kprobes_disarm(bool returns) {
    ops_of(returns)->disarm();
}

void test_kprobes_detach(bool returns) {
    ops_of(returns)->detach();
}

void test_kprobes_forget(bool returns, u32 image) {
    ops_of(returns)->forget(image);
}

u64 test_kprobe_missed(bool returns, u32 number) {
    return ops_of(returns)->missed(run_of(number));
}

u64 test_kprobes_missed(bool returns) {
    return (returns ? djs_kretprobes_missed() : djs_kprobes_missed()).nested;
}

void test_kprobes_free(bool returns) {
    ops_of(returns)->free();
}

/* The code of a probe that has no use for what the kernel passes first, a kprobe or an instance, is
 * called with it all the same: clang's sanitizer compares the types of functions. */
#ifdef __clang__
#define OF_ANY_TYPE __attribute__((no_sanitize("function")))
#else
#define OF_ANY_TYPE
#endif

OF_ANY_TYPE u64 test_kprobe_hit(u32 number, u64 ip, int* result) {
    struct kprobe* kprobe = &filled(false, number)->kretprobe.kp;
    struct pt_regs regs = {.ip = ip};

    *result = kprobe->pre_handler(kprobe, &regs);
    if (kprobe->post_handler)
        kprobe->post_handler(kprobe, &regs, 0);
    return regs.ip;
}

static u64 instance_of_test[TEST_KPROBE_BYTES / sizeof(u64) + 4];

static struct kretprobe_instance* instance_of(u32 number) {
    struct kretprobe_instance* instance = (struct kretprobe_instance*)instance_of_test;

    instance->of = &filled(true, number)->kretprobe;
    return instance;
}

int test_kretprobe_enters(u32 number) {
    struct kretprobe_instance* instance = instance_of(number);
    struct pt_regs regs = {.ip = 5};

    return instance->of->entry_handler(instance, &regs);
}

OF_ANY_TYPE u64 test_kretprobe_returns(u32 number, u64 value, int* result) {
    struct kretprobe_instance* instance = instance_of(number);
    struct pt_regs regs = {.ip = 6, .ax = value};

    *result = instance->of->handler(instance, &regs);
    return regs.ax;
}

u64 test_kprobe_regs_ip(const struct pt_regs* regs) {
    return regs->ip;
}

static struct rethook_node hooked[TEST_HOOKED];

void test_kprobe_hooked(u32 number, u64 slot, u64 original) {
    hooked[number] = (struct rethook_node){.frame = slot, .ret_addr = original};
    if (number)
        hooked[number - 1].llist.next = &hooked[number].llist;
    else
        task_of_test.rethooks.first = &hooked[0].llist;
}

u64 test_kprobe_replaced(u64 slot) {
    return djs_replaced_return(slot);
}
