// SPDX-License-Identifier: GPL-2.0-or-later
// Computes how many statements a handler is charged for, and where this is checked: MAXACTION. As
// in SystemTap, the charge of straight-line code falls due when it reaches ten, and before control
// leaves; what a piece of code is charged depends only on its text.
#pragma once
#include "semantics/program.h"

#include <cstdint>
#include <map>
#include <utility>

namespace djstap::differential {

// The places in a statement where a charge may fall due.
enum class Moment : uint8_t { Before, After, Init, Then, Else, Body, Catch, Handler };

class Charges {
  public:
    explicit Charges(const program::Block& body);
    // Returns what falls due there, often nothing.
    int64_t due(const void* statement, Moment moment) const {
        const auto found = due_.find({statement, moment});
        return found == due_.end() ? 0 : found->second;
    }

  private:
    void statement(const program::Statement& node);
    void part(const program::Statement& node, const void* of, Moment end);
    void loop(const program::Statement& body, const void* of);
    void charge(const void* at, Moment moment);
    void settle(const void* at, Moment moment);
    void leave(const void* at, Moment moment);

    std::map<std::pair<const void*, Moment>, int64_t> due_;
    int64_t pending_ = 0;
    bool left_ = false; // this place is unreachable
};

} // namespace djstap::differential
