/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records in rings, the flight recorder, and their readers (runtime/record/), on a machine whose
 * processors are numbers 0 and 2; 1 is missing. Processor 0 runs.
 */
#ifndef DJSTAP_RINGS_FOR_TEST_H
#define DJSTAP_RINGS_FOR_TEST_H

#include "include/control.h"
#include "include/recorder.h"
#include "include/script.h"
#include "include/symbols.h"

#ifdef __cplusplus
extern "C" {
#endif
enum { TEST_PAGE = 4096, TEST_HZ = 250 };

/* What a processor has; its places are those of the runtime. */
struct test_ring {
    u64 *head, *limit, *mask, *lost, *overwritten, *oversized;
    u32* changing_part;
    struct djs_ring_page* page;
    char* data;
};
struct test_ring test_ring_of(u32 cpu);

void test_rings_begin(void);
int test_rings_init(u64 bytes);
void test_rings_exit(void);
extern bool test_rings_overwrite;
extern u64 test_rings_bytes;
unsigned long test_rings_pages(void);
/* The number of a page of the file, counted from 1 in the order of their allocation; 0: none. */
unsigned long test_rings_page(unsigned cpu, unsigned long index);
int test_rings_node(unsigned cpu, unsigned long index);
/* A reader maps the page, or does not any more. */
void test_rings_map_page(unsigned cpu, unsigned long index, bool maps);
u64 test_rings_lost(void);
u64 test_rings_overwritten(void);
u64 test_rings_oversized(void);
struct djs_record* test_rings_reserve(struct djs_ctx* ctx, u32 id, u32 size);
void test_rings_commit(struct djs_ctx* ctx, struct djs_record* record, u32 size);
u32 test_rings_make_room(u32 size);
bool test_rings_next_part(u32 size);
u64 test_rings_oldest_part(u32 cpu);
void test_rings_reschedule(void);

/* Called when the runtime reads its clock, or has a barrier between what an NMI may see, which is
 * described. It is the clock's time that is returned. */
extern u64 test_rings_now;
extern void (*test_rings_interrupt)(const char* where);
extern bool test_rings_irqs_off;
extern bool test_rings_killed;

/* What waits: the time in ticks, and what happens while it sleeps. */
extern unsigned long test_rings_jiffies;
extern unsigned test_rings_sleeps;
extern void (*test_rings_asleep)(void);

/* Pages and mappings that are not given back. */
extern u32 test_rings_pages_left, test_rings_mappings_left;
/* Pages that describe rings for crash dumps: how many there are, and the one with a number. */
u32 test_rings_dump_pages(void);
const struct djs_dump_page* test_rings_dump_page(u32 number);
extern u32 test_rings_dumps_freed_with_text;
int test_dump_symbols_add(char* area, unsigned long pages);
void test_dump_symbols_exit(void);
char* test_vmalloc(unsigned long bytes);
void test_vfree(char* area);
unsigned long test_vmalloc_page(const char* address);

/* The reader. */
extern s32 test_rings_reader_pid;
extern s32 test_rings_caller;
extern int test_rings_capability; /* that this task has; -1: none */
bool test_reader_comes(void);
void test_reader_goes(void);
bool test_reader_is_there(void);
bool test_reader_was_there(void);
void test_reader_wake(void);
unsigned test_reader_wakes(void);
bool test_reader_may_open(bool writes);
/* As if none had ever come. */
void test_reader_forget(void);

/* The clocks: what each of the readings in order finds. */
struct test_reading {
    u64 before, after, monotonic, realtime;
};
void test_rings_clock_read(struct djs_clock* clock, const struct test_reading* readings, u32 count);
extern struct djs_clock test_rings_load_time;

/* The kernel's log, as the records that are left there. */
extern char test_rings_log[1 << 17];
void test_rings_to_log(unsigned max_lines);

/* The table of symbols. */
enum { TEST_MODULES_FROM = 0xc0000000, TEST_MODULES_TO = 0xd0000000 };
int test_symbol_table_init(void);
void test_symbol_table_exit(void);
void test_symbols_fill(void);
bool test_symbols_slots(const u64* addresses, u32 count, u64* slots);
bool test_symbols_copy(char* symbol, u64 address);
void test_symbols_of(char* symbol, u64 address);
unsigned long test_symbols_pages(void);
/* As test_rings_page. */
unsigned long test_symbols_page(unsigned long index);
struct djs_symbol_view test_symbols_view(void);
/* What the kernel says of an address. */
extern void (*test_rings_symbol)(char* text, u64 address);
extern u32 (*test_rings_symbol_of_program)(char* text, u64 word);
/* Interrupts that are queued, and work; each runs. */
bool test_symbols_interrupt(void);
bool test_symbols_work(void);
extern u32 test_symbols_interrupts;
/* A module whose text and init text are these changes. False: nobody watches. */
enum test_module_state { TEST_MODULE_LIVE, TEST_MODULE_COMING, TEST_MODULE_GOING };
struct test_ring_module {
    u64 text, init, end;
};
bool test_symbols_module(enum test_module_state state, struct test_ring_module* module);
extern int test_symbols_notifier_error;
#ifdef __cplusplus
}
#endif
#endif
