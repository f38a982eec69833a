// SPDX-License-Identifier: GPL-2.0-or-later
// The source lines of addresses, from a file's own debug information.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace djstap {

class LineLookup {
  public:
    // Finds nothing if the file has no debug information.
    explicit LineLookup(const std::string& path);
    ~LineLookup();
    LineLookup(const LineLookup&) = delete;
    LineLookup& operator=(const LineLookup&) = delete;

    // Returns "FILE:LINE", or "" if it is unknown.
    std::string at(uint64_t address) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace djstap
