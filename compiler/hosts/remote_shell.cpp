// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/remote_shell.h"

#include <cctype>

namespace djstap::hosts {

Result<std::vector<std::string>> split_words(std::string_view line) {
    std::vector<std::string> words;
    std::string word;
    bool in_word = false;
    char quote = 0;
    for (size_t i = 0; i < line.size(); i++) {
        const char c = line[i];
        if (quote == '\'' ? c == '\'' : quote == '"' && c == '"') {
            quote = 0;
        } else if (c == '\\' && quote != '\'') {
            if (++i == line.size())
                return Failure{"a \\ at the end of a command", ""};
            word += line[i];
            in_word = true;
        } else if (quote) {
            word += c;
        } else if (c == '\'' || c == '"') {
            quote = c;
            in_word = true;
        } else if (isspace(static_cast<unsigned char>(c))) {
            if (in_word)
                words.push_back(std::move(word));
            word.clear();
            in_word = false;
        } else {
            word += c;
            in_word = true;
        }
    }
    if (quote)
        return Failure{std::string("a ") + quote + " is missing in a command", ""};
    if (in_word)
        words.push_back(std::move(word));
    if (words.empty() || words.front().empty())
        return Failure{"a command is missing", ""};
    return words;
}

std::vector<std::string> RemoteShell::command(const Node& node, const std::string& command) const {
    std::vector<std::string> words = words_;
    if (words.empty()) {
        // Nobody answers a question; a host that is gone is noticed.
        words = {"ssh", "-T",
                 "-o",  "BatchMode=yes",
                 "-o",  "ConnectTimeout=15",
                 "-o",  "ServerAliveInterval=5",
                 "-o",  "ServerAliveCountMax=3",
                 "-o",  "ForwardX11=no"};
        if (node.port)
            words.insert(words.end(), {"-p", std::to_string(*node.port)});
        words.insert(words.end(), {"--", node.target});
    } else {
        words.push_back(node.text);
    }
    words.push_back(command);
    return words;
}

std::string quoted_for_shell(std::string_view text) {
    std::string quoted = "'";
    for (const char c : text)
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    return quoted + "'";
}

} // namespace djstap::hosts
