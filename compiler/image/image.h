// SPDX-License-Identifier: GPL-2.0-or-later
// An image: code that was linked as a unit and that probe points name. The kernel is one, and so is
// each of its modules, and each program and library.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

class ElfFile;
class Kernel;

struct Symbol {
    std::string_view name;
    uint64_t address = 0; // link-time address
    uint64_t size = 0;
    bool global = false;
    // False for a label of assembler code. A dump does not tell: there it is true for all text.
    bool function = false;
};

// Equal to enum djs_image_kind.
enum class ImageKind : uint8_t { Kernel, Module, Program };

// The address space of a value's address, which determines how it is read.
enum class AddressSpace : uint8_t { Kernel, User };

// A part of an image that is mapped as a unit, with a load bias of its own. On a running system,
// the address of a symbol in the segment gives its location; a second symbol verifies that it is
// the right segment. In a program, where each process has load biases of its own, there are no such
// symbols, and `address` and `check_address` are `begin` and `end`.
struct Segment {
    std::string symbol, check_symbol;
    uint64_t address = 0, check_address = 0; // link-time addresses of the two symbols
    uint64_t begin = 0, end = 0;             // link-time addresses
    bool executable = true;
    uint64_t file_distance = 0; // program: an address in it - its offset in the file
    bool contains(uint64_t at) const { return at >= begin && at < end; }
};

class Image {
  public:
    virtual ~Image() = default;

    virtual ImageKind kind() const = 0;
    // The kernel's name for a module; a program's path; "kernel".
    virtual const std::string& name() const = 0;
    // "kernel 6.1.0-56-cloud-amd64", "module ext4 of kernel …": for messages.
    virtual std::string title() const = 0;
    // The kernel itself, or the one into which a module is loaded, or on which a program runs.
    virtual const Kernel& kernel() const = 0;
    // The file that it was read from: vmlinux, a module's original .ko. Empty if a dump replaces
    // it.
    virtual const std::string& file() const = 0;
    // The hexadecimal GNU build-id; empty: unknown.
    virtual const std::string& build_id() const = 0;
    // The link-time address of its bytes; 0: unknown.
    virtual uint64_t build_id_address() const = 0;
    // The segments whose addresses a script may need, in the order of their addresses.
    virtual const std::vector<Segment>& segments() const = 0;
    // The address space of its variables and pointers.
    virtual AddressSpace address_space() const { return AddressSpace::Kernel; }

    // Returns the first symbol of that name.
    virtual std::optional<Symbol> symbol(std::string_view name) const = 0;
    virtual std::vector<Symbol> symbols_named(std::string_view name) const = 0;
    // Returns text symbols that match `glob` (* ? [..]), sorted by name.
    virtual std::vector<Symbol> symbols_matching(std::string_view glob) const = 0;
    // Returns the text symbol that covers the address.
    virtual std::optional<Symbol> symbol_at(uint64_t address) const = 0;

    // False if the symbols come from a dump that hides their addresses (kallsyms for users other
    // than root): every address is then 0, and only names are known.
    virtual bool has_addresses() const = 0;
    // Returns whether an address is in the image's own text that stays after initialization.
    virtual bool in_text(uint64_t address) const = 0;

    // Returns the fentry site of the function at `entry` (the call or no-op that ftrace patches: at
    // the entry itself, or after the landing pad on IBT kernels), from __mcount_loc. Nothing if the
    // function has none. With only a dump of names, the site is the entry itself: ftrace accepts
    // that as the function's site.
    virtual std::optional<uint64_t> fentry_site(uint64_t entry) const = 0;
    // False if it is unknown whether a landing pad separates an entry from its fentry site.
    virtual bool knows_fentry_sites() const = 0;
    virtual size_t fentry_site_count() const = 0;

    // Returns whether kprobes are refused: __kprobes/NOKPROBE_SYMBOL (_kprobe_blacklist),
    // .noinstr.text, .entry.text, .init.text and the like, static branches and static calls; or
    // would have to be, like the trampolines of static calls.
    virtual bool kprobe_forbidden(uint64_t address) const = 0;

    // Returns bytes of text or read-only data as linked; empty if unavailable.
    virtual std::string_view bytes_at(uint64_t address, size_t size) const = 0;

    // Returns the mapped file that has these addresses; null if a dump replaces it.
    virtual const ElfFile* elf() const = 0;
};

} // namespace djstap
