// SPDX-License-Identifier: GPL-2.0-or-later
// A program that puts a jump of its own over the entry of sum() at the first line, as libraries do
// that hook functions: what was there before runs elsewhere. At the second line it prints "right".
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, JUMP = 5, FAR = 1 << 20 };
static volatile int lines;

int sum(void);
__asm__(".text\n.globl sum\n.type sum, @function\nsum: mov $1, %eax\n nop\n nop\n ret\n"
        ".size sum, .-sum\n");

static int (*before)(void);

static int hook(void) {
    return before() + 10;
}

static void write_jump(char* at, const char* to) {
    const int32_t distance = (int32_t)(to - (at + JUMP));
    *at = (char)0xe9;
    memcpy(at + 1, &distance, sizeof distance);
}

static bool hook_sum(void) {
    char* const code = (char*)&sum;
    char* const page = (char*)((uintptr_t)code & ~(uintptr_t)(PAGE - 1));
    int32_t distance;
    char* room = MAP_FAILED;
    for (int i = 1; room == MAP_FAILED && i < 512; i++)
        room = mmap(page + (long)i * FAR, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (room == MAP_FAILED || mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    if (*code == (char)0xe9) {
        memcpy(&distance, code + 1, sizeof distance);
        write_jump(room, code + JUMP + distance);
    } else {
        memcpy(room, code, JUMP);
        write_jump(room + JUMP, code + JUMP);
    }
    before = (int (*)(void))room;
    write_jump(code, (char*)&hook);
    return mprotect(page, 2 * PAGE, PROT_READ | PROT_EXEC) == 0;
}

static void* read_lines(void* unused) {
    char line[16];
    for (; lines < 2; lines++)
        if (!fgets(line, sizeof line, stdin))
            break;
    lines = 2;
    return unused;
}

int main(void) {
    pthread_t reader;
    bool right = true;

    setvbuf(stdout, NULL, _IOLBF, 0);
    pthread_create(&reader, NULL, read_lines, NULL);
    puts("spinning");
    while (lines < 1)
        right &= sum() == 1;
    right &= hook_sum();
    puts("hooked");
    while (lines < 2)
        right &= sum() == 11;
    puts(right ? "right" : "wrong");
    return 0;
}
