// SPDX-License-Identifier: GPL-2.0-or-later
// Memory of this process that may be unmapped: the kernel copies it, and reports faults.
#define _GNU_SOURCE
#include <sys/uio.h>
#include <unistd.h>

#include "userspace/kernel.h"

static int copied(ssize_t done, size_t size)
{
	return done == (ssize_t)size ? 0 : -EFAULT;
}

int djs_user_read_memory(void *to, u64 from, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)from, size};

	return copied(process_vm_readv(getpid(), &here, 1, &there, 1, 0), size);
}

int djs_user_write_memory(u64 to, const void *from, size_t size)
{
	struct iovec here = {(void *)from, size}, there = {(void *)to, size};

	return copied(process_vm_writev(getpid(), &here, 1, &there, 1, 0), size);
}
