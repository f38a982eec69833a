// SPDX-License-Identifier: GPL-2.0-or-later
// An image: a body of code that was linked as one and that probe points name. The kernel is one,
// and so is each of its modules.
#pragma once
#include "include/contract.h"

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
};

// As enum djs_image_kind.
enum class ImageKind : uint8_t { Kernel = DJS_IMAGE_KERNEL, Module = DJS_IMAGE_MODULE };

// Whose addresses a value is: how it is read depends on it.
enum class AddressSpace : uint8_t { Kernel, User };

// A part of an image that is mapped as a whole, with a load bias of its own. A running system tells
// where it lies by the address of a symbol in it; a second symbol tells whether it is the segment
// that is meant.
struct Segment {
    std::string symbol, check_symbol;
    uint64_t address = 0, check_address = 0; // link-time addresses of the two
    uint64_t begin = 0, end = 0;             // link-time addresses
};

class Image {
  public:
    virtual ~Image() = default;

    virtual ImageKind kind() const = 0;
    // A module's name as the kernel has it; "kernel".
    virtual const std::string& name() const = 0;
    // "kernel 6.1.0-56-cloud-amd64", "module ext4 of kernel …": for messages.
    virtual std::string title() const = 0;
    // The kernel, or the one that it is loaded into.
    virtual const Kernel& kernel() const = 0;
    // What it was read from: vmlinux, a module's .ko as it was built. Empty where a dump stands in.
    virtual const std::string& file() const = 0;
    // Hexadecimal GNU build-id; empty: not known.
    virtual const std::string& build_id() const = 0;
    // Link-time address of its bytes; 0: not known.
    virtual uint64_t build_id_address() const = 0;
    // Those whose addresses a script may need, in the order of their addresses.
    virtual std::vector<Segment> segments() const = 0;
    // Whose addresses its variables and pointers hold.
    AddressSpace address_space() const { return AddressSpace::Kernel; }

    // The first of that name.
    virtual std::optional<Symbol> symbol(std::string_view name) const = 0;
    virtual std::vector<Symbol> symbols_named(std::string_view name) const = 0;
    // Text symbols that match `glob` (* ? [..]), sorted by name.
    virtual std::vector<Symbol> symbols_matching(std::string_view glob) const = 0;
    // The text symbol that covers it.
    virtual std::optional<Symbol> symbol_at(uint64_t address) const = 0;

    // False where the symbols come from a dump that hides their addresses (kallsyms for other users
    // than root): every address is 0 then, and names are all there is.
    virtual bool has_addresses() const = 0;
    // True for an address in text of the image's own that stays after initialization.
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

    // Bytes of text or read-only data as linked; empty where not available.
    virtual std::string_view bytes_at(uint64_t address, size_t size) const = 0;

    // The file that its addresses are those of, mapped; null where a dump stands in.
    virtual const ElfFile* elf() const = 0;
};

} // namespace djstap
