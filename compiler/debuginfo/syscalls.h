// System calls on x86-64: a wrapper __x64_sys_NAME(struct pt_regs *) in front of what the source
// defines.
#pragma once
#include "debuginfo/debuginfo.h"
#include "target/target.h"

namespace djstap {

inline constexpr std::string_view syscall_user_prefix = "sys_";
inline constexpr std::string_view syscall_wrapper_prefix = "__x64_sys_";

// The argument registers of a system call, in order, as places in the pt_regs that the wrapper's
// first argument points to (arch/x86/include/asm/syscall_wrapper.h, asm/ptrace.h). Nothing from the
// 7th on.
Location syscall_argument(size_t number);

// A call's wrapper, its name without the prefix.
struct SyscallWrapper {
    std::string name;
    Symbol symbol;
};
// The wrappers of "sys_NAME", whose NAME may have wildcards; nothing for other patterns.
std::vector<SyscallWrapper> syscall_wrappers(const Target& target, std::string_view pattern);

// What the kernel's own table (CONFIG_FTRACE_SYSCALLS) says of a call's parameters.
struct SyscallParameter {
    std::string name;
    std::string type; // "struct timespec *", as declared
};
// Nothing where vmlinux is not there, or has no such table, or not this call.
std::optional<std::vector<SyscallParameter>> syscall_table_parameters(const Target& target,
                                                                      std::string_view name);

} // namespace djstap
