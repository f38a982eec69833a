// SPDX-License-Identifier: GPL-2.0-or-later
// Texts of what scripts print: characters, names, titles, fields of tables.
#include "formats.h"
#include "include/statistic.h"
#include "session/kernel_symbols.h"
#include "session/outputs.h"
#include "session/printed_values.h"
#include "session/shown.h"
#include "session/snapshot_frames.h"
#include "system/file.h"

#include <fcntl.h>

namespace djstap {
namespace {

// RFC 3629: which bytes begin a character, and how many follow.
TEST(Utf8, KnowsTheFirstByteOfEachCharacter) {
    for (unsigned byte = 0; byte < 256; byte++) {
        const size_t length = byte < 0x80                    ? 1
                              : byte >= 0xc2 && byte <= 0xdf ? 2
                              : byte >= 0xe0 && byte <= 0xef ? 3
                              : byte >= 0xf0 && byte <= 0xf4 ? 4
                                                             : 0;
        const std::string mark = "\xef\xbf\xbd", first(1, static_cast<char>(byte));
        // With as many bytes behind it as a character may have, and a letter.
        std::string expected = length ? first + std::string(length - 1, '\xa5') : mark;
        for (size_t i = length ? length - 1 : 0; i < 3; i++)
            expected += mark;
        EXPECT_EQ(utf8(first + "\xa5\xa5\xa5z"), expected + "z") << byte;
        // With one too few.
        if (length > 1) {
            std::string marks;
            for (size_t i = 0; i + 1 < length; i++)
                marks += mark;
            EXPECT_EQ(utf8(first + std::string(length - 2, '\xa5')), marks) << byte;
        }
    }
    EXPECT_EQ(utf8("\xc3\x7f"), "\xef\xbf\xbd\x7f");
    EXPECT_EQ(utf8("\xc3\xc0"), "\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(utf8("\xc3\x80\xc3\xbf"), "\xc3\x80\xc3\xbf");
    EXPECT_EQ(utf8(""), "");
}

TEST(FormatTitle, IsOneLine) {
    EXPECT_EQ(format_title({"  a %d\t\n b\n", "l"}), "a %d b");
    EXPECT_EQ(format_title({"a", "", "n", 0}), "n");
    EXPECT_EQ(format_title({"\n \t", ""}), "print");
    EXPECT_EQ(format_title({"", ""}), "print");
    EXPECT_EQ(format_title({"x", ""}), "x");
}

TEST(ProbedFunction, HasNoOtherSuffix) {
    bool returns = false;
    EXPECT_EQ(probed_function("kernel.function(\"f\").exported", returns), "");
    EXPECT_EQ(probed_function("process(\"/a\").function(\"main@a.c\")", returns), "main");
    EXPECT_FALSE(returns);
}

// kallsyms: "ADDRESS TYPE NAME", and of modules "\t[MODULE]".
TEST(KernelSymbols, AreFunctionsOfEachKind) {
    const KernelSymbols symbols("0000000000000001 T a\n"
                                "0000000000000010 t b\n"
                                "0000000000000020 W c\n"
                                "0000000000000030 w d\n"
                                "0000000000000040 B e\n"
                                "0000000000000050 U f\n"
                                "0000000000000060 T\n"
                                "0000000000000070 T \n"
                                "xyz T g\n"
                                "\n"
                                "0000000000000080 T last");
    const std::pair<uint64_t, const char*> all[] = {{0x0, ""},   {0x1, "a"},  {0xf, "a"},
                                                    {0x10, "b"}, {0x20, "c"}, {0x30, "d"},
                                                    {0x40, "d"}, {0x7f, "d"}, {0x80, "last"}};
    for (const auto& [address, name] : all)
        EXPECT_EQ(symbols.name_of(address), name) << address;
}

// Modules are listed in the order in which they were loaded, wherever that was.
TEST(KernelSymbols, AreFoundWhateverTheirOrder) {
    const KernelSymbols symbols("0000000000000050 T late\n"
                                "0000000000000010 t early\t[one]\n"
                                "0000000000000030 t middle\t[two]\n"
                                "0000000000000030 t alias\t[two]\n");
    const std::pair<uint64_t, const char*> all[] = {{0xf, ""},        {0x10, "early"},
                                                    {0x2f, "early"},  {0x30, "middle"},
                                                    {0x4f, "middle"}, {0x50, "late"}};
    for (const auto& [address, name] : all)
        EXPECT_EQ(symbols.name_of(address), name) << address;
}

TEST_F(Formats, CsvQuotesWhatSpreadsheetsWouldDivide) {
    const uint32_t element = format("", "ss", "a,b", 1);
    open({"csv:v"});
    for (const char* each : {"plain", "a,b", "a\"b\"", "a\nb", "a\rb", " a", "a ", "a b", ""})
        record(element, 1000, text(each) + text("v"));
    close();
    EXPECT_EQ(*read_file(path("v")), "kind,name,key1,value,count,min,max,total,average\n"
                                     "map,\"a,b\",plain,v,,,,,\n"
                                     "map,\"a,b\",\"a,b\",v,,,,,\n"
                                     "map,\"a,b\",\"a\"\"b\"\"\",v,,,,,\n"
                                     "map,\"a,b\",\"a\nb\",v,,,,,\n"
                                     "map,\"a,b\",\"a\rb\",v,,,,,\n"
                                     "map,\"a,b\",\" a\",v,,,,,\n"
                                     "map,\"a,b\",\"a \",v,,,,,\n"
                                     "map,\"a,b\",a b,v,,,,,\n"
                                     "map,\"a,b\",,v,,,,,\n");
}

// A row for each bucket from the first to the last that is not empty.
TEST_F(Formats, CsvHasTheBucketsOfHistograms) {
    const uint32_t of_array = format("", "sh", "x", 1), alone = format("", "h", "y"),
                   two_keys = format("", "lll", "z", 2), texts = format("%s", "s"),
                   stacks = format("", "kl", "k", 1);
    djs_histogram_header header{};
    header.kind = DJS_HISTOGRAM_LINEAR;
    header.buckets = 4;
    header.high = 19;
    header.width = 10;
    const std::string of = bytes_of(&header, sizeof header);
    open({"csv:v"});
    record(of_array, 1000, text("k") + of + number(0) + number(2) + number(0) + number(3));
    record(alone, 1100, of + number(1) + number(0) + number(0) + number(0));
    record(two_keys, 1200, number(1) + number(2) + number(3));
    record(texts, 1300, text("no row"));
    record(DJS_RECORD_TEXT, 1300, text("nor this"));
    record(stacks, 1400, stack({0x20, 0x10}) + number(4));
    record(two_keys, 1500, number(1)); // damaged
    close();
    EXPECT_EQ(*read_file(path("v")), "kind,name,key1,key2,value,count,min,max,total,average\n"
                                     "hist,x,k,,,2,0,9,,\n"
                                     "hist,x,k,,,0,10,19,,\n"
                                     "hist,x,k,,,3,20,,,\n"
                                     "hist,y,,,,1,,-1,,\n"
                                     "map,z,1,2,3,,,,,\n"
                                     "map,k,0x20 0x10,,4,,,,,\n");
}

TEST_F(Formats, StringsThatSpeculationsDroppedAreCounted) {
    for (const uint32_t limit : {2U, 3U, 5U}) {
        meta_.max_speculations = limit;
        open({"text:t"});
        for (int64_t i = 0; i < 4; i++)
            record(DJS_RECORD_SPECULATION, 1000, text("x") + number(i));
        const std::string told = close();
        EXPECT_EQ(told, limit == 2   ? "WARNING: 2 strings of speculate() were dropped in favor of "
                                       "newer ones; -D MAXSPECULATIONS=4 keeps more\n"
                        : limit == 3 ? "WARNING: 1 string of speculate() was dropped in favor of "
                                       "newer ones; -D MAXSPECULATIONS=6 keeps more\n"
                                     : "");
    }
}

TEST_F(Formats, SnapshotsEndWithTheCountsOfTheSession) {
    const std::string file = path("s");
    {
        const FileDescriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        Writer writer(out.get(), "out"), messages(-1, "nowhere");
        const auto output = make_snapshots_output({.writer = writer, .messages = messages});
        djs_counts counts{};
        counts.errors = 3;
        counts.lost_records = 4;
        output->counts(counts);
        output->end();
    }
    const auto recorded = read_frames(file);
    ASSERT_TRUE(recorded);
    ASSERT_EQ(recorded->frames.size(), 1U);
    const auto& end = std::get<EndFrame>(recorded->frames[0]);
    EXPECT_EQ(end.counts.errors, 3U);
    EXPECT_EQ(end.counts.lost_records, 4U);
}

TEST_F(Formats, TextGoesOnInTheNextFile) {
    open({"text:t"});
    record(DJS_RECORD_TEXT, 1000, text("one\n"));
    record(DJS_RECORD_SWITCH_FILE, 1100, "");
    record(DJS_RECORD_TEXT, 1200, text("two\n"));
    record(DJS_RECORD_SWITCH_FILE, 1300, "");
    record(DJS_RECORD_TEXT, 1400, text("three\n"));
    EXPECT_EQ(close(), "");
    EXPECT_EQ(*read_file(path("t")), "one\n");
    EXPECT_EQ(*read_file(path("t.1")), "two\n");
    EXPECT_EQ(*read_file(path("t.2")), "three\n");
}

// What a record shows: its kind, name, keys and cells; "none" if it is no such record, or damaged.
std::string shown_by(const ModuleMeta::Format& shape, const std::string& arguments) {
    RecordClock clock;
    const Event event{0, 1, clock, shape, arguments};
    ShownRow row;
    // Of the record before it.
    row.cells.emplace_back(int64_t{9});
    row.is_statistic = row.is_histogram = true;
    if (!read_shown(event, row))
        return "none";
    const char* const kinds[] = {"begin", "probe", "global", "end"};
    return kinds[static_cast<size_t>(row.kind)] + std::string(" ") + std::string(row.name) + " " +
           std::to_string(row.keys) + "/" + std::to_string(row.cells.size()) +
           (row.is_statistic ? " statistic" : "") + (row.is_histogram ? " histogram" : "");
}

TEST(ShownRows, HaveAValueBehindTheirKeys) {
    const auto numbers = [](size_t count) {
        std::string all;
        for (size_t i = 0; i < count; i++)
            all += number(static_cast<int64_t>(i));
        return all;
    };
    const auto shows = [&](const char* types, uint64_t keys, const std::string& arguments) {
        return shown_by({"", types, "x", keys}, arguments);
    };
    EXPECT_EQ(shows("l", 0, numbers(1)), "global x 0/1");
    EXPECT_EQ(shows("s", 0, text("v")), "global x 0/1");
    EXPECT_EQ(shows("lk", 1, number(1) + stack({0x10})), "global x 1/2");
    EXPECT_EQ(shows("lll", 2, numbers(3)), "global x 2/3");
    EXPECT_EQ(shows("", 0, ""), "none");
    EXPECT_EQ(shows("l", 1, numbers(1)), "none") << "a key without a value";
    EXPECT_EQ(shows("l", 2, numbers(1)), "none");
    EXPECT_EQ(shows("ll", 0, numbers(2)), "none") << "two values";
    EXPECT_EQ(shows("ll", 1, numbers(1)), "none") << "damaged";
    EXPECT_EQ(shown_by({"%d", "l", "", 0}, numbers(1)), "none") << "a print";
    EXPECT_EQ(shown_by(Event::as_it_is, text("a print")), "none");
    // Count, least, greatest, sum, average.
    EXPECT_EQ(shows("lllll", 0, numbers(5)), "global x 0/5 statistic");
    EXPECT_EQ(shows("llllll", 1, numbers(6)), "global x 1/6 statistic");
    EXPECT_EQ(shows("llll", 0, numbers(4)), "none");
    EXPECT_EQ(shows("llllll", 0, numbers(6)), "none");
    EXPECT_EQ(shows("sllll", 0, text("v") + numbers(4)), "none");
    EXPECT_EQ(shows("lllls", 0, numbers(4) + text("v")), "none");
    EXPECT_EQ(shows("slllll", 1, text("v") + numbers(5)), "global x 1/6 statistic");
}

TEST(ShownRows, MayBeHistograms) {
    djs_histogram_header header{};
    header.kind = DJS_HISTOGRAM_LINEAR;
    header.buckets = 3;
    header.high = 10;
    header.width = 10;
    const std::string buckets =
        bytes_of(&header, sizeof header) + number(1) + number(0) + number(2);
    EXPECT_EQ(shown_by({"", "h", "x", 0}, buckets), "global x 0/1 histogram");
    EXPECT_EQ(shown_by({"", "lh", "x", 1}, number(1) + buckets), "global x 1/2 histogram");
    EXPECT_EQ(shown_by({"", "hl", "x", 1}, buckets + number(1)), "none") << "as a key";
    EXPECT_EQ(shown_by({"", "lhl", "x", 2}, number(1) + buckets + number(1)), "none");
    EXPECT_EQ(shown_by({"", "lh", "x", 0}, number(1) + buckets), "none");
    EXPECT_EQ(shown_by({"", "h", "x", 0}, buckets.substr(0, buckets.size() - 8)), "none");
}

TEST(ShownRows, OfSnapshotsHaveTheirBeginAndEnd) {
    const std::string begin = DJS_SHOWS_BEGIN, probe = DJS_SHOWS_PROBE, end = DJS_SHOWS_END;
    EXPECT_EQ(shown_by({"%d", "l", begin, 0}, number(1000)), "begin " + begin + " 0/1");
    EXPECT_EQ(shown_by({"", "", begin, 0}, ""), "begin " + begin + " 0/0");
    EXPECT_EQ(shown_by({"%d", "l", end, 0}, number(1000)), "end " + end + " 0/1");
    EXPECT_EQ(shown_by({"", "", end, 0}, ""), "end " + end + " 0/0");
    EXPECT_EQ(shown_by({"%d", "l", end, 0}, ""), "none") << "damaged";
    EXPECT_EQ(shown_by({"", "lsl", probe, 2}, number(1) + text("p") + number(2)),
              "probe " + probe + " 2/3");
    EXPECT_EQ(shown_by({"", "ls", probe, 2}, number(1) + text("p")), "none");
}

} // namespace
} // namespace djstap
