// SPDX-License-Identifier: GPL-2.0-or-later
#include "charges.h"

namespace djstap::differential {

using program::as;
using program::StatementKind;

Charges::Charges(const program::Block& body) {
    part(body, &body, Moment::After);
}

void Charges::charge(const void* at, Moment moment) {
    constexpr int64_t most = 10;
    if (++pending_ == most)
        settle(at, moment);
}

void Charges::settle(const void* at, Moment moment) {
    if (!left_)
        due_[{at, moment}] = pending_;
    pending_ = 0;
}

// Called before control leaves for good.
void Charges::leave(const void* at, Moment moment) {
    pending_++;
    settle(at, moment);
    left_ = true;
}

void Charges::part(const program::Statement& node, const void* of, Moment end) {
    statement(node);
    settle(of, end);
    left_ = false;
}

// One iteration counts as one statement, due with the first of the body's.
void Charges::loop(const program::Statement& body, const void* of) {
    pending_++;
    settle(of, Moment::Before);
    pending_ = 1;
    part(body, of, Moment::Body);
}

void Charges::statement(const program::Statement& node) {
    if (left_)
        return;
    switch (node.kind) {
    case StatementKind::Block:
        for (const auto& inner : as<program::Block>(node).statements)
            statement(*inner);
        break;
    case StatementKind::If: {
        const auto& branch = as<program::If>(node);
        pending_++;
        settle(&node, Moment::Before);
        part(*branch.then_branch, &node, Moment::Then);
        if (branch.else_branch)
            part(*branch.else_branch, &node, Moment::Else);
        break;
    }
    case StatementKind::Loop: {
        const auto& own = as<program::Loop>(node);
        if (own.init)
            charge(&node, Moment::Init);
        loop(*own.body, &node);
        pending_ += own.step != nullptr; // once, after the loop
        break;
    }
    case StatementKind::Foreach:
        loop(*as<program::Foreach>(node).body, &node);
        break;
    case StatementKind::Break:
    case StatementKind::Continue:
    case StatementKind::Next:
        leave(&node, Moment::Before);
        break;
    case StatementKind::Return:
        leave(&node, Moment::After);
        break;
    case StatementKind::TryCatch: {
        const auto& attempt = as<program::TryCatch>(node);
        settle(&node, Moment::Before);
        part(*attempt.body, &node, Moment::Body);
        pending_ = 1;
        settle(&node, Moment::Catch);
        part(*attempt.handler, &node, Moment::Handler);
        break;
    }
    default:
        charge(&node, Moment::After);
    }
}

} // namespace djstap::differential
