// Child processes that do not outlive this one.
#pragma once
#include "guest/files.h"

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace djstap::guest {

struct SpawnOptions {
    int output = -1;                // becomes descriptors 1 and 2; -1: /dev/null
    std::vector<int> inherited;     // descriptors that keep their numbers
    std::function<bool()> in_child; // runs between fork and exec; false ends the child
};

// One child, in a session of its own (the terminal's Ctrl-C is not for it), killed when this
// process ends in whatever way, and when the object goes.
class Process {
  public:
    // Starts words[0] (found in $PATH). A program that cannot be run is a Failure.
    static Result<Process> start(const std::vector<std::string>& words,
                                 const SpawnOptions& options);

    Process() = default;
    Process(Process&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), descriptor_(std::move(other.descriptor_)) {}
    Process& operator=(Process&& other) noexcept {
        std::swap(pid_, other.pid_);
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Process();

    // Readable once the child has ended.
    int descriptor() const { return descriptor_.get(); }
    bool running() const { return pid_ > 0; }
    // Waits for its end. Yields the exit status, 128 + signal when a signal ended it.
    int wait();
    // Ends it at once.
    void kill();

  private:
    pid_t pid_ = -1;
    FileDescriptor descriptor_;
};

} // namespace djstap::guest
