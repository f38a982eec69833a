// SPDX-License-Identifier: GPL-2.0-or-later
// From a script's target values to how they are read.
#include "planned.h"
#include "steps.h"
#include "unit/probes/whole_kernel.h"

namespace djstap {
namespace {

// The text that a target value of structures is printed with: its conversions as printf has them.
std::string format_of(const std::string& point, const std::string& value) {
    const Planned planned("probe " + point + " { println(" + value + ") }");
    EXPECT_TRUE(planned.plan) << planned.errors();
    if (!planned.plan || planned.plan->variants.at(0).accesses.size() != 1)
        return "no value";
    const TargetAccess& access = planned.plan->variants[0].accesses.begin()->second;
    EXPECT_TRUE(access.is_text);
    std::string text;
    size_t conversions = 0;
    for (const program::FormatPiece& piece : access.format) {
        text += piece.literal;
        if (!piece.conversion)
            continue;
        conversions++;
        text += std::string("%") + (piece.alternate ? "#" : "");
        if (piece.precision >= 0)
            text += "." + std::to_string(piece.precision);
        text += piece.conversion;
    }
    EXPECT_EQ(access.parts.size(), conversions);
    return text;
}

std::string value_of(const std::string& value, const std::string& function = "fields",
                     const std::string& variant = "") {
    const Planned planned("probe kernel.function(\"" + function + "\")" + variant + " { println(" +
                          value + ") }");
    EXPECT_TRUE(planned.plan) << planned.errors();
    if (!planned.plan || planned.plan->variants.at(0).accesses.size() != 1)
        return "no value";
    return steps_of(planned.plan->variants[0].accesses.begin()->second.value);
}

constexpr int rdi = 14;

} // namespace

TEST(TargetValues, MembersAreLoadedWithTheirSizeAndSign) {
    const std::string start = "register " + std::to_string(rdi);
    EXPECT_EQ(value_of("$o"), start);
    EXPECT_EQ(value_of("$o->number"), start + " load4s");
    EXPECT_EQ(value_of("$o->flags"), start + " +4 load4u");
    EXPECT_EQ(value_of("$o->address"), start + " +32 load8u");
    EXPECT_EQ(value_of("$o->inner->x"), start + " +40 load4s");
    EXPECT_EQ(value_of("$o->next->text"), start + " +56 load8u +8 load8u");
    EXPECT_EQ(value_of("$o->hidden"), start + " +128 load2s");
    EXPECT_EQ(value_of("$o->right"), start + " +132 load1s");
    EXPECT_EQ(value_of("&$o->flags"), start + " +4");
    EXPECT_EQ(value_of("&$o->inner"), start + " +40");
}

TEST(TargetValues, ElementsAreReckonedFromTheArray) {
    const std::string start = "register " + std::to_string(rdi);
    EXPECT_EQ(value_of("$o->table[3]"), start + " +64 +12 load4s");
    EXPECT_EQ(value_of("$o->many[1]->x"), start + " +144 +16 load4s");
    EXPECT_EQ(value_of("$o[2]->flags"), start + " +352 +4 load4u");
}

TEST(TargetValues, BitFieldsAreTakenOutOfWhatHoldsThem) {
    const std::string start = "register " + std::to_string(rdi);
    EXPECT_EQ(value_of("$o->low"), start + " +140 load1u bits0+3u");
    EXPECT_EQ(value_of("$o->high"), start + " +140 load1u bits3+5u");
}

// A bit-field is read with the fewest bytes that hold it: 1, 2, 4 or 8.
TEST(BitFields, AreReadWithTheFewestBytes) {
    const auto steps = [](const std::string& member) {
        const whole::Planned planned("probe kernel.function(\"takes_fields\") { println($f->" +
                                     member + ") }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        return planned.plan ? steps_of(planned.plan->variants.at(0).accesses.begin()->second.value)
                            : "";
    };
    const std::string rdi_is = "register " + std::to_string(rdi) + " ";
    EXPECT_EQ(steps("eight"), rdi_is + "load1u bits0+8u");
    EXPECT_EQ(steps("nine"), rdi_is + "+4 load2u bits0+9u");
    EXPECT_EQ(steps("sixteen"), rdi_is + "+8 load2u bits0+16u");
    EXPECT_EQ(steps("seventeen"), rdi_is + "+12 load4u bits0+17u");
    EXPECT_EQ(steps("half"), rdi_is + "+16 load4u bits0+32u");
    EXPECT_EQ(steps("more"), rdi_is + "+24 load8u bits0+33u");
}

TEST(TargetValues, ArgumentsAreOfTheirTypesSize) {
    EXPECT_EQ(value_of("$n"), "register 11 extend4s");
    EXPECT_EQ(value_of("$byte", "returns"), "register 13 extend1u");
    EXPECT_EQ(value_of("$return", "returns", ".return"), "return");
    EXPECT_EQ(value_of("$return", "fields", ".return"), "return extend4s");
    EXPECT_EQ(value_of("$return->flags", "returns", ".return"), "return +4 load4u");
}

TEST(TargetValues, ThatAreNotThereAreNamed) {
    const auto tag = [](const std::string& value) -> std::string {
        const Planned planned("probe kernel.function(\"fields\") { println(" + value + ") }");
        EXPECT_FALSE(planned.plan) << value;
        const auto& all = planned.analysis.diagnostics.all();
        return all.size() == 1 ? std::string(info(all.front().kind).tag) : planned.errors();
    };
    EXPECT_EQ(tag("$nothing"), "unknown-target-variable");
    EXPECT_EQ(tag("$o->nothing"), "unknown-member");
    EXPECT_EQ(tag("$n->x"), "not-a-structure");
    EXPECT_EQ(tag("$return"), "unknown-target-variable");
    EXPECT_EQ(tag("$o->inner"), "aggregate-value");
}

// Values that show their members.

TEST(PrettyValues, OneDollarShowsAStructuresMembers) {
    EXPECT_EQ(format_of(fields, "$o$"),
              "{.number=%d, .flags=%u, .name=\"%.16s\", .text=\"%s\", .address=%#x, .inner={...}, "
              ".next=%#x, .table=[...], .few=[...], .either={...}, <class>={...}, <union>={...}, "
              ".what=%d, .low=%u, .high=%u, .many=[...]}");
}

TEST(PrettyValues, TwoDollarsShowMembersOfMembers) {
    EXPECT_EQ(format_of(fields, "$o$$"),
              "{.number=%d, .flags=%u, .name=\"%.16s\", .text=\"%s\", .address=%#x, "
              ".inner={.x=%d, .text=\"%s\"}, .next=%#x, "
              ".table=[%d, %d, %d, %d, %d, %d, %d, %d, ...], .few=[%d, %d, %d], "
              ".either={.number=%d, .letters=\"%.8s\"}, <class>={.hidden=%d}, "
              "<union>={.left=%d, .right='%#c'}, .what=%d, .low=%u, .high=%u, "
              ".many=[{.x=%d, .text=\"%s\"}, {.x=%d, .text=\"%s\"}]}");
}

TEST(PrettyValues, OthersAreShownByTheirType) {
    EXPECT_EQ(format_of(fields, "$n$"), "%d");
    EXPECT_EQ(format_of(fields, "$o->flags$"), "%u");
    EXPECT_EQ(format_of(fields, "$o->name$"), "\"%.16s\"");
    EXPECT_EQ(format_of(fields, "$o->address$"), "%#x");
    EXPECT_EQ(format_of(fields, "$o->few$"), "[%d, %d, %d]");
    EXPECT_EQ(format_of(fields, "$o->inner$"), "{.x=%d, .text=\"%s\"}");
    EXPECT_EQ(format_of(fields, "$o->next$"), "{.x=%d, .text=\"%s\"}");
    EXPECT_EQ(format_of("kernel.function(\"returns\")", "$text$"), "\"%s\"");
}

TEST(PrettyValues, ListsOfVariablesNameThem) {
    const std::string returns = "kernel.function(\"returns\")";
    EXPECT_EQ(format_of(returns, "$$parms"), "text=%#x byte=%#x");
    EXPECT_EQ(format_of(returns, "$$vars"), "text=%#x byte=%#x");
    EXPECT_EQ(format_of(returns, "$$vars$"), "text=\"%s\" byte='%#c'");
    EXPECT_EQ(format_of(returns, "$$locals"), "");
    EXPECT_EQ(format_of(returns + ".return", "$$return"), "return=%#x");
    EXPECT_EQ(format_of(fields + ".return", "$$return$"), "return=%d");
    EXPECT_EQ(format_of("kernel.function(\"nothing\").return", "$$return"), "");
    EXPECT_EQ(format_of("kernel.function(\"nothing\")", "$$vars"), "");
}

// If a part of a value cannot be read, the whole value is replaced, without its name.
TEST(PrettyValues, AreSeparateFromTheirNames) {
    const auto values = [](const std::string& value) {
        const Planned planned("probe kernel.function(\"returns\") { println(" + value + ") }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        std::vector<std::string> found;
        if (!planned.plan)
            return found;
        const TargetAccess& access = planned.plan->variants.at(0).accesses.begin()->second;
        for (const TargetAccess::Shown& each : access.shown) {
            std::string text;
            for (size_t i = each.first; i < each.end; i++) {
                const program::FormatPiece& piece = access.format.at(i);
                text += piece.literal;
                if (piece.conversion)
                    text += std::string("%") + piece.conversion;
            }
            found.push_back(text);
        }
        return found;
    };
    using Values = std::vector<std::string>;
    EXPECT_EQ(values("$$parms$"), (Values{"\"%s\"", "'%c'"}));
    EXPECT_EQ(values("$text$"), Values{"\"%s\""});
}

} // namespace djstap
