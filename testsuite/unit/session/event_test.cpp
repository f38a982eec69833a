// SPDX-License-Identifier: GPL-2.0-or-later
// What outputs receive of an event: its time, its CPU, its arguments.
#include "include/statistic.h"
#include "record_bytes.h"
#include "session/outputs.h"
#include "session/printer.h"

#include <ctime>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <thread>

using namespace djstap;

namespace {

djs_clock moment(uint64_t cycles, uint64_t monotonic, uint64_t realtime = 0) {
    djs_clock clock{};
    clock.cycles = cycles;
    clock.monotonic_ns = monotonic;
    clock.realtime_ns = realtime;
    return clock;
}

uint64_t monotonic_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// A record in memory of its own.
class OwnRecord {
  public:
    OwnRecord(uint32_t id, uint64_t time, const std::string& arguments)
        : memory_(new char[sizeof(djs_record) + arguments.size()]) {
        auto* record = new (memory_.get()) djs_record{};
        record->size = static_cast<uint32_t>(sizeof(djs_record) + arguments.size());
        record->id = id;
        record->time = time;
        arguments.copy(reinterpret_cast<char*>(record + 1), arguments.size());
    }
    const djs_record& get() const { return *reinterpret_cast<const djs_record*>(memory_.get()); }

  private:
    std::unique_ptr<char[]> memory_;
};

// An output of another kind: it stores what it receives.
class Collector : public Output {
  public:
    struct Seen {
        uint32_t cpu;
        uint64_t monotonic, realtime;
        std::string text;
        std::vector<Argument> arguments;
        bool whole;
        std::optional<std::string> probe;
        std::optional<int32_t> pid, tid;
    };
    void print(const Event& event) override {
        Seen one{event.cpu,
                 event.monotonic_ns(),
                 event.realtime_ns(),
                 event.is_text() ? std::string(event.text()) : event.format.text,
                 {},
                 true,
                 std::optional<std::string>(event.probe()),
                 event.pid(),
                 event.tid()};
        Arguments values = event.values();
        while (values.left() && one.whole) {
            const auto value = values.next();
            one.whole = value.has_value();
            if (value)
                one.arguments.push_back(*value);
        }
        seen.push_back(std::move(one));
    }
    void error(std::string_view, std::string_view) override {}
    void warning(std::string_view message) override { warnings.emplace_back(message); }
    void probes(const std::vector<AttachedProbe>&) override {}
    void counts(const djs_counts&) override {}
    Writer& writer() override { return writer_; }

    std::vector<Seen> seen;
    std::vector<std::string> warnings;

  private:
    Writer writer_{-1, "nowhere"};
};

} // namespace

TEST(RecordClock, OneMomentAndARate) {
    djs_clock loaded = moment(1000, 5'000'000, 1'000'000'000'000);
    EXPECT_EQ(RecordClock().monotonic_ns(7), 0u);
    EXPECT_EQ(RecordClock(djs_clock{}).realtime_ns(7), 0u);
    EXPECT_EQ(RecordClock(loaded).monotonic_ns(9000), 5'000'000u);
    loaded.cycles_khz = 2'000'000;
    const RecordClock clock(loaded);
    EXPECT_EQ(clock.monotonic_ns(1000 + 2000), 5'001'000u);
    EXPECT_EQ(clock.monotonic_ns(1000 - 200), 5'000'000u - 100);
    EXPECT_EQ(clock.realtime_ns(1000 + 2000), 1'000'000'001'000u);
}

TEST(RecordClock, GoesEvenlyBetweenMoments) {
    RecordClock clock(moment(1000, 10'000));
    clock.add(moment(2000, 20'000));
    clock.add(moment(1500, 90'000)); // older than the last one: ignored
    clock.add(moment(3000, 22'000, 1'000'022'000));
    EXPECT_EQ(clock.monotonic_ns(1500), 15'000u);
    EXPECT_EQ(clock.monotonic_ns(2000), 20'000u);
    EXPECT_EQ(clock.monotonic_ns(2500), 21'000u);
    EXPECT_EQ(clock.monotonic_ns(3000), 22'000u);
    EXPECT_EQ(clock.monotonic_ns(500), 7'000u);   // before all
    EXPECT_EQ(clock.monotonic_ns(4000), 28'000u); // behind them
    EXPECT_EQ(clock.realtime_ns(2500), 1'000'021'000u);
    uint64_t before = 0;
    for (uint64_t cycles = 500; cycles < 4000; cycles++) {
        EXPECT_GE(clock.monotonic_ns(cycles), before);
        before = clock.monotonic_ns(cycles);
    }
}

TEST(RecordClock, ForgetsMomentsOfLongAgoButTheFirst) {
    RecordClock clock;
    for (uint64_t i = 1; i <= 100'000; i++)
        clock.add(moment(i * 1000, i * 500));
    EXPECT_EQ(clock.monotonic_ns(99'999'500), 49'999'750u);
    EXPECT_EQ(clock.monotonic_ns(2000), 1000u);
}

TEST(RecordClock, ForgetsTheSecondOfMoreThanItKeeps) {
    RecordClock clock;
    const auto add = [&](uint64_t i) { clock.add(moment(i * 1000, i == 2 ? 600 : i * 500)); };
    for (uint64_t i = 1; i <= 64; i++)
        add(i);
    EXPECT_EQ(clock.monotonic_ns(2000), 600u);
    add(65);
    EXPECT_EQ(clock.monotonic_ns(2000), 1000u) << "between the first and the third";
}

TEST(RecordClock, TakesNoMomentThatIsNotLater) {
    RecordClock clock(moment(1000, 10'000));
    clock.add(moment(0, 50'000));
    clock.add(moment(1000, 20'000));
    clock.add(moment(2000, 9'999));
    EXPECT_EQ(clock.monotonic_ns(2000), 10'000u) << "there is one alone, and no rate";
    clock.add(moment(2000, 10'000));
    clock.add(moment(3000, 30'000));
    EXPECT_EQ(clock.monotonic_ns(1500), 10'000u);
    EXPECT_EQ(clock.monotonic_ns(2500), 20'000u);
}

// Readings that are slightly late, in quick succession, do not change the times of old records.
TEST(RecordClock, TellsOldRecordsTheSameWhateverCameLater) {
    RecordClock clock(moment(1'000'000, 500'000));
    for (uint64_t i = 1; i <= 1000; i++) {
        const uint64_t cycles = 1'000'000 + 120'000'000'000 + i * 40'000;
        clock.add(moment(cycles, cycles / 2 + i % 3 * 25));
        EXPECT_NEAR(static_cast<double>(clock.monotonic_ns(2'000'000'000)), 1e9, 100);
    }
}

TEST(RecordClock, IsRightOnThisMachine) {
    RecordClock clock(read_clock());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const uint64_t earliest = monotonic_now();
    const uint64_t cycles = read_clock().cycles;
    const uint64_t latest = monotonic_now();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    clock.add(read_clock());
    // Tolerates half a millisecond, for a busy machine.
    EXPECT_GE(clock.monotonic_ns(cycles) + 500'000, earliest);
    EXPECT_LE(clock.monotonic_ns(cycles), latest + 500'000);
}

TEST(Event, HasItsCpuTimeAndTypedArguments) {
    djs_histogram_header header{};
    header.kind = DJS_HISTOGRAM_LINEAR;
    header.buckets = 2;
    ModuleMeta meta;
    meta.formats = {{"%s %d\n", "sl"}, {"%H", "h"}, {"%s", "n"}};
    RecordClock clock(moment(0 + 1, 1'000));
    clock.add(moment(1001, 2'000, 5'000));
    Collector output;
    RecordPrinter printer(meta, clock, output);
    printer.print(OwnRecord(0, 501, text("cat") + number(-3)).get(), 7);
    printer.print(
        OwnRecord(1, 1001, bytes_of(&header, sizeof header) + number(4) + number(9)).get(), 2);
    printer.print(OwnRecord(0, 1001, text("cat")).get(), 0); // damaged
    std::string name = "systemd-journal";
    name.resize(DJS_NAME_BYTES);
    const OwnRecord named(2, 1001, name);
    printer.print(named.get(), 1);
    ASSERT_EQ(output.seen.size(), 4u);
    const auto& first = output.seen[0];
    EXPECT_EQ(first.cpu, 7u);
    EXPECT_EQ(first.monotonic, 1'500u);
    EXPECT_EQ(first.realtime, 4'500u);
    ASSERT_EQ(first.arguments.size(), 2u);
    EXPECT_EQ(std::get<int64_t>(first.arguments[1]), -3);
    const auto& second = output.seen[1];
    ASSERT_EQ(second.arguments.size(), 1u);
    EXPECT_EQ(std::get<HistogramArgument>(second.arguments[0]).header.buckets, 2u);
    EXPECT_FALSE(output.seen[2].whole);
    ASSERT_EQ(output.seen[3].arguments.size(), 1u);
    EXPECT_EQ(std::get<std::string_view>(output.seen[3].arguments[0]), "systemd-journal");
}

namespace {

std::string task(int32_t pid, int32_t tid) {
    const djs_event_task both{pid, tid};
    return bytes_of(&both, sizeof both);
}

// What an output receives of a record with these fields before its argument, "x".
Collector::Seen seen_with(uint32_t fields, const std::string& words) {
    ModuleMeta meta;
    meta.formats = {{"%s\n", "s"}};
    meta.fields = fields;
    meta.points = {"begin", "kernel.function(\"f\")"};
    const RecordClock clock;
    Collector output;
    RecordPrinter printer(meta, clock, output);
    printer.print(OwnRecord(0, 1, words + text("x")).get(), 0);
    EXPECT_EQ(output.seen.size(), 1u);
    const Collector::Seen seen = output.seen.empty() ? Collector::Seen{} : output.seen[0];
    EXPECT_TRUE(seen.whole);
    EXPECT_EQ(seen.arguments.size(), 1u);
    if (seen.arguments.size() == 1) {
        EXPECT_EQ(std::get<std::string_view>(seen.arguments[0]).size(), 1u);
    }
    return seen;
}

} // namespace

TEST(Event, HasTheFieldsThatItsScriptRecords) {
    const std::optional<std::string> no_probe;
    const std::optional<int32_t> none;
    const auto all =
        seen_with(DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID, task(7, 8) + number(1));
    EXPECT_EQ(all.probe, "kernel.function(\"f\")");
    EXPECT_EQ(all.pid, 7);
    EXPECT_EQ(all.tid, 8);
    const auto probe = seen_with(DJS_EVENT_PROBE, number(0));
    EXPECT_EQ(probe.probe, "begin");
    EXPECT_EQ(probe.pid, none);
    EXPECT_EQ(probe.tid, none);
    const auto pid = seen_with(DJS_EVENT_PID, task(7, 8));
    EXPECT_EQ(pid.probe, no_probe);
    EXPECT_EQ(pid.pid, 7);
    EXPECT_EQ(pid.tid, none);
    const auto tid = seen_with(DJS_EVENT_TID, task(7, 8));
    EXPECT_EQ(tid.pid, none);
    EXPECT_EQ(tid.tid, 8);
    EXPECT_EQ(seen_with(0, "").probe, no_probe);
}

TEST(Event, AnUnknownSiteHasNoProbe) {
    const std::optional<std::string> none;
    EXPECT_EQ(seen_with(DJS_EVENT_PROBE, number(-1)).probe, none);
    EXPECT_EQ(seen_with(DJS_EVENT_PROBE, number(2)).probe, none);
}

TEST(Event, RecordsThatAreShorterThanTheirFieldsAreDamaged) {
    ModuleMeta meta;
    meta.formats = {{"bye", ""}};
    meta.fields = DJS_EVENT_PROBE | DJS_EVENT_TID;
    const RecordClock clock;
    Collector output;
    RecordPrinter printer(meta, clock, output);
    printer.print(OwnRecord(0, 1, "").get(), 0);
    printer.print(OwnRecord(0, 1, task(1, 1)).get(), 0);
    EXPECT_EQ(printer.damaged(), 2u);
    EXPECT_EQ(output.warnings.size(), 1u);
    printer.print(OwnRecord(0, 1, task(1, 1) + number(0)).get(), 0);
    EXPECT_EQ(printer.damaged(), 2u);
    EXPECT_EQ(output.seen.size(), 1u);
}

TEST(Event, HistogramsAreReadToTheirEndOnly) {
    djs_histogram_header header{};
    header.buckets = 2;
    const std::string whole = bytes_of(&header, sizeof header) + number(4) + number(9) + number(1);
    Arguments arguments("hl", whole);
    const auto value = arguments.next();
    ASSERT_TRUE(value);
    const auto& histogram = std::get<HistogramArgument>(*value);
    EXPECT_EQ(histogram.count(0), 4);
    EXPECT_EQ(histogram.count(1), 9);
    EXPECT_EQ(std::get<int64_t>(*arguments.next()), 1);
    EXPECT_FALSE(arguments.next());
    for (size_t size = 0; size < sizeof header + 2 * sizeof(int64_t); size++)
        EXPECT_FALSE(Arguments("h", std::string_view(whole).substr(0, size)).next()) << size;
}

TEST(Event, StacksAreReadToTheirEndOnly) {
    const std::string whole = number(2) + number(0x10) + number(-1) + number(7);
    Arguments arguments("kl", whole);
    const auto value = arguments.next();
    ASSERT_TRUE(value);
    EXPECT_EQ(std::get<StackArgument>(*value).text(), "0x10 0xffffffffffffffff");
    EXPECT_EQ(std::get<int64_t>(*arguments.next()), 7);
    for (size_t size = 0; size < 3 * sizeof(int64_t); size++)
        EXPECT_FALSE(Arguments("k", std::string_view(whole).substr(0, size)).next()) << size;
    EXPECT_FALSE(Arguments("k", number(-1)).next());
}

TEST(Event, TextsKeepTheirPlaceAndTime) {
    const ModuleMeta meta;
    RecordClock clock(moment(1, 1));
    clock.add(moment(1001, 1001));
    Collector output;
    RecordPrinter printer(meta, clock, output);
    printer.print(OwnRecord(DJS_RECORD_SPECULATION, 10, text("kept") + number(5)).get(), 3);
    printer.print(OwnRecord(DJS_RECORD_TEXT, 20, text("as it is")).get(), 1);
    printer.print(OwnRecord(DJS_RECORD_COMMIT, 30, number(5)).get(), 1);
    ASSERT_EQ(output.seen.size(), 2u);
    EXPECT_EQ(output.seen[0].text, "as it is");
    EXPECT_EQ(output.seen[0].monotonic, 20u);
    EXPECT_EQ(output.seen[1].text, "kept");
    EXPECT_EQ(output.seen[1].cpu, 3u);
    EXPECT_EQ(output.seen[1].monotonic, 10u);
}

TEST(OutputKinds, TextIsFirstAndNamesDiffer) {
    EXPECT_EQ(text_kind().name, "text");
    std::set<std::string_view> names;
    Writer nowhere(-1, "nowhere");
    for (const OutputKind& kind : output_kinds()) {
        EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
        EXPECT_TRUE(kind.make({.writer = nowhere, .messages = nowhere, .more = {&nowhere}}));
    }
    EXPECT_TRUE(names.count("json"));
}
