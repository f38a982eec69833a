// SPDX-License-Identifier: GPL-2.0-or-later
#include "include/statistic.h"
#include "record_bytes.h"
#include "session/outputs.h"
#include "session/printer.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace djstap;

namespace {

// A file whose content can be read back.
class Capture {
  public:
    Capture() : file_(memfd_create("output", 0)) {}
    int fd() const { return file_.get(); }
    std::string text() const {
        std::string all(static_cast<size_t>(lseek(file_.get(), 0, SEEK_END)), '\0');
        EXPECT_EQ(pread(file_.get(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
        return all;
    }

  private:
    FileDescriptor file_;
};

class Record {
  public:
    explicit Record(uint32_t id) : bytes_(sizeof(djs_record), '\0') { at().id = id; }
    Record& number(int64_t value) {
        bytes_ += djstap::number(value);
        return *this;
    }
    Record& text(const std::string& value) {
        bytes_ += djstap::text(value);
        return *this;
    }
    const djs_record& get() {
        at().size = static_cast<uint32_t>(bytes_.size());
        return at();
    }
    std::string& bytes() { return bytes_; }

  private:
    djs_record& at() { return *reinterpret_cast<djs_record*>(bytes_.data()); }
    std::string bytes_;
};

ModuleMeta example_meta() {
    ModuleMeta meta;
    meta.formats = {{"%s(%d)\n", "sl"},
                    {"hello\n", ""},
                    {"%s", "s"},
                    {"n=%d\n", "l", "n", 0},
                    {"a[%d,%s]=%d\n", "lsl", "a", 2},
                    {"s[%d] %d %d %d %d %d\n", "llllll", "s", 1},
                    {"%H\n", "h", "h", 0}};
    meta.places = {"operator '/' at <input>:1:24"};
    return meta;
}

struct Printed {
    std::string out, err;
    bool exit = false;
    uint64_t errors = 0, damaged = 0;
};

Printed print_of(const ModuleMeta& meta, std::vector<Record> records, bool json, bool warnings,
                 djs_counts counts) {
    Capture out, err;
    Writer writer(out.fd(), "out"), messages(err.fd(), "err");
    const OutputStreams streams{writer, messages, warnings, false};
    const auto output = json ? make_json_output(streams) : make_text_output(streams);
    const RecordClock clock;
    RecordPrinter printer(meta, clock, *output);
    for (auto& record : records)
        printer.print(record.get(), 0);
    output->counts(counts);
    writer.flush();
    return {out.text(), err.text(), printer.exit_requested(), printer.errors(), printer.damaged()};
}

Printed print(std::vector<Record> records, bool json = false, bool warnings = true,
              djs_counts counts = {}) {
    return print_of(example_meta(), std::move(records), json, warnings, counts);
}

Printed print_with_fields(uint32_t fields, std::vector<Record> records, bool json) {
    ModuleMeta meta = example_meta();
    meta.fields = fields;
    meta.points = {"begin", "end"};
    return print_of(meta, std::move(records), json, true, {});
}

} // namespace

TEST(Output, FormatsErrorsWarningsAndExit) {
    const auto printed =
        print({Record(0).text("cat").number(42), Record(1),
               Record(DJS_RECORD_ERROR).text("division by 0").number(0),
               Record(DJS_RECORD_ERROR).text("no place").number(-1),
               Record(DJS_RECORD_WARNING).text("careful\n"), Record(DJS_RECORD_EXIT)});
    EXPECT_EQ(printed.out, "cat(42)\nhello\n");
    EXPECT_EQ(printed.err, "ERROR: division by 0 near operator '/' at <input>:1:24\nERROR: no "
                           "place\nWARNING: careful\n");
    EXPECT_TRUE(printed.exit);
    EXPECT_EQ(printed.errors, 2u);
}

TEST(Output, ErrorsHaveThePlacesThatTheModuleKnows) {
    EXPECT_EQ(print({Record(DJS_RECORD_ERROR).text("a").number(1),
                     Record(DJS_RECORD_ERROR).text("b").number(INT64_MIN),
                     Record(DJS_RECORD_ERROR).text("c")})
                  .err,
              "ERROR: a\nERROR: b\nERROR: c\n");
}

TEST(Output, JsonEscapesWhatItsTextsMayNotContain) {
    const std::string out = print_of(example_meta(),
                                     {Record(0).text("\\a\"b\n\\").number(42),
                                      Record(0).text("\\a\"b\n\x01\xc3\xa9").number(42)},
                                     true, true, {})
                                .out;
    EXPECT_TRUE(out.starts_with(R"({"type":"printf","data":"\\a\"b\n\\(42)\n"})"
                                "\n"
                                R"({"type":"printf","data":"\\a\"b\n\u0001é(42)\n"})"
                                "\n"))
        << out;
}

TEST(Output, OnlyTheMonitorReceivesSnapshots) {
    ModuleMeta meta = example_meta();
    meta.formats.push_back({"n=%d\n", "l", "n", 0, true});
    const auto snapshots = static_cast<uint32_t>(meta.formats.size() - 1);
    const std::vector<Record> records{Record(3).number(1), Record(snapshots).number(2)};
    EXPECT_EQ(print_of(meta, records, false, true, {}).out, "n=1\n");
    const std::string objects = print_of(meta, records, true, true, {}).out;
    EXPECT_NE(objects.find("1"), std::string::npos) << objects;
    EXPECT_EQ(objects.find("2"), std::string::npos) << objects;
}

TEST(Output, SpeculationsArePrintedWhereTheyAreCommitted) {
    const auto kept = [](const char* text, int64_t id) {
        return Record(DJS_RECORD_SPECULATION).text(text).number(id);
    };
    const auto printed =
        print({kept("one ", 1), kept("other\n", 2), Record(1), kept("two\n", 1), kept("gone\n", 3),
               Record(DJS_RECORD_COMMIT).number(1), Record(DJS_RECORD_DISCARD).number(3),
               kept("again\n", 3), Record(DJS_RECORD_COMMIT).number(1),
               Record(DJS_RECORD_COMMIT).number(3), Record(DJS_RECORD_COMMIT).number(77)});
    EXPECT_EQ(printed.out, "hello\none two\nagain\n");
    EXPECT_EQ(printed.damaged, 0u);
    EXPECT_EQ(print({Record(DJS_RECORD_COMMIT), Record(DJS_RECORD_SPECULATION).text("x")}).damaged,
              2u);
}

TEST(Output, TheOldestSpeculationGivesWay) {
    Speculations speculations(2);
    std::string out;
    const auto print = [&](const Speculations::Text& text) { out += text.arguments; };
    speculations.add(1, {0, 0, "a"});
    speculations.add(2, {0, 0, "b"});
    speculations.add(1, {0, 0, "c"});
    speculations.add(1, {0, 0, "d"});
    EXPECT_EQ(speculations.dropped(), 2u);
    speculations.commit(2, print);
    speculations.commit(1, print);
    EXPECT_EQ(out, "cd");
}

TEST(Output, JsonIsOneObjectALine) {
    const auto printed =
        print({Record(0).text("c\"\xff").number(1), Record(DJS_RECORD_ERROR).text("bad").number(0),
               Record(DJS_RECORD_WARNING).text("careful")},
              true, true,
              {.lost_records = 3,
               .oversized = 0,
               .overwritten = 0,
               .skipped_busy = 0,
               .skipped_locked = 0,
               .skipped_stack = 0,
               .skipped_kretprobe = 0,
               .skipped_kprobe = 0,
               .not_followed = 0,
               .deep_hits = 0,
               .short_stacks = 0,
               .unread_programs = 0,
               .errors = 1,
               .failed_sites = 0,
               .inside = 0,
               .pinned = 0,
               .missed_calls = 0});
    std::vector<nlohmann::json> objects;
    std::istringstream lines(printed.out);
    for (std::string line; std::getline(lines, line);)
        objects.push_back(nlohmann::json::parse(line));
    ASSERT_EQ(objects.size(), 4u);
    EXPECT_EQ(objects[0], R"({"type": "printf", "data": "c\"\ufffd(1)\n"})"_json);
    EXPECT_EQ(objects[1],
              R"({"type": "runtime_error", "data": {"message": "bad", "place": "operator '/'",
        "file": "<input>", "line": 1, "column": 24}})"_json);
    EXPECT_EQ(objects[2], R"({"type": "warning", "data": {"message": "careful"}})"_json);
    EXPECT_EQ(objects[3]["type"], "lost_events");
    EXPECT_EQ(objects[3]["data"]["events"], 3);
    EXPECT_EQ(printed.err, "");
}

TEST(Output, JsonHasGlobalsAndHistogramsAsObjects) {
    const auto histogram = [](uint32_t kind, int64_t low, int64_t high, int64_t width,
                              const std::vector<int64_t>& counts) {
        djs_histogram_header header{};
        header.kind = kind;
        header.buckets = static_cast<uint32_t>(counts.size());
        header.low = low;
        header.high = high;
        header.width = width;
        Record record(6);
        record.bytes().append(reinterpret_cast<const char*>(&header), sizeof header);
        for (const int64_t count : counts)
            record.number(count);
        return record;
    };
    std::vector<int64_t> log(DJS_LOG_BUCKETS);
    log[0] = 1, log[DJS_LOG_ZERO - 2] = 2, log[DJS_LOG_ZERO] = 3, log[DJS_LOG_ZERO + 3] = 4;
    log[DJS_LOG_BUCKETS - 1] = 5;
    const auto printed =
        print({Record(3).number(-7), Record(4).number(1).text("x"), // one that is damaged
               Record(4).number(1).text("x").number(5), Record(4).number(2).text("\"").number(6),
               Record(5).number(9).number(2).number(-1).number(4).number(3).number(1), Record(1),
               histogram(DJS_HISTOGRAM_LINEAR, -10, 20, 10, {1, 0, 2, 0, 0, 3}),
               histogram(DJS_HISTOGRAM_LINEAR, 0, 20, 10, {0, 0, 7, 0, 0}),
               histogram(DJS_HISTOGRAM_LOG, 0, 0, 0, log),
               histogram(DJS_HISTOGRAM_LINEAR, 0, 20, 10, {0, 0, 0}),
               histogram(DJS_HISTOGRAM_LINEAR, INT64_MIN, INT64_MIN + 10, 10, {0, 4, 0, 0})},
              true);
    std::vector<std::string> lines;
    std::istringstream all(printed.out);
    for (std::string line; std::getline(all, line);)
        lines.push_back(line);
    ASSERT_EQ(lines.size(), 11u) << printed.out;
    EXPECT_EQ(lines[0], R"({"type":"map","data":{"n":-7}})");
    EXPECT_EQ(nlohmann::json::parse(lines[1])["type"], "printf");
    EXPECT_EQ(lines[2], R"({"type":"map","data":{"a":{"1,x":5,"2,\"":6}}})");
    EXPECT_EQ(
        lines[3],
        R"({"type":"stats","data":{"s":{"9":{"count":2,"min":-1,"max":4,"total":3,"average":1}}}})");
    EXPECT_EQ(lines[4], R"({"type":"printf","data":"hello\n"})");
    EXPECT_EQ(lines[5],
              R"({"type":"hist","data":{"h":[{"max":-11,"count":1},{"min":-10,"max":-1,"count":0},)"
              R"({"min":0,"max":9,"count":2},{"min":10,"max":19,"count":0},)"
              R"({"min":20,"max":29,"count":0},{"min":30,"count":3}]}})");
    EXPECT_EQ(lines[6], R"({"type":"hist","data":{"h":[{"min":10,"max":19,"count":7}]}})");
    const auto rows = nlohmann::json::parse(lines[7])["data"]["h"];
    EXPECT_EQ(rows.size(), size_t{DJS_LOG_BUCKETS});
    EXPECT_EQ(rows[0],
              R"({"min": -9223372036854775808, "max": -9223372036854775808, "count": 1})"_json);
    EXPECT_EQ(rows[1],
              R"({"min": -9223372036854775807, "max": -4611686018427387904, "count": 0})"_json);
    EXPECT_EQ(rows[DJS_LOG_ZERO - 2], R"({"min": -3, "max": -2, "count": 2})"_json);
    EXPECT_EQ(rows[DJS_LOG_ZERO - 1], R"({"min": -1, "max": -1, "count": 0})"_json);
    EXPECT_EQ(rows[DJS_LOG_ZERO], R"({"min": 0, "max": 0, "count": 3})"_json);
    EXPECT_EQ(rows[DJS_LOG_ZERO + 1], R"({"min": 1, "max": 1, "count": 0})"_json);
    EXPECT_EQ(rows[DJS_LOG_ZERO + 3], R"({"min": 4, "max": 7, "count": 4})"_json);
    EXPECT_EQ(rows[DJS_LOG_BUCKETS - 1],
              R"({"min": 4611686018427387904, "max": 9223372036854775807, "count": 5})"_json);
    EXPECT_EQ(lines[8], R"({"type":"hist","data":{"h":[]}})");
    EXPECT_EQ(lines[9], R"({"type":"hist","data":{"h":[{"min":-9223372036854775808,)"
                        R"("max":-9223372036854775799,"count":4}]}})");
}

TEST(Output, JsonHasTheFieldsOfAnEventBeforeItsData) {
    const auto task = [](uint32_t pid, uint32_t tid) {
        return static_cast<int64_t>(uint64_t{tid} << 32 | pid);
    };
    const auto all = [&](uint32_t id, uint32_t tid, int64_t site) {
        return Record(id).number(task(7, tid)).number(site);
    };
    const std::string shown =
        print_with_fields(
            DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID,
            {all(0, 8, 0).text("x").number(2), all(1, 8, -1), all(3, 8, 1).number(5),
             all(4, 8, 1).number(1).text("k").number(6), all(4, 8, 1).number(2).text("l").number(7),
             all(4, 9, 1).number(3).text("m").number(8), Record(DJS_RECORD_TEXT).text("log")},
            true)
            .out;
    EXPECT_EQ(shown.substr(0, shown.find(R"({"type":"lost_events")")),
              R"({"type":"printf","probe":"begin","pid":7,"tid":8,"data":"x(2)\n"})"
              "\n"
              R"({"type":"printf","pid":7,"tid":8,"data":"hello\n"})"
              "\n"
              R"({"type":"map","probe":"end","pid":7,"tid":8,"data":{"n":5}})"
              "\n"
              R"({"type":"map","probe":"end","pid":7,"tid":8,"data":{"a":{"1,k":6,"2,l":7}}})"
              "\n"
              R"({"type":"map","probe":"end","pid":7,"tid":9,"data":{"a":{"3,m":8}}})"
              "\n"
              R"({"type":"printf","data":"log"})"
              "\n");
    EXPECT_TRUE(print_with_fields(DJS_EVENT_TID, {Record(1).number(task(7, 8))}, true)
                    .out.starts_with(R"({"type":"printf","tid":8,"data":"hello\n"})"));
}

TEST(Output, TextLeavesTheFieldsOut) {
    const auto printed = print_with_fields(
        DJS_EVENT_PROBE | DJS_EVENT_PID,
        {Record(0).number(7).number(1).text("x").number(2), Record(1).number(7)}, false);
    EXPECT_EQ(printed.out, "x(2)\n");
    EXPECT_EQ(printed.damaged, 1u);
}

TEST(Output, WarningsCanBeTurnedOff) {
    EXPECT_EQ(print({Record(DJS_RECORD_WARNING).text("careful")}, false, false,
                    {.lost_records = 1,
                     .oversized = 0,
                     .overwritten = 0,
                     .skipped_busy = 0,
                     .skipped_locked = 0,
                     .skipped_stack = 0,
                     .skipped_kretprobe = 0,
                     .skipped_kprobe = 0,
                     .not_followed = 0,
                     .deep_hits = 0,
                     .short_stacks = 0,
                     .unread_programs = 0,
                     .errors = 0,
                     .failed_sites = 0,
                     .inside = 0,
                     .pinned = 0,
                     .missed_calls = 0})
                  .err,
              "");
}

// What programs are named, and what they contain, may be in messages.
TEST(Output, MessagesDoNotControlTheTerminal) {
    EXPECT_EQ(print({Record(DJS_RECORD_WARNING)
                         .text("a\x1b[2J\xc2\x9b"
                               "b")})
                  .err,
              "WARNING: a?[2J?b\n");
    Capture out, err;
    Writer writer(out.fd(), "out"), messages(err.fd(), "err");
    make_text_output({writer, messages})->error("c\x07", "d\x1b");
    EXPECT_EQ(err.text(), "ERROR: c? near d?\n");
}

TEST(Output, CountsNameTheirReason) {
    djs_counts counts{};
    EXPECT_TRUE(describe_counts(counts).empty());
    counts.lost_records = 1;
    counts.oversized = 2;
    counts.skipped_kretprobe = 12;
    const auto lines = describe_counts(counts);
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[0].substr(0, 18), "1 record was lost ");
    EXPECT_EQ(lines[1].substr(0, 44), "2 records were lost because they exceeded th");
    EXPECT_EQ(lines[2].substr(0, 22), "12 returns were missed");
}

TEST(Output, ProbesAreShownWithTheirMechanismWhenAsked) {
    const AttachedProbe planned{"a", 1, "djprobe", "djprobe", "", true, 0};
    const AttachedProbe fallen{"b",  1, "kprobe", "djprobe", "another direct user has the function",
                               true, 0};
    const AttachedProbe failed{"c", 1, "kprobe", "kprobe", "Invalid argument", false, 0};
    for (bool verbose : {false, true}) {
        Capture out, err;
        Writer writer(out.fd(), "out"), messages(err.fd(), "err");
        const auto output = make_text_output({writer, messages, true, verbose});
        output->probes({planned, fallen, failed});
        EXPECT_EQ(
            err.text(),
            verbose
                ? "a: djprobe\nb: kprobe instead of djprobe: another direct user has the function\n"
                  "c: not attached: Invalid argument\n"
                : "");
        EXPECT_EQ(out.text(), "");
    }
}

TEST(Output, LongTextsAreWhole) {
    const std::string text(100000, 'x');
    EXPECT_EQ(print({Record(2).text(text), Record(1)}).out, text + "hello\n");
    for (size_t size : {510u, 511u, 512u, 513u})
        EXPECT_EQ(print({Record(2).text(std::string(size, 'y'))}).out, std::string(size, 'y'));
}

TEST(Output, DamagedRecordsAreCountedAndNeverCrash) {
    EXPECT_EQ(print({Record(77), Record(78), Record(DJS_RECORD_WARNING), Record(DJS_RECORD_ERROR)})
                  .damaged,
              3u);
    // A stack without the number of its addresses, and stacks of more than the record has.
    for (const bool json : {false, true})
        EXPECT_EQ(print({Record(DJS_RECORD_STACK), Record(DJS_RECORD_STACK).number(2).number(9),
                         Record(DJS_RECORD_STACK).number(-1).number(9)},
                        json)
                      .damaged,
                  3u);
    std::mt19937_64 random(4);
    for (int i = 0; i < 3000; i++) {
        const uint32_t ids[] = {0,
                                1,
                                2,
                                3,
                                4,
                                5,
                                6,
                                DJS_RECORD_ERROR,
                                DJS_RECORD_WARNING,
                                static_cast<uint32_t>(random())};
        Record record(ids[random() % std::size(ids)]);
        for (size_t n = 8 * (random() % 6); n > 0; n--)
            record.bytes() += static_cast<char>(random() % 2 ? random() % 10 : random());
        print({record}, random() % 2);
    }
}

TEST(Output, ABrokenPipeIsAnErrorAndNoSignal) {
    std::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    Writer writer(ends[1], "out");
    writer.append("x");
    EXPECT_EQ(writer.error(), 0);
    writer.flush();
    EXPECT_EQ(writer.error(), EPIPE);
    writer.append(std::string(1000000, 'x'));
    writer.flush();
    EXPECT_EQ(writer.error(), EPIPE);
    close(ends[1]);
}

TEST(Output, ANonBlockingPipeGetsEverything) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
    fcntl(ends[0], F_SETFL, 0);
    std::string read_back;
    std::thread reader([&] {
        char buffer[4096];
        for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;)
            read_back.append(buffer, static_cast<size_t>(got));
    });
    Writer writer(ends[1], "out");
    for (int i = 0; i < 100000; i++)
        writer.append("0123456789");
    writer.flush();
    close(ends[1]);
    reader.join();
    EXPECT_EQ(read_back.size(), 1000000u);
    close(ends[0]);
}
