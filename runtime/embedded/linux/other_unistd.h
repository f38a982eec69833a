/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of system calls that only 32-bit programs make, or programs of other architectures:
 * they equal no call's number. */
#ifndef DJSTAP_OTHER_UNISTD_H
#define DJSTAP_OTHER_UNISTD_H

#include <asm/unistd.h>

#ifndef __NR__llseek
#define __NR__llseek (-1)
#endif
#ifndef __NR__newselect
#define __NR__newselect (-1)
#endif
#ifndef __NR_bdflush
#define __NR_bdflush (-1)
#endif
#ifndef __NR_break
#define __NR_break (-1)
#endif
#ifndef __NR_chown32
#define __NR_chown32 (-1)
#endif
#ifndef __NR_clock_adjtime64
#define __NR_clock_adjtime64 (-1)
#endif
#ifndef __NR_clock_getres_time64
#define __NR_clock_getres_time64 (-1)
#endif
#ifndef __NR_clock_gettime64
#define __NR_clock_gettime64 (-1)
#endif
#ifndef __NR_clock_nanosleep_time64
#define __NR_clock_nanosleep_time64 (-1)
#endif
#ifndef __NR_clock_settime64
#define __NR_clock_settime64 (-1)
#endif
#ifndef __NR_clone2
#define __NR_clone2 (-1)
#endif
#ifndef __NR_fadvise64_64
#define __NR_fadvise64_64 (-1)
#endif
#ifndef __NR_fchown32
#define __NR_fchown32 (-1)
#endif
#ifndef __NR_fcntl64
#define __NR_fcntl64 (-1)
#endif
#ifndef __NR_fstat64
#define __NR_fstat64 (-1)
#endif
#ifndef __NR_fstatat64
#define __NR_fstatat64 (-1)
#endif
#ifndef __NR_fstatfs64
#define __NR_fstatfs64 (-1)
#endif
#ifndef __NR_ftime
#define __NR_ftime (-1)
#endif
#ifndef __NR_ftruncate64
#define __NR_ftruncate64 (-1)
#endif
#ifndef __NR_futex_time64
#define __NR_futex_time64 (-1)
#endif
#ifndef __NR_getegid32
#define __NR_getegid32 (-1)
#endif
#ifndef __NR_geteuid32
#define __NR_geteuid32 (-1)
#endif
#ifndef __NR_getgid32
#define __NR_getgid32 (-1)
#endif
#ifndef __NR_getgroups32
#define __NR_getgroups32 (-1)
#endif
#ifndef __NR_getresgid32
#define __NR_getresgid32 (-1)
#endif
#ifndef __NR_getresuid32
#define __NR_getresuid32 (-1)
#endif
#ifndef __NR_getuid32
#define __NR_getuid32 (-1)
#endif
#ifndef __NR_gtty
#define __NR_gtty (-1)
#endif
#ifndef __NR_idle
#define __NR_idle (-1)
#endif
#ifndef __NR_io_pgetevents_time64
#define __NR_io_pgetevents_time64 (-1)
#endif
#ifndef __NR_ipc
#define __NR_ipc (-1)
#endif
#ifndef __NR_lchown32
#define __NR_lchown32 (-1)
#endif
#ifndef __NR_lock
#define __NR_lock (-1)
#endif
#ifndef __NR_lstat64
#define __NR_lstat64 (-1)
#endif
#ifndef __NR_mmap2
#define __NR_mmap2 (-1)
#endif
#ifndef __NR_mpx
#define __NR_mpx (-1)
#endif
#ifndef __NR_mq_timedreceive_time64
#define __NR_mq_timedreceive_time64 (-1)
#endif
#ifndef __NR_mq_timedsend_time64
#define __NR_mq_timedsend_time64 (-1)
#endif
#ifndef __NR_nice
#define __NR_nice (-1)
#endif
#ifndef __NR_oldfstat
#define __NR_oldfstat (-1)
#endif
#ifndef __NR_oldlstat
#define __NR_oldlstat (-1)
#endif
#ifndef __NR_oldolduname
#define __NR_oldolduname (-1)
#endif
#ifndef __NR_oldstat
#define __NR_oldstat (-1)
#endif
#ifndef __NR_olduname
#define __NR_olduname (-1)
#endif
#ifndef __NR_ppoll_time64
#define __NR_ppoll_time64 (-1)
#endif
#ifndef __NR_prof
#define __NR_prof (-1)
#endif
#ifndef __NR_profil
#define __NR_profil (-1)
#endif
#ifndef __NR_pselect6_time64
#define __NR_pselect6_time64 (-1)
#endif
#ifndef __NR_pselect7
#define __NR_pselect7 (-1)
#endif
#ifndef __NR_readdir
#define __NR_readdir (-1)
#endif
#ifndef __NR_recv
#define __NR_recv (-1)
#endif
#ifndef __NR_recvmmsg_time64
#define __NR_recvmmsg_time64 (-1)
#endif
#ifndef __NR_rt_sigtimedwait_time64
#define __NR_rt_sigtimedwait_time64 (-1)
#endif
#ifndef __NR_sched_rr_get_interval_time64
#define __NR_sched_rr_get_interval_time64 (-1)
#endif
#ifndef __NR_semtimedop_time64
#define __NR_semtimedop_time64 (-1)
#endif
#ifndef __NR_send
#define __NR_send (-1)
#endif
#ifndef __NR_sendfile64
#define __NR_sendfile64 (-1)
#endif
#ifndef __NR_setfsgid32
#define __NR_setfsgid32 (-1)
#endif
#ifndef __NR_setfsuid32
#define __NR_setfsuid32 (-1)
#endif
#ifndef __NR_setgid32
#define __NR_setgid32 (-1)
#endif
#ifndef __NR_setgroups32
#define __NR_setgroups32 (-1)
#endif
#ifndef __NR_setregid32
#define __NR_setregid32 (-1)
#endif
#ifndef __NR_setresgid32
#define __NR_setresgid32 (-1)
#endif
#ifndef __NR_setresuid32
#define __NR_setresuid32 (-1)
#endif
#ifndef __NR_setreuid32
#define __NR_setreuid32 (-1)
#endif
#ifndef __NR_setuid32
#define __NR_setuid32 (-1)
#endif
#ifndef __NR_sgetmask
#define __NR_sgetmask (-1)
#endif
#ifndef __NR_sigaction
#define __NR_sigaction (-1)
#endif
#ifndef __NR_signal
#define __NR_signal (-1)
#endif
#ifndef __NR_sigpending
#define __NR_sigpending (-1)
#endif
#ifndef __NR_sigprocmask
#define __NR_sigprocmask (-1)
#endif
#ifndef __NR_sigreturn
#define __NR_sigreturn (-1)
#endif
#ifndef __NR_sigsuspend
#define __NR_sigsuspend (-1)
#endif
#ifndef __NR_socketcall
#define __NR_socketcall (-1)
#endif
#ifndef __NR_ssetmask
#define __NR_ssetmask (-1)
#endif
#ifndef __NR_stat64
#define __NR_stat64 (-1)
#endif
#ifndef __NR_statfs64
#define __NR_statfs64 (-1)
#endif
#ifndef __NR_stime
#define __NR_stime (-1)
#endif
#ifndef __NR_stty
#define __NR_stty (-1)
#endif
#ifndef __NR_timer_gettime64
#define __NR_timer_gettime64 (-1)
#endif
#ifndef __NR_timer_settime64
#define __NR_timer_settime64 (-1)
#endif
#ifndef __NR_timerfd_gettime64
#define __NR_timerfd_gettime64 (-1)
#endif
#ifndef __NR_timerfd_settime64
#define __NR_timerfd_settime64 (-1)
#endif
#ifndef __NR_truncate64
#define __NR_truncate64 (-1)
#endif
#ifndef __NR_ugetrlimit
#define __NR_ugetrlimit (-1)
#endif
#ifndef __NR_ulimit
#define __NR_ulimit (-1)
#endif
#ifndef __NR_umount
#define __NR_umount (-1)
#endif
#ifndef __NR_utimensat_time64
#define __NR_utimensat_time64 (-1)
#endif
#ifndef __NR_vm86
#define __NR_vm86 (-1)
#endif
#ifndef __NR_vm86old
#define __NR_vm86old (-1)
#endif
#ifndef __NR_waitpid
#define __NR_waitpid (-1)
#endif

#endif
