// SPDX-License-Identifier: GPL-2.0-or-later
// Where the files of kernels are.
#pragma once
#include "diagnostics/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// Where a kernel's files are; empty where there is none.
struct KernelFiles {
    std::string release;
    std::string root;      // "" for the running system, else the folder the kernel was unpacked to
    std::string vmlinux;   // ELF with symbols and DWARF
    std::string vmlinuz;   // bootable image
    std::string build_dir; // headers and Kbuild
    std::string modules;   // lib/modules/RELEASE
    std::string config;    // the kernel's .config
    std::string kallsyms;  // text dump with link-time addresses, stands in for vmlinux's symbols
    std::string btf;       // raw BTF, stands in for DWARF
    std::string fentry_functions; // text dump of tracefs' available_filter_functions[_addrs]
    std::string kprobe_blacklist; // text dump of debugfs' kprobes/blacklist
    std::string syscall_formats;  // tracefs' events/syscalls, or its sys_enter_*/format in one file
    std::string notes;            // /sys/kernel/notes, stands in for vmlinux's build-id
    std::string banner;           // /proc/version, stands in for vmlinux's
    std::vector<std::string> looked_in; // for messages: the places that were tried for vmlinux
};

// Every release for which there are files, newest version first: below ${DJSTAP_KERNELS:-
// /var/lib/djstap/kernels}, below /lib/modules and /boot, and the running one.
std::vector<std::string> installed_releases();

// Finds a kernel's files. `release` may be a full release, a prefix that one installed release has
// ("6.1"; the newest of several wins), a folder (as for `-r /DIR`), or empty for the running
// kernel. Fails with the nearest installed releases as a hint.
Result<KernelFiles> find_kernel(std::string_view release);

} // namespace djstap
