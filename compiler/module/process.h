// Tools that are run: make, ld, objtool, sign-file.
#pragma once
#include "diagnostics/result.h"

#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace djstap::module {

struct ToolOutcome {
    int status = 0;     // exit status, 128 + signal when a signal ended it
    std::string output; // of both streams, the first megabyte
};

// A tool that runs. Its output is gathered by finish(); an object that goes without it waits for
// the tool's end.
class Tool {
  public:
    // Starts words[0], found in $PATH, with an empty stdin and an environment without what make or
    // Kbuild would take orders from. A program that is not there is a Failure that names it.
    static Result<Tool> start(const std::vector<std::string>& words);

    Tool(Tool&& other) noexcept;
    Tool& operator=(Tool&&) = delete;
    ~Tool();

    // Waits for the end. `line` (may be null) is given each line as it comes.
    ToolOutcome finish(const std::function<void(std::string_view)>& line = nullptr);

  private:
    Tool(pid_t pid, int output) : pid_(pid), output_(output) {}
    pid_t pid_;
    int output_;
};

// start() and finish() in one.
Result<ToolOutcome> run_tool(const std::vector<std::string>& words,
                             const std::function<void(std::string_view)>& line = nullptr);

// Where $PATH has `name`; `name` itself where it holds a slash and can be run; empty without one.
std::string find_program(std::string_view name);

} // namespace djstap::module
