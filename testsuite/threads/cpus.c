// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "threads/cpus.h"

#include <sys/mman.h>

#include "context/context.h"
#include "cpu/level.h"
#include "globals/globals.h"
#include "globals/locks.h"

#define AREA_BYTES (1u << 20)
#define ONE_IN 24 // probability of an interrupt where one may arrive

struct this_cpu {
    u32 number, level;
    bool interrupts;
    u64 random;
    void (*interrupt)(u32 level);
};
static __thread struct this_cpu self;

u32 djs_user_cpus;
struct djs_script djs_script;
s32 djs_reader_pid = DJS_NO_READER;
u32 djs_gate;
struct djs_ctx djs_session_ctx;
struct djs_clock djs_load_time;
unsigned long* djs_biases;

// ---- a CPU

void cpu_be(u32 cpu, void (*interrupt)(u32 level)) {
    self = (struct this_cpu){.number = cpu, .interrupts = true, .interrupt = interrupt};
    self.random = 0x9e3779b97f4a7c15ull * (cpu + 1);
}

u32 cpu_number(void) {
    return self.number;
}
u32 cpu_level(void) {
    return self.level;
}
bool cpu_interrupts(void) {
    return self.interrupts;
}

u64 cpu_random(void) {
    self.random ^= self.random << 13;
    self.random ^= self.random >> 7;
    self.random ^= self.random << 17;
    return self.random * 0x2545f4914f6cdd1dull >> 16;
}

// An interrupt runs to its end with interrupts disabled; only an NMI interrupts it.
void cpu_instruction(void) {
    struct this_cpu before = self;
    u64 dice;

    if (!self.interrupt)
        return;
    dice = cpu_random();
    if (dice % ONE_IN)
        return;
    if (dice / ONE_IN % 2) {
        if (before.level == LEVEL_NMI)
            return;
        self.level = LEVEL_NMI;
    } else {
        if (before.level >= LEVEL_INTERRUPT || !before.interrupts)
            return;
        self.level = LEVEL_INTERRUPT;
    }
    self.interrupts = false;
    self.interrupt(self.level);
    self.level = before.level;
    self.interrupts = before.interrupts;
}

void cpu_set_interrupts(bool on) {
    cpu_instruction();
    __asm__ __volatile__("" ::: "memory");
    self.interrupts = on;
    __asm__ __volatile__("" ::: "memory");
    cpu_instruction();
}

// ---- memory

extern char __start_threads_percpu[], __stop_threads_percpu[];
static char* areas; // CPU 0's first
static u64 area_used;

u64 cpus_distance(u32 cpu) {
    return (u64)(areas - __start_threads_percpu) + (u64)cpu * AREA_BYTES;
}

void* cpus_percpu_alloc(u64 bytes) {
    u64 at = area_used;

    area_used += ALIGN(bytes, 64ull);
    return area_used <= AREA_BYTES ? __start_threads_percpu + at : NULL;
}

static int page_file = -1;
static u64 page_bytes;

struct page* cpus_page_alloc(void) {
    struct page* page = djs_user_zeroed(1, sizeof(*page));

    page->offset = page_bytes;
    page_bytes += PAGE_SIZE;
    page->address = ftruncate(page_file, (off_t)page_bytes)
                        ? MAP_FAILED
                        : mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, page_file,
                               (off_t)page->offset);
    if (page->address != MAP_FAILED)
        return page;
    free(page);
    return NULL;
}

void cpus_page_free(struct page* page) {
    munmap(page->address, PAGE_SIZE);
    free(page);
}

static struct mapping {
    void* at;
    u64 bytes;
} mappings[CPUS_MAX];

void* cpus_map(struct page** pages, u64 count) {
    char* at = mmap(NULL, count * PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct mapping* mapping = mappings;
    u64 i;

    while (mapping->at)
        mapping++;
    *mapping = (struct mapping){at, count * PAGE_SIZE};
    for (i = 0; i < count; i++)
        if (mmap(at + i * PAGE_SIZE, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 page_file, (off_t)pages[i]->offset) == MAP_FAILED)
            return NULL;
    return at;
}

void cpus_unmap(void* at) {
    struct mapping* mapping = mappings;

    while (mapping->at != at)
        mapping++;
    munmap(mapping->at, mapping->bytes);
    mapping->at = NULL;
}

// ---- a session

int cpus_begin(u32 count, u64 ring_bytes, bool overwrite) {
    djs_user_cpus = count;
    djs_overwrite = overwrite;
    areas =
        mmap(NULL, count * AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area_used = ALIGN((u64)(__stop_threads_percpu - __start_threads_percpu), 64ull);
    page_file = memfd_create("threads-pages", MFD_CLOEXEC);
    page_bytes = 0;
    djs_gate = DJS_HANDLER_IRQS_OFF;
    djs_locked_skips.counter = 0;
    if (areas == MAP_FAILED || page_file < 0)
        return -ENOMEM;
    return djs_globals_init() || djs_contexts_init() || djs_rings_init(ring_bytes) ? -ENOMEM : 0;
}

void cpus_end(void) {
    djs_rings_exit();
    djs_contexts_exit();
    djs_globals_exit();
    close(page_file);
    munmap(areas, djs_user_cpus * AREA_BYTES);
    memset(&djs_script, 0, sizeof(djs_script));
}

struct djs_ring_page* cpus_ring(u32 cpu, char** data) {
    *data = per_cpu(djs_cpu, cpu).data;
    return per_cpu(djs_cpu, cpu).page;
}

u64 cpus_lost(void) {
    return djs_rings_lost();
}
u64 cpus_oversized(void) {
    return djs_rings_oversized();
}
u64 cpus_overwritten(void) {
    return djs_rings_overwritten();
}
u64 cpus_skipped_locked(void) {
    return DJS_CPU_SUM(skipped_locked);
}
u64 cpus_skipped_busy(void) {
    return DJS_CPU_SUM(skipped_busy);
}

void cpu_count(s64* counter, s64 by) {
    this_cpu_add(*counter, by);
}

// As in codegen/globals.cpp, for a statistic's count, sum and logarithmic histogram.
void cpu_add_inline(struct djs_statistic* copies, s64 value) {
    struct djs_statistic_shape log = {.histogram = DJS_HISTOGRAM_LOG};
    u32 bucket = djs_statistic_bucket(&log, value);

    this_cpu_add(copies->buckets[bucket], 1);
    this_cpu_add(copies->sum, value);
    __asm__ __volatile__("" ::: "memory");
    this_cpu_add(copies->count, 1);
}

// As in codegen/lean.cpp.
struct djs_record* cpu_reserve_inline(u32 id, u32 size) {
    struct djs_record* record;
    u64 time, head;

    do {
        for (;;) {
            head = this_cpu_read(djs_cpu.head);
            time = djs_cycles();
            if (head + size <= this_cpu_read(djs_cpu.limit))
                break;
            if (!djs_make_room(size))
                return NULL;
        }
    } while (this_cpu_cmpxchg(djs_cpu.head, head, head + size) != head);
    record =
        (struct djs_record*)(this_cpu_read(djs_cpu.data) + (head & this_cpu_read(djs_cpu.mask)));
    record->id = id;
    WRITE_ONCE(((u32*)&record->time)[0], (u32)time);
    WRITE_ONCE(((u32*)&record->time)[1], (u32)(time >> 32));
    return record;
}

struct djs_ctx* cpus_session_context(void) {
    return &djs_session_ctx;
}

// ---- functions that the runtime calls

int djs_tasks_init(void) {
    return 0;
}
void djs_tasks_exit(void) {}
bool djs_reader_attached(void) {
    return true;
}
void djs_rest(struct djs_ctx* ctx) {
    (void)ctx;
}
bool djs_overload_begin(void) {
    return false;
}
void djs_overload_end(const struct djs_handler* handler) {
    (void)handler;
}

static void unexpected(const char* format, va_list arguments) {
    vfprintf(stderr, format, arguments);
    abort();
}

void djs_user_complain(const char* format, ...) {
    va_list arguments;

    va_start(arguments, format);
    unexpected(format, arguments);
}

void djs_fail_text(struct djs_ctx* ctx, u32 place, const char* format, ...) {
    va_list arguments;

    (void)ctx, (void)place;
    va_start(arguments, format);
    unexpected(format, arguments);
}

void djs_report_error(struct djs_ctx* ctx) {
    djs_user_complain("%s\n", ctx->error);
}
void djs_request_exit(bool error) {
    djs_user_complain("exit is asked for: %d\n", error);
}
