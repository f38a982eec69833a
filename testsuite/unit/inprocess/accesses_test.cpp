// SPDX-License-Identifier: GPL-2.0-or-later
// Executes how target variables are found, which debug information determines: the same values are
// read by the C++ compiler.
#include "executed.h"

#include "semantics/walk.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace djstap {
namespace {

using test::execute;
using test::Executed;
using Kind = AccessStep::Kind;
using Operation = LocationOperation::Kind;

std::unique_ptr<program::TargetValue> placed(ProbePlan& plan, const TargetAccess& access) {
    auto value = std::make_unique<program::TargetValue>();
    value->type = access.is_text ? program::Type::String : program::Type::Long;
    plan.variants[0].accesses[value.get()] = access;
    return value;
}

// Prints the values that are found in these ways.
Executed print_values(const std::vector<TargetAccess>& accesses) {
    std::string script = "probe timer.s(100000) { printf(\"", zeros;
    for (const TargetAccess& access : accesses) {
        script += access.is_text ? "%s " : "%d ";
        zeros += access.is_text ? ", \"\"" : ", 0";
    }
    return execute(script + "\"" + zeros + ") }", 1, {}, [&](ProbePlan& plan) {
        program::walk_expressions(*plan.variants[0].probe->body,
                                  [&](program::Expression& expression) {
                                      if (expression.kind != program::ExpressionKind::Print)
                                          return;
                                      auto& print = static_cast<program::Print&>(expression);
                                      ASSERT_EQ(print.arguments.size(), accesses.size());
                                      for (size_t i = 0; i < accesses.size(); i++)
                                          print.arguments[i] = placed(plan, accesses[i]);
                                  });
    });
}

// Assigns these numbers to what is found in these ways.
Executed assign(const std::vector<std::pair<TargetAccess, int64_t>>& values) {
    std::string script = "probe timer.s(100000) {";
    for (const auto& [access, value] : values)
        script += " x = " + std::to_string(value) + ";";
    return execute(script + " println(\"assigned\", x) }", 1, {}, [&](ProbePlan& plan) {
        size_t at = 0;
        program::walk_expressions(*plan.variants[0].probe->body,
                                  [&](program::Expression& expression) {
                                      if (expression.kind == program::ExpressionKind::Assignment)
                                          static_cast<program::Assignment&>(expression).place =
                                              placed(plan, values[at++].first);
                                  });
        EXPECT_EQ(at, values.size());
    });
}

TargetAccess at(const void* address, std::vector<AccessStep> steps,
                AddressSpace space = AddressSpace::Kernel) {
    TargetAccess access;
    access.value.base = Access::Base::Constant;
    access.value.constant = reinterpret_cast<uintptr_t>(address);
    access.value.steps = std::move(steps);
    access.value.space = space;
    return access;
}

AccessStep load(uint8_t size, bool is_signed = false) {
    return {Kind::Load, 0, nullptr, size, is_signed};
}
AccessStep add(int64_t amount) {
    return {Kind::Add, amount};
}
AccessStep bits(uint8_t offset, uint8_t size, bool is_signed) {
    return {Kind::BitField, 0, nullptr, 8, is_signed, offset, size};
}

TargetAccess computed(std::vector<LocationOperation> operations) {
    TargetAccess access;
    access.value.base = Access::Base::Computed;
    access.value.operations = std::move(operations);
    return access;
}

LocationOperation constant(int64_t number) {
    return {.number = static_cast<uint64_t>(number)};
}

struct Inner {
    int8_t narrow;
    uint16_t numbers[3];
    int32_t below;
};
struct Bits {
    uint32_t low : 3, middle : 13;
    int32_t high : 7, top : 9;
};
struct Outer {
    Inner* inner;
    Inner own;
    Bits bits;
    float single;
    const char* text;
};

class Accesses : public testing::Test {
  protected:
    Inner pointed_{-3, {1, 60000, 3}, -70000};
    Outer outer_{&pointed_, {5, {7, 8, 9}, 11}, {5, 5000, -64, 255}, 1.5f, "text"};
};

} // namespace

TEST_F(Accesses, MembersOfStructures) {
    constexpr auto own = static_cast<int64_t>(offsetof(Outer, own));
    constexpr auto numbers = static_cast<int64_t>(offsetof(Inner, numbers));
    constexpr auto below = static_cast<int64_t>(offsetof(Inner, below));
    auto number = std::make_unique<program::Number>();
    number->value = 2;
    number->type = program::Type::Long;
    const AccessStep second{Kind::AddIndex, sizeof(uint16_t), number.get()};
    for (const AddressSpace space : {AddressSpace::Kernel, AddressSpace::User}) {
        const auto executed = print_values({
            at(&outer_, {load(8), load(1, true)}, space),
            at(&outer_, {load(8), load(1)}, space),
            at(&outer_, {load(8), add(numbers), add(2), load(2)}, space),
            at(&outer_, {load(8), add(numbers + 2), load(2, true)}, space),
            at(&outer_, {load(8), add(below), load(4, true)}, space),
            at(&outer_, {load(8), add(below), load(4)}, space),
            at(&outer_, {add(own), add(numbers), second, load(2)}, space),
            at(&outer_, {load(8), add(numbers), second, load(2)}, space),
            at(&outer_, {load(8), add(numbers), second, add(2), add(-2), load(2)}, space),
            at(&outer_, {add(own + below), load(4, true), {Kind::Extend, 0, nullptr, 1, true}},
               space),
            at(nullptr, {add(40), add(2)}, space),
        });
        EXPECT_EQ(executed.output, "-3 253 60000 -5536 -70000 4294897296 9 3 3 11 42 ");
        EXPECT_EQ(executed.messages, "");
    }
}

TEST_F(Accesses, BitFieldsAndNumbersOfLessThanEightBytes) {
    const auto* fields = &outer_.bits;
    const uint64_t single = std::bit_cast<uint32_t>(outer_.single);
    const auto executed = print_values({
        at(fields, {load(4), bits(0, 3, false)}),
        at(fields, {load(4), bits(0, 3, true)}),
        at(fields, {load(4), bits(3, 13, false)}),
        at(fields, {load(4), bits(16, 7, true)}),
        at(fields, {load(4), bits(23, 9, true)}),
        at(fields, {load(4), bits(23, 9, false)}),
        at(&pointed_.below, {load(4), bits(0, 64, false)}),
        at(&outer_.single, {load(4), {Kind::Widen}}),
        at(&single, {{Kind::Extend, 0, nullptr, 2, true}, {Kind::Extend, 0, nullptr, 8, true}}),
    });
    const auto address = static_cast<int16_t>(reinterpret_cast<uintptr_t>(&single));
    EXPECT_EQ(executed.output, "5 -3 5000 -64 255 255 4294897296 " +
                                   std::to_string(std::bit_cast<int64_t>(1.5)) + " " +
                                   std::to_string(address) + " ");
}

TEST_F(Accesses, ReadFaultsNameTheAddress) {
    for (const AddressSpace space : {AddressSpace::Kernel, AddressSpace::User}) {
        const auto executed = print_values({at(nullptr, {add(24), load(4)}, space)});
        EXPECT_EQ(executed.output, "");
        EXPECT_NE(executed.messages.find("0x18"), std::string::npos) << executed.messages;
        EXPECT_NE(executed.messages.find("read fault"), std::string::npos) << executed.messages;
    }
}

// The results are those that the DWARF standard gives its operations; addresses and shifts are
// unsigned, comparisons signed.
TEST_F(Accesses, ComputedByOperations) {
    struct Case {
        int64_t left, right;
        Operation operation;
        int64_t result;
    };
    const std::vector<Case> cases{
        {7, 3, Operation::Add, 10},
        {7, 3, Operation::Subtract, 4},
        {7, -3, Operation::Multiply, -21},
        {12, 10, Operation::And, 8},
        {12, 10, Operation::Or, 14},
        {12, 10, Operation::Xor, 6},
        {-1, 62, Operation::ShiftLeft, static_cast<int64_t>(0xc000000000000000)},
        {-1, 63, Operation::ShiftLeft, INT64_MIN},
        {-1, 64, Operation::ShiftLeft, 0},
        {-1, 65, Operation::ShiftLeft, 0},
        {-1, 63, Operation::ShiftRight, 1},
        {-1, 64, Operation::ShiftRight, 0},
        {-8, 1, Operation::ShiftRightSigned, -4},
        {-8, 63, Operation::ShiftRightSigned, -1},
        {-8, 64, Operation::ShiftRightSigned, -1},
        {INT64_MAX, 63, Operation::ShiftRightSigned, 0},
        {INT64_MAX, 64, Operation::ShiftRightSigned, 0},
        {INT64_MAX, -1, Operation::ShiftRightSigned, 0},
        {-1, 1, Operation::Less, 1},
        {1, -1, Operation::Less, 0},
        {1, 1, Operation::Less, 0},
        {1, 1, Operation::LessOrEqual, 1},
        {-1, 1, Operation::LessOrEqual, 1},
        {1, -1, Operation::LessOrEqual, 0},
        {-1, 1, Operation::Greater, 0},
        {1, -1, Operation::Greater, 1},
        {1, 1, Operation::Greater, 0},
        {1, 1, Operation::GreaterOrEqual, 1},
        {-1, 1, Operation::GreaterOrEqual, 0},
        {2, 2, Operation::Equal, 1},
        {2, 3, Operation::Equal, 0},
        {2, 2, Operation::NotEqual, 0},
        {2, 3, Operation::NotEqual, 1},
    };
    std::vector<TargetAccess> accesses;
    std::string expected;
    for (const Case& each : cases) {
        accesses.push_back(
            computed({constant(each.left), constant(each.right), {.kind = each.operation}}));
        expected += std::to_string(each.result) + " ";
    }
    accesses.push_back(computed({constant(5), {.kind = Operation::Negate}}));
    accesses.push_back(computed({constant(5), {.kind = Operation::Not}}));
    expected += "-5 -6 ";
    const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(&pointed_));
    accesses.push_back(
        computed({constant(address), {.kind = Operation::Load, .size = 1, .is_signed = true}}));
    accesses.push_back(computed({constant(address), {.kind = Operation::Load, .size = 1}}));
    accesses.push_back(
        computed({constant(40000), {.kind = Operation::Extend, .size = 2, .is_signed = true}}));
    accesses.push_back(computed({constant(-1), {.kind = Operation::Extend, .size = 2}}));
    accesses.push_back(computed({}));
    accesses.push_back(computed({constant(3), constant(4), {.kind = Operation::Multiply}}));
    accesses.back().value.steps = {add(30)};
    EXPECT_EQ(print_values(accesses).output, expected + "-3 253 -25536 65535 0 42 ");
}

// $x$: a part that cannot be read is shown as 0, or as the empty string.
TEST_F(Accesses, TextsOfSeveralValues) {
    TargetAccess text;
    text.is_text = true;
    const auto piece = [](const char* literal, char conversion) {
        program::FormatPiece made;
        made.literal = literal;
        made.conversion = conversion;
        return made;
    };
    text.format = {piece("whole=", 0),        piece("{.narrow=", 'd'), piece(", .text=\"", 's'),
                   piece("\", .below=", 'd'), piece("}", 0),           piece(" lost=", 'd'),
                   piece(" gone=", 0),        piece("{.narrow=", 'd'), piece(", .text=\"", 's'),
                   piece("\"}", 0),           piece(" last=", 'd')};
    text.shown = {{1, 5}, {7, 10}};
    text.parts = {at(&outer_, {load(8), load(1, true)}).value,
                  at(&outer_.text, {load(8)}).value,
                  at(&pointed_.below, {load(4, true)}).value,
                  at(nullptr, {add(8), load(8)}).value,
                  at(&outer_, {load(8), load(1, true)}).value,
                  at(nullptr, {add(16)}).value,
                  at(nullptr, {add(5)}).value};
    const auto executed = print_values({text, at(nullptr, {add(7)}), text});
    const std::string shown =
        "whole={.narrow=-3, .text=\"text\", .below=-70000} lost=ERROR gone=ERROR last=5 ";
    EXPECT_EQ(executed.output, shown + "7 " + shown);
    EXPECT_EQ(executed.messages, "");
}

TEST_F(Accesses, AssignmentsChangeTheMemberOnly) {
    Inner expected = pointed_;
    expected.numbers[1] = static_cast<uint16_t>(-2);
    expected.narrow = 100;
    expected.below = 1 << 30;
    EXPECT_EQ(
        assign({{at(&outer_, {load(8), add(offsetof(Inner, numbers)), add(2), load(2)}), -2},
                {at(&pointed_, {load(1, true)}), 0x7164},
                {at(&outer_, {load(8), add(offsetof(Inner, below)), load(4, true)}), 1 << 30}})
            .output,
        "assigned0\n");
    EXPECT_EQ(memcmp(&pointed_, &expected, sizeof expected), 0);

    Outer changed = outer_;
    changed.bits.middle = 8191;
    changed.bits.high = 1;
    const auto* fields = &outer_.bits;
    EXPECT_EQ(assign({{at(fields, {load(4), bits(3, 13, false)}), -1},
                      {at(fields, {load(4), bits(16, 7, true)}), 0x101}})
                  .output,
              "assigned0\n");
    EXPECT_EQ(memcmp(&outer_.bits, &changed.bits, sizeof changed.bits), 0);

    uint64_t words[3] = {1, 2, 3};
    assign({{at(words, {add(8), load(8), bits(0, 64, false)}), -5}});
    EXPECT_EQ(words[0], 1u);
    EXPECT_EQ(words[1], static_cast<uint64_t>(-5));
    EXPECT_EQ(words[2], 3u);
    assign({{at(words, {add(8), load(8), bits(32, 32, false)}), 7}});
    EXPECT_EQ(words[1], 0x7fffffffbu);

    const auto failed = assign({{at(nullptr, {add(16), load(4)}), 1}});
    EXPECT_EQ(failed.output, "");
    EXPECT_NE(failed.messages.find("0x10"), std::string::npos) << failed.messages;
}

} // namespace djstap
