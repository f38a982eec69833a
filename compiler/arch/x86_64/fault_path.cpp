// SPDX-License-Identifier: GPL-2.0-or-later
// Functions and tracepoints between a fault in the kernel and its fixup.
#include "arch/arch.h"
#include "arch/x86_64/symbol_names.h"

#include <unordered_set>

namespace djstap::arch {

namespace {

// It follows the calls from exc_page_fault and exc_general_protection, and on the way back from
// irqentry_exit, in vmlinux 6.1 and 6.12, and in the sources for what other configurations compile
// as functions.
const std::unordered_set<std::string_view> fault_path{
    "page_fault_kernel", // the tracepoint
    "exc_page_fault",
    "handle_page_fault",
    "trace_page_fault_entries",
    "kmmio_fault",
    "kmmio_handler",
    "fault_in_kernel_space",
    "do_kern_addr_fault",
    "spurious_kernel_fault",
    "spurious_kernel_fault_check",
    "pgtable_bad",
    "is_prefetch",
    "kprobe_page_fault",
    "kprobe_fault_handler",
    "bad_area_nosemaphore",
    "__bad_area_nosemaphore",
    "kernelmode_fixup_or_oops",
    "exc_general_protection",
    "cond_local_irq_enable",
    "cond_local_irq_disable",
    "gp_try_fixup_and_notify",
    "fixup_exception",
    "ex_handler_default",
    "search_exception_tables",
    "search_kernel_exception_table",
    "search_extable",
    "cmp_ex_search",
    "bsearch",
    "search_module_extables",
    "__module_address",
    "mod_find",
    "latch_tree_find",
    "within_module",
    "within_module_core",
    "within_module_init",
    "ct_irq_enter",
    "ct_irq_exit",
    "rcu_irq_enter",
    "rcu_irq_exit",
    "rcu_irq_exit_preempt",
    "rcu_irq_exit_check_preempt",
    "__rcu_irq_enter_check_tick",
    "raw_irqentry_exit_cond_resched",
    "irqentry_exit_cond_resched",
};

} // namespace

bool handles_faults(std::string_view name) {
    return fault_path.contains(whole_of(name));
}

} // namespace djstap::arch
