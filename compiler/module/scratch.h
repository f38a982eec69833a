// Folders for files that live as long as one call.
#pragma once
#include "diagnostics/result.h"

#include <string>
#include <string_view>
#include <utility>

namespace djstap::module {

// A folder of this process's own, removed with all that is in it. In memory (/dev/shm) where that
// can be had, else below $TMPDIR or /tmp.
class Scratch {
  public:
    static Result<Scratch> create();
    Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    Scratch& operator=(Scratch&&) = delete;
    ~Scratch();

    const std::string& path() const { return path_; }
    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  private:
    explicit Scratch(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

// Removes what scratch folders djstaps that were killed have left behind.
void remove_stale_scratch();

// All of a file. The message of a Failure names it and says why.
Result<std::string> read_file(const std::string& path);
// Writes a new file or over an old one, with mode 0644; on failure no
// regular file of that name is left.
Status write_file(const std::string& path, std::string_view bytes);

} // namespace djstap::module
