// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources have of this, and what the tests of others have. */
#define djs_symbol_of_program test_walk_of_symbols
#define djs_take_user_stack test_walk_of_take
#define djs_unwind_find test_walk_find
#define djs_user_image test_walk_image
#define djs_user_image_at test_walk_image_at
#define djs_user_images_exit test_walk_images_exit
#define djs_user_images_init test_walk_images_init
#define djs_user_map_of test_walk_map_of
#define djs_user_mapping_at test_walk_mapping_at
#define djs_user_path test_walk_path
#define djs_user_place_find test_walk_place_find
#define djs_user_places_exit test_walk_places_exit
#define djs_user_places_init test_walk_places_init
#define djs_user_prepare_exit test_walk_prepare_exit
#define djs_user_prepare_init test_walk_prepare_init
#define djs_user_prepare_soon test_walk_prepare_soon
#define djs_user_read_kernel_image test_walk_read_kernel_image
#define djs_user_replaced_return test_walk_replaced_return
#define djs_user_spaces_exit test_walk_spaces_exit
#define djs_user_stacks_incomplete test_walk_incomplete
#define djs_user_trace test_walk_of_trace
#define djs_user_walk_exit test_walk_tables_exit
#define djs_user_walk_init test_walk_tables_init
#define djs_user_word test_walk_word
#define djs_user_word_in test_walk_word_in
#define djs_user_word_text test_walk_word_text
#define djs_ustack_exit test_walk_exit
#define djs_ustack_init test_walk_init
#include "kernel_for_test.h"

#include "linux/mm_types.h"
#include "linux/rcupdate.h"
#include "linux/sched.h"

#include "log_for_test.h"
#include "user_walk_for_test.h"

char test_walk_log[256];
#define note(...) log_for_test(test_walk_log, sizeof(test_walk_log), __VA_ARGS__)

u64 test_walk_stack[TEST_WALK_WORDS];
struct test_walk_registers test_walk_entered;
bool test_walk_other_tables;
static int faults_disabled;

static bool can_read(u64 address) {
    const u64 at = address - (u64)test_walk_stack;

    return at <= sizeof(test_walk_stack) - sizeof(u64) && at % sizeof(u64) == 0 &&
           !test_walk_other_tables;
}

/* Nothing may fault while it is read without a function of its own. */
static bool can_read_here(u64 address) {
    if (faults_disabled != 1)
        abort();
    return can_read(address);
}

struct pt_regs {
    struct test_walk_registers of;
};
static struct task_struct task_of_test;
#undef current
#define current (&task_of_test)
#define task_pt_regs(task) ((void)(task), (struct pt_regs*)&test_walk_entered)
#define djs_is_unwindable(regs) (!(regs)->of.is_compat)
static void djs_dwarf_registers(u64* values, const struct pt_regs* regs) {
    values[DJS_DWARF_STACK] = regs->of.stack;
    values[DJS_DWARF_RETURN] = regs->of.ip;
}
#undef copy_from_user_nofault
#define copy_from_user_nofault(to, from, size) ((void)(to), can_read((u64)(from)) ? 0 : -EFAULT)
#undef pagefault_disable
#undef pagefault_enable
#define pagefault_disable() ((void)faults_disabled++)
#define pagefault_enable() ((void)faults_disabled--)
#define user_read_access_begin(from, size) true
#define user_read_access_end() ((void)0)
#define unsafe_get_user(to, from, label)                                                           \
    do {                                                                                           \
        if (!can_read_here((u64)(from)))                                                           \
            goto label;                                                                            \
        (to) = *(from);                                                                            \
    } while (0)
#ifndef smp_wmb
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif

#include "ustack/walk.c"

struct test_walk_mapping test_walk_mappings[TEST_WALK_MAPPINGS];
struct djs_unwind_image test_walk_images[TEST_WALK_IMAGES];
bool test_walk_has_map, test_walk_has_memory, test_walk_of_kernel;
u32 test_walk_finds, test_walk_due;
u64 test_walk_replaced_at, test_walk_original;
const char* test_walk_fails = "";
u32 (*djs_symbol_of_program)(char* symbol, u64 word);

static struct djs_user_image images[TEST_WALK_IMAGES];
/* Has room for all of them. */
static u64 room_of_map[(sizeof(struct djs_user_map) +
                        TEST_WALK_MAPPINGS * sizeof(struct djs_user_mapping)) /
                       sizeof(u64)];

#undef djs_unwind_find
enum djs_unwind_result djs_unwind_find(const struct djs_unwind_image* image, u64 address,
                                       struct djs_unwind_row* row,
                                       struct djs_unwind_scratch* scratch);
enum djs_unwind_result test_walk_find(const struct djs_unwind_image* image, u64 address,
                                      struct djs_unwind_row* row,
                                      struct djs_unwind_scratch* scratch) {
    test_walk_finds++;
    return djs_unwind_find(image, address, row, scratch);
}

const struct djs_user_image* djs_user_image(u32 number) {
    static const char* const paths[TEST_WALK_IMAGES] = {"/bin/zero", "/bin/one"};

    images[number].unwind = test_walk_images[number];
    images[number].path = paths[number];
    return &images[number];
}

struct djs_user_map* djs_user_map_of(const struct mm_struct* mm) {
    struct djs_user_map* known = (struct djs_user_map*)room_of_map;
    u32 i;

    if (mm != current->mm || !mm)
        abort();
    for (i = 0; i < TEST_WALK_MAPPINGS; i++)
        known->mappings[i] = (struct djs_user_mapping){
            .begin = test_walk_mappings[i].begin,
            .end = test_walk_mappings[i].end,
            .bias = test_walk_mappings[i].bias,
            .image = test_walk_mappings[i].image,
            .place = test_walk_mappings[i].place,
        };
    known->count = TEST_WALK_MAPPINGS;
    return test_walk_has_map ? known : NULL;
}

struct djs_user_mapping* djs_user_mapping_at(struct djs_user_map* map, u64 address) {
    u32 i;

    for (i = 0; i < map->count; i++)
        if (address >= map->mappings[i].begin && address < map->mappings[i].end)
            return &map->mappings[i];
    return NULL;
}

u64 djs_user_word_in(struct djs_user_map* map, struct djs_user_mapping* mapping, u64 address,
                     bool returns) {
    return djs_word(address, mapping ? mapping->place : 0, returns);
}

/* Each place is that of a mapping. */
bool djs_user_place_find(u32 place, u32* image, u64* bias) {
    u32 i;

    for (i = 0; i < TEST_WALK_MAPPINGS; i++)
        if (place && test_walk_mappings[i].place == place) {
            *image = test_walk_mappings[i].image;
            *bias = test_walk_mappings[i].bias;
            return true;
        }
    return false;
}

u64 djs_user_replaced_return(u64 slot) {
    return slot == test_walk_replaced_at ? test_walk_original : 0;
}

void djs_user_prepare_soon(void) {
    if (faults_disabled)
        abort();
    test_walk_due++;
}

u32 djs_user_word_text(char* out, u64 word) {
    return 0;
}

static int begin(const char* what) {
    note("%s ", what);
    return strcmp(what, test_walk_fails) ? 0 : -EINVAL;
}

int djs_user_images_init(void) {
    return begin("images");
}

int djs_user_places_init(void) {
    return begin("places");
}

int djs_user_prepare_init(void) {
    return begin("prepare");
}

void djs_user_read_kernel_image(void) {
    begin("kernel");
}

void djs_user_prepare_exit(void) {
    begin("-prepare");
}

void djs_user_spaces_exit(void) {
    begin("-spaces");
}

void djs_user_places_exit(void) {
    begin("-places");
}

void djs_user_images_exit(void) {
    begin("-images");
}

static void set(struct djs_ctx* ctx, struct test_walk_registers* interrupted) {
    static struct mm_struct memory;

    task_of_test.mm = test_walk_has_memory ? &memory : NULL;
    task_of_test.flags = test_walk_of_kernel ? PF_KTHREAD : 0;
    ctx->regs = (struct pt_regs*)interrupted;
    ctx->user_regs = interrupted != NULL;
}

void test_walk_take(struct djs_ctx* ctx, struct test_walk_registers* interrupted, u64* stack) {
    set(ctx, interrupted);
    djs_take_user_stack(ctx, stack);
}

void test_walk_trace(struct djs_ctx* ctx, struct test_walk_registers* interrupted, u64* stack) {
    set(ctx, interrupted);
    djs_user_trace(ctx, stack);
}

bool test_walk_names_symbols(void) {
    return djs_symbol_of_program == djs_user_word_text;
}
