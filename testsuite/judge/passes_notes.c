// SPDX-License-Identifier: GPL-2.0-or-later
// Passes the static probes of a C library that was built with them, and says what it knows of their
// arguments:
//
//   known NAME VALUE|- …    a hit of the probe has these arguments; "-": any value
//
// static_probes.py sets the tunables of malloc to which main() refers.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANY NULL
#define P(x) ((const void*)(uintptr_t)(x))

static void known(const char* name, int count, const void* a, const void* b, const void* c) {
    const void* values[] = {a, b, c};
    printf("known %s", name);
    for (int i = 0; i < count; i++)
        if (values[i])
            printf(" 0x%lx", (unsigned long)values[i]);
        else
            printf(" -");
    putchar('\n');
}

static jmp_buf place;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static pthread_rwlock_t rwlock;
static volatile int stage;

static void pause_for(int ms) {
    nanosleep(&(struct timespec){0, ms * 1000000L}, NULL);
}

static struct timespec later(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 5;
    return time;
}

static void jumps(void) {
    known("setjmp", 1, place, ANY, ANY);
    known("longjmp", 2, place, P(7), ANY);
    known("longjmp_target", 2, place, P(7), ANY);
    if (setjmp(place) == 0)
        longjmp(place, 7);
}

// Memory of the main arena.
static void memory(void) {
    static const struct {
        int parameter, value, before;
        const char* name;
    } options[] = {{M_MXFAST, 64, 128, "memory_mallopt_mxfast"},
                   {M_TOP_PAD, 5000, 131072, "memory_mallopt_top_pad"},
                   {M_MMAP_MAX, 300, 65536, "memory_mallopt_mmap_max"},
                   {M_MMAP_THRESHOLD, 140000, 303104, "memory_mallopt_mmap_threshold"},
                   {M_TRIM_THRESHOLD, 150000, 2 * 303104, "memory_mallopt_trim_threshold"},
                   {M_PERTURB, 0, 0, "memory_mallopt_perturb"},
                   {M_ARENA_TEST, 3, 8, "memory_mallopt_arena_test"}};
    known("memory_mallopt_free_dyn_thresholds", 2, P(303104), P(2 * 303104), ANY);
    void* volatile mapped = malloc(300000);
    free(mapped);
    // A block that looks as if it were free already: its owner wrote there what free() had written.
    size_t* volatile block = malloc(24);
    known("memory_tcache_double_free", 1, block, ANY, ANY);
    free(block);
    const size_t mark = ((volatile size_t*)block)[1];
    block = malloc(24);
    ((volatile size_t*)block)[1] = mark;
    free(block);
    known("memory_sbrk_more", 2, ANY, ANY, ANY);
    void* blocks[40];
    for (int i = 0; i < 40; i++)
        blocks[i] = malloc(100000);
    for (int i = 0; i < 40; i++)
        free(blocks[i]);
    known("memory_sbrk_less", 2, ANY, ANY, ANY);
    malloc_trim(0);
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        known("memory_mallopt", 2, P((long)options[i].parameter), P(options[i].value), ANY);
        known(options[i].name, 2, P(options[i].value), P(options[i].before), ANY);
        mallopt(options[i].parameter, options[i].value);
    }
}

// More than there is: where there are threads, each function tries another arena.
static void* too_much(void* unused) {
    const size_t huge = (size_t)1 << 61;
    void* volatile small = malloc(200);
    known("memory_malloc_retry", 1, P(huge + 1), ANY, ANY);
    known("memory_arena_retry", 1, P(huge + 1), ANY, ANY);
    known("memory_calloc_retry", 1, P(huge + 2), ANY, ANY);
    known("memory_realloc_retry", 2, P(huge + 3), small, ANY);
    known("memory_memalign_retry", 2, P(huge + 5), P(256), ANY);
    if (malloc(huge + 1) || calloc(1, huge + 2) || realloc(small, huge + 3) ||
        aligned_alloc(256, huge + 5))
        exit(1);
    free(small);
    return unused;
}

static void* in_arena(void* unused) {
    enum { COUNT = 1300 }; // more than a heap of 64 MB
    static void* blocks[COUNT];
    for (int i = 0; i < COUNT; i++)
        blocks[i] = malloc(60000);
    for (int i = COUNT - 1; i >= 0; i--)
        free(blocks[i]);
    malloc_trim(0);
    return unused;
}

// Two threads at the same time, where one arena is allowed.
static pthread_barrier_t both;
static void* is_one_of_two(void* unused) {
    void* volatile block = malloc(10);
    pthread_barrier_wait(&both);
    free(block);
    return unused;
}

static void share_arenas(void) {
    pthread_t threads[2];
    known("memory_mallopt_arena_max", 1, P(1), ANY, ANY);
    known("memory_arena_reuse", 2, ANY, ANY, ANY);
    mallopt(M_ARENA_MAX, 1);
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, is_one_of_two, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void* says_seven(void* argument) {
    return argument;
}

static void in_thread(void* (*function)(void*), void* argument) {
    pthread_t thread = 0;
    void* result;
    known("pthread_create", 3, P(&thread), ANY, P(function));
    pthread_create(&thread, NULL, function, argument);
    known("pthread_start", 2, P(thread), P(function), ANY);
    known("pthread_join", 1, P(thread), ANY, ANY);
    known("pthread_join_ret", 1, P(thread), ANY, ANY);
    pthread_join(thread, &result);
}

static void* takes_mutex(void* unused) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    struct timespec limit = later();
    pthread_mutex_timedlock(&mutex, &limit);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void* waits(void* unused) {
    pthread_mutex_lock(&mutex);
    stage = 1;
    pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void locks(void) {
    static const char* const names[] = {"mutex_entry",
                                        "mutex_acquired",
                                        "mutex_release",
                                        "mutex_timedlock_entry",
                                        "mutex_timedlock_acquired",
                                        "mutex_clocklock_entry",
                                        "mutex_init",
                                        "mutex_destroy"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        known(names[i], 1, &mutex, ANY, ANY);
    known("lll_lock_wait", 1, &mutex, ANY, ANY);
    pthread_mutex_init(&mutex, NULL);
    struct timespec limit = later();
    pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &limit);
    pthread_t thread;
    pthread_create(&thread, NULL, takes_mutex, NULL);
    pause_for(200);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);

    known("cond_init", 2, &condition, ANY, ANY);
    known("cond_wait", 2, &condition, &mutex, ANY);
    known("cond_signal", 1, &condition, ANY, ANY);
    known("cond_broadcast", 1, &condition, ANY, ANY);
    known("cond_destroy", 1, &condition, ANY, ANY);
    pthread_cond_init(&condition, NULL);
    pthread_create(&thread, NULL, waits, NULL);
    while (stage == 0)
        pause_for(10);
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    pthread_cond_broadcast(&condition);
    pthread_cond_destroy(&condition);
    pthread_mutex_destroy(&mutex);

    static const char* const rwnames[] = {"rdlock_entry",  "rdlock_acquire_read",
                                          "wrlock_entry",  "wrlock_acquire_write",
                                          "rwlock_unlock", "rwlock_destroy"};
    for (unsigned i = 0; i < sizeof rwnames / sizeof *rwnames; i++)
        known(rwnames[i], 1, &rwlock, ANY, ANY);
    pthread_rwlock_init(&rwlock, NULL);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_destroy(&rwlock);
}

// Two threads print: the lock of stdout is the library's own.
static void* holds_stdout(void* unused) {
    flockfile(stdout);
    stage = 2;
    pause_for(200);
    funlockfile(stdout);
    return unused;
}

static void library_lock(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, holds_stdout, NULL);
    while (stage != 2)
        pause_for(5);
    printf("known lll_lock_wait_private -\n");
    pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
    setvbuf(stdout, malloc(1 << 16), _IOFBF, 1 << 16);
    jumps();
    known("memory_tunable_tcache_count", 2, P(6), P(7), ANY);
    known("memory_tunable_tcache_max_bytes", 2, P(500), P(1032), ANY);
    known("memory_tunable_tcache_unsorted_limit", 1, P(9), ANY, ANY);
    memory();
    known("memory_arena_new", 2, ANY, ANY, ANY);
    known("memory_heap_new", 2, ANY, ANY, ANY);
    known("memory_heap_more", 2, ANY, ANY, ANY);
    known("memory_heap_less", 2, ANY, ANY, ANY);
    known("memory_heap_free", 2, ANY, ANY, ANY);
    known("memory_arena_reuse_free_list", 1, ANY, ANY, ANY);
    in_thread(in_arena, NULL);
    in_thread(in_arena, NULL);
    in_thread(says_seven, (void*)7);
    in_thread(too_much, NULL);
    share_arenas();
    locks();
    library_lock();
    void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library) {
        static const char* const names[] = {"map_start",      "map_complete", "reloc_start",
                                            "reloc_complete", "unmap_start",  "unmap_complete"};
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
            known(names[i], 1, ANY, ANY, ANY);
        dlclose(library);
    }
    dlopen("/nowhere/at-all.so", RTLD_NOW);
    fflush(stdout);
    return 0;
}
