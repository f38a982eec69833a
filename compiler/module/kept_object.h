// SPDX-License-Identifier: GPL-2.0-or-later
// An object in the cache, compiled from files that may change: it is used as long as they are the
// same.
#pragma once
#include "diagnostics/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace djstap::module {

class KeptObject {
  public:
    // `stem`: the path in the cache without an ending, which has a hash of what the object depends
    // on besides the content of files. Created before the compiler is started.
    explicit KeptObject(std::string stem);

    // Returns the object's path; "" if there is none, or if a file has changed that was read when
    // it was compiled.
    std::string find() const;

    // The options with which a compiler lists the files that it reads.
    static std::string listing_options(const std::string& to);

    // Keeps the object that a compiler has made. `listed`: what it wrote; `folder`: where it ran;
    // `scratch`: a folder with files that do not matter. Returns the object's path.
    Result<std::string> keep(std::string_view bytes, std::string_view listed,
                             const std::string& folder, const std::string& scratch) const;

  private:
    std::string object_path(std::string_view files) const;

    std::string stem_;
    int64_t began_; // ns
};

} // namespace djstap::module
