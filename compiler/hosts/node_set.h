// SPDX-License-Identifier: GPL-2.0-or-later
// Sets of hosts in ClusterShell's notation: web[1-20],db1.
#pragma once
#include "diagnostics/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::hosts {

// A host as it was named.
struct Node {
    std::string text;   // "root@web1:2222"
    std::string name;   // "web1:2222": in the output, and @host
    std::string target; // "root@web1": for ssh
    std::optional<uint16_t> port;
};

constexpr size_t most_nodes = 10'000;

// Returns the hosts of a set in the order in which it names them, each once. Fails, with the place
// in the text, if it is no set, or has more than most_nodes.
Result<std::vector<Node>> parse_node_set(std::string_view text);

} // namespace djstap::hosts
