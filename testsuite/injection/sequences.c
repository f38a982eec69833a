// SPDX-License-Identifier: GPL-2.0-or-later
// A program whose threads count on each processor by restartable sequences (rseq). The kernel ends
// a sequence that it interrupts; one that is finished nevertheless writes what others have counted
// in between away. It prints "right" if nothing is lost, when it has read a line.
#define _GNU_SOURCE // __builtin_thread_pointer
#include <pthread.h>
#include <stdio.h>
#include <sys/rseq.h>

enum { THREADS = 4, PROCESSORS = 1024 };
static struct {
    long n;
    char apart[120];
} counters[PROCESSORS];
static volatile int stop;
static volatile long sink;

__attribute__((noinline, noclone)) int sum(int a, long b) {
    sink = a;
    return a + (int)b;
}

// A sequence ends right before its return: the jump there would replace its last instruction.
__asm__(".text\n.globl commits\n.type commits, @function\n"
        "commits: mov %rdi, %rcx\n6: mov (%rcx), %rax\n inc %rax\n mov %rax, (%rcx)\n"
        "7: xor %eax, %eax\n ret\n.size commits, .-commits\n"
        ".pushsection __rseq_cs, \"aw\"\n .balign 32\n .long 0, 0\n .quad 6b, 7b - 6b, commits\n"
        ".popsection\n");

// Returns whether it has counted. Most of the time passes in the sequence.
static int count_once(struct rseq* own) {
    const unsigned cpu = own->cpu_id_start;
    long* const counter = &counters[cpu % PROCESSORS].n;
    __asm__ __volatile__ goto(
        ".pushsection __rseq_cs, \"aw\"\n .balign 32\n"
        "3: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n .popsection\n"
        "leaq 3b(%%rip), %%rax\n movq %%rax, %[sequence]\n"
        "1: cmpl %[cpu], %[current]\n jne 4f\n"
        "movq (%[counter]), %%rax\n movl $200, %%ecx\n"
        "5: decl %%ecx\n jnz 5b\n"
        "addq $1, %%rax\n movq %%rax, (%[counter])\n 2:\n"
        ".pushsection .text.unlikely, \"ax\"\n"
        ".byte 0x0f, 0xb9, 0x3d\n .long %c[signature]\n"
        "4: jmp %l[ended]\n .popsection\n"
        :
        : [sequence] "m"(own->rseq_cs), [cpu] "r"(cpu), [current] "m"(own->cpu_id),
          [counter] "r"(counter), [signature] "i"(RSEQ_SIG)
        : "rax", "rcx", "memory", "cc"
        : ended);
    return 1;
ended:
    return 0;
}

static void* count(void* total) {
    struct rseq* const own = (struct rseq*)((char*)__builtin_thread_pointer() + __rseq_offset);
    while (!stop) {
        if (__rseq_size)
            *(long*)total += count_once(own);
        sum(1, 2);
    }
    return NULL;
}

static void* wait_for_line(void* unused) {
    char line[16];
    puts("spinning");
    stop = !fgets(line, sizeof line, stdin) + 1;
    return unused;
}

int main(void) {
    pthread_t threads[THREADS], reader;
    struct {
        long n;
        char apart[120];
    } totals[THREADS] = {0};
    long lost = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    pthread_create(&reader, NULL, wait_for_line, NULL);
    for (int i = 1; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count, &totals[i].n);
    count(&totals[0].n); // the first thread is one that djstap has execute system calls
    for (int i = 0; i < THREADS; i++) {
        if (i > 0)
            pthread_join(threads[i], NULL);
        lost += totals[i].n;
    }
    for (int i = 0; i < PROCESSORS; i++)
        lost -= counters[i].n;
    puts(lost ? "wrong" : "right");
    return 0;
}
