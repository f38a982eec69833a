// SPDX-License-Identifier: GPL-2.0-or-later
// What semantics knows about probe points.
#include "semantics/points.h"

#include "probes/probes.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace djstap {

namespace {

using Argument = ast::PointComponent::Argument;

ast::ProbePoint point(std::vector<std::pair<std::string, Argument>> components) {
    ast::ProbePoint made;
    for (auto& [name, argument] : components) {
        made.components.emplace_back();
        made.components.back().name = name;
        made.components.back().argument = argument;
    }
    return made;
}

TEST(PointShapes, TellTraitsOfExactlyOneForm) {
    const PointShapes shapes({{"a.x(NUMBER)", PointHasVariables | PointTellsOfTask},
                              {"a.y", PointTellsOfTask},
                              {"a.z", PointTellsOfTask | PointIsNotSupported},
                              {"end(NUMBER)", PointEndsSession},
                              {"end", PointEndsSession}});
    EXPECT_EQ(PointHasVariables | PointTellsOfTask,
              shapes.traits(point({{"a", Argument::None}, {"x", Argument::Number}})));
    EXPECT_EQ(PointTellsOfTask,
              shapes.traits(point({{"a", Argument::None}, {"y", Argument::None}})));
    // Another form: the traits that all have.
    EXPECT_EQ(PointTellsOfTask,
              shapes.traits(point({{"a", Argument::None}, {"x", Argument::String}})));
    EXPECT_EQ(0u, shapes.traits(point({{"b", Argument::None}})));
    EXPECT_EQ("end", shapes.numbered(PointEndsSession));
    EXPECT_EQ("", shapes.numbered(PointEndsFailed));
    EXPECT_EQ((std::vector<std::string>{"a", "end"}), shapes.roots());
    EXPECT_EQ((std::vector<std::string>{"a.x", "a.y", "end"}), shapes.beginnings());
}

TEST(PointShapes, StarsInNamesStandForFamilies) {
    const PointShapes shapes({{"kernel.function(STRING)", 0},
                              {"kernel.function(STRING).call", 0},
                              {"kernel.trace(STRING)", 0},
                              {"kernel.data(STRING)", PointIsNotSupported},
                              {"timer.s(NUMBER)", 0},
                              {"timer.profile.freq.hz(NUMBER)", 0}});
    auto meant = [&](std::vector<std::pair<std::string, Argument>> components) {
        std::string text;
        for (const auto& each : shapes.matching(point(std::move(components)).components))
            for (const ast::PointComponent& component : each)
                text += (&component == each.data() ? " " : ".") + component.name;
        return text;
    };
    EXPECT_EQ(" kernel.function", meant({{"kernel", Argument::None}, {"fun*", Argument::String}}));
    EXPECT_EQ(" kernel.function kernel.trace",
              meant({{"k*l", Argument::None}, {"*", Argument::String}}));
    EXPECT_EQ(" kernel.function.call",
              meant({{"*", Argument::None}, {"*", Argument::String}, {"c*", Argument::None}}));
    EXPECT_EQ("", meant({{"kernel", Argument::None}, {"*", Argument::Number}}));
    EXPECT_EQ("", meant({{"kernel", Argument::None}, {"function", Argument::String}}));
    // ** crosses dots; an argument ends a part.
    EXPECT_EQ(" kernel.function", meant({{"**", Argument::None}, {"function", Argument::String}}));
    EXPECT_EQ(" kernel.function kernel.trace", meant({{"k**", Argument::String}}));
    EXPECT_EQ(" kernel.function.call", meant({{"**n", Argument::String}, {"**", Argument::None}}));
    EXPECT_EQ("", meant({{"kernel**call", Argument::None}}));
    EXPECT_EQ(" kernel.function", meant({{"k**n", Argument::String}}));
    EXPECT_EQ(" kernel.trace", meant({{"**l**tr**", Argument::String}}));
    EXPECT_EQ("", meant({{"**n**tr**", Argument::String}, {"call", Argument::None}}));
    EXPECT_EQ(" timer.s", meant({{"t**s", Argument::Number}}));
    // The fewest parts are tried first; what was tried in vain leaves nothing.
    for (const auto& parts : std::initializer_list<std::vector<std::pair<std::string, Argument>>>{
             {{"**", Argument::None}, {"hz", Argument::Number}},
             {{"t**", Argument::None}, {"**z", Argument::Number}},
             {{"**", Argument::None}, {"freq", Argument::None}, {"hz", Argument::Number}},
             {{"timer", Argument::None}, {"**", Argument::None}, {"*", Argument::Number}}})
        EXPECT_EQ(" timer.profile.freq.hz", meant(parts)) << parts.size() << parts[0].first;
}

TEST(PointShapes, OfAllFamiliesAreThoseThatAreListed) {
    const PointShapes shapes = probe_shapes();
    std::vector<std::string> supported;
    for (const PointShape& each : shapes.all())
        if (!(each.traits & PointIsNotSupported))
            supported.push_back(each.shape);
    EXPECT_EQ(probe_types(), supported);
    for (const char* shape :
         {"begin", "begin(NUMBER)", "timer.s(NUMBER)", "timer.s(NUMBER).randomize(NUMBER)",
          "module(STRING).function(STRING).call.return", "procfs.umask(NUMBER).read",
          "timer.profile", "timer.profile.freq.hz(NUMBER)",
          "netfilter.pf(STRING).hook(STRING).priority(STRING)"})
        EXPECT_TRUE(std::binary_search(supported.begin(), supported.end(), shape)) << shape;
    for (const char* shape :
         {"timer.hz(NUMBER).randomize(NUMBER)", "procfs.write.maxsize(NUMBER)", ""})
        EXPECT_FALSE(std::binary_search(supported.begin(), supported.end(), shape)) << shape;
    EXPECT_EQ("end", shapes.numbered(PointEndsSession));
    EXPECT_EQ("error", shapes.numbered(PointEndsFailed));
    EXPECT_EQ("timer.ms", shapes.numbered(PointIsPeriodic));
}

} // namespace

} // namespace djstap
