// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel as djstap knows it: release + build-id, where its files are, its symbols and entry
// sites.
#pragma once
#include "diagnostics/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

struct Symbol {
    std::string_view name;
    uint64_t address = 0; // link-time address
    uint64_t size = 0;
    bool global = false;
};

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

class ElfImage;

// One opened kernel. Cheap to open (memory maps; tables are cached per build-id).
class Target {
  public:
    // Fails when neither vmlinux nor kallsyms can be read. `progress` (may be null) is told of long
    // steps.
    static Result<std::unique_ptr<Target>> open(KernelFiles files,
                                                void (*progress)(const std::string&) = nullptr);
    // A module of `kernel` as a target of its own: its file, as linked_module() made it.
    static Result<std::unique_ptr<Target>> open_module(const Target& kernel,
                                                       const std::string& linked);
    virtual ~Target() = default;

    virtual const KernelFiles& files() const = 0;
    virtual const std::string& release() const = 0;
    // Hexadecimal GNU build-id of vmlinux (also in /sys/kernel/notes of a kernel that runs).
    virtual const std::string& build_id() const = 0;
    // Link-time address of its bytes; 0: not known.
    virtual uint64_t build_id_address() const = 0;
    // The utsname version ("#1 SMP PREEMPT_DYNAMIC Debian …"): what a module compares at load.
    virtual const std::string& version() const = 0;
    // Value of CONFIG_name ("y", "m", a string without quotes), empty where unset.
    virtual std::string config(std::string_view name) const = 0;
    virtual bool has_ibt() const = 0; // indirect branches must meet a landing pad

    virtual std::optional<Symbol>
    symbol(std::string_view name) const = 0; // exact, the first of several
    virtual std::vector<Symbol> symbols_named(std::string_view name) const = 0; // all of that name
    virtual std::vector<Symbol>
    symbols_matching(std::string_view glob) const = 0; // text symbols, * ? [..], sorted by name
    virtual std::optional<Symbol>
    symbol_at(uint64_t address) const = 0; // the text symbol that covers it

    // False where the symbols come from a dump that hides their addresses (kallsyms for other users
    // than root): every address is 0 then, and names are all there is.
    virtual bool has_addresses() const = 0;
    // True for an address in the kernel's own text that stays after boot (not .init.text, no
    // module).
    virtual bool in_text(uint64_t address) const = 0;

    // The fentry site of the function at `entry` (the call/nop that ftrace patches: the entry
    // itself, or after the landing pad on IBT kernels), from __mcount_loc. Nothing where the
    // function has none. Where only a dump of names stands in, the site is the entry itself: ftrace
    // accepts that for the function's site.
    virtual std::optional<uint64_t> fentry_site(uint64_t entry) const = 0;
    // False where it is not known whether a landing pad stands between an entry and its fentry
    // site.
    virtual bool knows_fentry_sites() const = 0;
    virtual size_t fentry_site_count() const = 0;

    // True where kprobes are refused: __kprobes/NOKPROBE_SYMBOL (_kprobe_blacklist), .noinstr.text,
    // .entry.text, .init.text and the like.
    virtual bool kprobe_forbidden(uint64_t address) const = 0;

    // Bytes of the kernel's text or read-only data as linked; empty where not available.
    virtual std::string_view text_at(uint64_t address, size_t size) const = 0;

    // vmlinux, mapped; null where there is none.
    virtual const ElfImage* image() const = 0;
};

} // namespace djstap
