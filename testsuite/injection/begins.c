// SPDX-License-Identifier: GPL-2.0-or-later
// A program without a library whose functions follow the code at its entry at once.
__asm__(
    ".text\n.globl _start\n.type _start, @function\n"
    "_start: xor %edi, %edi\n call next\n lea -4(%rax), %edi\n mov $60, %eax\n syscall\n"
    ".size _start, .-_start\n"
    ".type next, @function\n"
    "next: lea 1(%rdi), %rax\n lea 2(%rdi), %rdx\n add %rdx, %rax\n call last\n inc %rax\n ret\n"
    ".size next, .-next\n"
    ".type last, @function\n"
    "last: lea 2(%rdi), %rdx\n mov %rdx, %rcx\n ret\n"
    ".size last, .-last\n");
