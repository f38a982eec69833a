// SPDX-License-Identifier: GPL-2.0-or-later
#include "fleet/merge.h"

#include "include/statistic.h"

#include <array>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace djstap::fleet {
namespace {

constexpr uint32_t hosts = 5;

// What handlers do, on one machine: the reference that merging has to equal.
class Script {
  public:
    void hit(const std::string& program, int64_t size) {
        calls_++;
        by_program_[program] += size;
        add(sizes_, size);
        add(sizes_of_[program], size);
        last_ = program;
    }

    static DescriptionFrame description() {
        DescriptionFrame frame;
        frame.globals = {{"calls", "number", 0, false, "", true, 10},
                         {"by_program", "number", 1, false, "", true, 0},
                         {"sizes", "statistic", 0, true, "", false, 0},
                         {"sizes_of", "statistic", 1, true, "", false, 0},
                         {"last", "text", 0, false, "", false, 0}};
        return frame;
    }

    GlobalsFrame frame() const {
        GlobalsFrame frame;
        const HistogramShape shape{DJS_HISTOGRAM_LINEAR, buckets, 0, 40, 10};
        GlobalElement calls;
        calls.numbers[0] = calls_;
        calls.has = 1;
        frame.globals.push_back({0, {}, {calls}});
        frame.globals.push_back({1, {}, {}});
        for (const auto& [program, bytes] : by_program_) {
            GlobalElement element;
            element.keys = keys(program);
            element.numbers[0] = bytes;
            element.has = 1;
            frame.globals.back().elements.push_back(element);
        }
        if (sizes_.numbers[0])
            frame.globals.push_back({2, shape, {sizes_}});
        frame.globals.push_back({3, shape, {}});
        for (const auto& [program, statistic] : sizes_of_) {
            frame.globals.back().elements.push_back(statistic);
            frame.globals.back().elements.back().keys = keys(program);
        }
        GlobalElement last;
        last.text = last_;
        frame.globals.push_back({4, {}, {last}});
        return frame;
    }

    static std::string keys(const std::string& program) {
        ElementKeys keys;
        keys.add(program);
        return keys.bytes();
    }

  private:
    static constexpr uint32_t buckets = 7; // below 0, five of 10, from 50 on

    // By the runtime's own definition of a statistic.
    static void add(GlobalElement& to, int64_t value) {
        auto& numbers = to.numbers;
        const bool first = numbers[GlobalElement::Count]++ == 0;
        numbers[GlobalElement::Sum] += value;
        numbers[GlobalElement::Min] = first ? value : std::min(numbers[GlobalElement::Min], value);
        numbers[GlobalElement::Max] = first ? value : std::max(numbers[GlobalElement::Max], value);
        numbers[GlobalElement::Average] =
            numbers[GlobalElement::Sum] / numbers[GlobalElement::Count];
        to.has = 5;
        to.buckets.resize(buckets);
        to.buckets[value < 0 ? 0 : std::min<int64_t>(value / 10 + 1, buckets - 1)]++;
    }

    int64_t calls_ = 10;
    std::map<std::string, int64_t> by_program_;
    GlobalElement sizes_;
    std::map<std::string, GlobalElement> sizes_of_;
    std::string last_;
};

std::string host(uint32_t number) {
    return "web" + std::to_string(number);
}

// The text without the values that belong to single machines.
std::string sums(const Merge& merge) {
    auto globals = merge.globals();
    for (MergedGlobal& global : globals)
        global.by_host.clear();
    return text_of(globals);
}

TEST(Merge, IsWhatOneScriptHadCounted) {
    for (uint32_t seed = 0; seed < 20; seed++) {
        std::mt19937_64 random(seed);
        Script all;
        std::vector<Script> each(hosts);
        for (uint32_t hit = 0; hit < 200 * seed; hit++) {
            const std::string program = std::to_string(random() % 30);
            const int64_t size = static_cast<int64_t>(random() % 100) - 30;
            all.hit(program, size);
            // The last one sees nothing.
            each[random() % (hosts - 1)].hit(program, size);
        }
        Merge one, merged;
        one.take("all", Script::description());
        one.take("all", all.frame());
        for (uint32_t i = 0; i < hosts; i++) {
            merged.take(host(i), Script::description());
            merged.take(host(i), each[i].frame());
            merged.take(host(i), EndFrame{});
            merged.end(host(i), "");
        }
        EXPECT_EQ(sums(merged), sums(one)) << seed;
        EXPECT_EQ(text_of(merged.missing()), "");
    }
}

TEST(Merge, ASnapshotReplacesTheFormerOneOfItsHost) {
    Script a, b;
    Merge merge;
    for (const char* name : {"a", "b"})
        merge.take(name, Script::description());
    a.hit("x", 1);
    merge.take("a", a.frame());
    b.hit("x", 2);
    merge.take("b", b.frame());
    a.hit("x", 4);
    merge.take("a", a.frame());
    EXPECT_EQ(merge.globals()[0].elements[0].numbers[0], 13); // 10 before the first hit
    EXPECT_EQ(merge.globals()[1].elements[0].numbers[0], 7);
}

TEST(Merge, PrintsWhatHasNoSumByHost) {
    Script a, b;
    a.hit("cat", 5);
    b.hit("ls", 47);
    b.hit("ls", -1);
    Merge merge;
    for (const auto& [name, script] : {std::pair{"a", &a}, std::pair{"b", &b}}) {
        merge.take(name, Script::description());
        merge.take(name, script->frame());
    }
    EXPECT_EQ(text_of(merge.globals()),
              "calls=13\n"
              "by_program[\"ls\"]=46\n"
              "by_program[\"cat\"]=5\n"
              "sizes @count=3 @min=-1 @max=47 @sum=51 @avg=17\n"
              "  <=-1: 1\n"
              "  0..9: 1\n"
              "  10..19: 0\n"
              "  20..29: 0\n"
              "  30..39: 0\n"
              "  40..49: 1\n"
              "sizes_of[\"ls\"] @count=2 @min=-1 @max=47 @sum=46 @avg=23\n"
              "  <=-1: 1\n"
              "  0..9: 0\n"
              "  10..19: 0\n"
              "  20..29: 0\n"
              "  30..39: 0\n"
              "  40..49: 1\n"
              "sizes_of[\"cat\"] @count=1 @min=5 @max=5 @sum=5 @avg=5\n"
              "  0..9: 1\n"
              "last@a=\"cat\"\n"
              "last@b=\"ls\"\n");
}

TEST(Merge, EscapesTexts) {
    Script script;
    script.hit("a \"b\"\\\n\t\x1b\x7f\xc3\xa9", 1);
    Merge merge;
    merge.take("a", Script::description());
    merge.take("a", script.frame());
    const std::string text = text_of(merge.globals());
    const std::string escaped = R"("a \"b\"\\\n\t\033\177é")";
    EXPECT_NE(text.find("by_program[" + escaped + "]=1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("last@a=" + escaped + "\n"), std::string::npos) << text;
}

TEST(Merge, NamesEveryHostOfWhichSomethingIsMissing) {
    Script script;
    script.hit("x", 1);
    Merge merge;
    for (const char* name : {"good", "down", "died", "silent", "lossy", "other", "failed"})
        merge.expect(name);
    for (const char* name : {"good", "died", "lossy"}) {
        merge.take(name, Script::description());
        GlobalsFrame frame = script.frame();
        frame.incomplete = name == std::string("lossy");
        frame.counts.lost_records = frame.incomplete ? 1 : 0;
        merge.take(name, frame);
        if (name != std::string("died"))
            merge.take(name, EndFrame{frame.counts});
    }
    for (const char* name : {"good", "lossy"}) {
        merge.end(name, "");
    }
    merge.end("down", "ssh: connection refused");
    merge.end("died", "connection lost");
    DescriptionFrame others = Script::description();
    others.globals[0].name = "something";
    merge.take("other", others);
    merge.take("other", script.frame());
    merge.take("failed", MessageFrame{true, "division by zero", "x.stp:1:2"});
    merge.end("failed", "status 1");
    EXPECT_EQ(text_of(merge.missing()),
              "down: all of its values are missing: ssh: connection refused\n"
              "died: what it counted after its last snapshot is missing: connection lost\n"
              "silent: all of its values are missing\n"
              "lossy: elements may be missing: records were lost\n"
              "lossy: 1 record was lost\n"
              "other: all of its values are missing: its script has other globals\n"
              "failed: all of its values are missing: division by zero near x.stp:1:2\n");
    // What is there is right: one hit on each of three machines.
    EXPECT_EQ(merge.globals()[0].elements[0].numbers[0], 13);
}

// Returns what is missing of a machine with these frames, of which the first describes the script.
std::string missing_of(const std::vector<SnapshotFrame>& frames, const std::string& ended = "") {
    Merge merge;
    for (const SnapshotFrame& frame : frames)
        merge.take("a", frame);
    merge.end("a", ended);
    return text_of(merge.missing());
}

// The counts of the end are newer than those of the last snapshot, which may itself have been lost.
TEST(Merge, RecordsThatWereLostAfterTheLastSnapshot) {
    GlobalsFrame globals = Script().frame();
    EndFrame end;
    EXPECT_EQ(missing_of({Script::description(), globals, end}), "");
    end.counts.lost_records = 2;
    end.counts.oversized = 1;
    EXPECT_EQ(missing_of({Script::description(), globals, end}),
              "a: elements may be missing: records were lost\na: 3 records were lost\n");
    // The snapshot came after all of them: it is whole.
    globals.counts = end.counts;
    EXPECT_EQ(missing_of({Script::description(), globals, end}), "a: 3 records were lost\n");
    EXPECT_EQ(missing_of({Script::description(), end}), "a: all of its values are missing\n");
}

TEST(Merge, MessagesOfAHostThatEnded) {
    const GlobalsFrame globals = Script().frame();
    const DescriptionFrame description = Script::description();
    EXPECT_EQ(
        missing_of({description, globals, MessageFrame{false, "not attached", ""}, EndFrame{}}),
        "");
    EXPECT_EQ(
        missing_of({description, globals, MessageFrame{true, "division by zero", ""}, EndFrame{}}),
        "a: division by zero\n");
    EXPECT_EQ(missing_of({description, globals}),
              "a: what it counted after its last snapshot is missing\n");
    // What the script said tells more than how the connection ended.
    EXPECT_EQ(
        missing_of({description, globals, MessageFrame{true, "too much", "x.stp:1:2"}}, "status 1"),
        "a: what it counted after its last snapshot is missing: too much near x.stp:1:2\n");
}

TEST(Merge, ANewRunReplacesTheFormerOne) {
    const GlobalsFrame globals = Script().frame();
    const DescriptionFrame description = Script::description();
    EXPECT_EQ(missing_of({description, globals, EndFrame{}, description}),
              "a: all of its values are missing\n"
              "a: what former runs in its file counted is missing\n");
    EXPECT_EQ(missing_of({description, globals, EndFrame{}, description, globals}),
              "a: what it counted after its last snapshot is missing\n"
              "a: what former runs in its file counted is missing\n");
}

// Each property of a global decides whether its values can be added to those of another machine.
TEST(Merge, GlobalsAreTheSameInEachProperty) {
    const std::vector<void (*)(ModuleMeta::Global&)> changes = {
        [](ModuleMeta::Global& global) { global.name = "others"; },
        [](ModuleMeta::Global& global) { global.value = "text"; },
        [](ModuleMeta::Global& global) { global.keys = 1; },
        [](ModuleMeta::Global& global) { global.histogram = true; },
        [](ModuleMeta::Global& global) { global.adds_up = false; },
        [](ModuleMeta::Global& global) { global.initial = 11; }};
    for (size_t i = 0; i < changes.size(); i++) {
        Merge merge;
        for (const char* name : {"a", "b"}) {
            DescriptionFrame description = Script::description();
            if (*name == 'b')
                changes[i](description.globals[0]);
            merge.take(name, description);
            merge.take(name, Script().frame());
            merge.take(name, EndFrame{});
            merge.end(name, "");
        }
        EXPECT_EQ(text_of(merge.missing()),
                  "b: all of its values are missing: its script has other globals\n")
            << i;
    }
}

// Arrays of values that have no sum, with keys of both types.
TEST(Merge, ValuesOfEachHostAreInOrder) {
    DescriptionFrame description;
    description.globals = {{"at", "number", 2, false, "", false, 0}};
    GlobalsFrame frame;
    frame.globals.push_back({0, {}, {}});
    for (const auto& [number, program, value] :
         {std::tuple{7, "ls", 1}, std::tuple{-1, "cat", 5}, std::tuple{3, "cat", 1}}) {
        ElementKeys keys;
        keys.add(int64_t{number});
        keys.add(program);
        GlobalElement element;
        element.keys = keys.bytes();
        element.numbers[0] = value;
        element.has = 1;
        frame.globals[0].elements.push_back(element);
    }
    GlobalElement damaged;
    damaged.keys = "?";
    damaged.has = 1;
    frame.globals[0].elements.push_back(damaged);
    Merge merge;
    merge.take("a", description);
    merge.take("a", frame);
    EXPECT_EQ(text_of(merge.globals()), "at@a[-1,\"cat\"]=5\n"
                                        "at@a[3,\"cat\"]=1\n"
                                        "at@a[7,\"ls\"]=1\n"
                                        "at@a[?]=0\n");
}

GlobalElement statistic(int64_t count, int64_t sum, std::vector<int64_t> histogram) {
    GlobalElement element;
    element.numbers = {count, 1, 2, sum, 0};
    element.has = 5;
    element.buckets = std::move(histogram);
    return element;
}

// A stream from elsewhere may contain any numbers.
TEST(Merge, AveragesOfImpossibleCounts) {
    Merge merge;
    merge.take("a", Script::description());
    GlobalsFrame frame;
    frame.globals.push_back({2, {}, {statistic(-1, INT64_MIN, {})}});
    merge.take("a", std::move(frame));
    EXPECT_EQ(merge.globals()[2].elements[0].numbers[GlobalElement::Average], INT64_MIN);
}

// What has counted nothing has neither a least nor a greatest value, whatever its numbers are.
TEST(Merge, StatisticsWithoutValuesAddNothing) {
    Merge merge;
    const std::array<int64_t, 5> counted = {2, 3, 4, 7, 3}, none = {0, -5, 9, 100, 50};
    for (const auto& [name, numbers] :
         {std::pair{"a", none}, std::pair{"b", counted}, std::pair{"c", none}}) {
        merge.take(name, Script::description());
        GlobalElement element = statistic(0, 0, {});
        element.numbers = numbers;
        GlobalsFrame frame;
        frame.globals.push_back({2, {}, {element}});
        merge.take(name, std::move(frame));
    }
    EXPECT_EQ(merge.globals()[2].elements[0].numbers, counted);
}

// As handlers count: beyond the largest number is the smallest one.
TEST(Merge, SumsGoRound) {
    Merge merge;
    for (const char* name : {"a", "b"}) {
        merge.take(name, Script::description());
        GlobalElement calls;
        calls.numbers[0] = INT64_MAX;
        calls.has = 1;
        GlobalsFrame frame;
        frame.globals.push_back({0, {}, {calls}});
        frame.globals.push_back({2, {}, {statistic(1, INT64_MIN, {})}});
        merge.take(name, std::move(frame));
    }
    // 2 * (INT64_MAX - 10) + 10, of 64 bits
    EXPECT_EQ(merge.globals()[0].elements[0].numbers[0], -12);
    EXPECT_EQ(merge.globals()[2].elements[0].numbers[GlobalElement::Sum], 0);
    EXPECT_EQ(merge.globals()[2].elements[0].numbers[GlobalElement::Average], 0);
}

// Elements of one value stay in the order of their keys.
TEST(Merge, ElementsOfOneValueAreInTheOrderOfTheirKeys) {
    Script script;
    for (const char* program : {"b", "c", "a", "d"})
        script.hit(program, *program == 'd' ? 2 : 1);
    Merge merge;
    merge.take("a", Script::description());
    merge.take("a", script.frame());
    const std::string text = text_of(merge.globals());
    EXPECT_NE(text.find("by_program[\"d\"]=2\nby_program[\"a\"]=1\nby_program[\"b\"]=1\n"
                        "by_program[\"c\"]=1\n"),
              std::string::npos)
        << text;
}

// The same globals in scripts whose histograms have other buckets: those have no sum.
TEST(Merge, HistogramsOfOtherBucketsAreOfAnotherScript) {
    Merge merge;
    const HistogramShape fine{DJS_HISTOGRAM_LINEAR, 5, 0, 30, 10},
        coarse{DJS_HISTOGRAM_LINEAR, 4, 0, 30, 15};
    for (const auto& [name, shape] : {std::pair{"a", fine}, std::pair{"b", coarse}}) {
        merge.take(name, Script::description());
        GlobalsFrame frame;
        frame.globals.push_back(
            {2, shape, {statistic(1, 5, std::vector<int64_t>(shape.buckets, 1))}});
        merge.take(name, std::move(frame));
        merge.take(name, EndFrame{});
        merge.end(name, "");
    }
    EXPECT_EQ(text_of(merge.globals()), "sizes @count=1 @min=1 @max=2 @sum=5 @avg=5\n"
                                        "  <=-1: 1\n  0..9: 1\n  10..19: 1\n  20..29: 1\n"
                                        "  >=30: 1\n");
    EXPECT_EQ(text_of(merge.missing()),
              "b: all of its values are missing: its script has other histograms\n");
}

// A host may say anything: what it does not describe is nobody's, and a second value none.
TEST(Merge, ValuesOfNothingAreLeftOut) {
    const auto number = [](int64_t value) {
        GlobalElement element;
        element.numbers[0] = value;
        element.has = 1;
        return element;
    };
    Merge merge;
    merge.take("a", Script::description());
    GlobalsFrame frame;
    frame.globals = {{7, HistogramShape{DJS_HISTOGRAM_LINEAR, 5, 0, 30, 10}, {number(1)}},
                     {0, {}, {number(13)}},
                     {0, {}, {number(20)}},
                     {UINT32_MAX, {}, {number(2)}}};
    merge.take("a", frame);
    EXPECT_EQ(merge.globals()[0].elements[0].numbers[0], 13);
    // Another host's histogram of nothing does not make its values others.
    merge.take("b", Script::description());
    frame.globals[0].shape->buckets = 6;
    merge.take("b", frame);
    EXPECT_EQ(merge.globals()[0].elements[0].numbers[0], 16);
}

// One step for each pair of globals would take hours.
TEST(Merge, ManyGlobalsAreMerged) {
    constexpr uint32_t many = 100'000;
    DescriptionFrame description;
    GlobalsFrame frame;
    for (uint32_t i = 0; i < many; i++) {
        description.globals.push_back({"s", "statistic", 0, true, "", false, 0});
        frame.globals.push_back({many - 1 - i,
                                 HistogramShape{DJS_HISTOGRAM_LINEAR, 3, 0, 10, 10},
                                 {statistic(1, 5, {0, 1, 0})}});
    }
    Merge merge;
    for (const char* name : {"a", "b"}) {
        merge.take(name, description);
        merge.take(name, frame);
        merge.take(name, EndFrame{});
        merge.end(name, "");
    }
    const auto globals = merge.globals();
    ASSERT_EQ(globals.size(), many);
    for (const MergedGlobal& global : globals)
        ASSERT_EQ(global.elements.at(0).numbers[GlobalElement::Count], 2);
    EXPECT_EQ(text_of(merge.missing()), "");
}

TEST(Merge, PrintsAreInTheOrderOfTime) {
    Merge merge;
    merge.take("a", PrintedFrame{30, "a30"});
    merge.take("b", PrintedFrame{20, "b20"});
    merge.take("a", PrintedFrame{40, "a40"});
    merge.take("b", PrintedFrame{30, "b30"});
    std::string order;
    for (const auto& [name, printed] : merge.take_printed())
        order += printed.text + " ";
    EXPECT_EQ(order, "b20 a30 b30 a40 ");
    EXPECT_TRUE(merge.take_printed().empty());
}

} // namespace
} // namespace djstap::fleet
