// SPDX-License-Identifier: GPL-2.0-or-later
// The runtime and a script's object, linked into an arena.
#pragma once
#include "diagnostics/result.h"
#include "injected/injected.h"
#include "injection/arena.h"

#include <memory>
#include <string>
#include <vector>

namespace djstap::injection {

// Returns where a placed arena has what, and the time zone of this process, for `init`.
djs_arena parts_of(const Arena& arena);

class LinkedRuntime {
  public:
    // Links an ELF object that was compiled for a probed program (CodegenKernel::injected). Fails
    // if it refers to what the runtime lacks. The arena has its address, and outlives the object.
    static Result<LinkedRuntime> link(const std::string& object, Arena& arena);
    LinkedRuntime(LinkedRuntime&&) noexcept;
    ~LinkedRuntime();

    // What is in the arena, and runs there, in this process.
    const struct ::djs_script* script = nullptr;
    const djs_user_calls* runtime = nullptr;
    void (*init)(const djs_arena*) = nullptr;
    void (*set_places)(const djs_places*, u32, unsigned long*) = nullptr;
    djs_loader* (*loader)() = nullptr;
    void* (*allocate)(u64) = nullptr;
    void (*gone)() = nullptr;
    u32 (*settle)() = nullptr;
    u64 (*unslotted)() = nullptr;
    int (*set_returns)(const djs_returning*, u32, const u32*) = nullptr;
    u64 (*unmatched)() = nullptr;
    uint64_t claim = 0, hit = 0; // djs_slot_entry, djs_hit_entry

    // Waits until no thread of the program is in a handler, at most for a moment: one may have left
    // it by a longjmp. `is_gone`: the program has ended, or executes another one.
    void wait_until_settled(bool is_gone) const;

    // Its parts that a process may execute but not change.
    const std::vector<Arena::Part>& code() const;

  private:
    struct Memory;
    explicit LinkedRuntime(std::unique_ptr<Memory> memory);
    std::unique_ptr<Memory> memory_;
};

} // namespace djstap::injection
