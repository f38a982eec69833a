// SPDX-License-Identifier: GPL-2.0-or-later
// Messages of the Language Server Protocol as bytes: a header that tells the length, and JSON.
#pragma once

#include <optional>
#include <string>

namespace djstap::lsp {

class Wire {
  public:
    Wire(int input, int output) : input_(input), output_(output) {}

    // Waits for a message and returns its JSON. Nothing: the editor has closed the connection, or
    // what it sent is no message, after which no other one can be found.
    std::optional<std::string> read();
    // Returns whether a message, or a part of one, is there already.
    bool has_more() const;
    // Returns whether all of it could be written.
    bool write(const std::string& json) const;

  private:
    bool fill();

    int input_;
    int output_;
    std::string buffer_; // what has been read beyond the last message
};

} // namespace djstap::lsp
