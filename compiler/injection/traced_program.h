// SPDX-License-Identifier: GPL-2.0-or-later
// A program that was started under ptrace, up to its entry: the dynamic loader has mapped its
// libraries, and nothing of its own has run.
#pragma once
#include "diagnostics/result.h"
#include "session/command.h"
#include "system/descriptor.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace djstap::injection {

class TracedProgram {
  public:
    // What the command's process does before it executes the program; `inherited`: a descriptor
    // that the program has until detach().
    static ProcessOptions options(int inherited);
    // Releases a command that was prepared with these options, and runs it to the program's entry.
    // If the object is destroyed before detach(), the program is killed.
    static Result<TracedProgram> run_to_entry(Command& command);
    TracedProgram(TracedProgram&& other) noexcept;
    TracedProgram& operator=(TracedProgram&&) = delete;
    ~TracedProgram();

    pid_t pid() const { return pid_; }
    uint64_t entry() const { return entry_; }

    // Executes a system call in the program. Fails with errno's text.
    Result<uint64_t> call(long number, const std::array<uint64_t, 6>& arguments);
    // Memory, whatever its protection.
    Status write(uint64_t address, std::string_view bytes);
    Result<std::string> read(uint64_t address, size_t size);
    // Restores what was changed at the entry, and lets the program run on its own.
    Status detach();
    // What the program's first thread has in the register that finds its slot.
    Status set_slot_base(uint64_t distance);

  private:
    explicit TracedProgram(pid_t pid) : pid_(pid) {}
    Status stop_at_entry();
    Failure ended_early(int status);
    Status wait_for_stop(int wanted);
    Status wait_for_step();

    pid_t pid_ = -1;
    bool attached_ = true;
    uint64_t entry_ = 0;
    std::string entry_code_; // what the file has at the entry
    int held_ = 0;           // a signal that arrived between steps
    uint64_t blocked_ = 0;   // the program's own mask of signals
    FileDescriptor memory_;
};

} // namespace djstap::injection
