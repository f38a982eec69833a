// SPDX-License-Identifier: GPL-2.0-or-later
// The part of a script on many machines that runs here, on what hosts have counted.
#include "driver/controller_part.h"

#include "../surroundings.h"
#include "parsed_options.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace djstap::driver {
namespace {

class ControllerParts : public testing::Test {
  protected:
    void TearDown() override {
        part.reset();
        if (file_ >= 0)
            close(file_);
    }
    // Compiles the part; what is said of it is in `told`.
    bool compile(const std::string& script, Words words = {}) {
        words.insert(words.end(), {"--hosts=web[1-2]", "-e", script});
        invocation = std::make_unique<Invocation>(accept(std::move(words)));
        part = std::make_unique<ControllerPart>(*invocation);
        file_ = memfd_create("output", MFD_CLOEXEC);
        writer_.emplace(file_, "the output");
        testing::internal::CaptureStderr();
        const bool compiled = part->compile("6.1.0", *writer_);
        told = testing::internal::GetCapturedStderr();
        return compiled;
    }
    std::string printed() {
        writer_->flush();
        std::string text(4096, '\0');
        const ssize_t bytes = pread(file_, text.data(), text.size(), 0);
        text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
        return text;
    }
    // What was reported to the run of the user's.
    std::string reported() const {
        std::string text;
        for (const Diagnostic& each : invocation->diagnostics.all())
            text += each.message + "\n";
        return text;
    }
    static GlobalElement element(int64_t number, std::string keys = "") {
        GlobalElement made;
        made.keys = std::move(keys);
        made.has = 1;
        made.numbers[0] = number;
        return made;
    }
    static GlobalsFrame frame(std::vector<GlobalElement> elements, uint32_t index = 0) {
        GlobalsFrame made;
        GlobalValues values;
        values.index = index;
        values.elements = std::move(elements);
        made.globals.push_back(std::move(values));
        return made;
    }
    // What two hosts have shown of one number.
    static fleet::Merge merge_of(const std::string& global, int64_t first, int64_t second) {
        fleet::Merge merge;
        for (const auto& [host, number] : {std::pair{"web1", first}, {"web2", second}}) {
            merge.expect(host);
            DescriptionFrame description;
            description.name = "script";
            ModuleMeta::Global described;
            described.name = global;
            described.adds_up = true;
            description.globals.push_back(described);
            merge.take(host, description);
            merge.take(host, frame({element(number)}));
        }
        return merge;
    }
    // Waits for a timer of the script.
    void run_a_timer(const fleet::Merge& merge) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
        while (!part->run_timers(merge)) {
            ASSERT_LT(std::chrono::steady_clock::now(), end);
            usleep(1000);
        }
    }

    std::unique_ptr<Invocation> invocation;
    std::unique_ptr<ControllerPart> part;
    std::string told;

  private:
    const test::TestFolder folder_;
    const test::Environment cache_{"DJSTAP_CACHE", folder_.path};
    int file_ = -1;
    std::optional<Writer> writer_;
};

constexpr const char* hit = "probe kernel.function(\"f\") ";

// What is only read here is what all hosts have counted so far.
TEST_F(ControllerParts, EndProbesSeeTheSumOfAllHosts) {
    ASSERT_TRUE(compile(std::string("global n ") + hit + "{ n++ } probe end { println(n) }"))
        << told;
    EXPECT_EQ(told, "");
    part->begin();
    // It is not taken from hosts.
    part->add_taken({"n"}, frame({element(100)}));
    const fleet::Merge merge = merge_of("n", 5, 7);
    EXPECT_FALSE(part->run_timers(merge)) << "there are none";
    EXPECT_FALSE(part->is_over());
    EXPECT_TRUE(part->finish(merge));
    EXPECT_EQ(printed(), "12\n");
    EXPECT_EQ(reported(), "");
}

TEST_F(ControllerParts, TimersSeeTheSumAndMayEndTheRun) {
    ASSERT_TRUE(compile(std::string("global n ") + hit +
                        "{ n++ } probe timer.ms(1) { println(\"now \", n); exit() }"))
        << told;
    part->begin();
    const fleet::Merge merge = merge_of("n", 5, 7);
    run_a_timer(merge);
    EXPECT_TRUE(part->is_over());
    EXPECT_FALSE(part->run_timers(merge));
    EXPECT_TRUE(part->finish(merge));
    EXPECT_EQ(printed(), "now 12\n");
}

// What is changed here is taken from hosts with each snapshot, and added.
TEST_F(ControllerParts, TakenValuesAreAdded) {
    ASSERT_TRUE(compile(
        std::string("global n, m ") + hit +
        "{ n++; m++ } probe timer.s(10000) { delete n } probe end { println(n, \" \", m) }"))
        << told;
    part->begin();
    part->add_taken({"m", "n"}, frame({element(100)}, 1));
    part->add_taken({"m", "n"}, frame({element(20)}, 1));
    part->add_taken({"m", "n"}, frame({element(3)}, 0)); // is not taken
    part->add_taken({"m", "n"}, frame({element(3)}, 2)); // has no name
    EXPECT_TRUE(part->finish(merge_of("m", 1, 1)));
    EXPECT_EQ(printed(), "120 2\n");
}

// What is only read here is not added up, and a global that hosts have no part in is no host's.
TEST_F(ControllerParts, OthersValuesAreNotAdded) {
    ASSERT_TRUE(compile(std::string("global n, own = 5 ") + hit +
                        "{ n++ } probe end { own++; println(n, \" \", own) }"))
        << told;
    part->begin();
    part->add_taken({"n", "own"}, frame({element(100)}, 0));
    part->add_taken({"n", "own"}, frame({element(100)}, 1));
    part->add_taken({"n", "own"}, frame({element(1, "?")}, 0)); // it would not fit either
    EXPECT_TRUE(part->finish({}));
    EXPECT_EQ(printed(), "0 6\n");
    EXPECT_EQ(reported(), "");
}

TEST_F(ControllerParts, BeginProbesRunOnce) {
    ASSERT_TRUE(compile(std::string("global n ") + hit +
                        "{ n++ } probe begin { println(\"begin \", n) } probe end { "
                        "println(\"end \", n) }"))
        << told;
    EXPECT_EQ(printed(), "");
    part->begin();
    EXPECT_TRUE(part->finish(merge_of("n", 1, 1)));
    EXPECT_EQ(printed(), "begin 0\nend 2\n");
}

// End probes need a beginning.
TEST_F(ControllerParts, WhatHasNotBegunDoesNotEnd) {
    ASSERT_TRUE(compile(std::string("global n ") + hit + "{ n++ } probe end { println(n) }"))
        << told;
    EXPECT_TRUE(part->finish(merge_of("n", 1, 1)));
    EXPECT_EQ(printed(), "");
}

TEST_F(ControllerParts, ErrorsOfEndProbesAreFailures) {
    ASSERT_TRUE(compile(std::string("global n ") + hit +
                        "{ n++ } probe end { if (n >= 0) error(\"own\") }"))
        << told;
    part->begin();
    testing::internal::CaptureStderr();
    EXPECT_FALSE(part->finish({}));
    EXPECT_NE(testing::internal::GetCapturedStderr().find("own"), std::string::npos);
}

// Each is told once: it concerns every later snapshot, too.
TEST_F(ControllerParts, WhatDoesNotFitIsAFailure) {
    ASSERT_TRUE(compile(std::string("global a ") + hit +
                        "{ a[pid()]++ } probe end { foreach (p in a) println(p); delete a }"))
        << told;
    part->begin();
    for (int i = 0; i < 3; i++)
        part->add_taken({"a"}, frame({element(1, "?")}));
    EXPECT_EQ(reported(), "an element of 'a' has other keys\n");
    EXPECT_FALSE(part->finish({}));
    EXPECT_EQ(printed(), "");
}

TEST_F(ControllerParts, ScriptsWithErrorsAreNone) {
    EXPECT_FALSE(compile("probe end { println(nobody()) }"));
    EXPECT_NE(told.find("nobody"), std::string::npos);
}

// All of it runs on hosts.
TEST_F(ControllerParts, MayBeNothing) {
    ASSERT_TRUE(compile(std::string("global last ") + hit + "{ last = pid() }")) << told;
    EXPECT_EQ(part->unread_by_host(), Words{"last"});
    part->begin();
    part->add_taken({"last"}, frame({element(1)}));
    EXPECT_FALSE(part->run_timers({}));
    EXPECT_FALSE(part->is_over());
    EXPECT_TRUE(part->finish({}));
    EXPECT_EQ(printed(), "");
}

TEST_F(ControllerParts, TellsWhereProbesRunIfAsked) {
    const std::string script = std::string("global n ") + hit + "{ n++ } probe end { println(n) }";
    ASSERT_TRUE(compile(script, {"--explain"}));
    EXPECT_NE(told.find("end: runs here, on the merged globals\n"), std::string::npos) << told;
    EXPECT_NE(told.find("kernel.function(\"f\"): runs on each host: "), std::string::npos) << told;
}

} // namespace
} // namespace djstap::driver
