// SPDX-License-Identifier: GPL-2.0-or-later
// Memory that djstap and a probed program share, at the same addresses: the runtime and the
// script's object are linked into it, and run in both.
#pragma once
#include "diagnostics/result.h"
#include "injection/memory_map.h"
#include "system/descriptor.h"

#include <cstdint>
#include <vector>

namespace djstap::injection {

class Arena {
  public:
    // Creates the memory, without an address; its file's descriptor is for the program to inherit.
    static Result<Arena> create(uint64_t ring_bytes);
    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&&) = delete;
    ~Arena();
    // Whether a process has mapped an arena there, that of whatever session. The buffers of a
    // djstap that is probed have other names.
    static bool is_mapped_at(const Mapping& mapping) {
        return mapping.path == "/memfd:djstap (deleted)";
    }

    // Whether it is this one.
    bool is_mapped_by(const Mapping& mapping) const;
    // Whether a process has it open by this descriptor.
    bool is_open(pid_t process, int descriptor) const;

    int file() const { return file_.get(); }
    // Maps it in this process where neither this one nor the program has anything, within the reach
    // of jumps to and from `code`.
    Status place_near(Range code, const MemoryMap& program);

    // A part of the arena, at its address.
    struct Part {
        uint64_t begin = 0, bytes = 0;
        template <class T> T* as() const { return reinterpret_cast<T*>(begin); }
    };
    Part whole() const { return {base_, bytes_}; }
    Part code() const { return {base_, code_bytes}; }
    Part heap() const { return {base_ + code_bytes, heap_bytes}; }
    Part slots() const;
    Part rings() const;
    // The ring's data of a slot, which is to be mapped twice in a row.
    Part ring_data(unsigned slot) const;
    uint64_t ring_bytes() const { return ring_bytes_; }
    // Returns the page of a slot that each process has for itself.
    uint64_t owner_page(unsigned slot) const;

    // Takes memory for linked code or data, aligned to pages; nothing if there is no more.
    std::optional<Part> take_code(uint64_t bytes);

  private:
    Arena() = default;
    Status map(uint64_t base);

    static constexpr uint64_t code_bytes = uint64_t{64} << 20, heap_bytes = uint64_t{256} << 20;
    FileDescriptor file_;
    uint64_t base_ = 0, bytes_ = 0, ring_bytes_ = 0, used_ = 0;
};

} // namespace djstap::injection
