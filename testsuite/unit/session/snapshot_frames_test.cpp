// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/snapshot_frames.h"

#include "formats.h"
#include "include/statistic.h"
#include "session/outputs.h"
#include "system/file.h"
#include "system/temporary.h"

#include <gtest/gtest.h>

namespace djstap {
namespace {

// What the output writes for a module with a counter, and an array of statistics with a histogram.
class Snapshots : public testing::Test {
  protected:
    Snapshots() {
        meta_.name = "m";
        meta_.script = "m.stp";
        meta_.release = "6.1";
        meta_.build_id = "ab12";
        meta_.globals = {{"n", "number", 0, false, "calls [counter]", true, -3},
                         {"lat", "statistic", 2, true, "", false, 0}};
        meta_.formats = {
            {"%d", "l", DJS_SHOWS_BEGIN, 0, true}, {"%d", "l", DJS_SHOWS_END, 0, true},
            {"n=%d\n", "l", "n", 0, true},         {"%s%d…", "sllllll", "lat", 2, true},
            {"%s%d%s", "slh", "lat", 2, true},     {"hello %d\n", "l", "", 0, false}};
        output_->begin(meta_, clock_);
    }

    void event(size_t format, const std::string& arguments) {
        output_->print(Event{0, cycles_ += 1000, clock_, meta_.formats[format], arguments});
    }
    static std::string statistic(int64_t count) {
        return number(count) + number(1) + number(9) + number(5 * count) + number(5);
    }
    static std::string histogram(const std::vector<int64_t>& counts) {
        djs_histogram_header header{};
        header.kind = DJS_HISTOGRAM_LINEAR;
        header.buckets = static_cast<uint32_t>(counts.size());
        header.low = 0;
        header.high = 10;
        header.width = 5;
        std::string bytes = bytes_of(&header, sizeof header);
        for (const int64_t count : counts)
            bytes += number(count);
        return bytes;
    }
    std::vector<SnapshotFrame> frames() {
        output_->end();
        writer_.flush();
        auto all = read_frames(path_);
        if (!all) {
            ADD_FAILURE() << all.failure().message;
            return {};
        }
        EXPECT_EQ(all->problem, "");
        return all->frames;
    }

    TemporaryFolder folder_ = std::move(*TemporaryFolder::create_in_memory());
    std::string path_ = folder_.file("frames");
    FileDescriptor file_ = std::move(*open_output(path_));
    Writer writer_{file_.get(), "frames"}, messages_{-1, "messages"};
    std::unique_ptr<Output> output_ = make_snapshots_output({writer_, messages_});
    ModuleMeta meta_;
    RecordClock clock_{djs_clock{1, 1, 1, 1'000'000, 0}}; // a cycle is a nanosecond
    uint64_t cycles_ = 0;
};

TEST_F(Snapshots, ContainAllThatIsShown) {
    const std::string key = text("a b") + number(-7);
    event(5, number(4));
    event(0, number(1000));
    event(2, number(41));
    event(3, key + statistic(3));
    event(4, key + histogram({0, 2, 1, 0}));
    event(3, text("other") + number(0) + statistic(1));
    event(1, number(1000));
    output_->error("went wrong", "x.stp:1:1");
    const auto all = frames();
    ASSERT_EQ(all.size(), 5U);
    const auto& description = std::get<DescriptionFrame>(all[0]);
    EXPECT_EQ(description.name, "m");
    EXPECT_EQ(description.script, "m.stp");
    EXPECT_EQ(description.release, "6.1");
    EXPECT_EQ(description.build_id, "ab12");
    ASSERT_EQ(description.globals.size(), 2U);
    EXPECT_EQ(description.globals[0].description, "calls [counter]");
    EXPECT_TRUE(description.globals[0].adds_up);
    EXPECT_EQ(description.globals[0].initial, -3);
    EXPECT_TRUE(description.globals[1].histogram);
    EXPECT_FALSE(description.globals[1].adds_up);
    EXPECT_EQ(std::get<PrintedFrame>(all[1]).text, "hello 4\n");
    const auto& globals = std::get<GlobalsFrame>(all[2]);
    EXPECT_FALSE(globals.incomplete);
    EXPECT_EQ(globals.monotonic_ns, cycles_);
    ASSERT_EQ(globals.globals.size(), 2U);
    EXPECT_EQ(globals.globals[0].elements.at(0).numbers[0], 41);
    ASSERT_EQ(globals.globals[1].elements.size(), 2U);
    const GlobalElement& element = globals.globals[1].elements[0];
    EXPECT_EQ(element.numbers, (std::array<int64_t, 5>{3, 1, 9, 15, 5}));
    EXPECT_EQ(element.buckets, (std::vector<int64_t>{0, 2, 1, 0}));
    const auto keys = keys_of(element.keys);
    ASSERT_TRUE(keys && keys->size() == 2);
    EXPECT_EQ(std::get<std::string_view>((*keys)[0]), "a b");
    EXPECT_EQ(std::get<int64_t>((*keys)[1]), -7);
    ASSERT_TRUE(globals.globals[1].shape);
    EXPECT_EQ(bucket_text(*globals.globals[1].shape, 0), "<=-1");
    EXPECT_EQ(bucket_text(*globals.globals[1].shape, 1), "0..4");
    EXPECT_EQ(bucket_text(*globals.globals[1].shape, 3), ">=10");
    EXPECT_EQ(std::get<MessageFrame>(all[3]).place, "x.stp:1:1");
    EXPECT_TRUE(std::holds_alternative<EndFrame>(all[4]));
}

TEST_F(Snapshots, HaveKeysAndValuesOfEachType) {
    const size_t texts = meta_.formats.size(), stacks = texts + 1, unknown = texts + 2;
    meta_.formats.push_back({"", "lsks", "lat", 3, true});
    meta_.formats.push_back({"", "lk", "lat", 1, true});
    meta_.formats.push_back({"", "l", "none", 0, true});
    event(5, number(4));
    const uint64_t printed = cycles_;
    event(0, number(1000));
    event(texts, number(-7) + text("a b") + stack({0x10, 0x20}) + text("value"));
    event(unknown, number(1));
    event(stacks, number(8) + stack({0x30}));
    event(1, number(1000));
    AttachedProbe good, bad;
    good.point = "good";
    bad.point = "bad";
    bad.attached = false;
    bad.reason = "it is busy";
    output_->probes({good, bad, good});
    const auto all = frames();
    ASSERT_EQ(all.size(), 5U);
    EXPECT_EQ(std::get<PrintedFrame>(all[1]).realtime_ns, printed);
    const auto& shown = std::get<GlobalsFrame>(all[2]);
    EXPECT_EQ(shown.realtime_ns, cycles_);
    ASSERT_EQ(shown.globals.size(), 1U);
    EXPECT_EQ(shown.globals[0].index, 1U);
    ASSERT_EQ(shown.globals[0].elements.size(), 2U);
    ElementKeys keys;
    keys.add(int64_t{-7});
    keys.add("a b");
    keys.add("0x10 0x20");
    EXPECT_EQ(shown.globals[0].elements[0].keys, keys.bytes());
    EXPECT_EQ(shown.globals[0].elements[0].has, 0U);
    EXPECT_EQ(shown.globals[0].elements[0].text, "value");
    keys.clear();
    keys.add(int64_t{8});
    EXPECT_EQ(shown.globals[0].elements[1].keys, keys.bytes());
    EXPECT_EQ(shown.globals[0].elements[1].text, "0x30");
    EXPECT_EQ(std::get<MessageFrame>(all[3]).text, "bad: not attached: it is busy");
    EXPECT_FALSE(std::get<MessageFrame>(all[3]).is_error);
}

// What could not be read whole is not shown, and neither is what precedes the first snapshot.
TEST_F(Snapshots, LeaveOutWhatIsDamaged) {
    event(2, number(1));
    event(1, number(1000));
    event(0, number(1000));
    event(2, number(2));
    event(0, number(1000));
    event(4, text("no element") + number(1) + histogram({1}));
    event(3, text("short") + number(1) + number(2));
    event(1, number(1000));
    const auto all = frames();
    ASSERT_EQ(all.size(), 4U); // with the warning that the first one has no end
    const auto& globals = std::get<GlobalsFrame>(all[2]).globals;
    EXPECT_TRUE(globals.empty() || globals[0].elements.empty());
}

// Counts that say how many records were lost.
class Losing : public SessionControls {
  public:
    uint64_t lost = 0;
    int switch_probe(uint32_t, bool) override { return 0; }
    std::optional<djs_counts> counts() override {
        djs_counts counts{};
        counts.lost_records = lost;
        return counts;
    }
};

TEST_F(Snapshots, TellThatRecordsWereLost) {
    Losing controls;
    output_->control(controls);
    for (const uint64_t lost : {0, 2, 2}) {
        controls.lost = lost;
        event(0, number(1000));
        event(1, number(1000));
    }
    const auto all = frames();
    ASSERT_EQ(all.size(), 5U);
    EXPECT_FALSE(std::get<GlobalsFrame>(all[1]).incomplete);
    EXPECT_TRUE(std::get<GlobalsFrame>(all[2]).incomplete);
    EXPECT_EQ(std::get<GlobalsFrame>(all[2]).counts.lost_records, 2U);
    EXPECT_FALSE(std::get<GlobalsFrame>(all[3]).incomplete);
}

// The end of one snapshot and the begin of the next one are lost: the newer values count, once.
TEST_F(Snapshots, ShowNoElementTwice) {
    Losing controls;
    output_->control(controls);
    const std::string key = text("a") + number(1), other = text("b") + number(1);
    event(0, number(1000));
    event(2, number(1));
    event(3, key + statistic(3));
    event(4, key + histogram({0, 2, 1, 0}));
    event(3, other + statistic(1));
    controls.lost = 2;
    event(2, number(2));
    event(3, key + statistic(4));
    event(4, key + histogram({0, 2, 2, 0}));
    event(1, number(1000));
    const auto all = frames();
    ASSERT_EQ(all.size(), 3U);
    const auto& globals = std::get<GlobalsFrame>(all[1]);
    EXPECT_TRUE(globals.incomplete);
    ASSERT_EQ(globals.globals.size(), 2U);
    ASSERT_EQ(globals.globals[0].elements.size(), 1U);
    EXPECT_EQ(globals.globals[0].elements[0].numbers[0], 2);
    EXPECT_TRUE(globals.globals[1].shape);
    ASSERT_EQ(globals.globals[1].elements.size(), 2U);
    EXPECT_EQ(globals.globals[1].elements[0].numbers[0], 4);
    EXPECT_EQ(globals.globals[1].elements[0].buckets, (std::vector<int64_t>{0, 2, 2, 0}));
    EXPECT_EQ(globals.globals[1].elements[1].numbers[0], 1);
}

// Snapshots that never fit show nothing: why has to be said, but not each time.
TEST_F(Snapshots, TellThatOneDoesNotFit) {
    for (int64_t i = 0; i < 3; i++) {
        event(0, number(1000));
        event(2, number(i));
    }
    event(1, number(1000));
    const auto all = frames();
    ASSERT_EQ(all.size(), 4U);
    const auto& message = std::get<MessageFrame>(all[1]);
    EXPECT_FALSE(message.is_error);
    EXPECT_EQ(message.text, "a snapshot did not fit into the ring buffers (-s makes them larger)");
    ASSERT_EQ(std::get<GlobalsFrame>(all[2]).globals.size(), 1U);
    EXPECT_EQ(std::get<GlobalsFrame>(all[2]).globals[0].elements.size(), 1U);
}

TEST_F(Snapshots, AreReadInPieces) {
    event(0, number(1000));
    event(2, number(41));
    event(1, number(1000));
    const size_t count = frames().size();
    const auto bytes = read_file(path_);
    ASSERT_TRUE(bytes);
    SnapshotReader reader;
    size_t found = 0;
    for (const char byte : *bytes) {
        reader.add({&byte, 1});
        const auto frame = reader.next();
        ASSERT_TRUE(frame);
        found += frame->has_value();
    }
    EXPECT_EQ(found, count);
    EXPECT_TRUE(reader.at_border());
    // Of a file that is cut off, what is complete is read.
    const std::string cut = folder_.file("cut");
    ASSERT_TRUE(write_file(cut, bytes->substr(0, bytes->size() - 1)));
    const auto recorded = read_frames(cut);
    ASSERT_TRUE(recorded);
    EXPECT_EQ(recorded->frames.size(), count - 1);
    EXPECT_EQ(recorded->problem, cut + ": the last frame is incomplete");
    // Every prefix is either read or incomplete.
    for (size_t end = 0; end < bytes->size(); end++) {
        SnapshotReader part;
        part.add(std::string_view(*bytes).substr(0, end));
        for (auto frame = part.next(); frame && *frame;)
            frame = part.next();
        EXPECT_TRUE(part.next());
    }
}

// A histogram of powers of two has 128 buckets at most: others would have no bounds.
TEST(SnapshotFrames, BucketsWithoutBoundsAreLeftOut) {
    for (const uint32_t buckets : {128U, 129U}) {
        GlobalElement element;
        element.buckets.resize(buckets, 1);
        GlobalsFrame frame;
        frame.globals = {{0, HistogramShape{DJS_HISTOGRAM_LOG, buckets, 0, 0, 0}, {element}}};
        std::string bytes;
        put_frame(bytes, frame);
        SnapshotReader reader;
        reader.add(bytes);
        const auto read = reader.next();
        ASSERT_TRUE(read && *read);
        EXPECT_EQ(std::get<GlobalsFrame>(**read).globals[0].elements[0].buckets.size(),
                  buckets == 128 ? 128U : 0U);
    }
}

TEST(SnapshotFrames, ABucketIsNamedByWhatItHolds) {
    const HistogramShape logarithmic{DJS_HISTOGRAM_LOG, 128, 0, 0, 0};
    EXPECT_EQ(bucket_text(logarithmic, 64), "0");
    EXPECT_EQ(bucket_text(logarithmic, 65), "1");
    EXPECT_EQ(bucket_text(logarithmic, 66), "2..3");
    EXPECT_EQ(bucket_text(logarithmic, 63), "-1");
}

TEST(SnapshotFrames, ElementsMayBeTexts) {
    GlobalElement element;
    element.text = std::string("a\0b", 3);
    ElementKeys keys;
    keys.add(int64_t{-1});
    keys.add(std::string("k"));
    element.keys = keys.bytes();
    GlobalsFrame frame;
    frame.globals = {{3, {}, {element}}};
    std::string bytes;
    put_frame(bytes, frame);
    SnapshotReader reader;
    reader.add(bytes);
    const auto read = reader.next();
    ASSERT_TRUE(read && *read);
    const GlobalValues& values = std::get<GlobalsFrame>(**read).globals.at(0);
    EXPECT_EQ(values.index, 3U);
    EXPECT_EQ(values.elements.at(0).text, element.text);
    EXPECT_EQ(values.elements.at(0).has, 0U);
    EXPECT_EQ(values.elements.at(0).keys, element.keys);
}

TEST(SnapshotFrames, DamageIsAnError) {
    for (const std::string& bytes :
         {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11),
          std::string("\x03\x0a\x09\x00", 4), std::string("\x00", 1),
          // A description, and its version, that have another type of field.
          std::string("\x02\x08\x01"), std::string("\x05\x0a\x03\x0a\x01x")}) {
        SnapshotReader reader;
        reader.add(bytes);
        EXPECT_FALSE(reader.next()) << bytes.size();
    }
    EXPECT_FALSE(keys_of("x"));
    EXPECT_FALSE(keys_of(std::string("s\x05\x00\x00\x00no", 7)));
    EXPECT_FALSE(read_frames("/nonexistent"));
}

// Messages without content are two bytes in a stream, and many more in memory.
TEST(SnapshotFrames, WhatTakesMuchMoreMemoryThanItsBytesIsDamage) {
    const auto message = [](char tag, const std::string& content) {
        std::string bytes(1, tag);
        for (size_t left = content.size(); bytes.size() < 2 || left; left >>= 7)
            bytes += static_cast<char>((left & 0x7f) | (left >> 7 ? 0x80 : 0));
        return bytes + content;
    };
    const auto repeated = [](const std::string& text, size_t count) {
        std::string all;
        for (size_t i = 0; i < count; i++)
            all += text;
        return all;
    };
    const auto is_damaged = [](const std::string& frame) {
        SnapshotReader reader;
        reader.add(frame);
        return !reader.next();
    };
    constexpr size_t many = 3'000'000, some = 100'000;
    const auto framed = [&](char tag, const std::string& content) {
        return message(tag, content).substr(1);
    };
    for (const bool too_many : {false, true}) {
        const size_t count = too_many ? many : some;
        // Elements of a global, globals of a snapshot, globals of a description.
        EXPECT_EQ(
            is_damaged(framed(0, message('\x12', message('\x2a', repeated({'\x1a', 0}, count))))),
            too_many);
        EXPECT_EQ(is_damaged(framed(0, message('\x12', repeated({'\x2a', 0}, count)))), too_many);
        EXPECT_EQ(is_damaged(framed(0, message('\x0a', repeated({'\x32', 0}, count)))), too_many);
    }
}

// A large array has its place.
TEST(SnapshotFrames, AMillionSmallElementsAreRead) {
    GlobalsFrame frame;
    frame.globals = {{0, {}, {}}};
    frame.globals[0].elements.resize(1'000'000);
    for (GlobalElement& element : frame.globals[0].elements) {
        ElementKeys keys;
        keys.add(int64_t{1});
        element.keys = keys.bytes();
        element.has = 1;
    }
    std::string bytes;
    put_frame(bytes, frame);
    SnapshotReader reader;
    reader.add(bytes);
    const auto read = reader.next();
    ASSERT_TRUE(read && *read);
    EXPECT_EQ(std::get<GlobalsFrame>(**read).globals.at(0).elements.size(), 1'000'000U);
}

// The length of a frame is a number of at most ten bytes, each but the last with its highest bit.
TEST(SnapshotFrames, ALengthThatDoesNotEndIsDamage) {
    const auto is_damaged = [](const std::string& bytes) {
        SnapshotReader reader;
        reader.add(bytes);
        const auto frame = reader.next();
        EXPECT_FALSE(frame && *frame);
        return !frame;
    };
    for (size_t count : {0, 1, 8, 9})
        EXPECT_FALSE(is_damaged(std::string(count, '\xff'))) << count; // more may follow
    for (size_t count : {10, 11, 20})
        EXPECT_TRUE(is_damaged(std::string(count, '\xff'))) << count;
    EXPECT_TRUE(is_damaged(std::string(9, '\xff') + '\1')); // it ends, and is too long
}

} // namespace
} // namespace djstap
