// SPDX-License-Identifier: GPL-2.0-or-later
// The process that reads the rings and runs the session, and who may do so.
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "record/rings.h"

s32 djs_reader_pid = DJS_NO_READER;
DECLARE_WAIT_QUEUE_HEAD(djs_reader_queue);
static atomic_t owners = ATOMIC_INIT(0); /* 0 or 1 */
static bool had_owner;

bool djs_reader_comes(void)
{
	if (atomic_cmpxchg(&owners, 0, 1))
		return false;
	WRITE_ONCE(had_owner, true);
	WRITE_ONCE(djs_reader_pid, current->tgid);
	return true;
}

void djs_reader_goes(void)
{
	WRITE_ONCE(djs_reader_pid, DJS_NO_READER);
	/* Before the closing file asks whether exit() was called: exit() asks for an owner then. */
	atomic_xchg(&owners, 0);
}

bool djs_reader_attached(void)
{
	return atomic_read(&owners);
}

bool djs_reader_ever(void)
{
	return READ_ONCE(had_owner);
}

void djs_reader_wake(void)
{
	wake_up_all(&djs_reader_queue);
}

/*
 * A file's mode admits every process with root's number, which root of a container may have, too.
 */
bool djs_may_open(bool writes)
{
	return writes ? capable(CAP_SYS_ADMIN) : perfmon_capable();
}
