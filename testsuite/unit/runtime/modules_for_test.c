// SPDX-License-Identifier: GPL-2.0-or-later
#define CONFIG_KALLSYMS 1
/* What other sources have of this, and what the tests of others have. */
#define djs_biases test_modules_biases
#define djs_placed_init test_placed_init
#define djs_placed_exit test_placed_exit
#define djs_site_failed test_modules_site_failed
#include "kernel_for_test.h"

#include "instructions_for_test.h"
#include "linux/kallsyms.h"
#include "modules_for_test.h"

static struct module modules_of_test[TEST_MODULES];
static bool hold(const struct module* module);
#undef THIS_MODULE
#define THIS_MODULE (&modules_of_test[TEST_MODULES - 1])
#define try_module_get(module) hold(module)
/* The kernel's list begins outside of what is loaded. */
#define MODULES_VADDR ((unsigned long)modules_of_test)
#define MODULES_END ((unsigned long)(modules_of_test + TEST_MODULES))
/* Nothing frees a module, or its symbols, while preemption is off: what is read without that, and a
 * wait with it, end the test. */
static int preemption_off;
#define preempt_disable() ((void)preemption_off++)
#define preempt_enable() (preemption_off-- > 0 ? (void)0 : abort())
#define rcu_dereference_sched(pointer) (preemption_off > 0 ? (pointer) : (abort(), (pointer)))
static void pass(u32 ms);
#define msleep(ms) pass(ms)

#include "sites/modules.c"

struct kprobe;
#include "kprobe/fentry_site.c"

#include "kprobe/decodable.c"

struct test_module test_modules[TEST_MODULES];
unsigned long test_biases[4];
unsigned long* djs_biases = test_biases;
u32 test_written_ms;
char* test_written;
const char* test_symbol_at;
char test_modules_log[512];

static struct test_symbol symbols_of_test[TEST_MODULES][3];
static struct mod_kallsyms kallsyms_of_test[TEST_MODULES];
static LIST_HEAD(head);

static bool hold(const struct module* module) {
    if (!preemption_off)
        abort();
    return !test_modules[module - modules_of_test].cannot_be_held;
}

static void expect_preemption(void) {
    if (preemption_off)
        abort();
}

static void pass(u32 ms) {
    expect_preemption();
    if (test_written_ms > ms) {
        test_written_ms -= ms;
    } else if (test_written_ms) {
        test_written_ms = 0;
        *test_written = 'c';
    }
}

int sprint_symbol(char* text, unsigned long address) {
    strcpy(text, test_symbol_at);
    return (int)strlen(text);
}

void djs_site_failed(struct djs_site_run* run, int error, const char* why) {
    snprintf(test_modules_log, sizeof(test_modules_log), "%s (%d)", why, error);
}

static void tell_modules(void) {
    static const char names[] = "\0first\0second";
    int i;

    head.next = head.prev = &head;
    for (i = 0; i < TEST_MODULES; i++) {
        struct test_symbol* symbols = symbols_of_test[i];
        u32 count = 1; /* the first one has no name */

        if (test_modules[i].second)
            symbols[count++] = (struct test_symbol){7, test_modules[i].second};
        if (test_modules[i].first)
            symbols[count++] = (struct test_symbol){1, test_modules[i].first};
        kallsyms_of_test[i] = (struct mod_kallsyms){symbols, names, count};
        modules_of_test[i].kallsyms = &kallsyms_of_test[i];
        modules_of_test[i].name = test_modules[i].name;
        modules_of_test[i].state =
            test_modules[i].is_coming ? MODULE_STATE_COMING : MODULE_STATE_LIVE;
        list_add_tail(&modules_of_test[i].list, &head);
    }
}

static int number_of(const struct module* module) {
    return module ? (int)(module - modules_of_test) : -1;
}

int test_module_get(u32 image) {
    int number;

    tell_modules();
    number = number_of(djs_module_get(image));
    expect_preemption();
    return number;
}

int test_module_place(u32 image, int number) {
    int error;

    tell_modules();
    error = djs_module_place(image, &modules_of_test[number]);
    expect_preemption();
    return error;
}

int test_module_placed(u32 image) {
    return number_of(djs_module_placed(image));
}

bool test_at_fentry_site(const struct djs_site* site, u64 address, u64 probe) {
    const struct djs_site_run run = {.site = site, .address = address, .probe = probe};

    return djs_at_fentry_site(&run);
}

bool test_kprobe_refused(const struct djs_site* site, u32 image, u64 address, u64 probe) {
    struct djs_site_run run = {.site = site, .image = image, .address = address, .probe = probe};

    test_modules_log[0] = 0;
    return djs_kprobe_refused(&run);
}
