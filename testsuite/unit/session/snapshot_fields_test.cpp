// SPDX-License-Identifier: GPL-2.0-or-later
// The frames of snapshots as protobuf describes them (docs/snapshots.proto): each field has its
// number and its wire type, others are skipped.
#include "session/snapshot_frames.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace djstap {
namespace {

std::string varint(uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7)
        bytes += static_cast<char>(0x80 | (value & 0x7f));
    return bytes + static_cast<char>(value);
}
std::string tag(uint32_t field, uint32_t wire) {
    return varint(field << 3 | wire);
}
std::string varint_field(uint32_t field, uint64_t value) {
    return tag(field, 0) + varint(value);
}
std::string fixed_field(uint32_t field, uint64_t value) {
    std::string bytes = tag(field, 1);
    for (int i = 0; i < 64; i += 8)
        bytes += static_cast<char>(value >> i);
    return bytes;
}
std::string bytes_field(uint32_t field, const std::string& bytes) {
    return tag(field, 2) + varint(bytes.size()) + bytes;
}
// sint64: 0, -1, 1, -2 … are 0, 1, 2, 3 …
uint64_t zigzag(int64_t value) {
    return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
std::string packed(const std::vector<uint64_t>& numbers) {
    std::string bytes;
    for (const uint64_t number : numbers)
        bytes += varint(number);
    return bytes;
}
// A field of each type, of a number that no message has.
std::string unknown() {
    return varint_field(15, 5) + fixed_field(16, 5) + bytes_field(17, "xyz") + tag(18, 5) + "abcd";
}

std::optional<SnapshotFrame> frame_of(const std::string& body) {
    SnapshotReader reader;
    reader.add(varint(body.size()) + body);
    auto frame = reader.next();
    EXPECT_TRUE(!frame || !*frame || reader.at_border());
    return frame ? *frame : std::nullopt;
}
std::string problem_of(const std::string& body) {
    SnapshotReader reader;
    reader.add(varint(body.size()) + body);
    const auto frame = reader.next();
    return frame ? "" : frame.failure().message;
}

template <class Frame> Frame read(uint32_t kind, const std::string& message) {
    const auto frame = frame_of(unknown() + bytes_field(kind, message));
    if (!frame || !std::holds_alternative<Frame>(*frame)) {
        ADD_FAILURE() << "no such frame";
        return {};
    }
    return std::get<Frame>(*frame);
}

TEST(SnapshotFields, OfADescription) {
    const std::string global = bytes_field(1, "n") + bytes_field(2, "number") + varint_field(3, 2) +
                               varint_field(4, 1) + unknown() + bytes_field(5, "calls") +
                               varint_field(6, 1) + varint_field(7, zigzag(-3));
    const auto frame = read<DescriptionFrame>(
        1, varint_field(1, 1) + bytes_field(2, "name") + bytes_field(3, "script") +
               bytes_field(4, "release") + bytes_field(5, "id") + unknown() +
               bytes_field(6, global) + bytes_field(6, bytes_field(1, "second")));
    EXPECT_EQ(frame.name, "name");
    EXPECT_EQ(frame.script, "script");
    EXPECT_EQ(frame.release, "release");
    EXPECT_EQ(frame.build_id, "id");
    ASSERT_EQ(frame.globals.size(), 2u);
    EXPECT_EQ(frame.globals[0].name, "n");
    EXPECT_EQ(frame.globals[0].value, "number");
    EXPECT_EQ(frame.globals[0].keys, 2u);
    EXPECT_TRUE(frame.globals[0].histogram);
    EXPECT_EQ(frame.globals[0].description, "calls");
    EXPECT_TRUE(frame.globals[0].adds_up);
    EXPECT_EQ(frame.globals[0].initial, -3);
    EXPECT_EQ(frame.globals[1].name, "second");
    EXPECT_FALSE(frame.globals[1].histogram || frame.globals[1].adds_up);
}

TEST(SnapshotFields, OfGlobals) {
    const std::string shape = varint_field(1, 2) + varint_field(2, 3) +
                              varint_field(3, zigzag(-5)) + unknown() +
                              varint_field(4, zigzag(10)) + varint_field(5, zigzag(7));
    const std::string element =
        bytes_field(1, "keys") + bytes_field(2, packed({zigzag(1), zigzag(-2), zigzag(3)})) +
        bytes_field(3, "text") + unknown() + bytes_field(4, packed({zigzag(4), 0, zigzag(-6)}));
    const std::string values = varint_field(1, 9) + bytes_field(2, shape) + unknown() +
                               bytes_field(3, element) + bytes_field(3, "");
    const auto frame = read<GlobalsFrame>(
        2, fixed_field(1, 0x123456789abcdef0) + fixed_field(2, ~uint64_t{1}) + varint_field(3, 1) +
               bytes_field(4, packed({7, 8, UINT64_MAX})) + unknown() + bytes_field(5, values) +
               bytes_field(5, varint_field(1, 10)));
    EXPECT_EQ(frame.monotonic_ns, 0x123456789abcdef0u);
    EXPECT_EQ(frame.realtime_ns, ~uint64_t{1});
    EXPECT_TRUE(frame.incomplete);
    uint64_t counts[3];
    std::memcpy(counts, &frame.counts, sizeof counts);
    EXPECT_EQ(counts[0], 7u);
    EXPECT_EQ(counts[1], 8u);
    EXPECT_EQ(counts[2], UINT64_MAX);
    ASSERT_EQ(frame.globals.size(), 2u);
    EXPECT_EQ(frame.globals[0].index, 9u);
    EXPECT_EQ(frame.globals[0].shape, (HistogramShape{2, 3, -5, 10, 7}));
    ASSERT_EQ(frame.globals[0].elements.size(), 2u);
    const GlobalElement& first = frame.globals[0].elements[0];
    EXPECT_EQ(first.keys, "keys");
    EXPECT_EQ(first.has, 3u);
    EXPECT_EQ(first.numbers, (std::array<int64_t, 5>{1, -2, 3, 0, 0}));
    EXPECT_EQ(first.text, "text");
    EXPECT_EQ(first.buckets, (std::vector<int64_t>{4, 0, -6}));
    EXPECT_EQ(frame.globals[1].index, 10u);
    EXPECT_FALSE(frame.globals[1].shape);
}

TEST(SnapshotFields, OfWhatIsPrintedAndTold) {
    const auto printed = read<PrintedFrame>(3, fixed_field(1, 5) + unknown() +
                                                   bytes_field(2, std::string("a\0\xff", 3)));
    EXPECT_EQ(printed.realtime_ns, 5u);
    EXPECT_EQ(printed.text, std::string("a\0\xff", 3));
    const auto message = read<MessageFrame>(4, varint_field(1, 1) + bytes_field(2, "text") +
                                                   unknown() + bytes_field(3, "place"));
    EXPECT_TRUE(message.is_error);
    EXPECT_EQ(message.text, "text");
    EXPECT_EQ(message.place, "place");
    EXPECT_FALSE(read<MessageFrame>(4, bytes_field(2, "text")).is_error);
    const auto end = read<EndFrame>(5, unknown() + bytes_field(1, packed({6})));
    uint64_t first = 0;
    std::memcpy(&first, &end.counts, sizeof first);
    EXPECT_EQ(first, 6u);
}

template <class Frame> Frame written_and_read(const Frame& frame) {
    std::string bytes;
    put_frame(bytes, frame);
    SnapshotReader reader;
    reader.add(bytes);
    const auto read = reader.next();
    if (!read || !*read || !std::holds_alternative<Frame>(**read)) {
        ADD_FAILURE() << "no such frame";
        return {};
    }
    EXPECT_TRUE(reader.at_border());
    return std::get<Frame>(**read);
}
bool are_equal(const djs_counts& one, const djs_counts& other) {
    return std::memcmp(&one, &other, sizeof one) == 0;
}
// Counts of which each has a number of its own.
djs_counts some_counts() {
    uint64_t numbers[sizeof(djs_counts) / sizeof(uint64_t)];
    for (size_t i = 0; i < std::size(numbers); i++)
        numbers[i] = 100 + i;
    djs_counts counts;
    std::memcpy(&counts, numbers, sizeof counts);
    return counts;
}

TEST(SnapshotFields, AreReadAsTheyWereWritten) {
    DescriptionFrame description{"n", "s", "r", "b", {}};
    description.globals = {{"g", "statistic", 2, true, "d", true, -3}, {}};
    const auto described = written_and_read(description);
    EXPECT_EQ(described.name + described.script + described.release + described.build_id, "nsrb");
    ASSERT_EQ(described.globals.size(), 2u);
    const ModuleMeta::Global& global = described.globals[0];
    EXPECT_EQ(global.name + global.value + global.description, "gstatisticd");
    EXPECT_EQ(global.keys, 2u);
    EXPECT_TRUE(global.histogram && global.adds_up);
    EXPECT_EQ(global.initial, -3);
    GlobalElement statistic, text;
    statistic.keys = "k";
    statistic.numbers = {1, -2, 3, -4, 5};
    statistic.has = 5;
    statistic.buckets = {7, 0, -8};
    text.text = "value";
    GlobalsFrame globals{11, 12, true, some_counts(), {}};
    globals.globals = {{3, HistogramShape{2, 3, -5, 10, 6}, {statistic, text}}, {4, {}, {}}};
    const auto values = written_and_read(globals);
    EXPECT_EQ(values.monotonic_ns, 11u);
    EXPECT_EQ(values.realtime_ns, 12u);
    EXPECT_TRUE(values.incomplete);
    EXPECT_TRUE(are_equal(values.counts, some_counts()));
    ASSERT_EQ(values.globals.size(), 2u);
    EXPECT_EQ(values.globals[0].index, 3u);
    EXPECT_EQ(values.globals[0].shape, globals.globals[0].shape);
    ASSERT_EQ(values.globals[0].elements.size(), 2u);
    const GlobalElement& first = values.globals[0].elements[0];
    EXPECT_EQ(first.keys, "k");
    EXPECT_EQ(first.numbers, statistic.numbers);
    EXPECT_EQ(first.has, 5u);
    EXPECT_EQ(first.buckets, statistic.buckets);
    EXPECT_EQ(values.globals[0].elements[1].text, "value");
    EXPECT_EQ(values.globals[1].index, 4u);
    const auto printed = written_and_read(PrintedFrame{13, "text"});
    EXPECT_EQ(printed.realtime_ns, 13u);
    EXPECT_EQ(printed.text, "text");
    const auto message = written_and_read(MessageFrame{true, "text", "place"});
    EXPECT_TRUE(message.is_error);
    EXPECT_EQ(message.text + message.place, "textplace");
    EXPECT_TRUE(are_equal(written_and_read(EndFrame{some_counts()}).counts, some_counts()));
}

// Later versions may count more, and a statistic has five numbers.
TEST(SnapshotFields, WhatIsTooMuchIsLeftOut) {
    std::vector<uint64_t> many;
    for (uint64_t i = 0; i < 200; i++)
        many.push_back(zigzag(static_cast<int64_t>(i)));
    const auto end = read<EndFrame>(5, bytes_field(1, packed(many)));
    constexpr size_t count = sizeof(djs_counts) / sizeof(uint64_t);
    uint64_t counts[count];
    std::memcpy(counts, &end.counts, sizeof counts);
    EXPECT_EQ(counts[count - 1], many[count - 1]);
    const auto frame =
        read<GlobalsFrame>(2, bytes_field(5, bytes_field(3, bytes_field(2, packed(many)))));
    const GlobalElement& element = frame.globals.at(0).elements.at(0);
    EXPECT_EQ(element.has, 5u);
    EXPECT_EQ(element.numbers, (std::array<int64_t, 5>{0, 1, 2, 3, 4}));
}

// Counts without the shape that names them, or of another shape.
TEST(SnapshotFields, BucketsBelongToTheirShape) {
    const auto buckets = [](const std::string& shape, size_t count) {
        const std::string element = bytes_field(4, packed(std::vector<uint64_t>(count, 2)));
        const auto frame = read<GlobalsFrame>(2, bytes_field(5, shape + bytes_field(3, element)));
        return frame.globals.at(0).elements.at(0).buckets.size();
    };
    const auto shape = [](uint64_t kind, uint64_t count) {
        return bytes_field(2, varint_field(1, kind) + varint_field(2, count));
    };
    EXPECT_EQ(buckets("", 3), 0u);
    EXPECT_EQ(buckets(shape(2, 3), 3), 3u);
    EXPECT_EQ(buckets(shape(2, 2), 3), 0u);
    EXPECT_EQ(buckets(shape(2, 4), 3), 0u);
    EXPECT_EQ(buckets(shape(2, 129), 129), 129u);
    EXPECT_EQ(buckets(shape(1, 128), 128), 128u);
    EXPECT_EQ(buckets(shape(1, 129), 129), 0u);
    // A shape is no reason to allocate much.
    const auto frame = read<GlobalsFrame>(2, bytes_field(5, shape(2, UINT32_MAX)));
    EXPECT_EQ(frame.globals.at(0).shape->buckets, 1'048'576u);
    const auto most = read<GlobalsFrame>(2, bytes_field(5, shape(2, 1'048'576)));
    EXPECT_EQ(most.globals.at(0).shape->buckets, 1'048'576u);
}

TEST(SnapshotFields, OfAnotherTypeAreDamage) {
    using Wrap = std::function<std::string(const std::string&)>;
    const auto in = [](std::vector<uint32_t> path) -> Wrap {
        return [path = std::move(path)](std::string bytes) {
            for (auto field = path.rbegin(); field != path.rend(); ++field)
                bytes = bytes_field(*field, bytes);
            return bytes;
        };
    };
    // The wire type of each field: 0 a varint, 1 eight bytes, 2 bytes behind their length.
    const struct {
        Wrap wrap;
        std::vector<uint32_t> types; // of fields 1, 2 …
    } messages[] = {
        {in({}), {2, 2, 2, 2, 2}},
        {in({1}), {0, 2, 2, 2, 2, 2}},
        {in({1, 6}), {2, 2, 0, 0, 2, 0, 0}},
        {in({2}), {1, 1, 0, 2, 2}},
        {in({2, 5}), {0, 2, 2}},
        {in({2, 5, 2}), {0, 0, 0, 0, 0}},
        {in({2, 5, 3}), {2, 2, 2, 2}},
        {in({3}), {1, 2}},
        {in({4}), {0, 2, 2}},
        {in({5}), {2}},
    };
    for (const auto& message : messages)
        for (uint32_t field = 1; field <= message.types.size(); field++)
            for (uint32_t type = 0; type < 3; type++) {
                const std::string bytes = type == 0   ? varint_field(field, 1)
                                          : type == 1 ? fixed_field(field, 1)
                                                      : bytes_field(field, "");
                const bool right = type == message.types[field - 1];
                EXPECT_EQ(problem_of(message.wrap(bytes)),
                          right ? "" : "the stream of snapshots is damaged")
                    << testing::PrintToString(message.types) << " " << field << " " << type;
            }
    EXPECT_EQ(problem_of(unknown()), "the stream of snapshots is damaged") << "none that is known";
}

TEST(SnapshotFields, OfAnotherVersionAreNotRead) {
    EXPECT_EQ(problem_of(bytes_field(1, varint_field(1, 1))), "");
    for (const uint64_t version : {0, 2})
        EXPECT_EQ(problem_of(bytes_field(1, varint_field(1, version))),
                  "the stream of snapshots has version " + std::to_string(version) +
                      ", this program has version 1");
}

// A frame has at most a gigabyte; a longer one is not waited for.
TEST(SnapshotFields, LengthsHaveALimit) {
    const auto is_damaged = [](uint64_t length) {
        SnapshotReader reader;
        reader.add(varint(length));
        const auto frame = reader.next();
        EXPECT_FALSE(frame && *frame);
        return !frame;
    };
    EXPECT_FALSE(is_damaged(1));
    EXPECT_FALSE(is_damaged(uint64_t{1} << 30));
    EXPECT_TRUE(is_damaged((uint64_t{1} << 30) + 1));
    EXPECT_TRUE(is_damaged(UINT64_MAX));
    EXPECT_TRUE(is_damaged(uint64_t{1} << 63)) << "the tenth byte has its highest bit";
    // The last byte of the last frame may be missing.
    SnapshotReader reader;
    const std::string body = bytes_field(3, bytes_field(2, "ab"));
    const std::string bytes = varint(body.size()) + body;
    for (size_t i = 0; i < bytes.size(); i++) {
        const auto frame = reader.next();
        EXPECT_TRUE(frame && !*frame) << i;
        EXPECT_EQ(reader.at_border(), i == 0);
        reader.add(bytes.substr(i, 1));
    }
    const auto frame = reader.next();
    EXPECT_TRUE(frame && *frame);
    EXPECT_TRUE(reader.at_border());
}

} // namespace
} // namespace djstap
