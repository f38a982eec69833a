// SPDX-License-Identifier: GPL-2.0-or-later
// A program under ptrace, stopped with all its threads: one that was started, up to its entry,
// where the dynamic loader has mapped its libraries and nothing of its own has run; or one that
// ran.
#pragma once
#include "arch/injection.h"
#include "diagnostics/result.h"
#include "session/command.h"
#include "system/descriptor.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::injection {

class TracedProgram {
  public:
    // What the command's process does before it executes the program; `inherited`: a descriptor
    // that the program has until detach().
    static ProcessOptions options(int inherited);
    // Releases a command that was prepared with these options, and runs it to the program's entry.
    // If the object is destroyed before detach(), the program is killed.
    static Result<TracedProgram> run_to_entry(Command& command);
    // A process that runs; stop() stops it. If the object is destroyed, it goes on.
    static Result<TracedProgram> of_running(pid_t pid);
    TracedProgram(TracedProgram&& other) noexcept;
    TracedProgram& operator=(TracedProgram&&) = delete;
    ~TracedProgram();

    pid_t pid() const { return pid_; }
    uint64_t entry() const { return entry_; }
    bool was_started() const { return was_started_; }
    int memory() const { return memory_.get(); }
    // Whether it executes another program by now.
    bool has_executed() const;
    // Whether a process executes the program that this one began with.
    bool executes_same(pid_t process) const;

    // Stops all threads, and children that run in the same memory. Does nothing if they are
    // stopped.
    Status stop();
    // The threads that are stopped.
    std::vector<pid_t> threads() const;
    // Lets them go on where they were.
    void resume();
    // Another process lets the program that was started go on.
    void forget() { attached_ = was_started_ = false; }

    // Executes a system call in the program. Fails with errno's text. If this process is killed
    // meanwhile, the program goes on as if there had been the call alone.
    Result<uint64_t> call(long number, const std::array<uint64_t, 6>& arguments);
    // Memory, whatever its protection.
    Status write(uint64_t address, std::string_view bytes);
    Result<std::string> read(uint64_t address, size_t size);
    // The same for an object; nothing if it cannot be read.
    template <class T> std::optional<T> read_as(uint64_t address) {
        const auto bytes = read(address, sizeof(T));
        T value{};
        if (bytes)
            memcpy(&value, bytes->data(), sizeof value);
        return bytes ? std::optional<T>(value) : std::nullopt;
    }
    // Restores what was changed at the entry, and lets the program run on its own.
    Status detach();
    // What all threads have in the register that finds their slots.
    Status set_slot_base(uint64_t distance);

  private:
    explicit TracedProgram(pid_t pid) : pid_(pid), caller_(pid) {}
    Status open_memory();
    Status stop_at_entry();
    Failure ended_early(int status);
    Status wait_for_stop(int wanted);
    enum class Stop : uint8_t { Call, Interruption };
    Status run_to(Stop wanted);
    Status execute_call();
    void hold(int signal);
    void return_held();
    Status stop_all();
    Status choose_caller();
    void leave_sequence(arch::StoppedRegisters& registers, pid_t thread);
    bool is_visiting() const;
    void mend_entry();
    // Whether the code of a system call for a tracer is at the entry.
    bool has_visit_code();
    Result<bool> stop_thread(pid_t thread);
    Result<bool> stop_threads(const std::vector<pid_t>& processes);
    void send_stop();
    Failure cannot_stop(pid_t thread) const;

    pid_t pid_ = -1;
    pid_t caller_ = -1; // the thread that executes system calls
    bool was_started_ = true;
    bool attached_ = true;
    std::map<pid_t, int> stopped_; // if it was not started: the threads, and signals that they get
    uint64_t entry_ = 0;
    std::string entry_code_;                // what the file has at the entry
    int held_ = 0;                          // a signal that arrived between steps
    std::optional<siginfo_t> held_details_; // of that signal
    bool has_moved_ = false;                // the caller ran since then
    bool is_to_stop_ = false;               // SIGSTOP arrived as well
    uint64_t blocked_ = 0;                  // the program's own mask of signals
    FileDescriptor memory_;
    uint64_t device_ = 0, inode_ = 0; // of its file
};

// Why the kernel refuses to let a process be stopped. `tracer`: the number of the process that
// traces it; `scope`: what Yama's ptrace_scope says. Empty: not known.
std::string why_not_stopped(std::string_view tracer, std::string_view scope);

} // namespace djstap::injection
