// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/node_set.h"

#include "system/number.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

namespace djstap::hosts {

namespace {

constexpr size_t longest_name = 255, most_digits = 9;

bool is_digit(char c) {
    return isdigit(static_cast<unsigned char>(c)) != 0;
}

// What a name consists of: nothing that a shell or ssh interprets.
bool is_plain(char c) {
    return isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_' ||
           c == ':' || c == '@' || c == '%';
}

// A range of numbers: 1-20, 01-20, 0-20/5.
struct Range {
    uint64_t first = 0, last = 0, step = 1;
    size_t width = 0; // of its numbers, with zeros in front; 0: as long as they are
};

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<std::vector<std::string>> parse() {
        std::vector<std::string> all;
        do {
            auto names = pattern();
            if (!names)
                return names.failure();
            if (all.size() + names->size() > most_nodes)
                return too_many();
            all.insert(all.end(), names->begin(), names->end());
        } while (take(','));
        return all;
    }

  private:
    char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c)
            return false;
        at_++;
        return true;
    }
    Failure wrong(const std::string& what, std::string hint = "a set of hosts is written as in "
                                                              "web[1-20],db1") const {
        return {what + " at character " + std::to_string(at_ + 1), std::move(hint)};
    }
    static Failure too_many() {
        return {"the set has more than " + std::to_string(most_nodes) + " hosts", ""};
    }

    // name[1-3]more[7,9]
    Result<std::vector<std::string>> pattern() {
        if (now() == '@')
            return wrong("unexpected group of hosts",
                         "djstap knows no groups: --hosts \"$(nodeset -e @GROUP)\" names the hosts "
                         "of ClusterShell's, with -S , in front of -e");
        std::vector<std::string> names{""};
        const size_t began = at_;
        while (at_ < text_.size() && now() != ',') {
            if (take('[')) {
                auto ranges = bracket();
                if (!ranges)
                    return ranges.failure();
                auto product = extended(names, *ranges);
                if (!product)
                    return product.failure();
                names = std::move(*product);
                continue;
            }
            if (now() == '!' || now() == '&' || now() == '^')
                return wrong(std::string("unexpected operator '") + now() + "'",
                             "nodeset -S , -e of ClusterShell calculates with sets");
            if (!is_plain(now()))
                return wrong("invalid character in the name of a host");
            for (std::string& name : names)
                name += now();
            at_++;
        }
        if (began == at_)
            return wrong("a host is missing");
        return names;
    }

    Result<std::vector<Range>> bracket() {
        std::vector<Range> ranges;
        do {
            auto one = range();
            if (!one)
                return one.failure();
            ranges.push_back(*one);
        } while (take(','));
        if (!take(']'))
            return wrong("']' is missing");
        return ranges;
    }

    Result<std::string_view> digits() {
        const size_t began = at_;
        while (is_digit(now()))
            at_++;
        if (began == at_)
            return wrong("a number is missing");
        if (at_ - began > most_digits)
            return wrong("a number has more than " + std::to_string(most_digits) + " digits");
        return text_.substr(began, at_ - began);
    }

    Result<Range> range() {
        auto first = digits();
        if (!first)
            return first.failure();
        Range range;
        range.first = range.last = *number(*first);
        // n[01-10], n[001]
        if (first->size() > 1 && first->front() == '0')
            range.width = first->size();
        if (take('-')) {
            auto last = digits();
            if (!last)
                return last.failure();
            range.last = *number(*last);
            if (range.last < range.first)
                return wrong("a range ends before it begins");
        }
        if (take('/')) {
            auto step = digits();
            if (!step)
                return step.failure();
            range.step = *number(*step);
            if (range.step == 0)
                return wrong("the step of a range is 0");
        }
        return range;
    }

    static std::optional<uint64_t> number(std::string_view digits) {
        uint64_t value = 0;
        for (const char c : digits)
            value = value * 10 + static_cast<uint64_t>(c - '0');
        return value;
    }

    static Result<std::vector<std::string>> extended(const std::vector<std::string>& names,
                                                     const std::vector<Range>& ranges) {
        uint64_t numbers = 0;
        for (const Range& range : ranges)
            numbers += (range.last - range.first) / range.step + 1;
        if (numbers * names.size() > most_nodes)
            return too_many();
        std::vector<std::string> all;
        for (const std::string& name : names)
            for (const Range& range : ranges)
                for (uint64_t n = range.first; n <= range.last; n += range.step) {
                    std::string digits = std::to_string(n);
                    if (digits.size() < range.width)
                        digits.insert(0, range.width - digits.size(), '0');
                    all.push_back(name + digits);
                }
        return all;
    }

    std::string_view text_;
    size_t at_ = 0;
};

// "user@host:port"; an address of IPv6 has more than one colon, and no port.
Result<Node> node_of(const std::string& text) {
    const auto bad = [&](const std::string& what) { return Failure{text + ": " + what, ""}; };
    Node node;
    node.text = text;
    if (text.size() > longest_name)
        return Failure{text.substr(0, 20) + "…: the name of a host has more than " +
                           std::to_string(longest_name) + " characters",
                       ""};
    // ssh would take it for an option.
    if (text.front() == '-')
        return bad("the name of a host begins with '-'");
    const size_t at = text.rfind('@');
    node.name = at == std::string::npos ? text : text.substr(at + 1);
    node.target = text;
    if (at == 0 || node.name.empty() || node.name.front() == '-')
        return bad("the name of the host is missing");
    const size_t colon = node.name.find(':');
    if (colon == 0 && node.name.find(':', 1) == std::string::npos)
        return bad("the name of the host is missing");
    if (colon != std::string::npos && node.name.find(':', colon + 1) == std::string::npos) {
        int64_t port = 0;
        if (!parse_number(node.name.substr(colon + 1), port) || port < 1 || port > UINT16_MAX)
            return bad("the port is not a number from 1 to 65535");
        node.port = static_cast<uint16_t>(port);
        node.target.resize(text.find(':', at == std::string::npos ? 0 : at));
    }
    return node;
}

} // namespace

Result<std::vector<Node>> parse_node_set(std::string_view text) {
    auto names = Parser(text).parse();
    if (!names)
        return names.failure();
    std::vector<Node> nodes;
    std::unordered_map<std::string, std::string> known; // texts by name
    for (const std::string& name : *names) {
        auto node = node_of(name);
        if (!node)
            return node.failure();
        const auto [former, is_new] = known.emplace(node->name, node->text);
        if (is_new)
            nodes.push_back(std::move(*node));
        else if (former->second != node->text)
            return Failure{former->second + " and " + node->text + " are the same host", ""};
    }
    return nodes;
}

} // namespace djstap::hosts
