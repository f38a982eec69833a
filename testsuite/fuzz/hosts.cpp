// SPDX-License-Identifier: GPL-2.0-or-later
// --hosts and --remote-shell, and what hosts tell of themselves: each host has a name that nothing
// interprets, and is in the set once.
#include "hosts/agent.h"
#include "hosts/node_set.h"
#include "hosts/remote_shell.h"
#include "target.h"

#include <algorithm>
#include <set>

using namespace djstap;
using namespace djstap::hosts;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text = fuzz::view(data, size);
    if (const auto nodes = parse_node_set(text)) {
        fuzz::require(!nodes->empty() && nodes->size() <= most_nodes, "a set has no bound");
        std::set<std::string> names;
        for (const Node& node : *nodes) {
            fuzz::require(names.insert(node.name).second, "a host is named twice", node.name);
            fuzz::require(node.text.front() != '-' && node.target.front() != '-', "an option",
                          node.text);
            fuzz::require(node.text.find_first_of(" \t\n'\"\\$`;|&<>(){}*?~#!") ==
                              std::string::npos,
                          "a name that a shell interprets", node.text);
            const auto again = parse_node_set(node.text);
            fuzz::require(again && again->size() == 1 && again->front().name == node.name,
                          "a host does not name itself", node.text);
        }
    }
    (void)split_words(text);
    AgentFacts facts;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        take_fact(facts, text.substr(at, end - at));
        at = end + 1;
    }
    return 0;
}
