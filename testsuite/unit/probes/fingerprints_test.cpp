// SPDX-License-Identifier: GPL-2.0-or-later
// Places whose values are had alike share a handler: accesses that differ in anything that counts
// must not be taken for the same.
#include "probes/access.h"

#include <functional>
#include <gtest/gtest.h>
#include <set>

namespace djstap {
namespace {

// Returns how many of the values that these changes make of `same` are told apart, with itself.
template <class Value>
size_t told_apart(const Value& same, const std::vector<std::function<void(Value&)>>& changes) {
    std::set<std::string> found{fingerprint(same)};
    for (const auto& change : changes) {
        Value other = same;
        change(other);
        EXPECT_EQ(fingerprint(other), fingerprint(other));
        found.insert(fingerprint(other));
    }
    return found.size();
}

Access access() {
    Access value;
    value.steps.resize(2);
    value.operations.resize(2);
    return value;
}

TEST(Fingerprints, OfAccesses) {
    const program::Number number;
    using Change = std::function<void(Access&)>;
    const std::vector<Change> changes{
        [](Access& a) { a.base = Access::Base::Constant; },
        [](Access& a) { a.reg = PtReg(1); },
        [](Access& a) { a.constant = 1; },
        [](Access& a) { a.image = 1; },
        [](Access& a) { a.space = AddressSpace::User; },
        [&](Access& a) { a.operand = &number; },
        [](Access& a) { a.operations[1].kind = LocationOperation::Kind::Add; },
        [](Access& a) { a.operations[1].reg = PtReg(1); },
        [](Access& a) { a.operations[1].size = 4; },
        [](Access& a) { a.operations[1].is_signed = true; },
        [](Access& a) { a.operations[1].number = 1; },
        [](Access& a) { a.operations.pop_back(); },
        [](Access& a) { a.steps[1].kind = AccessStep::Kind::Load; },
        [](Access& a) { a.steps[1].amount = 1; },
        [&](Access& a) { a.steps[1].index = &number; },
        [](Access& a) { a.steps[1].size = 4; },
        [](Access& a) { a.steps[1].is_signed = true; },
        [](Access& a) { a.steps[1].bit_offset = 1; },
        [](Access& a) { a.steps[1].bit_size = 1; },
        [](Access& a) { a.steps.pop_back(); },
    };
    EXPECT_EQ(told_apart(access(), changes), changes.size() + 1);
    // What only listings show does not count.
    EXPECT_EQ(told_apart<Access>(access(), {[](Access& a) { a.type = 1; }}), 1U);
}

TEST(Fingerprints, OfTexts) {
    TargetAccess text;
    text.is_text = true;
    text.format.resize(2);
    text.format[0].conversion = 'd';
    text.parts = {access()};
    using Change = std::function<void(TargetAccess&)>;
    const std::vector<Change> changes{
        [](TargetAccess& t) { t.is_text = false; },
        [](TargetAccess& t) { t.format[0].conversion = 's'; },
        [](TargetAccess& t) { t.format[0].precision = 8; },
        [](TargetAccess& t) { t.format[0].precision = 16; },
        [](TargetAccess& t) { t.format[0].alternate = true; },
        [](TargetAccess& t) { t.format[1].literal = "x"; },
        [](TargetAccess& t) { t.format.pop_back(); },
        [](TargetAccess& t) { t.parts[0].constant = 1; },
        [](TargetAccess& t) { t.parts.clear(); },
    };
    EXPECT_EQ(told_apart(text, changes), changes.size() + 1);
}

TEST(Fingerprints, OfCallers) {
    EXPECT_EQ(fingerprint(Callers()), "");
    Callers callers;
    callers.image = 0;
    callers.frames.resize(2);
    callers.frames[0].calls.resize(2);
    callers.frames[0].calls[0].return_address = 8;
    callers.frames[1].code = {{1, 2}, {3, 4}};
    using Change = std::function<void(Callers&)>;
    const std::vector<Change> changes{
        [](Callers& c) { c.reg = PtReg(1); },
        [](Callers& c) { c.offset = 1; },
        [](Callers& c) { c.frame_pointer = 0; },
        [](Callers& c) { c.frame_pointer = 1; },
        [](Callers& c) { c.image = 1; },
        [](Callers& c) { c.frames[0].calls[1].return_address = 10; },
        [](Callers& c) { c.frames[0].calls[1].next = 1; },
        [](Callers& c) { c.frames[0].calls[1].by_frame_pointer = true; },
        [](Callers& c) { c.frames[0].calls[1].frame_pointer = 0; },
        [](Callers& c) { c.frames[0].calls[1].frame_pointer = 1; },
        [](Callers& c) { c.frames[0].calls.pop_back(); },
        [](Callers& c) { c.frames[1].code[1].begin = 5; },
        [](Callers& c) { c.frames[1].code[1].end = 5; },
        [](Callers& c) { c.frames[1].code.pop_back(); },
    };
    EXPECT_EQ(told_apart(callers, changes), changes.size() + 1);
}

} // namespace
} // namespace djstap
