// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel's log gets of records that nobody has read, in which order, and how much of it.
#include "globals_for_test.h"
#include "kernel_for_test.h"
#include "log_for_test.h"
#include "rings_for_test.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

// The arguments of a record.
std::string word(u64 number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof(number));
}
std::string text(const std::string& content) {
    const auto length = static_cast<u32>(content.size());
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
    bytes += content;
    bytes.resize(DJS_ALIGN8(bytes.size()), '\0');
    return bytes;
}

class KernelLog : public testing::Test {
  protected:
    void SetUp() override {
        test_rings_begin();
        djs_script.meta = "";
        djs_script.formats = formats_;
        djs_script.format_types = types_;
        djs_script.format_count = 7;
        djs_script.places = places_;
        djs_script.place_count = 2;
        djs_script.string_bytes = 512;
        test_rings_symbol = [](char* out, u64 address) {
            strcpy(out, address & 8 ? "second+0x0/0x8" : "first+0x1/0x8");
        };
    }
    void TearDown() override {
        test_symbol_table_exit();
        test_rings_exit();
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_EQ(test_rings_pages_left, 0U);
        djs_script = {};
    }

    void make(u64 bytes = 65536) { ASSERT_EQ(test_rings_init(bytes), 0); }
    // Returns the record, which is complete.
    djs_record* put(u32 id, const std::string& arguments = "") {
        djs_ctx ctx{};
        const auto size = static_cast<u32>(sizeof(djs_record) + arguments.size());
        test_rings_now++;
        djs_record* record = test_rings_reserve(&ctx, id, size);
        if (!record)
            return nullptr;
        memcpy(static_cast<void*>(record + 1), arguments.data(), arguments.size());
        test_rings_commit(&ctx, record, size);
        return record;
    }
    void say(const std::string& content) { put(DJS_RECORD_TEXT, text(content)); }
    void speculate(s64 number, const std::string& content) {
        put(DJS_RECORD_SPECULATION, text(content) + word(static_cast<u64>(number)));
    }
    static std::string log(unsigned most = 100) {
        test_rings_to_log(most);
        return taken_log(test_rings_log);
    }

  private:
    const char* formats_[7] = {"%d %s\n", "event %d\n", "%s|\n", "none\n",
                               "two\n",   "%d,",        "last\n"};
    const char* types_[7] = {"ls", "fl", "N", "", "ff", "l", ""};
    const char* places_[2] = {"a.stp:1:2", "b.stp:3:4"};
};

TEST_F(KernelLog, PrintsLines) {
    make();
    EXPECT_EQ(log(), ""); // there is nothing
    say("one\ntwo ");
    say("more\n\n");
    say("rest");
    EXPECT_EQ(log(), "djstap: one\ndjstap: two more\ndjstap: \ndjstap: rest\n");
    EXPECT_EQ(log(), ""); // printed once
    say("again\n");
    EXPECT_EQ(log(), "djstap: again\n");
}

TEST_F(KernelLog, BreaksLongLines) {
    make();
    say(std::string(900, 'a') + "\n");
    say(std::string(901, 'b') + "\n");
    EXPECT_EQ(log(), "djstap: " + std::string(900, 'a') + "\ndjstap: " + std::string(900, 'b') +
                         "\ndjstap: b\n");
}

TEST_F(KernelLog, SaysHowManyLinesItLeavesOut) {
    make();
    for (const auto& [lines, end] : std::vector<std::pair<int, std::string>>{
             {2, ""}, {3, "djstap: … 1 more line\n"}, {4, "djstap: … 2 more lines\n"}}) {
        for (int line = 0; line < lines; line++)
            say("line\n");
        EXPECT_EQ(log(2), "djstap: line\ndjstap: line\n" + end);
    }
}

TEST_F(KernelLog, IsEmptyWithoutMemory) {
    make();
    say("text\n");
    const u32 before = guarded_count();
    for (long allowed = 0; allowed < 3; allowed++) {
        test_allocations_left = allowed;
        EXPECT_EQ(log(), "");
        EXPECT_EQ(guarded_count(), before);
    }
    test_allocations_left = LONG_MAX;
    EXPECT_EQ(log(), "djstap: text\n"); // it is still there
    EXPECT_EQ(guarded_count(), before);
}

TEST_F(KernelLog, MarksErrorsAndWarnings) {
    make();
    say("begun");
    put(DJS_RECORD_ERROR, text("bad") + word(1));
    put(DJS_RECORD_ERROR, text("four") + word(0));  // 4 + 4 bytes
    put(DJS_RECORD_ERROR, text("fives") + word(2)); // there is no such place
    put(DJS_RECORD_ERROR, text("worse") + word(~0ull));
    put(DJS_RECORD_ERROR, text("nowhere"));
    put(DJS_RECORD_WARNING, text("careful"));
    put(DJS_RECORD_WARNING, text("") + word(0));
    put(DJS_RECORD_EXIT);
    put(DJS_RECORD_SYSTEM, text("reboot"));
    EXPECT_EQ(log(), "djstap: begun\n"
                     "djstap: ERROR: bad near b.stp:3:4\n"
                     "djstap: ERROR: four near a.stp:1:2\n"
                     "djstap: ERROR: fives\n"
                     "djstap: ERROR: worse\n"
                     "djstap: ERROR: nowhere\n"
                     "djstap: WARNING: careful\n"
                     "djstap: WARNING: \n");
}

// The records are in memory that their reader's process could write.
TEST_F(KernelLog, ReadsNoTextBeyondItsRecord) {
    make();
    struct {
        u32 length;
        const char* shown;
    } const cases[] = {{12, "abcdefghijkl"}, {13, ""}, {~0U, ""}, {4, "abcd"}};
    for (const auto& each : cases) {
        djs_record* record = put(DJS_RECORD_ERROR, text("abcdefghijkl"));
        memcpy(static_cast<void*>(record + 1), &each.length, sizeof(each.length));
        say("next\n");
        const std::string lines = log();
        EXPECT_EQ(lines.substr(0, lines.find(" near")),
                  each.length == 4
                      ? "djstap: ERROR: abcd\ndjstap: next\n"
                      : "djstap: ERROR: " + std::string(each.shown) + "\ndjstap: next\n");
    }
    put(DJS_RECORD_ERROR);
    put(DJS_RECORD_TEXT);
    put(DJS_RECORD_STACK);
    EXPECT_EQ(log(), "djstap: ERROR: \n");
    // A place is within the record, or there is none.
    for (const u32 length : {4U, 5U, ~0U - 16, ~0U - 3}) {
        djs_record* record = put(DJS_RECORD_ERROR, text("four") + word(1));
        memcpy(static_cast<void*>(record + 1), &length, sizeof(length));
        const std::string lines = log();
        EXPECT_EQ(lines.find(" near ") != std::string::npos, length == 4) << length;
    }
}

TEST_F(KernelLog, FormatsArguments) {
    make();
    put(0, word(static_cast<u64>(-5)) + text("text"));
    put(1, word(77) + word(6)); // the field of the event is not among the arguments
    put(3);
    put(4, word(1) + word(2));
    put(4, word(1)); // one is missing
    put(1);
    put(5, word(1));
    put(5, word(2));
    put(7);                   // there is no such format
    put(0xfffffeff, word(1)); //
    put(6);
    EXPECT_EQ(log(), "djstap: -5 text\ndjstap: event 6\ndjstap: none\ndjstap: two\n"
                     "djstap: 1,2,last\n");
}

TEST_F(KernelLog, NamesSymbols) {
    djs_script.max_symbols = 100;
    ASSERT_EQ(test_symbol_table_init(), 0);
    make();
    const u64 addresses[] = {0xffffffff81000000, 0xffffffff81000008};
    u64 slots[2];
    ASSERT_TRUE(test_symbols_slots(addresses, 2, slots));
    put(DJS_RECORD_STACK, word(2) + word(slots[0]) + word(slots[1]));
    put(DJS_RECORD_STACK, word(1) + word(slots[1]) + word(slots[0]));
    put(DJS_RECORD_STACK, word(1 | 1ull << 63) + word(slots[0])); // with lines of the source
    put(DJS_RECORD_STACK, word(3) + word(slots[0]));              // damaged
    put(DJS_RECORD_STACK, word(0));
    put(2, word(1) + word(slots[1])); // symname()
    put(2, word(9));                  // damaged
    put(3);
    const std::string first = "djstap:  0xffffffff81000000 : first+0x1/0x8 [kernel]\n",
                      second = "djstap:  0xffffffff81000008 : second+0x0/0x8 [kernel]\n";
    EXPECT_EQ(log(), first + second + second + first + first + "djstap: second|\ndjstap: none\n");
}

TEST_F(KernelLog, FollowsTheTimeOfAllProcessors) {
    make(TEST_PAGE);
    const test_ring other = test_ring_of(2);
    // The other processor's records are copied from this one's.
    say("1\n");
    const u32 bytes = 16 + 8;
    memcpy(other.data, test_ring_of(0).data, bytes);
    memcpy(other.data + bytes, test_ring_of(0).data, bytes);
    auto at = [&](u32 cpu, u32 number) {
        return reinterpret_cast<djs_record*>(test_ring_of(cpu).data + u64{number} * bytes);
    };
    say("3\n");
    say("5\n");
    for (u32 number = 0; number < 2; number++)
        reinterpret_cast<char*>(at(2, number) + 1)[4] = static_cast<char>('2' + number * 2);
    *other.head = u64{2} * bytes;
    at(0, 0)->time = 1;
    at(2, 0)->time = 2;
    at(0, 1)->time = 3;
    at(2, 1)->time = 4;
    at(0, 2)->time = 5;
    EXPECT_EQ(log(), "djstap: 1\ndjstap: 2\ndjstap: 3\ndjstap: 4\ndjstap: 5\n");
    EXPECT_EQ(test_ring_of(0).page->tail, 3U * bytes);
    EXPECT_EQ(other.page->tail, 2U * bytes);
}

TEST_F(KernelLog, BeginsWhereTheReaderStopped) {
    make();
    say("read\n");
    test_ring_of(0).page->tail = *test_ring_of(0).head;
    say("left\n");
    EXPECT_EQ(log(), "djstap: left\n");
}

TEST_F(KernelLog, EndsAtDamagedRecords) {
    for (const u32 size : {0U, 8U, 23U, 20U, 64U, ~0U}) {
        make(TEST_PAGE);
        say("good\n");
        djs_record* record = put(DJS_RECORD_TEXT, text("bad"));
        say("behind\n");
        ASSERT_EQ(record->size, 24U);
        record->size = size; // there are 24 + 32 bytes
        EXPECT_EQ(log(), "djstap: good\n") << size;
        test_rings_exit();
    }
    make(TEST_PAGE);
    put(3);
    put(3)->size = 16; // the smallest one, which ends where the last one does
    EXPECT_EQ(log(), "djstap: none\ndjstap: none\n");
    // A tail behind the head, and one before what the ring can hold.
    for (const s64 off : {8, -8 - TEST_PAGE}) {
        say("text\n");
        test_ring_of(0).page->tail = *test_ring_of(0).head + static_cast<u64>(off);
        EXPECT_EQ(log(), "");
    }
    // A whole ring.
    test_ring_of(0).page->tail = *test_ring_of(0).head;
    const u64 head = *test_ring_of(0).head;
    for (int number = 0; number < 4; number++)
        say(std::string(1003, 'a') + "\n");
    ASSERT_EQ(*test_ring_of(0).head, head + TEST_PAGE);
    EXPECT_EQ(log().find("djstap: " + std::string(900, 'a')), 0U);
}

TEST_F(KernelLog, BeginsWithTheOldestPart) {
    test_rings_overwrite = true;
    make();
    constexpr u32 part = 16384;
    auto fill = [&](char name, u32 left) {
        // A line, and a record of nothing that leaves so much of the part.
        say(std::string(1, name) + "\n");
        put(DJS_RECORD_WARNING + 1, std::string(part - 24 - 16 - left, '\0'));
    };
    fill('a', 0);
    fill('b', 8); // too little for padding
    fill('c', 16);
    fill('d', 64);
    EXPECT_EQ(*test_ring_of(0).head, 4U * part - 64);
    EXPECT_EQ(log(), "djstap: a\ndjstap: b\ndjstap: c\ndjstap: d\n");
    fill('e', 0);
    EXPECT_EQ(log(), "djstap: b\ndjstap: c\ndjstap: d\ndjstap: e\n");
    fill('f', 8);
    fill('g', 0);
    EXPECT_EQ(log(), "djstap: d\ndjstap: e\ndjstap: f\ndjstap: g\n");
}

// ---- speculation

TEST_F(KernelLog, PrintsWhatIsCommitted) {
    make();
    speculate(1, "one ");
    speculate(2, "two ");
    say("now ");
    speculate(1, "more ");
    speculate(1025, "thousand ");
    speculate(2, "too ");
    speculate(3, "never ");
    put(DJS_RECORD_COMMIT, word(2));
    put(DJS_RECORD_DISCARD, word(1025));
    put(DJS_RECORD_COMMIT, word(1025));
    put(DJS_RECORD_COMMIT, word(1));
    put(DJS_RECORD_COMMIT, word(1)); // there is nothing left
    speculate(1, "again ");
    put(DJS_RECORD_COMMIT, word(1));
    EXPECT_EQ(log(), "djstap: now two too one more again \n");
}

TEST_F(KernelLog, KnowsNumbersOfDamagedRecords) {
    make();
    speculate(0, "zero\n");
    put(DJS_RECORD_SPECULATION);     // no text, no number
    put(DJS_RECORD_COMMIT, word(5)); // another one
    put(DJS_RECORD_COMMIT);
    EXPECT_EQ(log(), "djstap: zero\n");
    // Nothing is kept for the next time.
    speculate(4, "old\n");
    EXPECT_EQ(log(), "");
    put(DJS_RECORD_COMMIT, word(4));
    EXPECT_EQ(log(), "");
}

// ---- what is lost

TEST_F(KernelLog, SaysWhatWasLost) {
    make(TEST_PAGE);
    test_ring_of(0).lost[0] = 1;
    EXPECT_EQ(log(), "djstap: 1 record was lost: the buffer was full\n");
    test_ring_of(2).lost[0] = 2;
    test_ring_of(2).oversized[0] = 1;
    EXPECT_EQ(log(), "djstap: 3 records were lost: the buffer was full\n"
                     "djstap: 1 record was lost: longer than a buffer\n");
}

} // namespace
