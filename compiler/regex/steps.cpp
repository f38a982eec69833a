// SPDX-License-Identifier: GPL-2.0-or-later
// Divides the string of a match among its groups. According to POSIX each part, from left to right,
// is as long as the whole match allows; the end of a part is therefore the last position where the
// part can end and what follows it can begin. Two automata find it in one walk each.
#include "regex/builder.h"

namespace djstap::regex {

namespace {

using Kind = Node::Kind;

Step::Kind step_kind(Kind kind) {
    switch (kind) {
    case Kind::Group:
        return Step::Kind::Group;
    case Kind::Turn:
        return Step::Kind::Clear;
    case Kind::Alternation:
        return Step::Kind::Alternation;
    case Kind::Star:
        return Step::Kind::Star;
    case Kind::Optional:
        return Step::Kind::Optional;
    case Kind::More:
        return Step::Kind::More;
    default:
        return Step::Kind::Concatenation;
    }
}

constexpr size_t max_steps = 1000;

class Maker {
  public:
    Maker(Automaton& out, Builder& builder) : out_(out), builder_(builder) {}

    uint16_t step(const NodePtr& node) {
        if (!node || !node->has_groups() || builder_.too_large())
            return Step::none;
        if (out_.steps.size() >= max_steps) {
            builder_.give_up("needs more than " + std::to_string(max_steps) +
                             " steps to tell its groups apart");
            return Step::none;
        }
        Step made;
        made.kind = step_kind(node->kind);
        switch (node->kind) {
        case Kind::Group:
            made.low = made.high = static_cast<uint16_t>(node->group);
            break;
        case Kind::Turn:
            made.low = static_cast<uint16_t>(node->low);
            made.high = static_cast<uint16_t>(node->high);
            break;
        case Kind::Concatenation:
            made.forward = builder_.forward(node->first);
            made.backward = builder_.backward(node->second);
            break;
        case Kind::Star:
            made.forward = builder_.forward(node->first);
            made.backward = builder_.backward(node);
            break;
        default:
            made.forward = builder_.forward(node->first);
            break;
        }
        const auto number = static_cast<uint16_t>(out_.steps.size());
        out_.steps.push_back(made);
        const uint16_t first = step(node->first);
        const uint16_t second = step(node->second);
        out_.steps[number].first = first;
        out_.steps[number].second = second;
        return number;
    }

  private:
    Automaton& out_;
    Builder& builder_;
};

} // namespace

void make_steps(Automaton& out, Builder& builder, const NodePtr& root) {
    Maker(out, builder).step(root);
}

} // namespace djstap::regex
