// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memfd_create */
#include <sys/mman.h>

#include "kernel_for_test.h"

/* What other sources have of this, and what the tests of others have. */
#define djs_cpu test_rings_cpu
#define djs_ring_bytes test_rings_bytes
#define djs_rings_init test_rings_init
#define djs_rings_exit test_rings_exit
#define djs_ring_pages test_rings_pages
#define djs_ring_page test_rings_page_of
#define djs_cpu_sum test_rings_cpu_sum
#define djs_rings_lost test_rings_lost
#define djs_rings_overwritten test_rings_overwritten
#define djs_rings_oversized test_rings_oversized
#define djs_count_lost test_rings_count_lost
#define djs_make_room test_rings_make_room
#define djs_reschedule test_rings_reschedule
#define djs_reserve test_rings_reserve
#define djs_commit test_rings_commit
#define djs_overwrite test_rings_overwrite
#define djs_next_part test_rings_next_part
#define djs_oldest_part test_rings_oldest_part_of
#define djs_dump_pages_init test_rings_dump_init
#define djs_dump_pages_add test_rings_dump_add
#define djs_dump_pages_exit test_rings_dump_exit
#define djs_dump_symbols_add test_dump_symbols_add
#define djs_dump_symbols_exit test_dump_symbols_exit
#define djs_reader_pid test_rings_reader_pid
#define djs_reader_queue test_rings_reader_queue
#define djs_reader_comes test_reader_comes
#define djs_reader_goes test_reader_goes
#define djs_reader_attached test_reader_is_there
#define djs_reader_ever test_reader_was_there
#define djs_reader_wake test_reader_wake
#define djs_may_open test_reader_may_open
#define djs_load_time test_rings_load_time
#define djs_clock_read test_rings_clock_read_now
#define djs_rings_to_log test_rings_to_log
#define djs_symbol_of_program test_rings_symbol_of_program
#define djs_symbol_of test_rings_symbol_of
#define djs_symbols_fill test_symbols_fill
#define djs_symbol_slots test_symbols_slots
#define djs_symbol_copy test_rings_symbol_copy
#define djs_symbols_init test_symbol_table_init
#define djs_symbols_exit test_symbol_table_exit
#define djs_symbol_pages test_symbols_pages
#define djs_symbol_page test_symbols_page_of
#define djs_symbols_here test_symbols_view
#define register_module_notifier test_rings_watch_modules
#define unregister_module_notifier test_rings_ignore_modules
#define sprint_symbol test_rings_sprint_symbol
#define mutex test_mutex

/* Processors: of each there is one copy of what is per CPU. */
#undef DECLARE_PER_CPU
#undef per_cpu_ptr
#undef nr_cpu_ids
#undef num_possible_cpus
#undef cpu_possible
#undef for_each_possible_cpu
#define DECLARE_PER_CPU(type, name) extern type name
#define DEFINE_PER_CPU(type, name) type name
#define nr_cpu_ids 3u
#define num_possible_cpus() 2u
#define cpu_possible(cpu) ((cpu) != 1)
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < 3; (cpu) += 2)
#define cpu_to_node(cpu) (10 + (int)(cpu))
#define this_cpu_read(place) (place)
#define this_cpu_write(place, value) ((void)((place) = (value)))
#define this_cpu_inc(place) ((void)(place)++)
#define this_cpu_add(place, n) ((void)((place) += (n)))
#define this_cpu_cmpxchg(place, old, value)                                                        \
    ({                                                                                             \
        __typeof__(place) was_ = (place);                                                          \
        if (was_ == (old))                                                                         \
            (place) = (value);                                                                     \
        was_;                                                                                      \
    })

#include "linux/delay.h"
#include "linux/list.h"
#include "linux/mutex.h"
#include "linux/notifier.h"
#include "linux/sched.h"
#include "linux/sched/signal.h"
#include "linux/vmalloc.h"
#include "linux/wait.h"
#include "linux/workqueue.h"

#include "log_for_test.h"
#include "rings_for_test.h"

#undef fatal_signal_pending
#define fatal_signal_pending(task) ((void)(task), test_rings_killed)
static struct task_struct task_of_test;
#undef current
#define current (task_of_test.tgid = test_rings_caller, &task_of_test)

char test_rings_log[1 << 17];
#define note(...) log_for_test(test_rings_log, sizeof(test_rings_log), __VA_ARGS__)
#define pr_info(...) note(__VA_ARGS__)
#undef pr_warn
#define pr_warn(...) note(__VA_ARGS__)

/* ---- time, and what interrupts ---- */

u64 test_rings_now;
void (*test_rings_interrupt)(const char* where);
bool test_rings_irqs_off, test_rings_killed;
unsigned long test_rings_jiffies;
unsigned test_rings_sleeps;
void (*test_rings_asleep)(void);

static void interrupted(const char* where) {
    if (test_rings_interrupt)
        test_rings_interrupt(where);
}

static u64 cycles(void) {
    const u64 now = test_rings_now;

    interrupted("clock");
    return now;
}
static const struct test_reading* readings_left;
static u32 readings_count, read_next;
static u64 reading(u32 which, u64 value) {
    if (!test_rings_irqs_off || read_next++ % 4 != which)
        abort();
    return value;
}
static u64 cycles_in_order(void);
#define djs_cycles() cycles()
#define djs_cycles_in_order() cycles_in_order()
#define djs_cycles_khz() 2400000u
#undef barrier
#define barrier() interrupted("barrier")
#define smp_wmb() interrupted("wmb")

static void restore_interrupts(unsigned long flags) {
    if (!test_rings_irqs_off)
        abort();
    test_rings_irqs_off = flags;
}
#undef raw_local_irq_save
#undef raw_local_irq_restore
#define raw_local_irq_save(flags) ((flags) = test_rings_irqs_off, test_rings_irqs_off = true)
#define raw_local_irq_restore(flags) restore_interrupts(flags)
#define local_irq_save(flags) raw_local_irq_save(flags)
#define local_irq_restore(flags) restore_interrupts(flags)

#define jiffies test_rings_jiffies
#define time_after(a, b) ((long)((b) - (a)) < 0)
static void msleep(unsigned ms) {
    test_may_sleep();
    if (test_rings_irqs_off)
        abort();
    test_rings_sleeps++;
    test_rings_jiffies += DIV_ROUND_UP(ms * HZ, 1000);
    if (test_rings_asleep)
        test_rings_asleep();
}

/* ---- memory ---- */

static void vfree_pages(const void* area);
static unsigned long zeroed_page(unsigned flags);
static void free_zeroed_page(unsigned long page);
#undef vfree
#define vfree(area) vfree_pages(area)
#undef get_zeroed_page
#define get_zeroed_page(flags) zeroed_page(flags)
#undef free_page
#define free_page(page) free_zeroed_page(page)
#define PAGE_ALIGN(n) ALIGN(n, PAGE_SIZE)
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), #condition)
#define clamp(n, low, high) ((n) < (low) ? (low) : (n) > (high) ? (high) : (n))
static u64 roundup_pow_of_two(u64 n) {
    return n < 2 ? 1 : 1ull << (64 - __builtin_clzll(n - 1));
}

/* ---- modules and symbols ---- */

#define CONFIG_MODULES
#define MODULES_VADDR ((unsigned long)TEST_MODULES_FROM)
#define MODULES_END ((unsigned long)TEST_MODULES_TO)
#define MODULE_STATE_LIVE ((unsigned long)TEST_MODULE_LIVE)
struct module {
    struct test_ring_module parts;
};
static bool within_module_init(unsigned long address, const struct module* module) {
    return address >= module->parts.init && address < module->parts.end;
}
static bool within_module(unsigned long address, const struct module* module) {
    return address >= module->parts.text && address < module->parts.end;
}
static bool strstarts(const char* text, const char* prefix) {
    return !strncmp(text, prefix, strlen(prefix));
}

static struct irq_work* interrupts;
static struct work_struct* queued;
u32 test_symbols_interrupts;
static char unbound_queue;
#define system_unbound_wq (&unbound_queue)
#define IRQ_WORK_INIT_LAZY(function) {function}
#undef irq_work_queue
#undef irq_work_sync
#undef queue_work
#undef cancel_work_sync
#define irq_work_queue(work) (test_symbols_interrupts++, (void)(interrupts = (work)))
/* It waits for what runs: that may still queue the work. */
#define irq_work_sync(work)                                                                        \
    (test_may_sleep(), interrupts == (work) ? (void)test_symbols_interrupt() : (void)0)
#define queue_work(queue, work) ((queue) == &unbound_queue ? (void)(queued = (work)) : abort())
#define cancel_work_sync(work) (test_may_sleep(), (void)(queued = queued == (work) ? NULL : queued))

#include "cpu/cpu.h"

extern struct djs_cpu djs_cpu;
static struct djs_cpu other_cpu;
static struct djs_cpu* copy_of(struct djs_cpu* here, u32 cpu) {
    if (here != &djs_cpu || cpu > 2 || cpu == 1)
        abort();
    return cpu ? &other_cpu : here;
}
#define per_cpu_ptr(place, cpu) copy_of(place, cpu)
#define per_cpu(name, cpu) (*copy_of(&(name), cpu))

#include "record/ring.c"

#include "record/recorder.c"

#include "record/reader.c"

#include "record/clock.c"

#include "record/symbols.c"

#include "record/kernel_log.c"

/* ---- pages ---- */

enum { PAGES = 4096, MAPPINGS = 8, NUMBER_OF_FIRST = 1000 };

struct page {
    int references, node;
    unsigned long maker; /* how many had been allocated */
};
static struct page pages_of_test[PAGES];
static struct {
    char* begin;
    struct page** pages;
    unsigned long count;
    bool owns;
} mapped[MAPPINGS];
static char* all_pages;
static int file_of_pages = -1;
static unsigned long pages_made;
u32 test_rings_pages_left, test_rings_mappings_left;

static bool refused(void) {
    if (!test_allocations_left)
        return true;
    test_allocations_left--;
    return false;
}

static struct page* make_page(int node) {
    struct page* page;
    u32 i;

    if (file_of_pages < 0) {
        file_of_pages = memfd_create("pages", 0);
        if (file_of_pages < 0 || ftruncate(file_of_pages, (off_t)PAGES * TEST_PAGE))
            abort();
        all_pages = mmap(NULL, (size_t)PAGES * TEST_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
                         file_of_pages, 0);
        if (all_pages == MAP_FAILED)
            abort();
    }
    for (i = 0; i < PAGES && pages_of_test[i].references; i++)
        ;
    if (i == PAGES)
        abort();
    page = &pages_of_test[i];
    *page = (struct page){.references = 1, .node = node, .maker = ++pages_made};
    memset(page_address(page), 0, TEST_PAGE);
    test_rings_pages_left++;
    return page;
}

struct page* alloc_pages_node(int node, unsigned flags, unsigned order) {
    test_may_sleep();
    /* Whoever may make the kernel kill a process for this page ends the test. */
    if (order || flags != (GFP_KERNEL | __GFP_ZERO | __GFP_NORETRY))
        abort();
    return refused() ? NULL : make_page(node);
}

void test_page_free(struct page* page) {
    test_put(&page->references);
    if (page->references)
        return;
    memset(page_address(page), 0x5c, TEST_PAGE);
    test_rings_pages_left--;
}

void* test_page_address(struct page* page) {
    return all_pages + (page - pages_of_test) * TEST_PAGE;
}

unsigned long test_page_number(struct page* page) {
    return NUMBER_OF_FIRST + page->maker;
}

static char* map_pages(struct page** pages, unsigned long count, bool owns) {
    char* begin;
    u32 i, slot;

    for (slot = 0; slot < MAPPINGS && mapped[slot].begin; slot++)
        ;
    begin = mmap(NULL, (count + 1) * TEST_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slot == MAPPINGS || begin == MAP_FAILED)
        abort();
    for (i = 0; i < count; i++)
        if (!pages[i]->references ||
            mmap(begin + (size_t)i * TEST_PAGE, TEST_PAGE, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED, file_of_pages,
                 (off_t)(pages[i] - pages_of_test) * TEST_PAGE) == MAP_FAILED)
            abort();
    mapped[slot].begin = begin;
    mapped[slot].count = count;
    mapped[slot].pages = calloc(count, sizeof(*pages));
    memcpy(mapped[slot].pages, pages, count * sizeof(*pages));
    mapped[slot].owns = owns;
    test_rings_mappings_left++;
    return begin;
}

/* The addresses are not used again. */
static void unmap_pages(const void* begin, bool owns) {
    u32 slot, i;

    test_may_sleep();
    for (slot = 0; slot < MAPPINGS && (!begin || mapped[slot].begin != begin); slot++)
        ;
    if (slot == MAPPINGS || mapped[slot].owns != owns ||
        mmap(mapped[slot].begin, mapped[slot].count * TEST_PAGE, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        abort();
    for (i = 0; owns && i < mapped[slot].count; i++)
        test_page_free(mapped[slot].pages[i]);
    free(mapped[slot].pages);
    mapped[slot].begin = NULL;
    test_rings_mappings_left--;
}

void* vmap(struct page** pages, unsigned count, unsigned long flags, int protection) {
    test_may_sleep();
    if (flags != VM_MAP || protection != PAGE_KERNEL)
        abort();
    return refused() ? NULL : map_pages(pages, count, false);
}

void vunmap(const void* mapping) {
    unmap_pages(mapping, false);
}

void* vmalloc_user(unsigned long bytes) {
    const unsigned long count = DIV_ROUND_UP(bytes, TEST_PAGE);
    struct page** pages;
    unsigned long i;
    char* area;

    test_may_sleep();
    if (refused())
        return NULL;
    pages = calloc(count, sizeof(*pages));
    for (i = 0; i < count; i++)
        pages[i] = make_page(0);
    area = map_pages(pages, count, true);
    free(pages);
    return area;
}

static void vfree_pages(const void* area) {
    if (area)
        unmap_pages(area, true);
}

struct page* test_page_of_vmalloc(const void* address) {
    u32 slot;

    for (slot = 0; slot < MAPPINGS; slot++)
        if (mapped[slot].begin && (const char*)address >= mapped[slot].begin &&
            (const char*)address < mapped[slot].begin + mapped[slot].count * TEST_PAGE)
            return mapped[slot].pages[((const char*)address - mapped[slot].begin) / TEST_PAGE];
    abort();
}

char* test_vmalloc(unsigned long bytes) {
    return vmalloc_user(bytes);
}

void test_vfree(char* area) {
    vfree_pages(area);
}

unsigned long test_vmalloc_page(const char* address) {
    return test_page_number(test_page_of_vmalloc(address));
}

enum { DUMP_PAGES = 16 };
static void* dumps[DUMP_PAGES];
static u32 dump_count;
u32 test_rings_dumps_freed_with_text;

static unsigned long zeroed_page(unsigned flags) {
    void* page;

    if (flags != GFP_KERNEL || dump_count == DUMP_PAGES)
        abort();
    page = test_allocate_as(1, TEST_PAGE, 0, flags);
    if (page)
        dumps[dump_count++] = page;
    return (unsigned long)page;
}

static void free_zeroed_page(unsigned long page) {
    u32 i;

    for (i = 0; i < TEST_PAGE; i++)
        if (((const char*)page)[i])
            break;
    test_rings_dumps_freed_with_text += i < TEST_PAGE;
    for (i = 0; i < dump_count && dumps[i] != (void*)page; i++)
        ;
    if (i == dump_count)
        abort();
    dumps[i] = dumps[--dump_count];
    guarded_free((void*)page);
}

u32 test_rings_dump_pages(void) {
    return dump_count;
}

const struct djs_dump_page* test_rings_dump_page(u32 number) {
    return dumps[number];
}

/* ---- what else the kernel has ---- */

int test_rings_capability = -1;
s32 test_rings_caller;

bool capable(int capability) {
    return capability == test_rings_capability;
}

static u64 cycles_in_order(void) {
    const struct test_reading* now = &readings_left[read_next / 4];

    if (read_next / 4 >= readings_count)
        abort();
    return read_next % 4 ? reading(2, now->after) : reading(0, now->before);
}

u64 ktime_get_ns(void) {
    return reading(1, readings_left[read_next / 4].monotonic);
}

u64 ktime_get_real_ns(void) {
    return reading(3, readings_left[read_next / 4].realtime);
}

void test_rings_clock_read(struct djs_clock* clock, const struct test_reading* readings,
                           u32 count) {
    readings_left = readings;
    readings_count = count;
    read_next = 0;
    djs_clock_read(clock);
}

void (*test_rings_symbol)(char* text, u64 address);

int sprint_symbol(char* text, unsigned long address) {
    test_rings_symbol(text, address);
    return (int)strlen(text);
}

static struct notifier_block* notified;
int test_symbols_notifier_error;

int register_module_notifier(struct notifier_block* block) {
    test_may_sleep();
    if (test_symbols_notifier_error)
        return test_symbols_notifier_error;
    if (notified)
        abort();
    notified = block;
    return 0;
}

int unregister_module_notifier(struct notifier_block* block) {
    test_may_sleep();
    if (notified != block)
        abort();
    notified = NULL;
    return 0;
}

bool test_symbols_module(enum test_module_state state, struct test_ring_module* module) {
    if (notified && notified->notifier_call(notified, state, module) != NOTIFY_DONE)
        abort();
    return notified;
}

bool test_symbols_interrupt(void) {
    struct irq_work* work = interrupts;

    interrupts = NULL;
    if (work) {
        test_atomic_depth++;
        work->run(work);
        test_atomic_depth--;
    }
    return work;
}

bool test_symbols_work(void) {
    struct work_struct* work = queued;

    queued = NULL;
    if (work)
        work->run(work);
    return work;
}

/* ---- what a test does ---- */

struct test_ring test_ring_of(u32 cpu) {
    struct djs_cpu* data = copy_of(&djs_cpu, cpu);

    return (struct test_ring){&data->head,          &data->limit,       &data->mask,
                              &data->lost,          &data->overwritten, &data->oversized,
                              &data->changing_part, data->page,         data->data};
}

void test_rings_begin(void) {
    memset(&djs_cpu, 0, sizeof(djs_cpu));
    memset(&other_cpu, 0, sizeof(other_cpu));
    djs_overwrite = test_rings_irqs_off = test_rings_killed = false;
    test_rings_now = 1000;
    test_rings_interrupt = NULL;
    test_rings_asleep = NULL;
    test_rings_jiffies = 5000;
    test_rings_sleeps = test_symbols_interrupts = test_rings_dumps_freed_with_text = 0;
    test_symbols_notifier_error = 0;
    test_rings_capability = -1;
    djs_symbol_of_program = NULL;
    interrupts = NULL;
    queued = NULL;
    pages_made = 0;
    test_rings_log[0] = 0;
    test_reader_forget();
}

unsigned long test_rings_page(unsigned cpu, unsigned long index) {
    const struct page* page = djs_ring_page(cpu, index);

    return page ? page->maker : 0;
}

int test_rings_node(unsigned cpu, unsigned long index) {
    return djs_ring_page(cpu, index)->node;
}

void test_rings_map_page(unsigned cpu, unsigned long index, bool maps) {
    static struct page* page;

    if (maps) {
        page = djs_ring_page(cpu, index);
        page->references++;
    } else {
        test_page_free(page);
    }
}

u64 test_rings_oldest_part(u32 cpu) {
    return djs_oldest_part(copy_of(&djs_cpu, cpu));
}

void test_reader_forget(void) {
    atomic_set(&owners, 0);
    had_owner = false;
    djs_reader_pid = DJS_NO_READER;
    djs_reader_queue.wakes = 0;
}

unsigned test_reader_wakes(void) {
    return djs_reader_queue.wakes;
}

bool test_symbols_copy(char* symbol, u64 address) {
    return djs_symbol_copy(symbol, address);
}

void test_symbols_of(char* symbol, u64 address) {
    djs_symbol_of(symbol, address);
}

unsigned long test_symbols_page(unsigned long index) {
    struct page* page = djs_symbol_page(index);

    return page ? test_page_number(page) : 0;
}
