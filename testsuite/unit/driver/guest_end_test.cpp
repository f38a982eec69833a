// SPDX-License-Identifier: GPL-2.0-or-later
// What a run in a guest is given besides its command, what is said of its end, and of kernels that
// cannot run.
#include "driver/guest_end.h"
#include "driver/guest_plan.h"
#include "driver/machine.h"

#include "parsed_options.h"

#include <gtest/gtest.h>

namespace djstap::driver {
namespace {

std::string told_by(const Invocation& invocation) {
    std::string text;
    for (const Diagnostic& each : invocation.diagnostics.all()) {
        text += each.message + "\n";
        for (const auto& note : each.notes)
            text += "  " + note.message + "\n";
        if (!each.hint_text.empty())
            text += "? " + each.hint_text + "\n";
    }
    return text;
}

class EndOfAGuest : public testing::Test {
  protected:
    bool is_success(const GuestOutcome& outcome) {
        Invocation invocation{Options()};
        const bool success = report_end(invocation, outcome);
        told = told_by(invocation);
        EXPECT_EQ(success, told.empty());
        return success;
    }
    std::string told;
};

TEST_F(EndOfAGuest, OfACommandThatEndedIsASuccess) {
    GuestOutcome outcome;
    outcome.state = GuestOutcome::Exited;
    outcome.exit_code = 3;
    outcome.kernel_log = "[1.0] all is well";
    EXPECT_TRUE(is_success(outcome)) << told;
}

TEST_F(EndOfAGuest, IsToldWithTheKernelsLog) {
    GuestOutcome outcome;
    outcome.state = GuestOutcome::Lost;
    outcome.reason = "the kernel panicked";
    EXPECT_FALSE(is_success(outcome));
    EXPECT_NE(told.find("the kernel panicked"), told.npos) << told;
    EXPECT_EQ(told.find("its kernel log"), told.npos) << told;
    const std::string lost = told;
    outcome.kernel_log = "[1.0] panic";
    outcome.complaint = "[0.5] BUG";
    EXPECT_FALSE(is_success(outcome));
    EXPECT_EQ(told, lost + "  its kernel log ends with:\n[1.0] panic\n");
    outcome.state = GuestOutcome::EmulatorDied;
    EXPECT_FALSE(is_success(outcome));
    EXPECT_NE(told.find("the kernel panicked"), told.npos) << told;
    EXPECT_FALSE(told.starts_with(lost)) << "this says nothing about the guest";
}

TEST_F(EndOfAGuest, WhoseKernelComplainedIsNoSuccess) {
    GuestOutcome outcome;
    outcome.state = GuestOutcome::Exited;
    outcome.complaint = "[0.5] BUG";
    EXPECT_FALSE(is_success(outcome));
    EXPECT_NE(told.find("  its kernel log says:\n[0.5] BUG\n"), told.npos) << told;
}

TEST(FilesOfAGuest, AreThereOnce) {
    GuestJob job;
    add_files(job, {{"/a", "/one", 0, ""}, {"/b", "/two", 0, ""}, {"/c", "/one", 0, ""}});
    ASSERT_EQ(job.files.size(), 2u);
    add_files(job, {{"/d", "/two", 0, ""}, {"/a", "/three", 0, ""}});
    ASSERT_EQ(job.files.size(), 3u);
    EXPECT_EQ(job.files[0].host_path, "/a");
    EXPECT_EQ(job.files[1].host_path, "/b");
    EXPECT_EQ(job.files[2].guest_path, "/three");
}

TEST(PatienceWithAGuest, IsOneToAHundredTimesTheUsual) {
    const GuestJob usual;
    for (const auto& [times, factor] :
         {std::pair{0ul, 1}, {1, 1}, {2, 2}, {100, 100}, {101, 100}, {(1ul << 32) + 7, 100}}) {
        GuestJob job;
        be_patient(job, times);
        EXPECT_EQ(job.boot_timeout, factor * usual.boot_timeout) << times;
        EXPECT_EQ(job.restore_timeout, factor * usual.restore_timeout) << times;
        EXPECT_EQ(job.silence_timeout, factor * usual.silence_timeout) << times;
        EXPECT_EQ(job.command_timeout, usual.command_timeout) << times;
    }
}

TEST(CheckedMachine, IsThatOfTheRun) {
    Options options;
    options.kernel = "9.9.9-none";
    Invocation other(options);
    EXPECT_FALSE(check_machine(other));
    EXPECT_NE(told_by(other).find("9.9.9-none"), std::string::npos) << told_by(other);
    // With a guest, this machine's kernel does not matter.
    Invocation none(options);
    none.guest_kernel = Result<KernelFiles>(Failure{"no such guest", "make one"});
    EXPECT_FALSE(check_machine(none));
    EXPECT_NE(told_by(none).find("no such guest"), std::string::npos) << told_by(none);
    EXPECT_NE(told_by(none).find("make one"), std::string::npos) << told_by(none);
    Invocation guest(options);
    guest.guest_kernel = Result<KernelFiles>(KernelFiles());
    EXPECT_TRUE(check_machine(guest));
    EXPECT_EQ(told_by(guest), "");
}

} // namespace
} // namespace djstap::driver
