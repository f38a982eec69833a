// SPDX-License-Identifier: GPL-2.0-or-later
// Code of the kernel where a breakpoint or an exchanged return address is fatal although the kernel
// itself does not forbid it: what control enters otherwise than by a call, or leaves otherwise than
// by a return, and what the function tracers call before they notice that they were called by
// themselves.
#include "arch/arch.h"
#include "arch/x86_64/symbol_names.h"

#include <unordered_set>

namespace djstap::arch {

namespace {

// The functions that switch tasks: entered by one task, left by another one, while exchanged return
// addresses are kept for each task.
const std::unordered_set<std::string_view> between_tasks{
    "__switch_to_asm",
    "__switch_to",
};

// Functions in which the kernel's state is saved for later: when the machine wakes up, or is
// restored from its image, the same task goes on behind the assembler code that called them
// (do_suspend_lowlevel, swsusp_arch_suspend). These are what runs, by the calls in vmlinux 6.1 and
// 6.12, from there to the write that sends the machine to sleep, and what the processor may still
// do until it stops: it waits for being awake. In the other case it is what copies the memory,
// where the compiler leaves functions of it. x86_acpi_suspend_lowlevel pauses the function_graph
// tracer for the same reason. bpf_throw (6.7) leaves the functions that a BPF program has called.
const std::unordered_set<std::string_view> left_without_return{
    "x86_acpi_enter_sleep_state",
    "acpi_enter_sleep_state",
    "acpi_hw_sleep_dispatch",
    "acpi_hw_legacy_sleep",
    "acpi_hw_extended_sleep",
    "acpi_os_enter_sleep",
    "acpi_os_prepare_sleep",
    "acpi_os_prepare_extended_sleep",
    "tboot_sleep",
    "tboot_extended_sleep",
    "acpi_hw_write_pm1_control",
    "acpi_hw_register_write",
    "acpi_hw_write",
    "acpi_hw_write_port",
    "acpi_write",
    "acpi_os_write_port",
    "acpi_os_write_memory",
    // The wait.
    "acpi_read_bit_register",
    "acpi_hw_get_bit_register_info",
    "acpi_hw_register_read",
    "acpi_hw_read_multiple",
    "acpi_hw_read",
    "acpi_hw_read_port",
    "acpi_hw_validate_io_request",
    "acpi_hw_validate_register",
    "acpi_hw_get_access_bit_width",
    "acpi_read",
    "acpi_os_read_port",
    "acpi_os_read_memory",
    // The copy.
    "swsusp_save",
    "copy_data_pages",
    "copy_data_page",
    "safe_copy_page",
    "do_copy_page",
    // An exception of BPF's.
    "bpf_throw",
};

// Assembler code outside the sections that the kernel blacklists: reached by a jump, by a return
// that was prepared on the stack, by a fault or from outside of the kernel. In vmlinux 6.1 and 6.12
// these are the text symbols without a type; only a dump of symbols does not tell. ret_from_fork is
// one up to 6.4, and a function with an fentry site since.
const std::unordered_set<std::string_view> uncalled{
    "ret_from_fork",
    "ret_from_fork_asm",
    "rewind_stack_and_make_dead",
    "rewind_stack_do_exit",
    "pvh_start_xen",
    "vc_boot_ghcb",
    "ibt_selftest_noendbr",
    "bad_get_user",
    "__get_user_handle_exception",
    "__put_user_handle_exception",
    "copy_user_short_string",
    "xen_iret",
    "xenpv_restore_regs_and_return_to_usermode",
    "_text",
    "_stext",
};
constexpr std::string_view uncalled_beginnings[] = {"xen_entry_", "xen_asm_", "__indirect_thunk_"};

// The code that the fentry sites call, and what it calls first: the callbacks of the tracers, up to
// the check by which they leave when they are called by themselves. In vmlinux 6.1 and 6.12, and in
// the sources for what other configurations compile as functions: those with the types of struct
// ftrace_ops.func and of the functions in struct fgraph_ops, those that call them, and those that
// BPF's trampolines call around a program. None of them has an fentry site. What they call behind
// the check may have a breakpoint: if the kernel's handler of breakpoints is traced, its call is
// not traced again.
const std::unordered_set<std::string_view> tracers{
    "ftrace_call",
    "ftrace_regs_call",
    "ftrace_epilogue",
    "ftrace_graph_call",
    "ftrace_graph_caller",
    "return_to_handler",
    "kretprobe_trampoline",
    "ftrace_ops_list_func",
    "arch_ftrace_ops_list_func",
    "ftrace_ops_no_ops",
    "ftrace_ops_assist_func",
    "ftrace_pid_func",
    "call_direct_funcs",
    "ftrace_graph_func",
    "prepare_ftrace_return",
    "function_graph_enter",
    "function_graph_enter_regs",
    "ftrace_graph_is_dead",
    "ftrace_graph_entry_stub",
    "ftrace_graph_ret_stub",
    "ftrace_push_return_trace",
    "ftrace_pop_return_trace",
    "ftrace_return_to_handler",
    "__ftrace_return_to_handler",
    "return_run",
    "entry_run",
    "fgraph_pid_func",
    "trace_graph_entry",
    "__trace_graph_entry",
    "trace_graph_entry_watched",
    "trace_graph_return",
    "__trace_graph_return",
    "trace_graph_thresh_return",
    "profile_graph_entry",
    "profile_graph_return",
    "irqsoff_graph_entry",
    "irqsoff_graph_return",
    "wakeup_graph_entry",
    "wakeup_graph_return",
    "function_trace_call",
    "function_args_trace_call",
    "function_stack_trace_call",
    "function_no_repeats_trace_call",
    "function_stack_no_repeats_trace_call",
    "function_trace_probe_call",
    "function_profile_call",
    "function_test_events_call",
    "irqsoff_tracer_call",
    "wakeup_tracer_call",
    "stack_trace_call",
    "perf_ftrace_function_call",
    "klp_ftrace_handler",
    "fprobe_handler",
    "fprobe_kprobe_handler",
    "fprobe_exit_handler",
    "fprobe_entry",
    "fprobe_fgraph_entry",
    "fprobe_ftrace_entry",
    "fprobe_return",
};
constexpr std::string_view tracer_beginnings[] = {
    "ftrace_caller",    "ftrace_regs_caller", "ftrace_stub",       "arch_rethook_trampoline",
    "__bpf_prog_enter", "__bpf_prog_exit",    "__bpf_tramp_enter", "__bpf_tramp_exit",
};

} // namespace

bool is_between_tasks(std::string_view symbol) {
    return between_tasks.contains(symbol);
}

bool is_left_without_return(std::string_view symbol) {
    return left_without_return.contains(whole_of(symbol));
}

bool is_uncalled(std::string_view symbol) {
    return symbol.starts_with('.') || uncalled.contains(symbol) ||
           begins_with_any(symbol, uncalled_beginnings);
}

bool is_in_tracers(std::string_view symbol) {
    const std::string_view whole = whole_of(symbol);
    return tracers.contains(whole) || begins_with_any(whole, tracer_beginnings);
}

} // namespace djstap::arch
