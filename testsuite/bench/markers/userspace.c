// SPDX-License-Identifier: GPL-2.0-or-later
// The loops of micro.c in user space, for scripts/bench markers: what a marker's instructions take
// natively. A no-op of five bytes stands for the optimized marker and a jump for its connected
// form, as the kernel patches them. Prints "NAME NANOSECONDS" for each loop, of one iteration.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TRIES 200
#define COPIED 4096

typedef void handler(void* data, unsigned long value, unsigned long pointer);

static struct connection {
    handler* call;
    void* data;
} connection[2];
static struct connection* volatile connected; // the generic marker loads it
static char source[COPIED], target[COPIED];
static unsigned long sum;

static void empty(void* data, unsigned long value, unsigned long pointer) {
    (void)data, (void)value, (void)pointer;
    __asm__ volatile("");
}

static void typed(void* data, unsigned long value, unsigned long pointer) {
    (void)data;
    sum += (unsigned long)(int)value + pointer;
}

static void variable(void* data, ...) {
    va_list arguments;
    va_start(arguments, data);
    sum += (unsigned long)va_arg(arguments, int);
    sum += (unsigned long)va_arg(arguments, void*);
    va_end(arguments);
}

static void decoded(void* data, ...) {
    va_list arguments;
    va_start(arguments, data);
    for (const char* format = "%d %p"; *format; format++) {
        __asm__ volatile("" : "+r"(format));
        if (*format != '%')
            continue;
        format++;
        if (*format == 'd')
            sum += (unsigned long)va_arg(arguments, int);
        else if (*format == 'p')
            sum += (unsigned long)va_arg(arguments, void*);
    }
    va_end(arguments);
}

static inline void call(unsigned int value) {
    struct connection* at = connected;
    if (at && !at[1].call)
        at->call(at->data, (unsigned long)(int)value, (unsigned long)source);
}

#define NO_OP ".byte 0x0f, 0x1f, 0x44, 0, 0"
#define PATCHED(code)                                                                              \
    ({                                                                                             \
        __label__ yes, no;                                                                         \
        int result = 0;                                                                            \
        __asm__ goto(code : : : : yes);                                                            \
        goto no;                                                                                   \
    yes:                                                                                           \
        result = 1;                                                                                \
    no:                                                                                            \
        result;                                                                                    \
    })
#define LOOP(name, work, condition)                                                                \
    static __attribute__((noinline)) void name(unsigned int count) {                               \
        for (unsigned int i = 0; i < count; i++) {                                                 \
            __asm__ volatile("" : "+r"(i) : : "memory");                                           \
            work;                                                                                  \
            if (__builtin_expect(condition, 0))                                                    \
                call(i);                                                                           \
        }                                                                                          \
    }
#define LOOPS(name, work)                                                                          \
    LOOP(name##_none, work, 0)                                                                     \
    LOOP(name##_optimized, work, PATCHED(NO_OP))                                                   \
    LOOP(name##_generic, work, connected != NULL)

static __attribute__((noinline)) void copy(void) {
    memcpy(target, source, COPIED);
    __asm__ volatile("" : : : "memory");
}

LOOPS(empty, )
LOOPS(copy, copy())
LOOP(empty_connected, , PATCHED("jmp %l0"))

static double fastest(void (*loop)(unsigned int count), unsigned int count) {
    double least = 1e9;
    for (int i = 0; i < TRIES; i++) {
        struct timespec began, ended;
        clock_gettime(CLOCK_MONOTONIC, &began);
        loop(count);
        clock_gettime(CLOCK_MONOTONIC, &ended);
        double took =
            (double)(ended.tv_sec - began.tv_sec) * 1e9 + (double)(ended.tv_nsec - began.tv_nsec);
        least = took < least ? took : least;
    }
    return least / count;
}

int main(void) {
    static const struct {
        const char* name;
        void (*loop)(unsigned int count), (*base)(unsigned int count);
        unsigned int count;
        void (*call)(void);
    } rows[] = {
        {"empty_optimized", empty_optimized, empty_none, 20000, NULL},
        {"empty_generic", empty_generic, empty_none, 20000, NULL},
        {"copy_optimized", copy_optimized, copy_none, 1000, NULL},
        {"copy_generic", copy_generic, copy_none, 1000, NULL},
        {"optimized_empty", empty_connected, empty_none, 20000, (void (*)(void))empty},
        {"optimized_typed", empty_connected, empty_none, 20000, (void (*)(void))typed},
        {"optimized_variable", empty_connected, empty_none, 20000, (void (*)(void))variable},
        {"optimized_decoded", empty_connected, empty_none, 20000, (void (*)(void))decoded},
        {"generic_empty", empty_generic, empty_none, 20000, (void (*)(void))empty},
        {"generic_typed", empty_generic, empty_none, 20000, (void (*)(void))typed},
        {"generic_variable", empty_generic, empty_none, 20000, (void (*)(void))variable},
        {"generic_decoded", empty_generic, empty_none, 20000, (void (*)(void))decoded},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        connection[0].call = (handler*)rows[i].call;
        connected = rows[i].call ? connection : NULL;
        double base = fastest(rows[i].base, rows[i].count);
        printf("%s %.3f\n", rows[i].name, fastest(rows[i].loop, rows[i].count) - base);
    }
    return 0;
}
