// SPDX-License-Identifier: GPL-2.0-or-later
// System calls: a wrapper with a struct pt_regs * parameter calls what the source defines.
#pragma once
#include "debuginfo/debuginfo.h"
#include "image/image.h"

#include <functional>
#include <map>

namespace djstap {

inline constexpr std::string_view syscall_user_prefix = "sys_";

// Returns argument `number` of a system call as a location in the pt_regs that the wrapper's first
// argument points to. Nothing from the 7th on.
Location syscall_argument(size_t number);

// A system call's wrapper; the name is without the prefix.
struct SyscallWrapper {
    std::string name;
    Symbol symbol;
};
// Returns the wrappers of "sys_NAME", where NAME may contain wildcards; nothing for other patterns.
std::vector<SyscallWrapper> syscall_wrappers(const Image& image, std::string_view pattern);

// A parameter of a system call in the kernel's own table (CONFIG_FTRACE_SYSCALLS).
struct SyscallParameter {
    std::string name;
    std::string type; // "struct timespec *", as declared
};
// Returns nothing without vmlinux, or if it has no such table, or if the table lacks the call.
std::optional<std::vector<SyscallParameter>> syscall_table_parameters(const Image& image,
                                                                      std::string_view name);

// What tracefs contains about system calls: the formats of the tracepoints at their entries, read
// on first use.
class SyscallFormats {
  public:
    // `path` is KernelFiles::syscall_formats: the folder in tracefs, a file with the concatenated
    // formats, or empty.
    explicit SyscallFormats(std::string path) : path_(std::move(path)) {}
    // Returns nothing if the files are unreadable or lack this call.
    std::optional<std::vector<SyscallParameter>> parameters(std::string_view name) const;

  private:
    std::string format_of(std::string_view name) const;

    std::string path_;
    mutable std::optional<std::map<std::string, std::string, std::less<>>> formats_; // of a file
};

} // namespace djstap
