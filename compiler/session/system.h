// Thin wrappers of the operating system that the session's parts share.
#pragma once
#include "cache/descriptor.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// The whole file, also of /proc and /sys. Nothing on failure; `error` (may be null) is then errno.
std::optional<std::string> read_file(const std::string& path, int* error = nullptr);

// Without white space at either end.
std::string trimmed(std::string_view text);

// The kernel's messages from now on.
class KernelLog {
  public:
    KernelLog(); // marks the place; does nothing where the log is not readable
    // The last lines written since, at most `lines`, each ended by a newline.
    std::string tail(size_t lines = 5);

  private:
    FileDescriptor log_;
};

} // namespace djstap
