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

// The folders of $PATH, or of a usual one where that is not set.
std::vector<std::string> search_path();
// Whether a path leads to a file that can be executed.
bool is_program(const std::string& path);
// The path of a program: in search_path(), then in `more`; `name` itself where it holds a slash.
// Empty where there is none.
std::string find_program(std::string_view name, const std::vector<std::string>& more = {});

// What a program starts with.
struct ProcessOptions {
    // A standard stream that is this process's own, or empty (/dev/null).
    static constexpr int same = -1, none = -2;

    int input = same, output = same, errors = same;      // or descriptors in their place
    std::vector<int> inherited;                          // descriptors that keep their numbers
    std::optional<std::vector<std::string>> environment; // "NAME=VALUE"; else this process's
    // It is in a session of its own (the terminal's Ctrl-C is not for it), and killed when this
    // process ends in whatever way, and when the Process goes.
    bool bound = false;
    std::function<bool()> in_child = {}; // runs between fork and exec; false ends the child
};

// A child process. Unless it is bound, or held, it goes on when the object goes.
class Process {
  public:
    // Runs words[0], found in $PATH. A program that cannot be run is a Failure.
    static Result<Process> start(const std::vector<std::string>& words,
                                 const ProcessOptions& options = {});
    // The same, but the process only waits to be released. When the object goes, or this process
    // ends, without release(), it ends without having run anything. A Failure is errno's text.
    static Result<Process> hold(const std::vector<std::string>& words,
                                const ProcessOptions& options = {});
    // Runs `body` in a copy of this process, which then ends. Nothing where there is none to be
    // had.
    static std::optional<Process> fork(const std::function<void()>& body);

    Process() = default;
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    ~Process();

    pid_t pid() const { return pid_; } // also once it has ended
    bool running() const { return running_; }
    // Of a bound one: readable once it has ended.
    int descriptor() const { return descriptor_.get(); }
    // Lets a held process run its program. Yields 0, or errno where that cannot be run.
    int release();
    // The status of waitpid() once it has ended; does not wait.
    std::optional<int> poll_status();
    // Waits for its end. Yields the status of waitpid().
    int wait();
    // Ends it at once.
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
    FileDescriptor go_;    // what a held one waits for
    FileDescriptor error_; // of exec, until that succeeded
    int status_ = 0;
};

// Of a status of waitpid(), as a shell counts: the exit status, or 128 + the signal that ended it.
int exit_status(int wait_status);

// What a program that was run to its end left.
struct ProgramOutcome {
    int status = 0; // exit_status()
    std::string output;
};

// What of a program's output is wanted.
struct OutputOptions {
    bool errors = true;                              // its standard errors as well
    size_t most = SIZE_MAX;                          // bytes, of which more may be kept at the end
    std::function<void(std::string_view)> line = {}; // is given each line as it comes
};

// Runs a program to its end, with an empty standard input. `options`: of which the output is not
// looked at.
Result<ProgramOutcome> run_program(const std::vector<std::string>& words,
                                   const OutputOptions& wanted = {}, ProcessOptions options = {});

} // namespace djstap
