// SPDX-License-Identifier: GPL-2.0-or-later
// The command that runs another command on a host: ssh, or another one that takes the same
// arguments.
#pragma once
#include "diagnostics/result.h"
#include "hosts/node_set.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap::hosts {

// Splits a command line at blanks, as a shell does: '…', "…" and \ keep blanks. Nothing else is
// special, and no shell takes part.
Result<std::vector<std::string>> split_words(std::string_view line);

class RemoteShell {
  public:
    // ssh, without questions.
    RemoteShell() = default;
    // The words are followed by the host, as it was named, and the command.
    explicit RemoteShell(std::vector<std::string> words) : words_(std::move(words)) {}

    // Returns the command line that runs `command` on a host, by the shell there.
    std::vector<std::string> command(const Node& node, const std::string& command) const;

  private:
    std::vector<std::string> words_;
};

// Returns a word of a shell's command line that is this text.
std::string quoted_for_shell(std::string_view text);

} // namespace djstap::hosts
