// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel_for_test.h"

#include "linux/mutex.h"

#undef DECLARE_PER_CPU
#define DECLARE_PER_CPU(type, name) extern type name
#define this_cpu_read(place) (place)
#define this_cpu_inc(place) ((void)(place)++)
#undef raw_smp_processor_id
#define raw_smp_processor_id() TEST_CPU
/* What other sources have of this, and what the tests of others have. */
#define djs_cpu test_task_cpu
#define djs_gate test_task_gate
#define djs_context_make test_task_context_make
#define djs_report_error test_task_report_error
#define djs_task_lock test_task_lock
#define djs_task_unlock test_task_unlock
#define djs_end_walks test_task_end_walks
#include "log_for_test.h"
#include "task_for_test.h"

char test_task_log[2048];
#define note(...) log_for_test(test_task_log, sizeof(test_task_log), __VA_ARGS__)

u32 test_task_gate, test_task_flags, test_task_hits_skipped;
int test_current_references;
bool test_task_has_memory, test_no_queue, test_no_context;
struct djs_ctx test_task_interrupt;

struct mm_struct {
    int unused;
};
static struct mm_struct memory_of_task;

struct task_struct {
    u32 flags;
};
static struct task_struct current_task;
#undef current
#define current (&current_task)
#define PF_KTHREAD TEST_KTHREAD
#define PF_EXITING TEST_EXITING
static struct task_struct* get_task_struct(struct task_struct* task) {
    test_current_references++;
    return task;
}
#define put_task_struct(task) ((void)(task), (void)test_current_references--)
#define get_task_mm(task) ((void)(task), test_task_has_memory ? &memory_of_task : NULL)
#define mmput(mm) note("memory given back\n")
#define kthread_use_mm(mm) note("memory of the task\n")
#define kthread_unuse_mm(mm) note("memory left\n")
#undef mutex_lock
#define mutex_lock(mutex) (note("begins\n"), test_mutex_lock(mutex))
#undef mutex_unlock
#define mutex_unlock(mutex) (note("ended\n"), test_mutex_unlock(mutex))

struct workqueue_struct {
    int unused;
};
static struct workqueue_struct queue_of_test;
static struct work_struct* queued;
#define WQ_HIGHPRI 16
#define alloc_ordered_workqueue(format, flags, name) (test_no_queue ? NULL : &queue_of_test)
#define destroy_workqueue(queue) note("queue ends\n")
#undef queue_work
#define queue_work(queue, work) ((void)(queued = (work)))
#undef cancel_work_sync
#define cancel_work_sync(work) (queued == (work) && (queued = NULL, true))
#define INIT_WORK(work, function) ((void)((work)->run = (function)))
#undef preempt_disable_notrace
#define preempt_disable_notrace() note("preemption off\n")
#undef preempt_enable_notrace
#define preempt_enable_notrace() note("preemption on\n")

#define _NSIG 64
#define KERN_SOH "<"
#define send_sig(signal, task, privileged)                                                         \
    note("signal %d%s%s\n", signal, (task) == &current_task ? "" : " to another",                  \
         test_task_interrupt.busy ? "" : " while hits are handled")
#define printk(...) note(__VA_ARGS__)
/* A hit may come in between. */
#undef barrier
#define barrier() ((void)(test_task_hits_skipped += test_task_interrupt.busy != 0))
#define DEFERRED_OF_TEST 20
static struct irq_work* pending[DEFERRED_OF_TEST];
static u32 pending_count;
#define init_irq_work(work, function) ((void)((work)->run = (function)))
#undef irq_work_queue
#define irq_work_queue(work) ((void)(pending[pending_count++ % DEFERRED_OF_TEST] = (work)))
#undef irq_work_sync
#define irq_work_sync(work) note("waits\n")

#include "context/task.c"

#include "context/deferred.c"

struct djs_cpu djs_cpu;

int djs_context_make(struct djs_ctx* ctx) {
    ctx->scratch = test_no_context ? NULL : guarded_allocate(1, 8, 0);
    return ctx->scratch ? 0 : -ENOMEM;
}

void djs_report_error(struct djs_ctx* ctx) {
    note("error: %s\n", ctx->error);
}

void djs_task_lock(struct djs_ctx* ctx) {
    note("locks\n");
}

void djs_task_unlock(struct djs_ctx* ctx) {
    note("unlocks\n");
}

void djs_end_walks(void) {
    note("walks end\n");
}

void test_task_begin(void) {
    memset(&djs_cpu, 0, sizeof(djs_cpu));
    memset(&test_task_interrupt, 0, sizeof(test_task_interrupt));
    test_task_hits_skipped = 0;
    djs_cpu.contexts = &test_task_interrupt;
    test_task_gate = test_task_flags = 0;
    test_current_references = 0;
    test_task_has_memory = true;
    test_no_queue = test_no_context = false;
    queued = NULL;
    pending_count = 0;
    test_task_log[0] = 0;
}

u64 test_task_skipped(void) {
    return djs_cpu.skipped_busy;
}

void test_run_jobs(void) {
    struct work_struct* work = queued;

    queued = NULL;
    if (work)
        work->run(work);
}

void test_run_deferred(void) {
    u32 i;

    for (i = 0; i < pending_count; i++)
        pending[i]->run(pending[i]);
    pending_count = 0;
}

struct djs_ctx* test_task_context(void) {
    return &task_ctx;
}

static void prepare(struct djs_ctx* ctx, void* data) {
    ctx->file_text = data;
}

bool test_run_in_task(const struct djs_handler* handler, const struct djs_site* site) {
    static char text[] = "text";

    return djs_run_in_task(handler, site, prepare, text);
}

bool test_is_current(const struct task_struct* task) {
    current_task.flags = test_task_flags;
    return task == &current_task;
}
