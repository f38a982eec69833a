/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system call that a task's registers describe. */
#ifndef DJSTAP_EMBEDDED_SYSCALL_H
#define DJSTAP_EMBEDDED_SYSCALL_H

#include <asm/syscall.h>

#define _stp_syscall_get_nr(task, regs) syscall_get_nr((task), (regs))

#endif
