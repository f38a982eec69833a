// SPDX-License-Identifier: GPL-2.0-or-later
// Functions that a CPU runs while it has no IDT, or none that its page tables map, or no base for
// its per-CPU variables: a breakpoint causes a triple fault there.
#include "arch/arch.h"
#include "arch/x86_64/symbol_names.h"

#include <unordered_set>

namespace djstap::arch {

namespace {

// The reviewed list. It follows the calls, including those through pv_ops and into alternatives,
// from where a CPU enters the kernel's text until it has loaded its IDT, and from where it gives up
// its IDT: in vmlinux 6.1, 6.12 and 7.3, and in the sources for what other configurations compile
// as functions. What the kernel's own blacklist contains (.noinstr.text, .entry.text) is not
// repeated.
const std::unordered_set<std::string_view> listed_functions{
    // A CPU starts: from the trampoline to load_current_idt().
    "common_startup_64",
    "verify_cpu",
    "sev_verify_cbit",
    "start_cpu0",
    "early_setup_idt",
    "set_bringup_idt_handler",
    "start_secondary",
    "cpu_init_secondary",
    "cpu_init_exception_handling",
    "cpu_init_fred_exceptions",
    "cpu_init_fred_rsps",
    "cr4_init",
    "get_cpu_entry_area",
    "load_TR_desc",
    "set_tss_desc",
    "setup_ghcb",
    "sev_es_negotiate_protocol",
    "snp_register_ghcb_early",
    "snp_register_per_cpu_ghcb",
    "cc_platform_has",
    "load_current_idt",
    "load_idt",
    "hv_vtl_ap_entry",
    "cpu_bringup",
    "cpu_bringup_and_idle",
    "asm_cpu_bringup_and_idle",
    "xen_cpu_bringup_again",
    // The CPU changes the segments through which an exception finds its per-CPU variables.
    "cpu_init",
    "load_percpu_segment",
    "switch_to_new_gdt",
    "switch_gdt_and_percpu_base",
    "load_direct_gdt",
    "load_fixmap_gdt",
    // Called there as well as elsewhere, through pv_ops or alternatives, or by calls that the
    // compiler inserts.
    "native_load_gdt",
    "native_load_idt",
    "native_load_tr_desc",
    "native_write_gdt_entry",
    "native_write_cr0",
    "native_write_cr2",
    "native_write_cr3",
    "native_write_cr4",
    "native_write_msr",
    "do_trace_write_msr",
    "cr4_set_bits",
    "cr4_update_irqsoff",
    "memset",
    "__memset",
    "memset_orig",
    "memset_erms",
    "__fentry__",
    "its_return_thunk",
    "its_static_thunk",
    "entry_untrain_ret",
    // The CPU wakes up: until restore_processor_state(), which loads the IDT, then the base.
    "wakeup_long64",
    "do_suspend_lowlevel",
    "restore_processor_state",
    "__restore_processor_state",
    "fix_processor_context",
    // Hibernation: another kernel's registers and page tables are active until then.
    "hibernation_snapshot",
    "create_image",
    "hibernation_restore",
    "resume_target_kernel",
    "swsusp_arch_suspend",
    "swsusp_arch_resume",
    "restore_image",
    "core_restore_code",
    "restore_registers",
    // The machine is handed over: to another kernel, the firmware, or a deliberate triple fault.
    "machine_kexec",
    "relocate_kernel",
    "relocate_range",
    "identity_mapped",
    "virtual_mapped",
    "swap_pages",
    "load_segments",
    "idt_invalidate",
    "native_idt_invalidate",
    "native_gdt_invalidate",
    "native_machine_emergency_restart",
    "machine_real_restart",
    "load_trampoline_pgtable",
    "soft_restart_cpu",
    "asm_acpi_mp_play_dead",
    "switch_to_tboot_pt",
    "tboot_shutdown",
};

// Prefixes of families whose members depend on the configuration and the processor. __pi_ is the
// kernel's own mark: of the code that it compiles to run before its final mapping exists, and of
// the other names that this code has for functions that it calls.
constexpr std::string_view listed_beginnings[] = {
    "startup_64",       "secondary_startup_64", "__x86_indirect_", "__x86_return_",
    "retbleed_return_", "retbleed_untrain_",    "srso_untrain_",   "srso_return_",
    "srso_safe_",       "srso_alias_",          "__pi_",
};

} // namespace

bool runs_without_exceptions(std::string_view symbol) {
    const std::string_view whole = whole_of(symbol);
    return listed_functions.contains(whole) || begins_with_any(whole, listed_beginnings);
}

} // namespace djstap::arch
