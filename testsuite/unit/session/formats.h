// SPDX-License-Identifier: GPL-2.0-or-later
// A session's outputs in files, which the independent readers of testsuite/outputs/ read.
#pragma once
#include "record_bytes.h"
#include "session/printer.h"
#include "session/session_output.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace djstap {

inline std::string stack(std::initializer_list<uint64_t> addresses) {
    std::string bytes = number(static_cast<int64_t>(addresses.size()));
    for (const uint64_t address : addresses)
        bytes += number(static_cast<int64_t>(address));
    return bytes;
}

// The words of fields in front of a record's arguments.
inline std::string fields(int32_t pid, int32_t tid, uint64_t site) {
    const djs_event_task task{pid, tid};
    return bytes_of(&task, sizeof task) + number(static_cast<int64_t>(site));
}

constexpr uint32_t all_fields = DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID;

// A session's outputs in a folder of their own, fed with records made by hand.
class Formats : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "djstap-formats-" + std::to_string(getpid());
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        djs_clock loaded{};
        loaded.cycles = 1000;
        loaded.monotonic_ns = 1'000'000;
        loaded.realtime_ns = 1'700'000'000'000'000'000;
        loaded.cycles_khz = 1'000'000; // a cycle a nanosecond
        clock_.add(loaded);
        meta_.name = "made_up";
        meta_.release = "6.1";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    uint32_t format(const std::string& printed, const std::string& types,
                    const std::string& shows = "", uint64_t keys = 0) {
        meta_.formats.push_back({printed, types, shows, keys});
        return static_cast<uint32_t>(meta_.formats.size() - 1);
    }

    // Begins with the formats and points that the test has set.
    void open(const std::vector<std::string>& outputs) {
        SessionOptions options;
        for (const std::string& each : outputs) {
            const size_t colon = each.find(':');
            auto request = parse_output(each.substr(0, colon));
            ASSERT_TRUE(request);
            request->file = path(each.substr(colon == std::string::npos ? 0 : colon + 1));
            options.outputs.requests.push_back(*request);
        }
        testing::internal::CaptureStderr();
        auto opened = SessionOutput::open(options, false);
        ASSERT_TRUE(opened) << opened.failure().message;
        output_ = std::move(*opened);
        printer_ =
            std::make_unique<RecordPrinter>(meta_, clock_, output_->output(), nullptr, Symbols());
    }
    std::string path(const std::string& name) const { return folder_ + "/" + name; }

    void record(uint32_t id, uint64_t time, const std::string& arguments, uint32_t cpu = 0) {
        const std::unique_ptr<char[]> memory(new char[sizeof(djs_record) + arguments.size()]);
        auto* record = new (memory.get()) djs_record{};
        record->size = static_cast<uint32_t>(sizeof(djs_record) + arguments.size());
        record->id = id;
        record->time = time;
        arguments.copy(reinterpret_cast<char*>(record + 1), arguments.size());
        printer_->print(*record, cpu);
    }
    // As a session does while it waits.
    void flush() { output_->output().flush(); }
    // Returns what was told on standard error.
    std::string close() {
        printer_->finish();
        const Status done = output_->end();
        EXPECT_TRUE(done) << done.failure().message;
        printer_.reset();
        output_.reset();
        return testing::internal::GetCapturedStderr();
    }

    // What the Python expression `shown` makes of a reader's result `r`.
    std::string read(const std::string& format, const std::string& file,
                     const std::string& shown) const {
        const std::string command = "python3 -B " DJSTAP_SOURCE_DIR "/testsuite/outputs/read.py " +
                                    format + " " + path(file) + " '" + shown + "' 2>&1";
        FILE* const pipe = popen(command.c_str(), "r");
        std::string out;
        std::array<char, 4096> piece{};
        for (size_t count; (count = fread(piece.data(), 1, piece.size(), pipe)) > 0;)
            out.append(piece.data(), count);
        EXPECT_EQ(pclose(pipe), 0) << out;
        return out;
    }

    ModuleMeta meta_;
    RecordClock clock_;

  private:
    std::string folder_;
    std::unique_ptr<SessionOutput> output_;
    std::unique_ptr<RecordPrinter> printer_;
};

} // namespace djstap
