// SPDX-License-Identifier: GPL-2.0-or-later
// Which events are slices, counters and moments of a Perfetto trace, and on which track.
#include "formats.h"

namespace djstap {
namespace {

TEST_F(Formats, PerfettoHasSlicesOfPairsOnTheTracksOfThreads) {
    meta_.fields = all_fields;
    meta_.points = {"kernel.function(\"outer@a.c:1\").call",
                    "kernel.function(\"outer@a.c:1\").return", "kernel.function(\"inner@a.c:9\")",
                    "kernel.function(\"inner@a.c:9\").return", "kernel.function(\"alone@a.c:5\")"};
    const uint32_t enters = format("in fd=%d path=%s\n", "ls"), leaves = format("out %d\n", "l"),
                   more = format("more\n", "");
    open({"perfetto:t"});
    record(enters, 1100, fields(7, 8, 0) + number(3) + text("/a\xff"), 1);
    record(more, 1150, fields(7, 8, 0), 1);
    record(enters, 1200, fields(7, 8, 2) + number(-4) + text("b"), 1);
    record(enters, 1250, fields(7, 9, 2) + number(5) + text("c"), 2);
    record(leaves, 1300, fields(7, 8, 3) + number(0), 1);
    record(more, 1310, fields(7, 8, 3), 1);
    record(leaves, 1400, fields(7, 8, 1) + number(1), 1);
    record(leaves, 1500, fields(7, 8, 1) + number(2), 1); // its entry was not seen
    record(enters, 1600, fields(7, 8, 4) + number(6) + text("d"), 1);
    record(more, 1700, fields(0, 0, 4), 3); // the idle task
    EXPECT_EQ(close(), "");
    EXPECT_EQ(read("perfetto", "t",
                   "\"\\n\".join(\" \".join([str(e[\"time\"]), e[\"type\"], e[\"track\"], "
                   "e.get(\"name\", \"-\")]) for e in r)"),
              "1000100 begin thread 8 of 7 outer\n"
              "1000150 instant thread 8 of 7 more\n"
              "1000200 begin thread 8 of 7 inner\n"
              "1000250 begin thread 9 of 7 inner\n"
              "1000300 end thread 8 of 7 inner\n"
              "1000310 instant thread 8 of 7 more\n"
              "1000400 end thread 8 of 7 outer\n"
              "1000500 instant thread 8 of 7 out 2\n"
              "1000600 instant thread 8 of 7 in fd=6 path=d\n"
              "1000700 instant CPU 3 more\n");
    EXPECT_EQ(
        read("perfetto", "t", "[r[0][\"category\"], r[0][\"arguments\"], r[2][\"arguments\"]]"),
        "['kernel.function(\"outer@a.c:1\").call', {'cpu': 1, 'text': 'in fd=3 "
        "path=/a\xef\xbf\xbd\\n', "
        "'fd': 3, 'path': '/a\xef\xbf\xbd'}, {'cpu': 1, 'text': 'in fd=-4 path=b\\n', 'fd': -4, "
        "'path': 'b'}]\n");
}

TEST_F(Formats, PerfettoEndsSlicesWhoseReturnWasLost) {
    meta_.fields = all_fields;
    meta_.points = {"kernel.function(\"f\")", "kernel.function(\"f\").return",
                    "kernel.function(\"g\")", "kernel.function(\"g\").return"};
    const uint32_t any = format("x\n", "");
    open({"perfetto:t"});
    uint64_t time = 1100;
    for (const uint64_t site : {0, 2, 2, 1})
        record(any, time++, fields(1, 1, site));
    close();
    EXPECT_EQ(read("perfetto", "t", "[e[\"type\"] for e in r]"),
              "['begin', 'begin', 'begin', 'end', 'end', 'end']\n");
}

TEST_F(Formats, PerfettoShowsNumbersAsCounters) {
    meta_.fields = all_fields;
    meta_.points = {"timer.ms(10)", "end"};
    const uint32_t named = format("reads=%d writes: %d\n", "ll"), unnamed = format("%d\n", "l"),
                   texts = format("n=%d %s\n", "ls"), scalar = format("n=%d\n", "l", "n"),
                   element = format("a[%s]=%d\n", "sl", "a", 1);
    open({"perfetto:t"});
    record(named, 1100, fields(5, 5, 0) + number(1) + number(-2));
    record(unnamed, 1200, fields(5, 5, 0) + number(3));
    record(texts, 1300, fields(5, 5, 0) + number(4) + text("x"));
    record(named, 1400, fields(5, 5, 1) + number(5) + number(6));
    record(scalar, 1500, fields(5, 5, 1) + number(7));
    record(element, 1600, fields(5, 5, 1) + text("k") + number(8));
    close();
    EXPECT_EQ(
        read(
            "perfetto", "t",
            "\" \".join(e[\"track\"] + \"=\" + str(e.get(\"value\", e.get(\"name\"))) for e in r)"),
        "counter reads=1 counter writes=-2 thread 5 of 5=3 thread 5 of 5=n=4 x "
        "thread 5 of 5=reads=5 writes: 6 counter n=7 counter a[k]=8\n");
}

// "TYPE NAME" of each event, one in a line.
constexpr const char* types_and_names =
    "\"\\n\".join(e[\"type\"] + \" \" + e.get(\"name\", \"-\") for e in r)";

TEST_F(Formats, PerfettoNamesAMomentByTheFirstLineOfItsText) {
    open({"perfetto:t"});
    const std::string most(200, 'x');
    uint64_t time = 1100;
    for (const std::string& printed : {std::string("a b \n \n"), std::string("first\nsecond\n"),
                                       std::string(" \n"), most, most + "y"})
        record(DJS_RECORD_TEXT, time++, text(printed));
    close();
    EXPECT_EQ(read("perfetto", "t", types_and_names), "instant a b\ninstant first\ninstant \n"
                                                      "instant " +
                                                          most + "\ninstant " + most + "\n");
}

// Of a recursion, as deep as it may be.
TEST_F(Formats, PerfettoHasSlicesInEachOther) {
    meta_.fields = all_fields;
    meta_.points = {"kernel.function(\"f\")", "kernel.function(\"f\").return"};
    const uint32_t any = format("x\n", "");
    open({"perfetto:t"});
    uint64_t time = 1100;
    for (const uint64_t site : {0, 1})
        for (int i = 0; i < 257; i++)
            record(any, time++, fields(1, 1, site));
    close();
    EXPECT_EQ(read("perfetto", "t",
                   "[[k, len(list(g))] for k, g in "
                   "__import__(\"itertools\").groupby(e[\"type\"] for e in r)]"),
              "[['begin', 256], ['instant', 1], ['end', 256], ['instant', 1]]\n");
}

// The first print of a handler begins a slice or ends it, however many follow.
TEST_F(Formats, PerfettoTellsTheFirstPrintOfAHandlerFromTheOthers) {
    meta_.fields = all_fields;
    meta_.points = {"kernel.function(\"f\")", "kernel.function(\"f\").return"};
    const uint32_t in = format("in\n", ""), more = format("more\n", ""),
                   last = format("last\n", "");
    open({"perfetto:t"});
    uint64_t time = 1100;
    for (const uint64_t site : {0, 0, 1, 1})
        for (const uint32_t id : {in, more, last})
            record(id, time++, fields(1, 1, site));
    close();
    EXPECT_EQ(read("perfetto", "t", types_and_names), "begin f\ninstant more\ninstant last\n"
                                                      "begin f\ninstant more\ninstant last\n"
                                                      "end f\ninstant more\ninstant last\n"
                                                      "end f\ninstant more\ninstant last\n");
}

TEST_F(Formats, PerfettoNamesElementsByTheirKeys) {
    meta_.fields = all_fields;
    meta_.points = {"end"};
    const uint32_t keys = format("a[%s,%d,%s]=%d\n", "slkl", "a", 3),
                   two = format("b[%d]=%d %d\n", "lll", "b", 1),
                   string = format("s=%s\n", "s", "s"), only = format("c[%d]\n", "l", "c", 1);
    open({"perfetto:t"});
    record(keys, 1100, fields(0, 0, 0) + text("k") + number(-3) + stack({0x10}) + number(8));
    record(keys, 1200, fields(0, 0, 0) + text("k") + number(-3) + stack({0x10}) + number(9));
    record(two, 1300, fields(0, 0, 0) + number(1) + number(2) + number(3));
    record(string, 1400, fields(0, 0, 0) + text("v"));
    record(only, 1500, fields(0, 0, 0) + number(1));
    close();
    const std::string shown = read(
        "perfetto", "t",
        "\" \".join(e[\"track\"] + \"=\" + str(e.get(\"value\", e.get(\"name\"))) for e in r)");
    EXPECT_EQ(shown, "counter a[k,-3,0x10]=8 counter a[k,-3,0x10]=9 CPU 0=b[1]=2 3 CPU 0=s=v "
                     "CPU 0=c[1]\n");
}

// What the numbers of a timer count has to be named.
TEST_F(Formats, PerfettoHasCountersOfNamedNumbers) {
    meta_.fields = all_fields;
    meta_.points = {"timer.s(1)"};
    const uint32_t second = format("a=%d %d\n", "ll"), none = format("tick\n", ""),
                   similar = format("arg2=%d arg1x=%d\n", "ll");
    open({"perfetto:t"});
    record(second, 1100, fields(0, 0, 0) + number(1) + number(2));
    record(none, 1200, fields(0, 0, 0));
    record(similar, 1300, fields(0, 0, 0) + number(5) + number(6));
    close();
    EXPECT_EQ(read("perfetto", "t", "[e[\"track\"] for e in r]"),
              "['CPU 0', 'CPU 0', 'counter arg2', 'counter arg1x']\n");
}

// A record that was cut has the counters that it contains.
TEST_F(Formats, PerfettoHasNoCountersOfWhatIsMissing) {
    meta_.fields = all_fields;
    meta_.points = {"timer.s(1)", "end"};
    const uint32_t second = format("a=%d b=%d\n", "ll"),
                   element = format("x[%d,%d]=%d\n", "lll", "x", 2),
                   scalar = format("n=%d\n", "l", "n");
    open({"perfetto:t"});
    record(second, 1100, fields(0, 0, 0) + number(1) + number(2));
    record(second, 1200, fields(0, 0, 0) + number(3));
    record(second, 1300, fields(0, 0, 0));
    record(element, 1400, fields(0, 0, 1) + number(4) + number(5) + number(6));
    record(element, 1500, fields(0, 0, 1) + number(4) + number(5));
    record(element, 1600, fields(0, 0, 1) + number(4));
    record(scalar, 1700, fields(0, 0, 1));
    record(scalar, 1800, fields(0, 0, 1) + number(7));
    close();
    EXPECT_EQ(read("perfetto", "t",
                   "\" \".join(e[\"track\"] + \"=\" + str(e[\"value\"]) for e in r "
                   "if e[\"track\"].startswith(\"counter\"))"),
              "counter a=1 counter b=2 counter a=3 counter x[4,5]=6 counter n=7\n");
}

TEST_F(Formats, PerfettoShowsMessagesOnATrack) {
    meta_.fields = all_fields;
    open({"perfetto:t"});
    record(DJS_RECORD_ERROR, 1100, text("bad") + number(-1));
    record(DJS_RECORD_ERROR, 1200, text("worse") + number(-1));
    EXPECT_EQ(close(), "ERROR: bad\nERROR: worse\n");
    EXPECT_EQ(read("perfetto", "t", "[[e[\"track\"], e[\"type\"], e[\"name\"]] for e in r]"),
              "[['messages of djstap', 'instant', 'error: bad'], "
              "['messages of djstap', 'instant', 'error: worse']]\n");
}

TEST_F(Formats, PerfettoNamesThreads) {
    meta_.fields = all_fields;
    meta_.points = {"begin"};
    const uint32_t any = format("x\n", "");
    open({"perfetto:t"});
    record(any, 1100, fields(7, 8, 0));
    record(any, 1200, fields(7, 7, 0));
    close();
    // Nobody knows them: the records may be of another boot.
    EXPECT_EQ(read("perfetto-threads", "t", "r"), "{8: 'thread 8', 7: 'thread 7'}\n");
}

// The clock of the trace is the monotonic one (3); what it shows at a time of day (1) is told once.
TEST_F(Formats, PerfettoKnowsTheTimeOfDay) {
    open({"perfetto:t"});
    record(DJS_RECORD_TEXT, 1100, text("a"));
    record(DJS_RECORD_TEXT, 1200, text("b"));
    close();
    EXPECT_EQ(read("perfetto-clocks", "t", "r"),
              "[(1000100, {3: 1000100, 1: 1700000000000000100}, 3)]\n");
}

} // namespace
} // namespace djstap
