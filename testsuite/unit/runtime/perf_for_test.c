// SPDX-License-Identifier: GPL-2.0-or-later
// Perf events of a kernel as it was until 6.1: a task has two contexts.
#include "kernel_for_test.h"

#define DJS_HAVE_REMOVE_ON_EXEC
#define DJS_HAVE_PERF_CONTEXTS
#define DJS_HAVE_TRACEPOINTS
/* What other sources have of this. */
#define djs_sites test_perf_site_runs
#define djs_run_handler test_perf_run_handler
#define djs_site_failed test_perf_site_failed
#define djs_program_find test_perf_program_find
#define djs_program_of test_perf_program_of
#define djs_program_of_still test_perf_program_of_still
#define djs_works_open test_perf_works_open
#define djs_works_add test_perf_works_add
#define djs_works_close test_perf_works_close
#define djs_works_free test_perf_works_free
#define djs_task_events_start test_perf_events_start
#define djs_task_events_stop test_perf_events_stop
#define test_next_task test_perf_next_task

#include "linux/mutex.h"
#include "linux/perf_event.h"
#include "linux/rcupdate.h"
#include "linux/sched/signal.h"

#include "log_for_test.h"
#include "perf_for_test.h"

char test_perf_log[65536];
#define note(...) log_for_test(test_perf_log, sizeof(test_perf_log), __VA_ARGS__)

/* Interrupts: whoever restores them has disabled them, and nobody sleeps meanwhile. */
static unsigned long irqs_off;
#undef raw_local_irq_save
#undef raw_local_irq_restore
#define raw_local_irq_save(flags) ((flags) = irqs_off++, (void)test_atomic_depth++)
#define raw_local_irq_restore(flags)                                                               \
    (irqs_off && (flags) == irqs_off - 1 ? (void)(irqs_off--, test_atomic_depth--) : abort())
/* A task is moved to another CPU otherwise. */
#undef raw_smp_processor_id
#define raw_smp_processor_id() (irqs_off ? test_perf_cpu : (abort(), 0u))
#undef nr_cpu_ids
#define nr_cpu_ids TEST_PERF_CPUS
#define cpu_online(cpu) test_perf_cpus[cpu].online
#define for_each_online_cpu(cpu)                                                                   \
    for ((cpu) = 0; (cpu) < TEST_PERF_CPUS; (cpu)++)                                               \
        if (cpu_online(cpu))
#undef synchronize_rcu
#define synchronize_rcu() (test_synchronize_rcu(), note("waited\n"))
/* What is in the list is not freed while interrupts are off. */
#define list_for_each_entry_rcu(each, head, member, condition)                                     \
    for ((each) = list_entry((irqs_off ? (head) : (abort(), (head)))->next, __typeof__(*(each)),   \
                             member);                                                              \
         &(each)->member != (head);                                                                \
         (each) = list_entry((each)->member.next, __typeof__(*(each)), member))
struct linux_binprm;
static void exchange(void);
#undef raw_spin_lock_irqsave
#define raw_spin_lock_irqsave(lock, flags)                                                         \
    (exchange(), test_rcu_depth ? test_lock(lock) : abort(), (flags) = 0)

static inline void atomic64_add(s64 n, atomic64_t* a) {
    atomic64_add_return(n, a);
}

#include "perf/perf.c"

#include "perf/roots.c"

#include "perf/follow.c"

#include "sites_at_end_for_test.h"

struct test_perf_site test_perf_sites[TEST_PERF_SITES];
struct test_perf_cpu test_perf_cpus[TEST_PERF_CPUS];
struct test_perf_task test_perf_tasks[TEST_PERF_TASKS];
u32 test_perf_cpu;
int test_perf_works_error, test_perf_work_error, test_perf_events_error, test_perf_error;
int test_perf_process, test_perf_anchor_error, test_perf_exchanged[2];
bool test_perf_is_second, test_perf_overflows;

static struct task_struct tasks_of_test[TEST_PERF_TASKS];
static struct perf_event_context contexts[TEST_PERF_TASKS][2];
enum { MOST_EVENTS = 2048, MOST_FOREIGN = 300 };
static struct perf_event *events_of_test[MOST_EVENTS], foreign[MOST_FOREIGN];
static u32 event_count;
static bool works_are_open, events_are_seen;
static int works_added[TEST_PERF_TASKS];
static u32 work_count;

static int number_of(const struct task_struct* task) {
    if (task < tasks_of_test || task >= tasks_of_test + TEST_PERF_TASKS)
        abort();
    return (int)(task - tasks_of_test);
}

/* ---- the kernel's events ---- */

static void exchange(void) {
    const int *with = test_perf_exchanged, first = with[0];
    struct perf_event_context* context;

    if (with[0] == with[1])
        return;
    context = tasks_of_test[first].perf_event_ctxp[0];
    tasks_of_test[first].perf_event_ctxp[0] = tasks_of_test[with[1]].perf_event_ctxp[0];
    tasks_of_test[with[1]].perf_event_ctxp[0] = context;
    test_perf_exchanged[0] = test_perf_exchanged[1] = 0;
}

static void read_here(struct perf_event* event) {
    if (!irqs_off || event->oncpu != (int)test_perf_cpu)
        abort();
    event->count.counter += event->counted;
    event->counted = 0;
}
static struct pmu pmu_of_test = {read_here};

static int error_of_cpu(int cpu) {
    if (cpu < 0 || cpu >= TEST_PERF_CPUS || !test_perf_cpus[cpu].online)
        abort();
    if (test_perf_cpus[cpu].leaves)
        test_perf_cpus[cpu].online = false;
    return test_perf_cpus[cpu].leaves ? -ENODEV : test_perf_cpus[cpu].error;
}

static int error_of_task(const struct task_struct* task) {
    struct test_perf_task* seen = &test_perf_tasks[number_of(task)];

    if (seen->executes)
        seen->program = seen->executes;
    if (seen->error == -ESRCH)
        seen->program = NULL;
    return seen->error;
}

/* A task has a context from its first event on. */
static struct list_head* events_of(struct task_struct* task, u32 context) {
    if (!task->perf_event_ctxp[context])
        task->perf_event_ctxp[context] = &contexts[number_of(task)][context];
    return &task->perf_event_ctxp[context]->event_list;
}

static void describe(const struct perf_event_attr* attr) {
    note(" of %u/%llu%s%llu%s%s%s%s\n", attr->type, (unsigned long long)attr->config,
         attr->freq ? " freq " : " every ", (unsigned long long)attr->sample_period,
         attr->disabled ? " disabled" : "", attr->inherit ? " inherit" : "",
         attr->inherit_stat ? " stat" : "", attr->remove_on_exec ? " remove" : "");
}

static void overflow_at_once(struct perf_event* event) {
    if (test_perf_overflows && event->overflow_handler)
        test_perf_overflow(event->number, NULL);
}

struct perf_event* perf_event_create_kernel_counter(struct perf_event_attr* attr, int cpu,
                                                    struct task_struct* task,
                                                    perf_overflow_handler_t handler,
                                                    void* context) {
    struct perf_event* event;
    int error;

    test_may_sleep();
    if (attr->size != sizeof(*attr) || !task == (cpu == -1))
        abort();
    error = task && attr->disabled ? test_perf_anchor_error
            : task                 ? error_of_task(task)
                                   : error_of_cpu(cpu);
    if (error)
        return ERR_PTR(error);
    event = guarded_allocate(1, sizeof(*event), 0);
    if (!event)
        return ERR_PTR(-ENOMEM);
    event->pmu = &pmu_of_test;
    event->state = attr->disabled ? PERF_EVENT_STATE_OFF : PERF_EVENT_STATE_ACTIVE;
    event->oncpu = -1;
    event->refcount.counter = 1;
    event->overflow_handler = handler;
    event->overflow_handler_context = handler ? context : NULL; /* as the kernel does */
    event->task = task;
    event->number = event_count;
    note("event %u ", event->number);
    if (task) {
        list_add(&event->event_entry, events_of(task, test_perf_is_second && !attr->disabled));
        note("%s task %d", attr->disabled ? "prepares" : "of", number_of(task));
    } else {
        note("on cpu %d", cpu);
    }
    describe(attr);
    if (event_count == MOST_EVENTS)
        abort();
    events_of_test[event_count++] = event;
    overflow_at_once(event);
    return event;
}

int perf_event_release_kernel(struct perf_event* event) {
    test_may_sleep();
    overflow_at_once(event);
    note("event %u released\n", event->number);
    if (event->task)
        list_del(&event->event_entry);
    events_of_test[event->number] = NULL;
    guarded_free(event);
    return 0;
}

static struct perf_event* event_numbered(u32 number) {
    if (number >= event_count || !events_of_test[number])
        abort();
    return events_of_test[number];
}

bool test_perf_event_exists(u32 number) {
    return number < event_count && events_of_test[number];
}

bool test_perf_can_overflow(u32 number) {
    return event_numbered(number)->overflow_handler != NULL;
}

void test_perf_overflow(u32 number, struct pt_regs* regs) {
    struct perf_event* event = event_numbered(number);

    test_atomic_depth++;
    event->overflow_handler(event, NULL, regs);
    test_atomic_depth--;
}

void test_perf_counts(u32 number, s64 kept, s64 here, u32 on_cpu) {
    event_numbered(number)->count.counter = kept;
    event_numbered(number)->counted = here;
    event_numbered(number)->oncpu = (int)on_cpu;
}

void test_perf_is_over(u32 number, int state, u32 others) {
    event_numbered(number)->state = state;
    event_numbered(number)->refcount.counter = 1 + (long)others;
}

void test_perf_opens(u32 task, u32 context, u32 count) {
    u32 i;

    if (count > MOST_FOREIGN)
        abort();
    for (i = 0; i < count; i++)
        list_add(&foreign[i].event_entry, events_of(&tasks_of_test[task], context));
}

/* ---- the rest of the runtime ---- */

void djs_run_handler(const struct djs_handler* handler, const struct djs_site* site,
                     struct pt_regs* regs) {
    note("handler %d%s with %lu\n", (int)(site - djs_script.sites),
         handler == &djs_script.handlers[site->handler] ? "" : ", another one",
         (unsigned long)regs);
}

void djs_site_failed(struct djs_site_run* run, int error, const char* why) {
    run->error = error;
    note("failed %d: %s (%d)\n", (int)(run - runs_of_test), why, error);
}

int djs_program_find(struct djs_program* program) {
    test_may_sleep();
    note("find %s\n", program->path ? program->path : "the target");
    return test_perf_error;
}

static bool runs_it(const struct djs_program* program, const struct task_struct* task) {
    const struct test_perf_task* seen = &test_perf_tasks[number_of(task)];

    return program->path ? seen->program && !strcmp(seen->program, program->path) : seen->is_target;
}

bool djs_program_of(const struct djs_program* program, struct task_struct* task) {
    return runs_it(program, task);
}

bool djs_program_of_still(const struct djs_program* program, struct task_struct* task) {
    if (task != test_current && !test_perf_tasks[number_of(task)].is_new)
        abort();
    return runs_it(program, task);
}

int djs_works_open(struct djs_works* works) {
    test_may_sleep();
    if (works != &visits)
        abort();
    if (!test_perf_works_error)
        works_are_open = true;
    return test_perf_works_error;
}

int djs_works_add(struct djs_works* works, struct task_struct* task, gfp_t how) {
    if (works != &visits || gfpflags_allow_blocking(how))
        abort();
    if (!works_are_open)
        return -ESRCH;
    if (test_perf_work_error)
        return test_perf_work_error;
    works_added[work_count++] = number_of(task);
    return 0;
}

void djs_works_close(struct djs_works* works) {
    test_may_sleep();
    note("works closed\n");
    if (works != &visits)
        abort();
    works_are_open = false;
    work_count = 0;
}

void djs_works_free(struct djs_works* works) {
    djs_works_close(works);
    note("works freed\n");
}

static void* callback_of(const char* name) {
    u32 i;

    for (i = 0; i < ARRAY_SIZE(watched); i++)
        if (!strcmp(watched[i].name, name))
            return watched[i].callback;
    abort();
}

int djs_task_events_start(struct djs_task_event* events, u32 count) {
    test_may_sleep();
    if (events != watched || count != 2)
        abort();
    note("events started\n");
    if (!test_perf_events_error)
        events_are_seen = true;
    return test_perf_events_error;
}

void djs_task_events_stop(struct djs_task_event* events, u32 count) {
    test_may_sleep();
    if (events != watched || count != 2)
        abort();
    note("events stopped\n");
    events_are_seen = false;
}

struct task_struct* test_next_task(struct task_struct* task) {
    int i = task ? number_of(task) + 1 : 0;

    if (!test_rcu_depth)
        abort();
    while (i < TEST_PERF_TASKS && (!test_perf_tasks[i].program || test_perf_tasks[i].is_new))
        i++;
    return i < TEST_PERF_TASKS ? &tasks_of_test[i] : NULL;
}

/* ---- what a test does ---- */

void test_perf_begin(void) {
    u32 i, j;

    memset(test_perf_sites, 0, sizeof(test_perf_sites));
    forget_sites(TEST_PERF_SITES);
    memset(test_perf_tasks, 0, sizeof(test_perf_tasks));
    memset(tasks_of_test, 0, sizeof(tasks_of_test));
    memset(test_perf_cpus, 0, sizeof(test_perf_cpus));
    for (i = 0; i < TEST_PERF_CPUS; i++)
        test_perf_cpus[i].online = true;
    for (i = 0; i < TEST_PERF_TASKS; i++)
        for (j = 0; j < 2; j++) {
            struct list_head* head = &contexts[i][j].event_list;

            raw_spin_lock_init(&contexts[i][j].lock);
            head->next = head->prev = head;
            tasks_of_test[i].group_leader = &tasks_of_test[i];
        }
    test_perf_works_error = test_perf_work_error = test_perf_events_error = test_perf_error = 0;
    test_perf_anchor_error = test_perf_process = 0;
    test_perf_is_second = test_perf_overflows = works_are_open = events_are_seen = false;
    test_perf_exchanged[0] = test_perf_exchanged[1] = 0;
    test_perf_cpu = work_count = event_count = 0;
    test_perf_log[0] = 0;
    sweep_at = ROOTS_UNTIL_SWEEP;
    memset(program_counters, 0, sizeof(program_counters));
    atomic64_sub(atomic64_read(&not_followed), &not_followed);
    test_perf_be_task(0);
}

static void tell_sites(void) {
    u32 i;

    place_sites(djs_script.site_count);
    for (i = 0; i < djs_script.site_count; i++) {
        runs_of_test[i].site = &djs_script.sites[i];
        runs_of_test[i].mechanism = djs_script.sites[i].mechanism;
        runs_of_test[i].wanted = test_perf_sites[i].wanted;
    }
}

static void ask_sites(void) {
    u32 i;

    for (i = 0; i < djs_script.site_count; i++) {
        test_perf_sites[i].armed = runs_of_test[i].armed;
        test_perf_sites[i].has_data = runs_of_test[i].data != NULL;
        test_perf_sites[i].error = runs_of_test[i].error;
    }
}

int test_perf_attach(void) {
    int error;

    tell_sites();
    error = djs_ops_perf.attach();
    ask_sites();
    return error;
}

void test_perf_disarm(void) {
    tell_sites();
    djs_ops_perf.disarm();
    ask_sites();
}

void test_perf_free(void) {
    djs_ops_perf.free();
}

s64 test_perf_read(u32 counter) {
    return djs_perf_read(counter);
}

u64 test_perf_not_followed(void) {
    return djs_perf_not_followed();
}

void test_perf_be_task(u32 number) {
    test_current = &tasks_of_test[number];
}

int test_perf_next_work(void) {
    return work_count ? works_added[0] : -1;
}

void test_perf_do_works(void) {
    u32 i, count = work_count;

    for (i = 0; i < count; i++) {
        test_perf_be_task((u32)works_added[i]);
        visits.function();
    }
    work_count = 0;
}

/* The kernel calls these with preemption disabled. */
void test_perf_executes(u32 task, const char* program) {
    test_perf_tasks[task].program = program;
    tasks_of_test[task].tgid = test_perf_process;
    if (!events_are_seen)
        return;
    test_perf_be_task(task);
    test_atomic_depth++;
    ((void (*)(void*, struct task_struct*, pid_t, struct linux_binprm*))callback_of(
        "sched_process_exec"))(NULL, test_current, 0, NULL);
    test_atomic_depth--;
}

void test_perf_forks(u32 parent, u32 child) {
    test_perf_tasks[child] = (struct test_perf_task){
        .program = test_perf_tasks[parent].program,
        .is_target = test_perf_tasks[parent].is_target,
        .is_new = true,
    };
    test_perf_be_task(parent);
    if (events_are_seen) {
        test_atomic_depth++;
        ((void (*)(void*, struct task_struct*, struct task_struct*))callback_of(
            "sched_process_fork"))(NULL, test_current, &tasks_of_test[child]);
        test_atomic_depth--;
    }
    test_perf_tasks[child].is_new = false;
}

u32 test_perf_references(void) {
    u32 i, sum = 0;

    for (i = 0; i < TEST_PERF_TASKS; i++)
        sum += (u32)tasks_of_test[i].references;
    return sum;
}
