/* SPDX-License-Identifier: GPL-2.0-or-later
 * A 32-bit program: system calls with known arguments, the last ones in each register. */
	.data
path:	.asciz "/nowhere/a"
	.balign 8
time:	.long 0, 1000
buffer:	.fill 64
argv:	.long path, 0
vector:	.long path, 10, -2
	.text
	.globl _start
_start:
	movb $'/', path		/* the page is in memory now */
	mov $5, %eax		/* open(path, O_RDWR|O_CREAT, 0640) */
	mov $path, %ebx
	mov $0102, %ecx
	mov $0640, %edx
	int $0x80
	mov $3, %eax		/* read(-1, 0x1234, 10) */
	mov $-1, %ebx
	mov $0x1234, %ecx
	mov $10, %edx
	int $0x80
	mov $192, %eax		/* mmap2(0, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0xabc) */
	mov $0, %ebx
	mov $8192, %ecx
	mov $3, %edx
	mov $0x22, %esi
	mov $-1, %edi
	mov $0xabc, %ebp
	int $0x80
	mov $91, %eax		/* munmap(1, 2): not aligned */
	mov $1, %ebx
	mov $2, %ecx
	int $0x80
	mov $265, %eax		/* clock_gettime(CLOCK_MONOTONIC, 0): two 32-bit numbers */
	mov $1, %ebx
	mov $0, %ecx
	int $0x80
	mov $403, %eax		/* clock_gettime64(CLOCK_MONOTONIC, 0) */
	mov $1, %ebx
	mov $0, %ecx
	int $0x80
	mov $162, %eax		/* nanosleep({0, 1000}, 0x10): two 32-bit numbers */
	mov $time, %ebx
	mov $0x10, %ecx
	int $0x80
	mov $114, %eax		/* wait4(-1, 0, WNOHANG, 0) */
	mov $-1, %ebx
	mov $0, %ecx
	mov $1, %edx
	mov $0, %esi
	int $0x80
	mov $212, %eax		/* chown32("/nowhere/a", -1, 70000) */
	mov $path, %ebx
	mov $-1, %ecx
	mov $70000, %edx
	int $0x80
	mov $146, %eax		/* writev(-1, {path, 10}, 1): an address and a length of 32 bits */
	mov $-1, %ebx
	mov $vector, %ecx
	mov $1, %edx
	int $0x80
	mov $30, %eax		/* utime(path, {0, 1000}) */
	mov $path, %ebx
	mov $time, %ecx
	int $0x80
	mov $142, %eax		/* _newselect(0, 0, 0, 0, {0, 1000}) */
	mov $0, %ebx
	mov $0, %ecx
	mov $0, %edx
	mov $0, %esi
	mov $time, %edi
	int $0x80
	mov $194, %eax		/* ftruncate64(-1, 0x100000005): in two registers */
	mov $-1, %ebx
	mov $5, %ecx
	mov $1, %edx
	int $0x80
	mov $272, %eax		/* fadvise64_64(-1, 0x200000001, 0x400000003, POSIX_FADV_WILLNEED) */
	mov $-1, %ebx
	mov $1, %ecx
	mov $2, %edx
	mov $3, %esi
	mov $4, %edi
	mov $3, %ebp
	int $0x80
	mov $162, %eax		/* nanosleep(0xfffff000, 0): nothing is there */
	mov $0xfffff000, %ebx
	mov $0, %ecx
	int $0x80
	mov $30, %eax		/* utime(path, 0xfffff000) */
	mov $path, %ebx
	mov $0xfffff000, %ecx
	int $0x80
	mov $79, %eax		/* settimeofday(0xfffff000, 0xfffff000) */
	mov $0xfffff000, %ebx
	mov $0xfffff000, %ecx
	int $0x80
	mov $11, %eax		/* execve(path, {path}, 0) */
	mov $path, %ebx
	mov $argv, %ecx
	mov $0, %edx
	int $0x80
	mov $252, %eax		/* exit_group(0) */
	mov $0, %ebx
	int $0x80
