// SPDX-License-Identifier: GPL-2.0-or-later
// Static probes as <sys/sdt.h> leaves them, with every form of argument, and a semaphore.
//
//   marks N       passes them N times, and says what the semaphore was before
#include <stdio.h>
#include <stdlib.h>

__attribute__((section(".probes"))) unsigned short watched_semaphore = 0;
int mark_counter[2] = {41, -2};
const int mark_table[4] = {10, 20, 30, 40};

void pass_marks(void);

// The place is a no-op; the note has its address, the base's and the semaphore's.
#define NOTE(name, semaphore, arguments)                                                           \
    "990: nop\n"                                                                                   \
    ".pushsection .note.stapsdt,\"\",@note\n"                                                      \
    ".balign 4\n"                                                                                  \
    ".4byte 992f-991f, 994f-993f, 3\n"                                                             \
    "991: .asciz \"stapsdt\"\n"                                                                    \
    "992: .balign 4\n"                                                                             \
    "993: .8byte 990b, _.stapsdt.base, " semaphore "\n"                                            \
    ".asciz \"shop\"\n"                                                                            \
    ".asciz \"" name "\"\n"                                                                        \
    ".asciz \"" arguments "\"\n"                                                                   \
    "994: .balign 4\n"                                                                             \
    ".popsection\n"

__asm__(".pushsection .stapsdt.base,\"a\",@progbits\n"
        "_.stapsdt.base: .space 1\n"
        ".popsection\n"
        ".pushsection .text\n"
        ".globl pass_marks\n"
        ".type pass_marks, @function\n"
        "pass_marks:\n"
        "sub $40, %rsp\n"
        "mov $-5, %ecx\n"
        "movabs $0x1122334455667788, %rdx\n"
        "movq $99, 8(%rsp)\n"
        "lea mark_table(%rip), %rsi\n"
        "mov $2, %rdi\n" NOTE("all", "0",
                              "-4@%ecx 8@%rdx 4@%edx -2@%dx 1@%dl 1@%dh 8@8(%rsp) "
                              "4@4(%rsi,%rdi,4) 4@mark_counter(%rip) -4@mark_counter+4(%rip) "
                              "-8@$-3 %rdi") NOTE("watched", "watched_semaphore", "4@%edi")
            NOTE("order__sent", "0", "")
                NOTE("floating", "0", "8f@%xmm0 4@%edi") "add $40, %rsp\n"
                                                         "ret\n"
                                                         ".size pass_marks, .-pass_marks\n"
                                                         ".popsection\n");

int main(int argc, char** argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1;
    printf("semaphore %u\n", watched_semaphore);
    fflush(stdout);
    for (int i = 0; i < n; i++)
        pass_marks();
    return 0;
}
