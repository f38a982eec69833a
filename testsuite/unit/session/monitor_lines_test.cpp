// SPDX-License-Identifier: GPL-2.0-or-later
// How --monitor fills a terminal: what fits, what is cut, what stays where it was.
#include "monitor_fixture.h"

#include <array>

namespace djstap {
namespace {

using Style = MonitorLine::Style;

class MonitorLines : public Monitor {
  protected:
    void statistic(const std::string& name, const std::string& keys, const std::string& types,
                   uint64_t count, std::array<int64_t, 5> numbers) {
        std::string all = keys;
        for (const int64_t each : numbers)
            all += number(each);
        event({"", types + "lllll", name, count}, all);
    }
    // An array of these many elements, the first of which has the largest value.
    void array(int elements) {
        mark(DJS_SHOWS_BEGIN);
        for (int i = 0; i < elements; i++)
            element("a", "k" + std::to_string(i), 100 - i);
        mark(DJS_SHOWS_END);
    }
    // The keys in the rows of the table, the selected one in brackets.
    std::string rows(size_t height) {
        std::string all;
        const auto lines = model_.lines(80, height);
        for (size_t i = 3; i < lines.size(); i++) {
            const std::string key = lines[i].text.substr(0, lines[i].text.find(' '));
            all += lines[i].style == Style::Selected ? "[" + key + "] " : key + " ";
        }
        return all;
    }
};

TEST_F(MonitorLines, TablesOfStatisticsHaveTheirNumbers) {
    mark(DJS_SHOWS_BEGIN);
    statistic("took", text("ls") + number(7), "sl", 2, {3, 1, 9, 12, 4});
    statistic("took", text("cat") + number(-1), "sl", 2, {5, 2, 4, 15, 3});
    statistic("sizes", "", "", 0, {2, 10, 20, 30, 15});
    mark(DJS_SHOWS_END);
    EXPECT_EQ(screen(), " [took (2)]  statistics (1)\n"
                        " key 1  key 2  count> min  max  sum  average\n"
                        ">cat        -1      5    2    4   15        3\n"
                        " ls          7      3    1    9   12        4\n");
    press('\t');
    EXPECT_EQ(screen(), "  took (2)  [statistics (1)]\n"
                        " name  count> min  max  sum  average\n"
                        ">sizes      2   10   20   30       15\n");
    press('\t'); // the first one again
    EXPECT_TRUE(screen().starts_with(" [took (2)]")) << screen();
}

// A character may take several bytes, and is never divided.
TEST_F(MonitorLines, CharactersAreCountedAndNotBytes) {
    mark(DJS_SHOWS_BEGIN);
    element("a", "\xc3\xa4\xe2\x82\xac", 2); // two characters of five bytes
    element("a", "abcdef", 1);
    mark(DJS_SHOWS_END);
    EXPECT_EQ(screen(), " [a (2)]\n"
                        " key    value>\n"
                        ">\xc3\xa4\xe2\x82\xac          2\n"
                        " abcdef      1\n");
    EXPECT_EQ(model_.lines(2, 5)[3].text, "\xc3\xa4\xe2\x82\xac");
    EXPECT_EQ(model_.lines(1, 5)[3].text, "\xc3\xa4");
}

TEST_F(MonitorLines, AColumnHas60CharactersAtMost) {
    mark(DJS_SHOWS_BEGIN);
    element("a", std::string(60, 'x'), 2);
    element("a", std::string(61, 'y'), 1);
    mark(DJS_SHOWS_END);
    EXPECT_EQ(screen(), " [a (2)]\n"
                        " key" +
                            std::string(58, ' ') +
                            "value>\n"
                            ">" +
                            std::string(60, 'x') +
                            "      2\n"
                            " " +
                            std::string(60, 'y') + "      1\n");
}

// Rows move only when the selected one would not be seen otherwise.
TEST_F(MonitorLines, RowsStayWhereTheyAre) {
    array(6);
    EXPECT_EQ(rows(6), "[k0] k1 k2 ");
    model_.press(MonitorKey::Down);
    model_.press(MonitorKey::Down);
    EXPECT_EQ(rows(6), "k0 k1 [k2] ");
    model_.press(MonitorKey::Down);
    EXPECT_EQ(rows(6), "k1 k2 [k3] ");
    model_.press(MonitorKey::Up);
    model_.press(MonitorKey::Up);
    EXPECT_EQ(rows(6), "[k1] k2 k3 ");
    model_.press(MonitorKey::Up);
    EXPECT_EQ(rows(6), "[k0] k1 k2 ");
    model_.press(MonitorKey::Up); // there is none above it
    EXPECT_EQ(rows(6), "[k0] k1 k2 ");
    model_.press(MonitorKey::PageDown);
    EXPECT_EQ(rows(6), "k1 k2 [k3] ");
    model_.press(MonitorKey::PageDown);
    model_.press(MonitorKey::PageDown); // there is none below it
    EXPECT_EQ(rows(6), "k3 k4 [k5] ");
    EXPECT_EQ(rows(5), "k4 [k5] ") << "a smaller terminal";
    EXPECT_EQ(rows(4), "[k5] ");
    EXPECT_EQ(rows(3), "");
    array(2); // its key is not there any more
    EXPECT_EQ(rows(6), "k0 [k1] ");
}

// Numbers stand below the end of their title, texts below its begin.
TEST_F(MonitorLines, TitlesAreWhereTheirValuesAre) {
    mark(DJS_SHOWS_BEGIN);
    probe(0, "kernel.function(\"vfs_read\")", 123'456'789);
    mark(DJS_SHOWS_END);
    EXPECT_EQ(screen(), " [probes (1)]\n"
                        " #  on      hits> hits/s  average  min  max    cycles  probe\n"
                        "> 0 on  123456789       0        2    1    3 246913578 "
                        "kernel.function(\"vfs_read\")\n");
}

// So does the first row, which is selected before any key is pressed.
TEST_F(MonitorLines, TheFirstRowStaysSelectedWhereverItIs) {
    snapshot(5, 7);
    EXPECT_NE(screen().find("> 1 on"), std::string::npos) << screen();
    snapshot(50, 7);
    EXPECT_NE(screen().find("> 1 on"), std::string::npos) << screen();
}

// A terminal of one row is a page, too.
TEST_F(MonitorLines, APageIsAsManyRowsAsFit) {
    array(9);
    rows(4);
    model_.press(MonitorKey::PageDown);
    EXPECT_EQ(rows(4), "[k1] ");
    rows(3);
    model_.press(MonitorKey::PageDown);
    EXPECT_EQ(rows(7), "k1 [k2] k3 k4 ");
    model_.press(MonitorKey::PageDown);
    EXPECT_EQ(rows(7), "k3 k4 k5 [k6] ");
}

TEST_F(MonitorLines, PrintedLinesHaveTheLowerPart) {
    array(3);
    for (int i = 1; i <= 9; i++)
        model_.take_text("line " + std::to_string(i) + "\n");
    const std::string table = " [a (3)]\n"
                              " key  value>\n"
                              ">k0      100\n"
                              " k1       99\n"
                              " k2       98\n";
    const auto lines = [](int first) {
        std::string all = " printed\n";
        for (int i = first; i <= 9; i++)
            all += " line " + std::to_string(i) + "\n";
        return all;
    };
    // Six of them at most, at the end of the terminal.
    EXPECT_EQ(screen(80, 16), table + " \n \n \n" + lines(4));
    EXPECT_EQ(screen(80, 14), table + " \n" + lines(4));
    // Half of what is below the heads at most.
    EXPECT_EQ(screen(80, 13), table + " \n" + lines(5));
    EXPECT_EQ(screen(80, 12), table + lines(5));
    EXPECT_EQ(screen(80, 11), table + lines(6));
    EXPECT_EQ(screen(80, 5), " [a (3)]\n"
                             " key  value>\n" +
                                 lines(9));
    EXPECT_EQ(screen(80, 4), " [a (3)]\n printed\n line 9\n");
    EXPECT_EQ(screen(80, 3), " [a (3)]\n key  value>\n");
    EXPECT_EQ(screen(80, 2), " [a (3)]\n");
    EXPECT_TRUE(model_.lines(80, 1).empty());
    EXPECT_TRUE(model_.lines(0, 9).empty());
    EXPECT_EQ(model_.lines(1, 9)[0].text, "d");
}

TEST_F(MonitorLines, AMessageIsALineOfItsOwn) {
    model_.take_message("first");
    model_.take_text("begun, ");
    EXPECT_EQ(screen(), " waiting for the first values\n"
                        " \n \n \n \n \n \n \n"
                        " printed\n first\n begun,\n");
    model_.take_message("WARNING: in between");
    model_.take_text("ended\n");
    model_.take_text("last\n");
    EXPECT_TRUE(
        screen().ends_with(" printed\n first\n begun,\n WARNING: in between\n ended\n last\n"))
        << screen();
    model_.lines(80, 9);
    EXPECT_FALSE(model_.changed());
    model_.take_message("more");
    EXPECT_TRUE(model_.changed());
    EXPECT_TRUE(screen().ends_with(" last\n more\n")) << screen();
    model_.take_text("x");
    EXPECT_TRUE(model_.changed());
}

TEST_F(MonitorLines, WhatWasPrintedLastIsKeptFor64KiB) {
    constexpr size_t most = 64 << 10;
    const auto kept_of = [this](const std::string& text) {
        snapshot(1, 1); // what was printed before is over
        model_.take_text(text.substr(0, 10));
        model_.take_text(text.substr(10));
        return model_.last_text();
    };
    const std::string whole(most, 'x');
    EXPECT_EQ(kept_of(whole), whole);
    EXPECT_EQ(kept_of("y" + whole), whole) << "there is no line";
    EXPECT_EQ(kept_of("\n" + whole), whole);
    EXPECT_EQ(kept_of("y\n" + whole.substr(1)), whole.substr(1)) << "the first whole line";
    EXPECT_EQ(kept_of("yy\n" + whole.substr(2)), whole.substr(2));
}

TEST_F(MonitorLines, ANoticeIsShownUntilTheNextKey) {
    snapshot(5, 7);
    press('x');
    EXPECT_EQ(model_.lines(100, 9)[1].text.find("keys: tab next table"), 0U);
    EXPECT_EQ(model_.lines(100, 9)[1].style, Style::Message);
    model_.press(MonitorKey::Down);
    EXPECT_EQ(model_.lines(100, 9)[1].text.find("[probes (2)]"), 0U);
    EXPECT_EQ(model_.lines(100, 9)[1].style, Style::Plain);
    EXPECT_EQ(model_.lines(100, 9)[0].style, Style::Title);
    EXPECT_EQ(model_.lines(100, 9)[2].style, Style::Head);
    press('f');
    EXPECT_NE(model_.lines(100, 9)[0].text.find("  frozen "), std::string::npos);
    press('f');
    EXPECT_EQ(model_.lines(100, 9)[0].text.find("frozen"), std::string::npos);
    EXPECT_FALSE(model_.changed());
    press('r');
    EXPECT_TRUE(model_.changed());
}

// Between two snapshots, in whole hits for each second; of a probe that is new, none.
TEST_F(MonitorLines, RatesAreThoseSinceTheSnapshotBefore) {
    const auto rate = [this] {
        const std::string line = model_.lines(100, 5)[3].text;
        return std::stol(line.substr(line.find("on") + 10));
    };
    const auto after = [&](uint64_t ms, int64_t hits) {
        cycles_ += ms * 1'000'000;
        mark(DJS_SHOWS_BEGIN);
        probe(0, "p", hits);
        mark(DJS_SHOWS_END);
        return rate();
    };
    EXPECT_EQ(after(5, 100), 0);
    EXPECT_EQ(after(1000, 150), 50);
    EXPECT_EQ(after(500, 160), 20);
    EXPECT_EQ(after(1, 161), 1000);
    EXPECT_EQ(after(0, 170), 0) << "no time has passed";
    EXPECT_EQ(after(3000, 172), 0) << "less than one";
    EXPECT_EQ(after(1000, 172), 0);
}

TEST_F(MonitorLines, AProbeWhoseSwitchFailsIsNotPaused) {
    snapshot(5, 7);
    EXPECT_EQ(press('p').probes.size(), 2U);
    model_.refuse(1, "why");
    EXPECT_NE(model_.lines(100, 5)[0].text.find("paused"), std::string::npos) << "the other one is";
    EXPECT_EQ(press('p').probes, std::vector<uint32_t>{0});
}

// Without probes there is nothing to switch; what is not shown is not switched.
TEST_F(MonitorLines, OnlyProbesAreSwitched) {
    array(2);
    EXPECT_EQ(press('p').kind, MonitorRequest::Kind::Nothing);
    EXPECT_EQ(press(' ').kind, MonitorRequest::Kind::Nothing);
    EXPECT_TRUE(screen().starts_with(" [a (2)]")) << "no notice: " << screen();
    EXPECT_EQ(press('q').kind, MonitorRequest::Kind::Quit);
    snapshot(1, 2);
    const MonitorRequest pause = press('p');
    EXPECT_EQ(pause.kind, MonitorRequest::Kind::Switch);
    EXPECT_EQ(pause.probes, (std::vector<uint32_t>{0, 1}));
}

} // namespace
} // namespace djstap
