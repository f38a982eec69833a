// SPDX-License-Identifier: GPL-2.0-or-later
// Code of the kernel where an exchanged return address is fatal although the kernel itself does not
// forbid it: what control enters otherwise than by a call.
#include "arch/arch.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace djstap::arch {

namespace {

// The functions that switch tasks: entered by one task, left by another one, while exchanged return
// addresses are kept for each task.
const std::unordered_set<std::string_view> between_tasks{
    "__switch_to_asm",
    "__switch_to",
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

template <size_t Size>
bool begins_with_any(std::string_view name, const std::string_view (&beginnings)[Size]) {
    return std::any_of(std::begin(beginnings), std::end(beginnings),
                       [&](std::string_view beginning) { return name.starts_with(beginning); });
}

} // namespace

bool is_between_tasks(std::string_view symbol) {
    return between_tasks.contains(symbol);
}

bool is_uncalled(std::string_view symbol) {
    return symbol.starts_with('.') || uncalled.contains(symbol) ||
           begins_with_any(symbol, uncalled_beginnings);
}

} // namespace djstap::arch
