// SPDX-License-Identifier: GPL-2.0-or-later
#include "monitor_fixture.h"

#include "include/statistic.h"

namespace djstap {
namespace {

TEST_F(Monitor, ShowsProbesByHits) {
    snapshot(5, 7);
    EXPECT_EQ(screen(), " [probes (2)]  globals (1)   a (2)\n"
                        " #  on  hits> hits/s  average  min  max  cycles  probe\n"
                        "> 1 on      7       0        2    1    3      14 second\n"
                        "  0 on      5       0        2    1    3      10 first\n");
    EXPECT_FALSE(model_.changed());
    snapshot(9, 7);
    EXPECT_TRUE(model_.changed());
}

TEST_F(Monitor, IncompleteSnapshotsAreNotShown) {
    snapshot(5, 7);
    const std::string before = screen();
    mark(DJS_SHOWS_BEGIN);
    probe(0, "first", 100);
    EXPECT_EQ(screen(), before);
}

TEST_F(Monitor, ElementsThatAreGoneDisappear) {
    snapshot(5, 7);
    press('\t');
    press('\t');
    EXPECT_EQ(screen(), "  probes (2)   globals (1)  [a (2)]\n"
                        " key  value>\n"
                        ">many     12\n"
                        " few       7\n");
    mark(DJS_SHOWS_BEGIN);
    element("a", "few", 8);
    mark(DJS_SHOWS_END);
    EXPECT_EQ(screen(), " [a (1)]\n"
                        " key  value>\n"
                        ">few       8\n");
}

TEST_F(Monitor, TheSelectedRowStaysSelectedWhereverItIs) {
    snapshot(5, 7);
    screen();
    model_.press(MonitorKey::Down);
    snapshot(50, 7);
    EXPECT_EQ(screen(), " [probes (2)]  globals (1)   a (2)\n"
                        " #  on  hits> hits/s  average  min  max  cycles  probe\n"
                        "> 0 on     50      22        2    1    3     100 first\n"
                        "  1 on      7       0        2    1    3      14 second\n");
    const MonitorRequest request = press(' ');
    EXPECT_EQ(request.kind, MonitorRequest::Kind::Switch);
    EXPECT_EQ(request.probes, std::vector<uint32_t>{0});
    EXPECT_FALSE(request.on);
}

TEST_F(Monitor, SwitchedProbesAreShown) {
    snapshot(5, 7);
    model_.set_switch(0, false);
    EXPECT_NE(screen().find("- 0 off     5"), std::string::npos) << screen();
    snapshot(5, 8);
    EXPECT_NE(screen().find("- 0 off     5"), std::string::npos) << screen();
    model_.press(MonitorKey::End);
    EXPECT_TRUE(press(' ').on);
    model_.set_switch(0, true);
    EXPECT_NE(screen().find("> 0 on      5"), std::string::npos) << screen();
    snapshot(5, 9); // it is asked of the model which are off
    EXPECT_NE(screen().find("> 0 on      5"), std::string::npos) << screen();
    EXPECT_EQ(screen().find(" off "), std::string::npos) << screen();
}

// The histogram of an array is no row of its table.
TEST_F(Monitor, HistogramsAreNotShown) {
    djs_histogram_header header{};
    header.kind = DJS_HISTOGRAM_LINEAR;
    header.buckets = 3;
    header.high = header.width = 5;
    cycles_ += 2'000'000'000;
    mark(DJS_SHOWS_BEGIN);
    element("a", "one", 3);
    event({"%s %s\n", "sh", "a", 1},
          text("one") + bytes_of(&header, sizeof header) + number(1) + number(2) + number(3));
    mark(DJS_SHOWS_END);
    EXPECT_NE(screen().find("[a (1)]"), std::string::npos) << screen();
}

TEST_F(Monitor, PauseLeavesWhatWasOff) {
    snapshot(5, 7);
    model_.set_switch(1, false);
    const MonitorRequest pause = press('p');
    EXPECT_EQ(pause.probes, std::vector<uint32_t>{0});
    EXPECT_FALSE(pause.on);
    model_.set_switch(0, false);
    EXPECT_NE(model_.lines(100, 5)[0].text.find("paused"), std::string::npos);
    const MonitorRequest resume = press('p');
    EXPECT_EQ(resume.probes, std::vector<uint32_t>{0});
    EXPECT_TRUE(resume.on);
    EXPECT_EQ(model_.lines(100, 5)[0].text.find("paused"), std::string::npos);
}

TEST_F(Monitor, ArraysMayHaveTheNamesOfOtherTables) {
    mark(DJS_SHOWS_BEGIN);
    probe(0, "first", 5);
    scalar("n", 1);
    element("probes", "few", 7);
    element("probes", "many", 12);
    element("globals", "one", 1);
    element("statistics", "one", 1);
    mark(DJS_SHOWS_END);
    model_.set_switch(0, false);
    EXPECT_TRUE(press(' ').on);
    press('\t');
    press('\t');
    EXPECT_EQ(screen(),
              "  probes (1)   globals (1)  [probes[] (2)]  globals[] (1)   statistics[] (1)\n"
              " key  value>\n"
              ">many     12\n"
              " few       7\n");
}

TEST_F(Monitor, NothingIsPausedWhereProbesCannotBeSwitched) {
    snapshot(5, 7);
    for (const uint32_t probe : press('p').probes)
        model_.refuse(probe, "it stays on");
    EXPECT_EQ(model_.lines(100, 5)[0].text.find("paused"), std::string::npos);
    EXPECT_NE(screen().find("it stays on"), std::string::npos);
    EXPECT_FALSE(press('p').on); // it asks for a pause again
}

TEST_F(Monitor, SpaceOutsideTheProbesTellsWhereTheyAre) {
    snapshot(5, 7);
    press('\t');
    EXPECT_EQ(press(' ').kind, MonitorRequest::Kind::Nothing);
    EXPECT_NE(screen().find("tab leads to the table of probes"), std::string::npos);
}

TEST_F(Monitor, SortsByAnyColumn) {
    snapshot(5, 7);
    press('<');
    press('<'); // the numbers, largest first
    press('r');
    EXPECT_EQ(screen(), " [probes (2)]  globals (1)   a (2)\n"
                        " #< on  hits  hits/s  average  min  max  cycles  probe\n"
                        "> 0 on      5       0        2    1    3      10 first\n"
                        "  1 on      7       0        2    1    3      14 second\n");
    press('<'); // from the first column to the last
    EXPECT_NE(screen().find("probe<"), std::string::npos);
}

TEST_F(Monitor, TellsHowLongTheScriptHasRun) {
    snapshot(5, 7);
    EXPECT_TRUE(model_.lines(100, 5)[0].text.starts_with("djstap m  0:00 "));
    for (const auto& [seconds, shown] : {std::pair{9, "0:09 "},
                                         {59, "0:59 "},
                                         {60, "1:00 "},
                                         {3599, "59:59 "},
                                         {3600, "60:00 "}}) {
        cycles_ = uint64_t(seconds) * 1'000'000'000;
        snapshot(5, 7); // two seconds later, as the first one
        EXPECT_TRUE(model_.lines(100, 5)[0].text.starts_with(std::string("djstap m  ") + shown))
            << model_.lines(100, 5)[0].text;
    }
}

TEST_F(Monitor, KeysMoveByARowAndSortByTheNextColumn) {
    snapshot(5, 7);
    model_.press(MonitorKey::Down);
    EXPECT_NE(screen().find("> 0 on"), std::string::npos) << screen();
    model_.press(MonitorKey::Up);
    EXPECT_NE(screen().find("> 1 on"), std::string::npos) << screen();
    model_.press(MonitorKey::Left);
    EXPECT_NE(screen().find("on> "), std::string::npos) << screen();
    model_.press(MonitorKey::Right);
    model_.press(MonitorKey::Right);
    EXPECT_NE(screen().find("hits/s>"), std::string::npos) << screen();
    press('>');
    EXPECT_NE(screen().find("average>"), std::string::npos) << screen();
    press('<');
    press('s');
    press('s');
    EXPECT_NE(screen().find("min>"), std::string::npos) << screen();
}

TEST_F(Monitor, KeysMoveByRowsAndPages) {
    mark(DJS_SHOWS_BEGIN);
    for (int i = 0; i < 30; i++)
        probe(i, "p" + std::to_string(i), 100 - i); // as they are shown
    mark(DJS_SHOWS_END);
    screen();
    const auto selected = [&] {
        const std::string shown = screen();
        const size_t begin = shown.find("\n>") + 2;
        return std::stoi(shown.substr(begin));
    };
    EXPECT_EQ(selected(), 0);
    model_.press(MonitorKey::Down);
    EXPECT_EQ(selected(), 1);
    model_.press(MonitorKey::Down);
    EXPECT_EQ(selected(), 2);
    model_.press(MonitorKey::Up);
    EXPECT_EQ(selected(), 1);
    model_.press(MonitorKey::PageDown);
    const int page = selected() - 1;
    EXPECT_GT(page, 1);
    model_.press(MonitorKey::PageDown);
    EXPECT_EQ(selected(), 1 + 2 * page);
    model_.press(MonitorKey::PageUp);
    EXPECT_EQ(selected(), 1 + page);
    model_.press(MonitorKey::End);
    EXPECT_EQ(selected(), 29);
    model_.press(MonitorKey::Home);
    EXPECT_EQ(selected(), 0);
}

TEST_F(Monitor, KeysOfArraysMayBeStacks) {
    mark(DJS_SHOWS_BEGIN);
    event({"a[%s]=%d\n", "kl", "a", 1}, number(1) + number(0x10) + number(7));
    mark(DJS_SHOWS_END);
    EXPECT_NE(screen().find("0x10"), std::string::npos) << screen();
}

// A text is the script's output, whatever a format shows.
TEST_F(Monitor, TextsAndPrintsAreNoRows) {
    EXPECT_FALSE(model_.take(Event{0, 1, clock_, {"", "", "", 0}, text("a text")}));
    EXPECT_FALSE(model_.take(Event{0, 1, clock_, {"%d\n", "l", "", 0}, number(1)}));
    EXPECT_FALSE(model_.take(Event{0, 1, clock_, {"%d\n", "l", "n", 0}, number(1)}))
        << "no snapshot has begun";
}

TEST_F(Monitor, FrozenTablesStay) {
    snapshot(5, 7);
    press('f');
    const std::string before = screen();
    snapshot(50, 70);
    EXPECT_EQ(screen(), before);
    press('f');
    snapshot(51, 71);
    EXPECT_NE(screen().find("71"), std::string::npos);
}

TEST_F(Monitor, ShowsWhatTheScriptPrintsWithoutControlCharacters) {
    snapshot(5, 7);
    model_.take_text("one\ntwo \033[2J");
    model_.take_text("\nth\u009bree\t!");
    EXPECT_EQ(screen(60, 9), " [probes (2)]  globals (1)   a (2)\n"
                             " #  on  hits> hits/s  average  min  max  cycles  probe\n"
                             "> 1 on      7       0        2    1    3      14 second\n"
                             "  0 on      5       0        2    1    3      10 first\n"
                             " printed\n"
                             " one\n"
                             " two ?[2J\n"
                             " th?ree !\n");
    EXPECT_EQ(model_.last_text(), "one\ntwo \033[2J\nth\u009bree\t!");
    snapshot(6, 7);
    EXPECT_EQ(model_.last_text(), "");
}

TEST_F(Monitor, KeepsWholeLinesOfLongOutput) {
    for (int i = 0; i < 10000; i++)
        model_.take_text("line " + std::to_string(i) + "\n");
    EXPECT_TRUE(model_.last_text().starts_with("line "));
    EXPECT_TRUE(model_.last_text().ends_with("line 9999\n"));
    model_.take_text(std::string(100'000, 'x'));
    EXPECT_LE(model_.last_text().size(), 100'000U);
}

TEST_F(Monitor, ScrollsAndFitsAnySize) {
    cycles_ += 1;
    mark(DJS_SHOWS_BEGIN);
    for (int64_t i = 0; i < 30; i++)
        element("big", "key" + std::to_string(i), 100 - i);
    mark(DJS_SHOWS_END);
    model_.press(MonitorKey::End);
    EXPECT_EQ(screen(20, 5), " [big (30)]\n"
                             " key   value>\n"
                             " key28     72\n"
                             ">key29     71\n");
    for (size_t width = 0; width < 30; width++)
        for (size_t height = 0; height < 12; height++) {
            const auto lines = model_.lines(width, height);
            EXPECT_LE(lines.size(), height);
            for (const MonitorLine& line : lines)
                EXPECT_LE(line.text.size(), width);
        }
}

TEST_F(Monitor, KeysWithoutAnythingToShowDoNothing) {
    for (const char key : std::string("\t <>srpf"))
        EXPECT_EQ(press(key).kind, MonitorRequest::Kind::Nothing);
    model_.press(MonitorKey::PageDown);
    EXPECT_EQ(press('q').kind, MonitorRequest::Kind::Quit);
    EXPECT_NE(screen().find("waiting for the first values"), std::string::npos);
}

TEST_F(Monitor, DamagedRecordsAreIgnored) {
    mark(DJS_SHOWS_BEGIN);
    event({"%d %s", "ls", DJS_SHOWS_PROBE, 2}, number(1));
    event({"%d %s %d %d %d %d %d", "lslllll", DJS_SHOWS_PROBE, 2}, number(1) + "\xff\xff\xff\xff");
    mark(DJS_SHOWS_END);
    EXPECT_NE(screen().find("waiting"), std::string::npos);
    EXPECT_FALSE(event({"%d\n", "l"}, number(1)));
}

} // namespace
} // namespace djstap
