// SPDX-License-Identifier: GPL-2.0-or-later
// A session with a module that is made up.
#pragma once
#include "session/session.h"

#include "fake_module.h"
#include "module_files.h"
#include "system/file.h"

#include "../surroundings.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace djstap {

using Words = std::vector<std::string>;

inline const std::string session_meta = R"json({"version":1,"name":"demo",
    "formats":[{"text":"n=%d\n","types":"l"}],"places":["operator '/' at <input>:1:24"],
    "probes":[{"point":"kernel.function(\"a\")","mechanism":"djprobe"}]})json";

class SessionTest : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "djstap-session-" + std::to_string(getpid());
        std::filesystem::create_directories(folder_);
        options.module = folder_ + "/demo.ko";
        options.outputs.file = folder_ + "/out";
        std::ofstream(options.module, std::ios::binary)
            << elf({{".djstap.meta", session_meta}, {".modinfo", std::string("name=demo\0", 10)}});
        module.files["/proc/djstap-demo"] = session_meta;
        module.open_errors["/dev/kmsg"] = ENOENT;
        module.sites = {{.index = 0,
                         .mechanism = DJS_MECHANISM_DJPROBE,
                         .error = 0,
                         .fallback = DJS_FALLBACK_NONE,
                         .missed = 0}};
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    // A session that has ended.
    const SessionOutcome& run() {
        testing::internal::CaptureStderr();
        const auto done = run_session(options);
        messages = testing::internal::GetCapturedStderr();
        if (std::filesystem::is_regular_file(options.outputs.file))
            output = *read_file(options.outputs.file);
        EXPECT_TRUE(done) << done.failure().message;
        outcome = done ? *done : SessionOutcome();
        return outcome;
    }
    Failure failure() {
        const auto done = run_session(options);
        EXPECT_FALSE(done);
        return done ? Failure{} : done.failure();
    }
    // The script ends as soon as it has begun.
    void exit_at_once() { module.page().exit_requested = 1; }
    // What every module is told of this process: its number, and the zone that is chosen below.
    static std::string reader() {
        return "reader=" + std::to_string(getpid()) + " tz_gmtoff=-10800 tz_name=ABC";
    }

    const test::TimeZone time_zone{"ABC-3"};
    FakeModule module;
    SessionOptions options;
    SessionOutcome outcome;
    std::string output, messages;

  private:
    std::string folder_;
};

} // namespace djstap
