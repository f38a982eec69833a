// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/runs.h"

#include "system/file.h"
#include "system/temporary.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace djstap::pmda {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Runs of a program that stands for djstap and djrun.
class Runs : public testing::Test {
  protected:
    void program(const std::string& commands) {
        for (const char* name : {"djstap", "djrun"}) {
            ASSERT_TRUE(write_file(folder_.file(name), "#!/bin/sh\n" + commands + "\n"));
            ASSERT_EQ(chmod(folder_.file(name).c_str(), 0755), 0);
        }
    }
    ScriptRun run(const ScriptFile& file = {"x", "/x.stp", false, 0, ""}) {
        return {file, {folder_.file("djstap"), folder_.file("djrun")}};
    }
    static bool starts(ScriptRun& run, Clock::time_point at) {
        bool started = false;
        const Status done = run.start(at, started);
        EXPECT_TRUE(done);
        return started;
    }
    // Reads until the process has ended.
    ScriptRun::End end(ScriptRun& run) {
        for (;;) {
            pollfd polled[] = {{run.descriptor(), POLLIN, 0},
                               {run.errors_descriptor(), POLLIN, 0},
                               {run.end_descriptor(), POLLIN, 0}};
            poll(polled, 3, -1);
            if (polled[0].revents)
                run.read([&](SnapshotFrame frame) { frames_.push_back(std::move(frame)); });
            if (polled[1].revents)
                if (const auto line = run.read_errors())
                    lines_.push_back(*line);
            if (run.errors_descriptor() < 0 && polled[2].revents)
                if (const auto how = run.ended())
                    return *how;
        }
    }

    TemporaryFolder folder_ = std::move(*TemporaryFolder::create("/tmp"));
    const Clock::time_point begin_{seconds(1000)};
    std::vector<SnapshotFrame> frames_;
    std::vector<std::string> lines_;
};

TEST_F(Runs, WhatAUserHasStoredHasNotAllMemory) {
    program("ulimit -d >&2; exit 1");
    ScriptRun of_root = run(), stored = run({"x", "/x.stp", false, 0, "", "alice"});
    ASSERT_TRUE(starts(of_root, begin_));
    end(of_root);
    ASSERT_TRUE(starts(stored, begin_));
    end(stored);
    ASSERT_EQ(lines_.size(), 2U);
    rlimit own{};
    ASSERT_EQ(getrlimit(RLIMIT_DATA, &own), 0);
    const rlim_t expected = std::min({own.rlim_cur, own.rlim_max, rlim_t{4ULL << 30}});
    EXPECT_EQ(lines_[1], std::to_string(expected / 1024));
    EXPECT_TRUE(own.rlim_cur != RLIM_INFINITY || lines_[0] == "unlimited") << lines_[0];
}

TEST_F(Runs, AFailureIsFollowedByLongerAndLongerPauses) {
    program("exit 1");
    ScriptRun script = run();
    Clock::time_point now = begin_;
    EXPECT_FALSE(script.running());
    ASSERT_TRUE(starts(script, now));
    for (const int pause : {1, 2, 4, 8, 16, 32, 60, 60}) {
        EXPECT_TRUE(script.running());
        EXPECT_FALSE(starts(script, now + seconds(100))) << "it runs";
        EXPECT_EQ(end(script), ScriptRun::End::Failure);
        EXPECT_FALSE(starts(script, now + seconds(pause) - milliseconds(1))) << pause;
        now += seconds(pause);
        ASSERT_TRUE(starts(script, now)) << pause;
    }
    end(script);
}

TEST_F(Runs, AScriptThatHasShownSomethingIsStartedAgainSoon) {
    std::string bytes;
    put_frame(bytes, DescriptionFrame{});
    put_frame(bytes, GlobalsFrame{});
    ASSERT_TRUE(write_file(folder_.file("frames"), bytes));
    program("cat " + folder_.file("frames") + "; exit 1");
    ScriptRun script = run();
    Clock::time_point now = begin_;
    ASSERT_TRUE(starts(script, now));
    end(script);
    // The first pause was chosen before it showed anything.
    for (int i = 0; i < 3; i++) {
        now += seconds(1);
        ASSERT_TRUE(starts(script, now)) << i;
        EXPECT_EQ(end(script), ScriptRun::End::Failure);
    }
    ASSERT_EQ(frames_.size(), 8U);
    EXPECT_TRUE(std::holds_alternative<DescriptionFrame>(frames_[6]));
    EXPECT_TRUE(std::holds_alternative<GlobalsFrame>(frames_[7]));
}

TEST_F(Runs, AScriptThatEndsByItselfIsNotStartedAgain) {
    program("exit 0");
    ScriptRun script = run();
    ASSERT_TRUE(starts(script, begin_));
    EXPECT_EQ(end(script), ScriptRun::End::Script);
    EXPECT_FALSE(starts(script, begin_ + seconds(1000)));
    EXPECT_EQ(script.descriptor(), -1);
    EXPECT_EQ(script.end_descriptor(), -1);
}

TEST_F(Runs, DamagedOutputIsAFailure) {
    program("printf '\\005hello'; exit 0");
    ScriptRun script = run();
    ASSERT_TRUE(starts(script, begin_));
    EXPECT_EQ(end(script), ScriptRun::End::Failure);
    EXPECT_TRUE(starts(script, begin_ + seconds(1)));
    end(script);
}

TEST_F(Runs, ModulesAreRunByDjrun) {
    program("echo $0 \"$@\" >&2");
    ScriptRun script = run(), module = run({"x", "/x.ko", true, 0, ""});
    ASSERT_TRUE(starts(script, begin_));
    end(script);
    ASSERT_TRUE(starts(module, begin_));
    end(module);
    EXPECT_EQ(lines_,
              (std::vector<std::string>{folder_.file("djstap") + " --output=snapshots /x.stp",
                                        folder_.file("djrun") + " --output=snapshots /x.ko"}));
}

TEST_F(Runs, OfSeveralLinesTheErrorIsTold) {
    for (const auto& [written, told] :
         {std::pair{"one\\ntwo\\n", "two"}, std::pair{"x: error: y\\nhint\\n", "x: error: y"},
          std::pair{"a\\nERROR: b\\nc\\n", "ERROR: b"}, std::pair{"whole\\npart", "whole"}}) {
        lines_.clear();
        program(std::string("printf '") + written + "' >&2");
        ScriptRun script = run();
        ASSERT_TRUE(starts(script, begin_));
        end(script);
        EXPECT_EQ(lines_, std::vector<std::string>{told}) << written;
    }
}

// 4096 bytes are read at once, and that much is told of a line.
TEST_F(Runs, LinesOfErrorsMayComeInPieces) {
    const std::string first(4090, 'x');
    const std::pair<std::string, std::vector<std::string>> cases[] = {
        {first + "\nsecond\n", {first, "second"}}, // it is divided behind "secon"
        {first + "\nsecond", {first}},
        {std::string(3 * 4096, 'y') + "\n", {std::string(4096, 'y')}},
        {"only error\n\n", {"only error"}},
    };
    for (const auto& [written, told] : cases) {
        lines_.clear();
        ASSERT_TRUE(write_file(folder_.file("written"), written));
        program("cat " + folder_.file("written") + " >&2");
        ScriptRun script = run();
        ASSERT_TRUE(starts(script, begin_));
        end(script);
        EXPECT_EQ(lines_, told) << written;
    }
}

// The line that a run has begun ends with it.
TEST_F(Runs, WhatTheFormerOneHasBegunToSayIsNotTold) {
    program("printf part >&2; exit 1");
    ScriptRun script = run();
    ASSERT_TRUE(starts(script, begin_));
    end(script);
    EXPECT_EQ(lines_, std::vector<std::string>{});
    program("echo whole >&2; exit 1");
    ASSERT_TRUE(starts(script, begin_ + seconds(1)));
    end(script);
    EXPECT_EQ(lines_, std::vector<std::string>{"whole"});
}

TEST_F(Runs, WhatIsRefusedOrMissingIsNotStarted) {
    program("exit 0");
    ScriptRun refused = run({"x", "/x.stp", false, 0, "it is writable by others"});
    EXPECT_FALSE(starts(refused, begin_));
    for (const char* file : {"/x.stp", "/x.ko"}) {
        ScriptRun missing({"x", file, std::string_view(file) == "/x.ko", 0, ""},
                          {folder_.file("nothing"), folder_.file("nothing")});
        bool started = true;
        EXPECT_FALSE(missing.start(begin_, started)) << file;
        EXPECT_FALSE(started) << file;
        EXPECT_EQ(missing.descriptor(), -1) << file;
    }
}

TEST_F(Runs, AStoppedProcessEnds) {
    program("exec sleep 1000");
    ScriptRun script = run();
    ASSERT_TRUE(starts(script, begin_));
    script.stop();
    EXPECT_EQ(script.descriptor(), -1);
    EXPECT_EQ(end(script), ScriptRun::End::Failure);
    script.stop();
}

} // namespace
} // namespace djstap::pmda
