// SPDX-License-Identifier: GPL-2.0-or-later
// Programs, and the child processes that run them.
#pragma once
#include "diagnostics/result.h"
#include "system/descriptor.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace djstap {

// Returns the folders in which execvp() searches: those of $PATH, or of the system's default path
// if it is not set; "." for an empty entry.
std::vector<std::string> search_path();
// Returns whether `path` leads to an executable file.
bool is_program(const std::string& path);
// Returns the path of a program: searches search_path(), then `more`; `name` itself if it contains
// a slash. Empty if there is none.
std::string find_program(std::string_view name, const std::vector<std::string>& more = {});

// Returns whether this process ignores SIGHUP: nohup has it so, and it remains so.
bool ignores_hangup();

// The environment that a program starts in.
struct ProcessOptions {
    // A standard stream that is this process's own, or empty (/dev/null).
    static constexpr int same = -1, none = -2;

    int input = same, output = same, errors = same;      // or descriptors
    std::vector<int> inherited;                          // descriptors that keep their numbers
    std::optional<std::vector<std::string>> environment; // "NAME=VALUE"; default: this process's
    // The process runs in a session of its own (the terminal's Ctrl-C does not reach it), and is
    // killed when this process ends for whatever reason, and when the Process is destroyed.
    bool bound = false;
    std::function<bool()> in_child = {}; // runs between fork and exec; false ends the child
};

// A child process. Unless it is bound, or held, it outlives the object.
class Process {
  public:
    // Runs words[0], searched in $PATH. Returns a Failure if the program cannot be run.
    static Result<Process> start(const std::vector<std::string>& words,
                                 const ProcessOptions& options = {});
    // The same, but the process waits to be released. If the object is destroyed, or this process
    // ends, without release(), the child ends without having run anything. A Failure is errno's
    // text.
    static Result<Process> hold(const std::vector<std::string>& words,
                                const ProcessOptions& options = {});
    // Runs `body` in a copy of this process, which then ends. Returns nothing if fork() fails.
    static std::optional<Process> fork(const std::function<void()>& body);

    Process() = default;
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    ~Process();

    pid_t pid() const { return pid_; } // valid after its end, too
    bool running() const { return running_; }
    // For a bound process: readable once the process has ended.
    int descriptor() const { return descriptor_.get(); }
    // Makes a held process run its program. Returns 0, or errno if the program cannot be run: then
    // the process has ended.
    int release();
    // Returns the status of waitpid() if the process has ended; does not wait.
    std::optional<int> poll_status();
    // Waits for the end. Returns the status of waitpid().
    int wait();
    // Kills the process.
    void kill();

  private:
    static Result<Process> spawn(const std::vector<std::string>& words,
                                 const ProcessOptions& options);
    static std::optional<Process> fork_program(const std::vector<std::string>& words,
                                               const ProcessOptions& options, bool held);
    int exec_error();

    pid_t pid_ = -1;
    bool running_ = false, bound_ = false;
    FileDescriptor descriptor_;
    FileDescriptor go_;    // what a held process waits for
    FileDescriptor error_; // reports an error of exec
    int status_ = 0;
};

// Converts a status of waitpid() as a shell does: the exit status, or 128 + the signal that ended
// the process.
int exit_status(int wait_status);

// The outcome of a program that has ended.
struct ProgramOutcome {
    int status = 0; // exit_status()
    std::string output;
};

// Which part of a program's output is collected.
struct OutputOptions {
    bool errors = true;                              // standard error as well
    size_t most = SIZE_MAX;                          // bytes
    std::function<void(std::string_view)> line = {}; // called with each line as it arrives
};

// Runs a program to its end, with an empty standard input. The output streams of `options` are
// ignored.
Result<ProgramOutcome> run_program(const std::vector<std::string>& words,
                                   const OutputOptions& wanted = {}, ProcessOptions options = {});

} // namespace djstap
