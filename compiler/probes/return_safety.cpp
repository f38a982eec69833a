#include "probes/return_safety.h"

#include <algorithm>
#include <fnmatch.h>
#include <iterator>

namespace djstap {

namespace {

using Verdict = ReturnSafety::Verdict;

// ---- the reviewed lists: globs of symbols; of a system call also its name without __x64_sys_
// ------

// Some call of these ends in the exit of the task, in a restart, or in a loop for ever: the target
// would wait for their return as long as the kernel runs.
const char* const never_return[] = {
    "do_exit",
    "do_group_exit",
    "exit",
    "exit_group",
    "make_task_dead",
    "rewind_stack_*",
    "do_task_dead",
    "kthread",
    "kthreadd",
    "kthread_exit",
    "kthread_complete_and_exit",
    "module_put_and_kthread_exit",
    "complete_and_exit",
    "kthread_worker_fn",
    "smpboot_thread_fn",
    "worker_thread",
    "rescuer_thread",
    "*_kthread",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "ksmd*",
    "io_wq_worker",
    "io_sq_thread",
    "io_wqe_worker",
    "vhost_task_fn",
    "vhost_worker",
    "call_usermodehelper_exec_async",
    "kernel_init",
    "rest_init",
    "start_kernel",
    "start_secondary",
    "get_signal",
    "arch_do_signal_or_restart",
    "exit_to_user_mode_*",
    "syscall_exit_to_user_mode*",
    "irqentry_exit*",
    "syscall_trace_enter*",
    "__secure_computing*",
    "__seccomp_filter",
    "seccomp_*",
    "reboot",
    "kernel_restart",
    "kernel_halt",
    "kernel_power_off",
    "kernel_kexec",
    "machine_*",
    "native_machine_*",
    "emergency_restart",
    "orderly_*",
    "panic",
    "nmi_panic",
    "oops_*",
    "die",
    "die_*",
    "__die*",
    "stop_this_cpu",
    "*play_dead*",
    "hlt_play_dead",
    "crash_*",
    "__stack_chk_fail",
    "fortify_panic",
    "handle_stack_overflow",
    "ret_from_fork*",
};

// They leave on another stack than they were entered on, or run where RCU does not watch.
const char* const switch_stacks[] = {
    "__schedule",
    "schedule",
    "schedule_idle",
    "schedule_user",
    "schedule_tail",
    "schedule_preempt_disabled",
    "schedule_rtlock",
    "preempt_schedule*",
    "context_switch*",
    "finish_task_switch*",
    "__switch_to*",
    "switch_mm*",
    "__cond_resched*",
    "_cond_resched",
    "io_schedule*",
    "yield",
    "yield_to",
    "sched_yield",
    "do_sched_yield",
    "do_idle",
    "cpu_idle*",
    "cpu_startup_entry",
    "default_idle*",
    "arch_cpu_idle*",
    "mwait_idle*",
    "amd_e400_idle",
    "*_idle_enter*",
    "intel_idle*",
    "acpi_idle_*",
    "cpuidle_enter*",
    "call_cpuidle",
    "poll_idle",
    "xen_*_idle",
    "call_on_stack*",
    "call_on_irqstack*",
    "do_softirq_own_stack",
    "swsusp_*",
    "hibernate*",
    "do_suspend_*",
    "save_processor_state",
    "restore_processor_state",
};

// rmmod is inside these while the module waits until nobody is.
const char* const unload_modules[] = {"delete_module", "x64_sys_call", "x32_sys_call",
                                      "ia32_sys_call"};

// A task may be in there for hours: at a terminal, a pipe, a socket, for a child or a timer.
const char* const wait_on_purpose[] = {
    "*sleep*",
    "wait_*",
    "*_wait",
    "*_wait_*",
    "__wait_*",
    "do_wait*",
    "kernel_wait*",
    "wait4",
    "waitid",
    "waitpid",
    "*schedule_timeout*",
    "schedule_hrtimeout*",
    "pause",
    "*sigsuspend",
    "*sigtimedwait*",
    "do_sigtimedwait",
    "do_signal_stop",
    "do_jobctl_trap",
    "do_freezer_trap",
    "ptrace_stop",
    "ptrace_notify",
    "ptrace_do_notify",
    "__refrigerator",
    "poll",
    "ppoll*",
    "do_poll*",
    "do_sys_poll",
    "do_restart_poll",
    "restart_syscall",
    "do_restart_*",
    "select",
    "pselect6*",
    "do_select",
    "do_pselect*",
    "core_sys_select",
    "kern_select",
    "ep_poll",
    "epoll_wait*",
    "epoll_pwait*",
    "do_epoll_wait",
    "do_epoll_pwait*",
    "futex*",
    "do_futex",
    "__futex*",
    "accept*",
    "__sys_accept*",
    "do_accept",
    "inet_accept",
    "inet_csk_accept",
    "inet_csk_wait*",
    "unix_accept",
    "read",
    "readv",
    "pread64",
    "preadv*",
    "ksys_read",
    "ksys_pread64",
    "vfs_read",
    "vfs_readv",
    "vfs_iter_read",
    "do_readv*",
    "do_preadv*",
    "do_iter_read*",
    "new_sync_read",
    "do_loop_readv_writev",
    "*pipe_read",
    "*pipe_write",
    "fifo_open",
    "tty_read",
    "n_tty_read",
    "iterate_tty_read",
    "eventfd_read",
    "signalfd_*",
    "inotify_read",
    "fanotify_read",
    "timerfd_read*",
    "fuse_dev_*",
    "fuse_request_*",
    "request_wait_answer",
    "evdev_read",
    "sock_read_iter",
    "sock_recvmsg*",
    "recv*",
    "__sys_recv*",
    "___sys_recv*",
    "____sys_recv*",
    "do_recvmmsg",
    "*_recvmsg*",
    "__skb_wait_*",
    "__skb_recv_*",
    "skb_recv_*",
    "sk_wait_data",
    "sk_stream_wait_*",
    "unix_stream_read_generic",
    "unix_stream_data_wait",
    "splice*",
    "do_splice*",
    "*splice_read*",
    "splice_from_pipe*",
    "sendfile*",
    "do_sendfile",
    "vmsplice",
    "tee",
    "connect",
    "__sys_connect*",
    "inet_stream_connect",
    "__inet_stream_connect",
    "flock",
    "*locks_lock_*",
    "fcntl*",
    "do_fcntl*",
    "fcntl_setlk*",
    "semop",
    "semtimedop*",
    "do_semtimedop",
    "__do_semtimedop",
    "msgrcv",
    "msgsnd",
    "do_msgrcv",
    "do_msgsnd",
    "ksys_msg*",
    "mq_timed*",
    "do_mq_timed*",
    "wq_sleep",
    "io_getevents*",
    "io_pgetevents*",
    "do_io_getevents",
    "read_events",
    "io_uring_enter",
    "io_cqring_wait*",
    "vfork",
    "wait_for_vfork_done",
    "kernel_clone",
    "clone",
    "clone3",
    "*_thread",
    "*_threadfn",
    "svc_recv",
    "perf_read",
    "devkmsg_read",
    "do_syslog",
    "syslog",
    "ioctl",
    "vfs_ioctl",
    "kvm_arch_vcpu_ioctl_run",
    "kvm_vcpu_*",
    "vcpu_*",
};

template <size_t count> bool listed(const char* const (&globs)[count], const std::string& name) {
    return std::any_of(std::begin(globs), std::end(globs),
                       [&](const char* glob) { return fnmatch(glob, name.c_str(), 0) == 0; });
}

// The name without what the kernel's macros put before a system call's, and without a clone's
// suffix.
std::string base_name(std::string_view symbol) {
    for (std::string_view prefix :
         {"__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_", "__x64_compat_sys_", "__se_sys_",
          "__do_sys_", "__se_compat_sys_", "__do_compat_sys_"})
        if (symbol.starts_with(prefix)) {
            symbol.remove_prefix(prefix.size());
            break;
        }
    return std::string(symbol.substr(0, symbol.find('.')));
}

// ---- arguments
// -----------------------------------------------------------------------------------

constexpr uint64_t word = 8, register_words = 6;

struct Words {
    uint64_t count = 0;
    bool known = true;
};

Words words_of(TypeId type, const DebugInfo& info) {
    CType resolved = info.resolve(type);
    switch (resolved.kind) {
    case CTypeKind::Float:
    case CTypeKind::Unknown:
        return {0, false};
    case CTypeKind::Struct:
    case CTypeKind::Union:
        // Of two words at most, and none of them in a register for floating point: the kernel has
        // no such.
        return {(resolved.size + word - 1) / word, resolved.size <= 2 * word};
    case CTypeKind::Void:
        return {0, false};
    default:
        return {std::max<uint64_t>((resolved.size + word - 1) / word, 1), true};
    }
}

ReturnSafety unsafe(std::string reason) {
    return {Verdict::Unsafe, std::move(reason)};
}

} // namespace

ReturnSafety judge_return_by_name(std::string_view symbol) {
    const std::string name = base_name(symbol);
    if (listed(never_return, name))
        return unsafe("it may never return");
    if (listed(switch_stacks, name))
        return unsafe("it switches stacks, or RCU does not watch it");
    if (listed(unload_modules, name))
        return unsafe("rmmod would wait for itself");
    if (listed(wait_on_purpose, name))
        return {Verdict::Waits, "it waits on purpose"};
    return {Verdict::Safe, "all arguments in registers"};
}

ReturnSafety judge_return(const FunctionInfo& function, const DebugInfo& info) {
    if (function.noreturn)
        return unsafe("it does not return");
    if (function.varargs)
        return unsafe("it has variable arguments");
    // Parts of a function may take what the function has as locals, or the members of an argument.
    if (function.symbol.find(".part.") != std::string::npos ||
        function.symbol.find(".isra.") != std::string::npos)
        return unsafe("the compiler chose its arguments");
    ReturnSafety by_name = judge_return_by_name(function.symbol);
    if (by_name.verdict == Verdict::Unsafe || function.is_syscall)
        return by_name;
    if (!function.return_type)
        return unsafe("its arguments are not known");
    uint64_t used = 0;
    CType result = info.resolve(*function.return_type);
    if (result.kind == CTypeKind::Float)
        return unsafe("its result is not in a general register");
    if ((result.kind == CTypeKind::Struct || result.kind == CTypeKind::Union) &&
        result.size > 2 * word)
        used++; // the address of where to put it
    for (const Variable& parameter : function.parameters) {
        Words words = words_of(parameter.type, info);
        if (!words.known || used + words.count > register_words)
            return unsafe("not all of its arguments are in registers");
        used += words.count;
    }
    return by_name;
}

} // namespace djstap
