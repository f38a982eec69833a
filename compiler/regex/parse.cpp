// SPDX-License-Identifier: GPL-2.0-or-later
#include "regex/tree.h"

#include "regex/regex.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace djstap::regex {

namespace {

using Kind = Node::Kind;

constexpr size_t max_pattern = 4096;
constexpr uint32_t max_depth = 200;
constexpr uint32_t max_count = 255; // limit of {m,n}, like RE_DUP_MAX

constexpr std::array<std::pair<std::string_view, int (*)(int)>, 12> named_classes{
    {{"alnum", isalnum},
     {"alpha", isalpha},
     {"blank", isblank},
     {"cntrl", iscntrl},
     {"digit", isdigit},
     {"graph", isgraph},
     {"lower", islower},
     {"print", isprint},
     {"punct", ispunct},
     {"space", isspace},
     {"upper", isupper},
     {"xdigit", isxdigit}}};

NodePtr make(Kind kind, NodePtr first = nullptr, NodePtr second = nullptr) {
    auto node = std::make_shared<Node>();
    node->kind = kind;
    for (const NodePtr& child : {first, second})
        if (child) {
            node->low = std::min(node->low, child->low);
            node->high = std::max(node->high, child->high);
        }
    node->first = std::move(first);
    node->second = std::move(second);
    return node;
}

NodePtr make_set(const Bytes& set) {
    auto node = std::make_shared<Node>();
    node->kind = Kind::Set;
    node->set = set;
    return node;
}

// A recursive descent parser; `problem_` stops it.
class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<Tree> run() {
        if (text_.size() > max_pattern)
            return Failure{"is longer than " + std::to_string(max_pattern) + " bytes", ""};
        NodePtr root = alternation();
        if (!problem_ && at_ < text_.size())
            fail("has a ')' without its '('", "write '\\\\)' for the character itself");
        if (problem_)
            return *problem_;
        return Tree{root, groups_};
    }

  private:
    bool ended() const { return problem_ || at_ >= text_.size(); }
    bool sees(char c) const { return !ended() && text_[at_] == c; }
    bool take(char c) {
        if (!sees(c))
            return false;
        at_++;
        return true;
    }
    NodePtr fail(const std::string& message, const std::string& hint = "") {
        if (!problem_)
            problem_ = Failure{message, hint};
        return make(Kind::Empty);
    }

    NodePtr alternation() {
        NodePtr left = sequence();
        if (!take('|'))
            return left;
        // Right-associative, in a loop: there may be many alternatives.
        std::vector<NodePtr> all{left, sequence()};
        while (take('|'))
            all.push_back(sequence());
        NodePtr result = all.back();
        for (size_t i = all.size() - 1; i-- > 0;)
            result = make(Kind::Alternation, all[i], result);
        return result;
    }

    NodePtr sequence() {
        std::vector<NodePtr> parts;
        while (!ended() && !sees('|') && !sees(')'))
            parts.push_back(repeated());
        if (parts.empty())
            return make(Kind::Empty);
        // The first part is decided first, so it is at the top.
        NodePtr result = parts.back();
        for (size_t i = parts.size() - 1; i-- > 0;)
            result = make(Kind::Concatenation, parts[i], result);
        return result;
    }

    NodePtr repeated() {
        NodePtr node = atom();
        uint32_t suffixes = 0;
        while (!ended()) {
            if (++suffixes > max_depth)
                return fail("repeats a repetition too often");
            if (take('*'))
                node = make(Kind::Star, turn(node));
            else if (take('+'))
                node = make(Kind::Concatenation, turn(node), make_more(turn_star(node)));
            else if (take('?'))
                node = make(Kind::Optional, node);
            else if (sees('{') && at_ + 1 < text_.size() && isdigit(byte(at_ + 1)))
                node = counted(node);
            else
                break;
        }
        return node;
    }

    static NodePtr turn(const NodePtr& node) {
        return node->has_groups() ? make(Kind::Turn, node) : node;
    }
    static NodePtr turn_star(const NodePtr& node) { return make(Kind::Star, turn(node)); }
    static NodePtr make_more(const NodePtr& node) { return make(Kind::More, node); }

    // x{2,4} is x x (x x?)?
    NodePtr counted(const NodePtr& node) {
        at_++;
        auto low = count();
        std::optional<uint32_t> high = low;
        if (take(','))
            high = sees('}') ? std::nullopt : count();
        if (!take('}'))
            return fail("has a '{' without its '}'");
        if (problem_)
            return node;
        if (high && *high < *low)
            return fail("repeats from " + std::to_string(*low) + " to " + std::to_string(*high) +
                        " times: the first number must not be the larger one");
        NodePtr one = turn(node);
        NodePtr rest = high ? nullptr : make_more(turn_star(node));
        if (high)
            for (uint32_t i = *low; i < *high; i++)
                rest = make(*low == 0 && i + 1 == *high ? Kind::Optional : Kind::More,
                            rest ? make(Kind::Concatenation, one, rest) : one);
        for (uint32_t i = 0; i < *low; i++)
            rest = rest ? make(Kind::Concatenation, one, rest) : one;
        return rest ? rest : make(Kind::Empty);
    }

    std::optional<uint32_t> count() {
        uint32_t value = 0;
        bool any = false;
        for (; !ended() && isdigit(byte(at_)); at_++) {
            any = true;
            value = value * 10 + static_cast<uint32_t>(text_[at_] - '0');
            if (value > max_count) {
                fail("repeats more than " + std::to_string(max_count) + " times");
                return value;
            }
        }
        if (!any)
            fail("has a '{' that is not followed by numbers");
        return value;
    }

    NodePtr atom() {
        const char c = text_[at_++];
        switch (c) {
        case '(':
            return group();
        case '[':
            return bracket();
        case '.':
            return make_set(Bytes().set().reset(0));
        case '^':
            return make(Kind::Begin);
        case '$':
            return make(Kind::End);
        case '*':
        case '+':
        case '?':
            return fail(std::string("has a '") + c + "' with nothing before it to repeat",
                        std::string("write '\\\\") + c + "' for the character itself");
        case '\\':
            return escaped();
        default:
            return one(c);
        }
    }

    static NodePtr one(char c) { return make_set(Bytes().set(static_cast<uint8_t>(c))); }

    NodePtr escaped() {
        if (ended())
            return fail("ends with a backslash");
        const char c = text_[at_++];
        if (c >= '1' && c <= '9')
            return fail(
                std::string("contains the back reference '\\") + c + "'",
                "back references are not supported: an automaton cannot compare parts of a string");
        return one(c);
    }

    NodePtr group() {
        const uint32_t number = groups_++;
        if (number >= max_groups)
            return fail("has more than " + std::to_string(max_groups - 1) + " groups");
        NodePtr inner = alternation();
        if (!take(')'))
            return fail("has a '(' without its ')'", "write '\\\\(' for the character itself");
        auto node = std::make_shared<Node>(*make(Kind::Group, inner));
        node->group = number;
        node->low = std::min(node->low, number);
        node->high = std::max(node->high, number);
        return node;
    }

    uint8_t byte(size_t at) const { return static_cast<uint8_t>(text_[at]); }

    NodePtr bracket() {
        const bool negated = take('^');
        Bytes set;
        for (bool first = true;; first = false) {
            if (ended())
                return fail("has a '[' without its ']'", "write '\\\\[' for the character itself");
            if (!first && take(']'))
                break;
            if (text_.substr(at_, 2) == "[:") {
                named_class(set);
                continue;
            }
            const uint8_t low = bracket_byte();
            uint8_t high = low;
            if (sees('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
                at_++;
                high = bracket_byte();
            }
            if (high < low)
                return fail(std::string("has the empty range from '") + static_cast<char>(low) +
                            "' to '" + static_cast<char>(high) + "'");
            for (uint32_t c = low; c <= high; c++)
                set.set(c);
        }
        if (negated)
            set.flip();
        return make_set(set.reset(0));
    }

    // x, [.x.] or [=x=]. What it returns after a problem is of no use any more.
    uint8_t bracket_byte() {
        const std::string_view opening = text_.substr(at_, 2);
        if (opening != "[." && opening != "[=")
            return byte(at_++);
        if (text_.size() < at_ + 5 || text_[at_ + 3] != opening[1] || text_[at_ + 4] != ']') {
            fail("has a '" + std::string(opening) + "' that does not name one character");
            return 0;
        }
        at_ += 5;
        return byte(at_ - 3);
    }

    void named_class(Bytes& set) {
        const size_t end = text_.find(":]", at_ + 2);
        const std::string_view name = end == std::string_view::npos
                                          ? text_.substr(at_ + 2)
                                          : text_.substr(at_ + 2, end - at_ - 2);
        for (const auto& [known, belongs] : named_classes)
            if (known == name && end != std::string_view::npos) {
                for (int c = 0; c < 128; c++)
                    if (belongs(c))
                        set.set(static_cast<size_t>(c));
                at_ = end + 2;
                return;
            }
        fail("contains the unknown character class '" + std::string(name) + "'",
             "the character classes are alnum, alpha, blank, cntrl, digit, graph, lower, print, "
             "punct, space, upper, xdigit");
    }

    std::string_view text_;
    size_t at_ = 0;
    uint32_t groups_ = 1;
    std::optional<Failure> problem_;
};

} // namespace

Result<Tree> parse(std::string_view pattern) {
    return Parser(pattern).run();
}

} // namespace djstap::regex
