// SPDX-License-Identifier: GPL-2.0-or-later
// The map of djstap regions --svg: where its cells are, and what they tell.
#include "driver/regions_map.h"

#include "../regions/program.h"

#include <charconv>
#include <cstdlib>
#include <gtest/gtest.h>
#include <regex>
#include <set>

namespace djstap::driver {
namespace {

using test::Analyzed;
using test::Program;

std::string function(const std::string& name, const std::string& body) {
    return ".type " + name + ", @function\n" + name + ":\n" + body + "\n.size " + name + ", .-" +
           name + "\n";
}

// A movabs takes ten bytes, so that each of them has room for a jump; what follows has none in the
// last four bytes of a function.
std::string instructions(size_t safe, const std::string& last) {
    return ".rept " + std::to_string(safe) + "\nmovabs $1, %rax\n.endr\n" + last;
}

// A cell of the map as a viewer shows it.
struct Shown {
    std::string tip, kind, label;
    double x = 0, y = 0, width = 0, height = 0, label_x = 0, label_y = 0;
    bool marked = false; // not every entry can be patched
    double mark_x = 0, mark_y = 0, mark_height = 0;
};

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
    const size_t from = text.find(begin);
    const size_t to = text.find(end, from == std::string::npos ? from : from + begin.size());
    return to == std::string::npos ? ""
                                   : text.substr(from + begin.size(), to - from - begin.size());
}

std::string attribute(const std::string& element, const std::string& name) {
    return between(element, " " + name + "=\"", "\"");
}

double number(const std::string& element, const std::string& name) {
    return strtod(attribute(element, name).c_str(), nullptr);
}

struct Map {
    explicit Map(const std::string& source,
                 const std::vector<std::string>& options = {"-Ttext=0x401000"}) {
        const Program program = Program::assembled(".text\n.globl f\n" + source, options);
        const Analyzed analyzed(program.path());
        if (!analyzed.ok())
            return;
        text = regions_map(*analyzed, "<title>");
        const std::string all = between(text, "<g id=\"cells\">\n", "</g>\n<text class=\"l\" id");
        for (size_t at = 0; at < all.size(); at = all.find('\n', at) + 1)
            cells.push_back(cell(all.substr(at, all.find('\n', at) - at)));
    }

    static Shown cell(const std::string& line) {
        Shown out;
        out.tip = between(line, "<title>", "</title>");
        const std::string rect = between(line, "<rect", "/>");
        out.kind = attribute(rect, "class");
        out.x = number(rect, "x");
        out.y = number(rect, "y");
        out.width = number(rect, "width");
        out.height = number(rect, "height");
        const std::string path = between(line, "<path", "/>");
        out.marked = !path.empty();
        sscanf(attribute(path, "d").c_str(), "M%lf %lfv%lf", &out.mark_x, &out.mark_y,
               &out.mark_height);
        const std::string text = between(line, "<text", "</text>");
        out.label = text.substr(text.find('>') + 1);
        out.label_x = number(text, "x");
        out.label_y = number(text, "y");
        return out;
    }

    // Returns the addresses before the rows, by their baselines.
    std::vector<std::pair<double, std::string>> addresses() const {
        std::vector<std::pair<double, std::string>> out;
        const std::regex one("<text class=\"a\" x=\"10\" y=\"([0-9]+)\">(0x[0-9a-f]+)</text>");
        for (std::sregex_iterator at(text.begin(), text.end(), one), end; at != end; ++at)
            out.emplace_back(strtod((*at)[1].str().c_str(), nullptr), (*at)[2]);
        return out;
    }

    double width() const { return number(between(text, "<svg", ">"), "width"); }
    double height() const { return number(between(text, "<svg", ">"), "height"); }

    std::string text;
    std::vector<Shown> cells;
};

TEST(RegionsMap, ColoursFollowTheShareOfSafeInstructions) {
    const struct {
        size_t safe;
        const char* last;
        const char* kind;
    } shares[] = {
        {0, "nop\nret", "s0"},            // nothing
        {1, "nop\nnop\nnop\nret", "s1"},  // 20 %
        {1, "ret", "s1"},                 // 50 %
        {2, "nop\nret", "s1"},            // 50 %
        {11, "nop\nnop\nnop\nret", "s2"}, // 73 %
        {3, "nop\nret", "s2"},            // 60 %
        {3, "ret", "s2"},                 // 75 %
        {10, "nop\nnop\nret", "s3"},      // 77 %
        {9, "ret", "s3"},                 // 90 %
        {10, "ret", "s4"},                // 91 %
        {5000, "ret", "s4"},              // 99.98 %
        {2, "jmp.d32 f", "s5"},           // everything
        {0, "ret", "n"},                  // a single instruction is not counted
    };
    std::string source = function("f", "ret");
    size_t number = 0;
    for (const auto& each : shares)
        source += function("g" + std::to_string(number++), instructions(each.safe, each.last));
    const Map map(source);
    ASSERT_EQ(map.cells.size(), number + 1);
    std::set<std::string> colours;
    for (size_t i = 0; i < number; i++) {
        EXPECT_EQ(map.cells[i + 1].kind, shares[i].kind) << map.cells[i + 1].tip;
        const std::string colour =
            between(map.text, "rect." + std::string(shares[i].kind) + "{fill:", "}");
        EXPECT_TRUE(std::regex_match(colour, std::regex("#[0-9a-f]{6}"))) << colour;
        colours.insert(colour);
    }
    EXPECT_EQ(colours.size(), 7u) << "each kind has a colour of its own";
}

TEST(RegionsMap, TheLegendNamesEachColour) {
    const Map map(function("f", "nop\nret"));
    const std::string legend = between(map.text, "</text>\n<g transform", "<g id=\"cells\">");
    const std::pair<const char*, const char*> kinds[] = {
        {"<rect class=\"s0\"", "nothing"},        {"<rect class=\"s1\"", "up to 50 %"},
        {"<rect class=\"s2\"", "up to 75 %"},     {"<rect class=\"s3\"", "up to 90 %"},
        {"<rect class=\"s4\"", "more than 90 %"}, {"<rect class=\"s5\"", "everything"},
        {"<rect class=\"n\"", "not counted"},     {"<path d=\"M7 0v14\"", "not at the entry"}};
    const std::regex one("translate\\(([0-9]+) 50\\)\">(<(?:rect class|path d)=\"[^\"]*\")[^>]*>"
                         "<text class=\"l\" x=\"20\" y=\"11\">([^<]*)</text>");
    double end = 0;
    size_t count = 0;
    for (std::sregex_iterator at(legend.begin(), legend.end(), one), none; at != none; ++at) {
        ASSERT_LT(count, std::size(kinds));
        EXPECT_EQ((*at)[2], kinds[count].first);
        EXPECT_EQ((*at)[3], kinds[count].second);
        // Letters of 12 pixels are half as wide or a little more.
        const double x = strtod((*at)[1].str().c_str(), nullptr);
        EXPECT_GE(x, end) << "it does not lie upon the one before";
        EXPECT_LT(x, end + 40);
        end = x + 20 + 6.5 * static_cast<double>((*at)[3].length());
        count++;
    }
    EXPECT_EQ(count, std::size(kinds));
    EXPECT_LT(end, map.width());
}

TEST(RegionsMap, CellsFillRowsInTheOrderOfAddresses) {
    std::string source = function("f", "ret");
    for (size_t i = 0; i < 40; i++)
        source += function("g" + std::to_string(i), instructions(20 + i * i * 4, "ret"));
    const Map map(source);
    ASSERT_EQ(map.cells.size(), 41u);
    const auto addresses = map.addresses();
    size_t row = 0;
    const double left = map.cells[0].x;
    EXPECT_GT(left, 100) << "the addresses are in front";
    EXPECT_EQ(map.width(), left + 1400 + 10) << "with the same margin on both sides";
    ASSERT_FALSE(addresses.empty());
    for (size_t i = 0; i < map.cells.size(); i++) {
        const Shown& cell = map.cells[i];
        EXPECT_LE(cell.x + cell.width, map.width()) << i;
        EXPECT_LE(cell.y + cell.height, map.height()) << i;
        if (i == 0)
            continue;
        const Shown& before = map.cells[i - 1];
        EXPECT_GE(cell.width, before.width) << "it has more instructions";
        if (cell.y == before.y) {
            EXPECT_NEAR(cell.x, before.x + before.width + 1, 0.11) << i;
            continue;
        }
        EXPECT_EQ(cell.x, left);
        EXPECT_EQ(cell.y, before.y + before.height + 1);
        // A row is full: the next cell would have been too wide.
        EXPECT_GT(before.x + before.width + 1 + cell.width + 1, left + 1400) << i;
        row++;
        ASSERT_LT(row, addresses.size());
        EXPECT_NE(cell.tip.find(" at " + addresses[row].second + ":"), std::string::npos);
        EXPECT_EQ(addresses[row].first, cell.y + cell.height - 4) << "on the line of the row";
    }
    EXPECT_EQ(row + 1, addresses.size());
    EXPECT_GT(row, 2u);
    EXPECT_EQ(addresses[0].second, "0x401000");
    EXPECT_EQ(addresses[0].first, map.cells[0].y + map.cells[0].height - 4);
    // What the reader points at is told below the last row.
    const double note = number(between(map.text, "<text class=\"l\" id=\"note\"", ">"), "y");
    EXPECT_GT(note, map.cells.back().y + map.cells.back().height + 10);
    EXPECT_LT(note, map.height());
    EXPECT_EQ(between(map.text, "viewBox=\"", "\""),
              "0 0 " + attribute(between(map.text, "<svg", ">"), "width") + " " +
                  attribute(between(map.text, "<svg", ">"), "height"));
}

// Four times the instructions take twice the width.
TEST(RegionsMap, TheWidthIsTheRootOfTheInstructions) {
    const Map map(function("f", instructions(99, "ret")) + function("g", instructions(399, "ret")) +
                  function("h", instructions(899, "ret")) + function("one", "ret") +
                  function("large", instructions(4000, "ret")) +
                  function("larger", instructions(9000, "ret")));
    ASSERT_EQ(map.cells.size(), 6u);
    EXPECT_EQ(map.cells[0].width, 29);
    EXPECT_EQ(map.cells[1].width, 59);
    EXPECT_EQ(map.cells[2].width, 89);
    EXPECT_EQ(map.cells[3].width, 5) << "the smallest can be seen and pointed at";
    EXPECT_EQ(map.cells[4].width, 169);
    EXPECT_EQ(map.cells[5].width, 169) << "the largest leave room for others";
}

// Letters of 10 pixels in a row of one width are 6.1 wide.
TEST(RegionsMap, NamesAreShownAsFarAsThereIsRoom) {
    const std::string name = "a_name_of_28_characters_in_it";
    const Map map(function("f", instructions(99, "ret")) +
                  function(name, instructions(224, "ret")) +
                  function(name + "_2", instructions(899, "ret")) +
                  function("short_name", instructions(899, "ret")) +
                  function("six_of", instructions(224, "ret")) +
                  function("seven_7", instructions(224, "ret")) +
                  function("narrow", instructions(219, "ret")));
    ASSERT_EQ(map.cells.size(), 7u);
    EXPECT_EQ(map.cells[0].label, "") << "less than six letters tell nothing";
    EXPECT_EQ(map.cells[1].label, "a_na..");
    EXPECT_EQ(map.cells[2].label, "a_name_of_2..");
    EXPECT_EQ(map.cells[3].label, "short_name");
    EXPECT_EQ(map.cells[4].label, "six_of");
    EXPECT_EQ(map.cells[5].label, "seve..");
    EXPECT_EQ(map.cells[6].label, "");
    for (const Shown& cell : map.cells) {
        if (cell.label.empty())
            continue;
        EXPECT_EQ(cell.label_x, cell.x + 4);
        EXPECT_LT(cell.label_x + 6.1 * static_cast<double>(cell.label.size()), cell.x + cell.width);
        EXPECT_GT(cell.label_y, cell.y + 9);
        EXPECT_LT(cell.label_y, cell.y + cell.height);
    }
}

TEST(RegionsMap, TipsTellTheFunction) {
    const std::string eighty(80, 'n'), longer(81, 'm');
    const Map map(function("f", instructions(3, "ret")) +
                  function("back", "xor %eax, %eax\n1: inc %eax\njnz 1b\nnop\nret") +
                  function(eighty, instructions(1, "ret")) +
                  function(longer, instructions(1, "ret")) +
                  function("everything", instructions(2, "jmp.d32 f")));
    ASSERT_EQ(map.cells.size(), 5u);
    EXPECT_EQ(map.cells[0].tip, "f at 0x401000: I 4, K 3, B 3, mostly function-end");
    EXPECT_FALSE(map.cells[0].marked);
    // The loop begins in the region of xor; the last three are within five bytes of the end.
    EXPECT_EQ(map.cells[1].tip,
              "back at 0x40101f: I 5, K 1, B 1, mostly function-end; not at the entry");
    EXPECT_TRUE(map.cells[1].marked);
    EXPECT_EQ(map.cells[1].mark_x, map.cells[1].x);
    EXPECT_EQ(map.cells[1].mark_y, map.cells[1].y);
    EXPECT_EQ(map.cells[1].mark_height, map.cells[1].height);
    EXPECT_TRUE(map.cells[2].tip.starts_with(eighty + " at "));
    EXPECT_TRUE(map.cells[3].tip.starts_with(longer.substr(0, 78) + ".. at "));
    EXPECT_EQ(map.cells[4].tip.find("mostly"), std::string::npos) << "nothing is refused";
    EXPECT_NE(map.text.find("Where a jump may be planted: &lt;title&gt;</text>"),
              std::string::npos);
    EXPECT_NE(map.text.find(">5 functions, 16 instructions, K "), std::string::npos);
    EXPECT_EQ(map.text.find("A cell is"), std::string::npos);
}

std::string many_functions(size_t count) {
    // The first two have room for a label, and only one of them an entry for a jump.
    std::string source =
        function("f", instructions(299, "ret")) +
        function("second", "xor %eax, %eax\n1: nop\njmp 1b\n" + instructions(296, "ret"));
    for (size_t i = 2; i < count; i++)
        source += function("g" + std::to_string(i), "nop\nret");
    return source;
}

// 20000 cells are the most that a browser shows quickly.
TEST(RegionsMap, NeighboursShareACellIfThereAreVeryMany) {
    const Map map(many_functions(20'001));
    ASSERT_EQ(map.cells.size(), 10'001u);
    EXPECT_NE(map.text.find(" A cell is 2 functions.</text>"), std::string::npos);
    const Shown& first = map.cells[0];
    EXPECT_EQ(first.width, 51) << "of 300 instructions each";
    EXPECT_EQ(first.label, "f +1");
    EXPECT_TRUE(first.tip.starts_with("f and 1 more at 0x401000: I 600, K ")) << first.tip;
    EXPECT_TRUE(first.tip.ends_with(", entries 1")) << first.tip;
    EXPECT_TRUE(first.marked) << "one of two can be patched at the entry";
    EXPECT_EQ(map.cells[1].kind, "s0");
    EXPECT_TRUE(map.cells[1].tip.starts_with("g2 and 1 more at ")) << map.cells[1].tip;
    EXPECT_TRUE(map.cells[1].tip.ends_with(": I 4, K 0, B 0, entries 0")) << map.cells[1].tip;
    EXPECT_TRUE(map.cells.back().tip.starts_with("g20000 at ")) << "the last one is alone";
}

TEST(RegionsMap, EachFunctionHasACellUpTo20000) {
    const Map map(many_functions(20'000));
    ASSERT_EQ(map.cells.size(), 20'000u);
    EXPECT_EQ(map.text.find("A cell is"), std::string::npos);
    EXPECT_TRUE(map.cells[1].tip.starts_with("second at ")) << map.cells[1].tip;
    EXPECT_TRUE(map.cells.back().tip.starts_with("g19999 at "));
}

} // namespace
} // namespace djstap::driver
