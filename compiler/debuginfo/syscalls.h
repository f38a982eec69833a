// SPDX-License-Identifier: GPL-2.0-or-later
// System calls: a wrapper that takes a struct pt_regs * in front of what the source defines.
#pragma once
#include "debuginfo/debuginfo.h"
#include "image/image.h"

#include <functional>
#include <map>

namespace djstap {

inline constexpr std::string_view syscall_user_prefix = "sys_";

// The arguments of a system call, in order, as places in the pt_regs that the wrapper's first
// argument points to. Nothing from the 7th on.
Location syscall_argument(size_t number);

// A call's wrapper, its name without the prefix.
struct SyscallWrapper {
    std::string name;
    Symbol symbol;
};
// The wrappers of "sys_NAME", whose NAME may have wildcards; nothing for other patterns.
std::vector<SyscallWrapper> syscall_wrappers(const Image& image, std::string_view pattern);

// What the kernel's own table (CONFIG_FTRACE_SYSCALLS) says of a call's parameters.
struct SyscallParameter {
    std::string name;
    std::string type; // "struct timespec *", as declared
};
// Nothing where vmlinux is not there, or has no such table, or not this call.
std::optional<std::vector<SyscallParameter>> syscall_table_parameters(const Image& image,
                                                                      std::string_view name);

// What tracefs tells of system calls: the formats of the tracepoints at their entries. They are
// read when first asked for.
class SyscallFormats {
  public:
    // Of KernelFiles::syscall_formats: tracefs' folder, a file that holds its formats one after
    // another, or nothing.
    explicit SyscallFormats(std::string path) : path_(std::move(path)) {}
    // Nothing where the files cannot be read or do not have this call.
    std::optional<std::vector<SyscallParameter>> parameters(std::string_view name) const;

  private:
    std::string format_of(std::string_view name) const;

    std::string path_;
    mutable std::optional<std::map<std::string, std::string, std::less<>>> formats_; // of a file
};

} // namespace djstap
