// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the files of kernels.
#pragma once
#include "diagnostics/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// The location of a kernel's files; empty if there is none.
struct KernelFiles {
    std::string release;
    // "" for the running system, else the folder to which the kernel was unpacked
    std::string root;
    std::string vmlinux;          // ELF with symbols and DWARF
    std::string vmlinuz;          // the bootable image
    std::string build_dir;        // headers and Kbuild
    std::string modules;          // lib/modules/RELEASE
    std::string config;           // the kernel's .config
    std::string kallsyms;         // text dump with link-time addresses; replaces vmlinux's symbols
    std::string btf;              // raw BTF; replaces DWARF
    std::string fentry_functions; // text dump of tracefs' available_filter_functions[_addrs]
    std::string kprobe_blacklist; // text dump of debugfs' kprobes/blacklist
    std::string syscall_formats;  // tracefs' events/syscalls, or its sys_enter_*/format in one file
    std::string notes;            // /sys/kernel/notes; replaces vmlinux's build-id
    std::string banner;           // /proc/version; replaces vmlinux's
    std::vector<std::string> looked_in; // for messages: the paths that were tried for vmlinux
};

// Returns every release with files, newest version first: below
// ${DJSTAP_KERNELS:-/var/lib/djstap/kernels}, below /lib/modules and /boot, and the running one.
std::vector<std::string> installed_releases();

// Returns those of them that a name stands for, the first choice first: a full release, or a prefix
// ("6.1"; kernels for real time come last), or a prefix and a flavour ("6.1-rt": the releases that
// begin with "6.1" and contain "-rt"). All of them fit an empty name.
std::vector<std::string> fitting_releases(std::string_view wanted);

// Finds a kernel's files. `release` may be a name (fitting_releases), a folder (as for `-r /DIR`),
// or empty for the running kernel. Fails with the nearest installed releases as a hint.
Result<KernelFiles> find_kernel(std::string_view release);

} // namespace djstap
