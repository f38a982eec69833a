// SPDX-License-Identifier: GPL-2.0-or-later
// Where the bars of a flame graph are, and how they look.
#include "session/flame_graph.h"

#include <gtest/gtest.h>
#include <string>

namespace djstap {
namespace {

// The attributes of a function's bar: "x y width height | text: x y TEXT".
std::string bar_of(const std::string& graph, const std::string& name) {
    const size_t begin = graph.find("data-name=\"" + name + "\""), end = graph.find("</g>", begin);
    if (begin == std::string::npos)
        return "none";
    const std::string bar = graph.substr(begin, end - begin);
    const auto attribute = [&](const std::string& key, size_t from) {
        const size_t at = bar.find(" " + key + "=\"", from) + key.size() + 3;
        return bar.substr(at, bar.find('"', at) - at);
    };
    const size_t rect = bar.find("<rect"), label = bar.find("<text"),
                 shown = bar.find('>', label) + 1;
    return attribute("x", rect) + " " + attribute("y", rect) + " " + attribute("width", rect) +
           " " + attribute("height", rect) + " | " + attribute("x", label) + " " +
           attribute("y", label) + " " + bar.substr(shown, bar.find("</text>") - shown);
}

// The graph has a margin of 10 points on each side of 1180, 40 above and 28 below; a row has 17.
TEST(FlameGraph, HasARowForEachDepth) {
    const std::string graph = flame_graph({{"a;b", 1}, {"a;c", 3}}, "Two & more");
    EXPECT_NE(graph.find(" width=\"1200\" height=\"119\" viewBox=\"0 0 1200 119\""),
              std::string::npos)
        << "three rows";
    EXPECT_NE(graph.find(" data-total=\"4\" data-width=\"1180\" data-margin=\"10\""),
              std::string::npos);
    EXPECT_NE(graph.find("y=\"24\">Two &amp; more</text>"), std::string::npos);
    EXPECT_NE(graph.find("<text id=\"reset\" x=\"1100\" y=\"24\""), std::string::npos);
    EXPECT_NE(graph.find("<text id=\"note\" x=\"10\" y=\"110\"></text>"), std::string::npos);
    EXPECT_EQ(bar_of(graph, "all"), "10.00 74 1179.50 16 | 13.00 86 all");
    EXPECT_EQ(bar_of(graph, "a"), "10.00 57 1179.50 16 | 13.00 69 a");
    EXPECT_EQ(bar_of(graph, "b"), "10.00 40 294.50 16 | 13.00 52 b");
    EXPECT_EQ(bar_of(graph, "c"), "305.00 40 884.50 16 | 308.00 52 c");
    EXPECT_NE(graph.find("data-begin=\"1\" data-count=\"3\"><title>c: 3 (75.00 %)</title>"),
              std::string::npos);
    const std::string none = flame_graph({}, "none");
    EXPECT_NE(none.find(" height=\"68\""), std::string::npos);
    EXPECT_NE(none.find("<text id=\"note\" x=\"10\" y=\"59\">no samples</text>"),
              std::string::npos);
    const std::string one = flame_graph({{"a", 1}}, "one");
    EXPECT_NE(one.find("<text id=\"note\" x=\"10\" y=\"93\"></text>"), std::string::npos);
}

// Half a point is left free between two bars, unless nothing would be left of the bar.
TEST(FlameGraph, BarsAreSeen) {
    const std::string graph = flame_graph({{"a", 1}, {"b", 3932}}, "thin");
    EXPECT_EQ(bar_of(graph, "a"), "10.00 40 0.10 16 | 13.00 52 ");
    EXPECT_EQ(bar_of(flame_graph({{"a", 1}, {"b", 1179}}, "thin"), "a"),
              "10.00 40 0.50 16 | 13.00 52 ");
}

// Stacks that begin alike share bars, wherever the separator sorts them.
TEST(FlameGraph, StacksThatBeginAlikeShareTheirBars) {
    const std::string graph =
        flame_graph({{"a;x", 2}, {"a", 1}, {"a b;y", 3}, {"a;x;z", 4}}, "shared");
    const auto counts = [&](const std::string& name) {
        std::string all;
        const std::string key = "data-name=\"" + name + "\" data-begin=\"";
        for (size_t at = 0; (at = graph.find(key, at)) != std::string::npos; at++) {
            const size_t from = at + key.size();
            all += graph.substr(from, graph.find("\"><title>", from) - from) + ";";
        }
        return all;
    };
    EXPECT_EQ(counts("a"), "0\" data-count=\"7;");
    EXPECT_EQ(counts("x"), "1\" data-count=\"6;");
    EXPECT_EQ(counts("z"), "3\" data-count=\"4;");
    EXPECT_EQ(counts("a b"), "7\" data-count=\"3;");
    EXPECT_EQ(counts("y"), "7\" data-count=\"3;");
}

// So that two graphs can be compared. By FNV-1a, as its authors publish it: of "a" 0xe40c292c, of
// "foobar" 0xbf9cf968.
TEST(FlameGraph, ANameAlwaysHasItsColor) {
    const auto color = [](uint32_t hash) {
        return "hsl(" + std::to_string(8 + hash % 42) + "," + std::to_string(70 + hash / 64 % 22) +
               "%," + std::to_string(58 + hash / 4096 % 12) + "%)";
    };
    const auto color_of = [](const std::string& name) {
        const std::string graph = flame_graph({{name, 1}}, "");
        const size_t at = graph.find("fill=\"hsl", graph.find("data-name=\"" + name)) + 6;
        return graph.substr(at, graph.find('"', at) - at);
    };
    EXPECT_EQ(color_of("a"), color(0xe40c292c));
    EXPECT_EQ(color_of("foobar"), color(0xbf9cf968));
}

} // namespace
} // namespace djstap
