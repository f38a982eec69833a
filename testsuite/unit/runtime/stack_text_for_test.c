// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <sys/types.h>

#include "linux/slab.h"

#include "linux/atomic.h"

struct rcu_head {
    void* unused;
};
#define scnprintf test_scnprintf
static int __attribute__((__format__(__printf__, 3, 4))) test_scnprintf(char* to, size_t size,
                                                                        const char* format, ...) {
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(to, size, format, arguments);
    va_end(arguments);
    return length < (int)size ? length : size ? (int)size - 1 : 0;
}

static int hex_to_bin(unsigned char digit) {
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}
#define hex_asc_hi(byte) "0123456789abcdef"[(byte) >> 4]
#define hex_asc_lo(byte) "0123456789abcdef"[(byte) & 15]

/* What other sources have of this, and what the tests of others have. */
#define djs_reserve test_text_reserve
#define djs_symbol_copy test_text_symbol_copy
#define djs_symbol_of test_text_symbol_of
#define djs_symbol_slots test_text_symbol_slots
#define djs_trace_stack test_text_trace_stack
#define djs_stack_text test_text_stack_text
#define djs_user_trace test_text_user_trace
#define djs_user_word test_text_user_word
#define djs_user_path test_text_user_path
#define djs_user_image_at test_text_user_image_at
#include "stack_text_for_test.h"

#include "context/stack_text.c"

void (*test_symbol_text)(char* symbol, u64 address);
bool test_has_slots, test_no_room_for_records;
u64 test_trace[TEST_TRACE];
u32 test_trace_count;
const char* test_user_path;
u8 test_build_id[20];
struct test_record test_records[TEST_RECORDS];
u32 test_record_count;

static struct {
    struct djs_record header;
    u64 words[32];
} records[TEST_RECORDS];

struct djs_record* djs_reserve(struct djs_ctx* ctx, u32 id, u32 size) {
    if (test_no_room_for_records || test_record_count == TEST_RECORDS || size > sizeof(records[0]))
        return NULL;
    ctx->reserved = size;
    records[test_record_count].header.id = id;
    return &records[test_record_count++].header;
}

/* One of two addresses has been asked for before. */
bool djs_symbol_copy(char* symbol, unsigned long address) {
    if (address & 1)
        test_symbol_text(symbol, address);
    return address & 1;
}

void djs_symbol_of(char* symbol, unsigned long address) {
    test_symbol_text(symbol, address);
}

bool djs_symbol_slots(const u64* addresses, u32 count, u64* slots) {
    u32 i;

    for (i = 0; i < count && test_has_slots; i++)
        slots[i] = addresses[i] ^ 1;
    return test_has_slots;
}

u32 djs_trace_stack(struct djs_ctx* ctx, u64** entries) {
    *entries = (u64*)ctx->work + 1;
    memcpy(*entries, test_trace, sizeof(test_trace));
    return test_trace_count;
}

void djs_user_trace(struct djs_ctx* ctx, u64* stack) {
    stack[0] = test_trace_count;
    memcpy(stack + 1, test_trace, sizeof(test_trace));
}

void djs_stack_text(char* out, const u64* stack) {
    *out = 0;
}

u64 djs_user_word(struct djs_ctx* ctx, u64 address, u32 returns) {
    return djs_word(address, 5, returns);
}

const char* djs_user_path(u64 word) {
    return djs_word_place(word) == 5 ? test_user_path : NULL;
}

const struct djs_user_image* djs_user_image_at(u64 word, u64* bias) {
    static struct djs_user_image image;

    *bias = 0x1000;
    memcpy(image.build_id, test_build_id, sizeof(test_build_id));
    image.build_id_bytes = sizeof(test_build_id);
    return test_user_path ? &image : NULL;
}

void test_records_taken(void) {
    u32 i;

    for (i = 0; i < test_record_count; i++) {
        test_records[i].id = records[i].header.id;
        test_records[i].size = records[i].header.size;
        memcpy(test_records[i].words, records[i].words, sizeof(records[i].words));
    }
    memset(records, 0, sizeof(records));
}
