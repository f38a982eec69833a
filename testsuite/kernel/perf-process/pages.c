// SPDX-License-Identifier: GPL-2.0-or-later
// Page faults that can be counted exactly: all are caused by the instruction at 0x20000000.
//
//   gcc -static -no-pie -pthread -Wl,--section-start=.touch=0x20000000 pages.c -o pages
//
// Each argument is an action:
//   N           touches N new pages
//   name NAME   names the thread
//   thread N    creates a thread that touches N pages when `join` lets it
//   join        lets all threads go on, and waits for them
//   fork N      creates a process that touches N pages, and waits for it
//   say         writes a line
//   read        reads a line
//   times N     executes itself with the same arguments, N times
//   exec PROGRAM …
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, MAX_THREADS = 64 };

void touch(char* memory, long pages);
void touch_end(void);
__asm__(".pushsection .touch,\"ax\",@progbits\n"
        ".globl touch, touch_end\n"
        "touch: movb $1, (%rdi)\n"
        "add $4096, %rdi\n"
        "dec %rsi\n"
        "jnz touch\n"
        "touch_end: ret\n"
        ".popsection\n");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int may_go;
static pthread_t threads[MAX_THREADS];
static long thread_count;

static void fail(const char* what) {
    perror(what);
    exit(1);
}

static void touch_new(long pages) {
    if (pages <= 0)
        return;
    char* memory =
        mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap");
    madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
    touch_end(); // the code itself is in memory from here on
    touch(memory, pages);
    munmap(memory, pages * PAGE);
}

static void* run_thread(void* pages) {
    pthread_mutex_lock(&mutex);
    while (!may_go)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    touch_new((long)pages);
    return NULL;
}

static void join(void) {
    pthread_mutex_lock(&mutex);
    may_go = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    while (thread_count > 0)
        pthread_join(threads[--thread_count], NULL);
}

static void fork_and_touch(long pages) {
    const pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        touch_new(pages);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int count, char** words) {
    for (int i = 1; i < count; i++) {
        const char* word = words[i];
        const char* next = i + 1 < count ? words[i + 1] : "";
        char line[2];
        if (strcmp(word, "name") == 0) {
            prctl(PR_SET_NAME, next);
            i++;
        } else if (strcmp(word, "thread") == 0) {
            if (thread_count == MAX_THREADS ||
                pthread_create(&threads[thread_count++], NULL, run_thread, (void*)atol(next)))
                fail("pthread_create");
            i++;
        } else if (strcmp(word, "join") == 0) {
            join();
        } else if (strcmp(word, "fork") == 0) {
            fork_and_touch(atol(next));
            i++;
        } else if (strcmp(word, "say") == 0) {
            if (write(1, "\n", 1) != 1)
                fail("write");
        } else if (strcmp(word, "read") == 0) {
            if (read(0, line, 1) != 1)
                fail("read");
        } else if (strcmp(word, "times") == 0) {
            const long left = atol(next);
            if (left > 0) {
                snprintf(words[i + 1], strlen(next) + 1, "%ld", left - 1);
                execv(words[0], words);
                fail(words[0]);
            }
            i++;
        } else if (strcmp(word, "exec") == 0) {
            execv(next, words + i + 1);
            fail(next);
        } else {
            touch_new(atol(word));
        }
    }
    return 0;
}
