// SPDX-License-Identifier: GPL-2.0-or-later
// Traces in the Common Trace Format, as babeltrace2 sees them, and their packets.
#include "formats.h"
#include "session/outputs.h"
#include "system/file.h"

#include <algorithm>
#include <cstring>

namespace djstap {
namespace {

constexpr const char* ctf_lines = "\"\\n\".join(map(str, r))";

TEST_F(Formats, CtfHasATypeForEachFormat) {
    meta_.fields = all_fields;
    meta_.points = {"begin"};
    const uint32_t mixed = format("event=%d \"%s\" \\ at %p %s\n", "lskn"),
                   histogram = format("%s", "h", "h");
    open({"ctf:c"});
    std::string name = "task";
    name.resize(DJS_NAME_BYTES);
    record(mixed, 1200, fields(3, 4, 0) + number(-9) + text("a\"b") + stack({0x10, 0x20}) + name);
    djs_histogram_header header{};
    header.kind = 1; // logarithmic
    header.buckets = 128;
    std::string buckets(128 * sizeof(int64_t), '\0');
    buckets[66 * sizeof(int64_t)] = 5;
    record(histogram, 1100, fields(3, 4, 0) + bytes_of(&header, sizeof header) + buckets, 7);
    record(DJS_RECORD_TEXT, 1300, text("as it is\n"));
    record(DJS_RECORD_ERROR, 1400, text("bad") + number(-1));
    EXPECT_EQ(close(), "ERROR: bad\n");
    EXPECT_EQ(read("ctf", "c", ctf_lines),
              "event=%d \"%s\" \\ at %p %s: { cpu_id = 0, pid = 3, tid = 4, probe = \"begin\" }, "
              "{ event = -9, arg2 = \"a\\\"b\", _arg3_length = 2, arg3 = [ [0] = 0x10, [1] = 0x20 "
              "], arg4 = "
              "\"task\" }\n"
              "h: { cpu_id = 7, pid = 3, tid = 4, probe = \"begin\" }, { _arg1_length = 1, arg1 = "
              "[ [0] = { "
              "least = 2, most = 3, count = 5 } ] }\n"
              "text: { cpu_id = 0, pid = -1, tid = -1, probe = \"\" }, { text = \"as it is\\n\" }\n"
              "error: { cpu_id = 0, pid = -1, tid = -1, probe = \"\" }, { message = \"bad\", place "
              "= \"\" }\n");
}

// A packet of a stream (CTF 1.8, 5.2): its magic number, its identity, which the metadata have, the
// first and the last time in it, and how many bits it has.
struct CtfPacket {
    uint64_t first, last, bytes, lost;
};
std::vector<CtfPacket> ctf_packets(const std::string& folder) {
    const std::string stream = *read_file(folder + "/stream"),
                      about = *read_file(folder + "/metadata");
    std::string uuid = about.substr(about.find("uuid = \"") + 8, 36);
    std::erase(uuid, '-');
    std::vector<CtfPacket> packets;
    for (size_t at = 0; at < stream.size();) {
        uint32_t magic = 0;
        std::memcpy(&magic, stream.data() + at, sizeof magic);
        EXPECT_EQ(magic, 0xc1fc1fc1u);
        std::string digits;
        for (size_t i = 4; i < 20; i++) {
            char pair[3];
            snprintf(pair, sizeof pair, "%02x", static_cast<unsigned char>(stream[at + i]));
            digits += pair;
        }
        EXPECT_EQ(digits, uuid);
        uint64_t numbers[5]; // first, last, content, packet, lost
        std::memcpy(numbers, stream.data() + at + 24, sizeof numbers);
        EXPECT_EQ(numbers[2], numbers[3]);
        EXPECT_EQ(numbers[2] % 8, 0u);
        packets.push_back({numbers[0], numbers[1], numbers[2] / 8, numbers[4]});
        if (!numbers[2])
            break;
        at += numbers[2] / 8;
    }
    return packets;
}

// A reader holds a packet in memory: they end behind 64 KB.
TEST_F(Formats, CtfHasPacketsOfSomeKilobytes) {
    const uint32_t any = format("%s\n", "s");
    open({"ctf:c"});
    // An event: its number, its time, its CPU, and the text with its end.
    const std::string kilobyte(1024 - 16 - 1, 'x');
    for (uint64_t i = 0; i < 130; i++)
        record(any, 2000 + i, text(kilobyte));
    close();
    const auto packets = ctf_packets(path("c"));
    ASSERT_EQ(packets.size(), 3u);
    // 64 bytes are the packet's own, so that the 64th event fills it.
    EXPECT_EQ(packets[0].bytes, 64u + 64 * 1024);
    EXPECT_EQ(packets[1].bytes, packets[0].bytes);
    EXPECT_EQ(packets[2].bytes, 64u + 2 * 1024);
    EXPECT_EQ(packets[0].first, 1'001'000u);
    EXPECT_EQ(packets[0].last, 1'001'063u);
    EXPECT_EQ(packets[1].first, 1'001'064u);
    EXPECT_EQ(packets[2].last, 1'001'129u);
    EXPECT_EQ(packets[2].lost, 0u);
    EXPECT_EQ(read("ctf", "c", "len(r)"), "130\n");
}

// What speculate() kept is older than what was printed since.
TEST_F(Formats, CtfHasTimesThatNeverDecrease) {
    const uint32_t any = format("%d\n", "l");
    open({"ctf:c"});
    record(any, 1500, number(1));
    record(any, 1200, number(2));
    record(any, 1600, number(3));
    record(DJS_RECORD_ERROR, 1100, text("bad") + number(-1));
    close();
    const auto packets = ctf_packets(path("c"));
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(packets[0].first, 1'000'500u);
    EXPECT_EQ(packets[0].last, 1'000'600u);
    EXPECT_EQ(read("ctf", "c", "[x.split(\":\")[0] for x in r]"), "['%d', '%d', '%d', 'error']\n");
}

TEST_F(Formats, CtfCanBeReadMeanwhile) {
    const uint32_t any = format("%d\n", "l");
    open({"ctf:c"});
    record(any, 1100, number(1));
    flush();
    EXPECT_EQ(read("ctf", "c", ctf_lines), "%d: { cpu_id = 0 }, { arg1 = 1 }\n");
    record(any, 1200, number(2));
    close();
    EXPECT_EQ(read("ctf", "c", "len(r)"), "2\n");
}

TEST_F(Formats, CtfHasNoDamagedEvents) {
    const uint32_t any = format("%d %s\n", "ls");
    open({"ctf:c"});
    record(any, 1100, number(1) + text("a"));
    record(any, 1200, number(2));
    record(any, 1300, number(3) + text(std::string("b\0c", 3)));
    close();
    EXPECT_EQ(read("ctf", "c", ctf_lines), "%d %s: { cpu_id = 0 }, { arg1 = 1, arg2 = \"a\" }\n"
                                           "%d %s: { cpu_id = 0 }, { arg1 = 3, arg2 = \"b\" }\n");
}

TEST_F(Formats, CtfWithoutEventsCanBeRead) {
    open({"ctf:c"});
    close();
    EXPECT_EQ(read("ctf", "c", "r"), "[]\n");
}

// The first event tells what the clock says: what is told before it is placed there.
TEST_F(Formats, CtfHasMessagesOfBeforeItsFirstEvent) {
    const uint32_t any = format("%d\n", "l");
    open({"ctf:c"});
    record(DJS_RECORD_WARNING, 1100, text("careful\n"));
    record(DJS_RECORD_ERROR, 1200, text("bad") + number(-1));
    record(DJS_RECORD_ERROR, 1300, text("worse") + number(-1));
    record(any, 1400, number(1));
    record(DJS_RECORD_WARNING, 1500, text("enough"));
    const std::string told = close();
    EXPECT_TRUE(told.ends_with("WARNING: careful\nERROR: bad\nERROR: worse\nWARNING: enough\n"))
        << told;
    EXPECT_EQ(read("ctf", "c", ctf_lines),
              "warning: { cpu_id = 0 }, { message = \"careful\" }\n"
              "error: { cpu_id = 0 }, { message = \"bad\", place = \"\" }\n"
              "error: { cpu_id = 0 }, { message = \"worse\", place = \"\" }\n"
              "%d: { cpu_id = 0 }, { arg1 = 1 }\n"
              "warning: { cpu_id = 0 }, { message = \"enough\" }\n");
    const auto packets = ctf_packets(path("c"));
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(packets[0].first, 1'000'400u);
    EXPECT_EQ(packets[0].last, 1'000'400u);
}

TEST_F(Formats, CtfPacketsTellHowManyRecordsWereLost) {
    std::filesystem::create_directories(path("c"));
    {
        const FileDescriptor stream = std::move(*open_output(path("c/stream"))),
                             metadata = std::move(*open_output(path("c/metadata"))),
                             told = std::move(*open_output(path("told")));
        Writer events(stream.get(), "events"), about(metadata.get(), "about"),
            messages(told.get(), "messages");
        const auto output =
            make_ctf_output({.writer = events, .messages = messages, .more = {&about}});
        output->begin(meta_, clock_);
        output->print({0, 1100, clock_, Event::as_it_is, text("x")});
        output->flush();
        djs_counts counts{};
        counts.lost_records = 3;
        counts.oversized = 4;
        output->counts(counts);
        output->end();
        for (Writer* writer : {&events, &about, &messages})
            writer->flush();
    }
    const auto packets = ctf_packets(path("c"));
    ASSERT_EQ(packets.size(), 2u);
    EXPECT_EQ(packets[0].lost, 0u);
    EXPECT_EQ(packets[1].lost, 7u);
    // A line for each, and one for the fields that the module does not record.
    const std::string lines = *read_file(path("told"));
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3) << lines;
}

} // namespace
} // namespace djstap
