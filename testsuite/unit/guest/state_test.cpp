// The saved state: made once, used by everyone, made anew when it is broken.
#include "support.h"

#include <sys/wait.h>

namespace djstap {
namespace {

class GuestState : public testing::Test {
  protected:
    void SetUp() override {
        std::vector<GuestKernel> kernels = test_kernels();
        if (kernels.empty())
            GTEST_SKIP() << "there is no kernel in " << kernels_folder()
                         << " (scripts/kernels fetches them)";
        kernel = kernels.front();
        job = shell_job(kernel, "echo works");
        job.memory_mb = 256;
    }

    std::string run() {
        seen = {};
        Result<GuestOutcome> outcome = run_guest(job, seen.callbacks());
        if (!outcome)
            return outcome.failure().message;
        return outcome->lost() ? "lost: " + outcome->reason : seen.output;
    }

    // The folder of the one state in the test's own cache.
    std::string state_folder() {
        for (const auto& entry : std::filesystem::directory_iterator(cache.path() + "/guest"))
            if (entry.path().filename().string().starts_with(kernel.release))
                return entry.path();
        return "";
    }

    bool booted() const { return !seen.progress.empty(); }

    TemporaryFolder cache;
    Environment environment{"DJSTAP_CACHE", cache.path()};
    GuestKernel kernel;
    GuestJob job;
    Collected seen;
};

TEST_F(GuestState, IsMadeOnceAndRebuiltWhenBroken) {
    EXPECT_EQ(run(), "works\n");
    EXPECT_TRUE(booted());
    EXPECT_NE(seen.progress.at(0).find("booting " + kernel.release), std::string::npos);
    EXPECT_EQ(run(), "works\n");
    EXPECT_FALSE(booted());
    std::string folder = state_folder();
    ASSERT_FALSE(folder.empty());

    std::filesystem::resize_file(folder + "/memory", 1 << 20);
    EXPECT_EQ(run(), "works\n") << "the memory was cut";
    EXPECT_TRUE(booted());

    {
        std::fstream devices(folder + "/devices", std::ios::in | std::ios::out | std::ios::binary);
        devices.seekp(1000);
        devices << "garbage";
    }
    EXPECT_EQ(run(), "works\n") << "the devices were written to";
    EXPECT_TRUE(booted());

    // Only loading it shows that this one is broken.
    auto time = std::filesystem::last_write_time(folder + "/devices");
    {
        std::fstream devices(folder + "/devices", std::ios::in | std::ios::out | std::ios::binary);
        devices << std::string(100, 'x');
    }
    std::filesystem::last_write_time(folder + "/devices", time);
    EXPECT_EQ(run(), "works\n") << "the devices are garbage";
    ASSERT_EQ(seen.progress.size(), 2u);
    EXPECT_NE(seen.progress[0].find("does not load"), std::string::npos) << seen.progress[0];

    write_file(folder + "/manifest.json", "{ not JSON");
    std::filesystem::remove(folder + "/initramfs");
    EXPECT_EQ(run(), "works\n") << "the manifest is broken and a file is missing";
    EXPECT_TRUE(booted());
    EXPECT_EQ(run(), "works\n");
    EXPECT_FALSE(booted());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cache.path()))
        EXPECT_EQ(entry.path().string().find(".new"), std::string::npos) << entry.path();
}

TEST_F(GuestState, IsMadeByOneOfTwoThatNeedIt) {
    pid_t children[2];
    for (pid_t& child : children) {
        child = fork();
        if (child == 0)
            _exit(run() == "works\n" ? 0 : 1);
    }
    for (pid_t child : children) {
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(run(), "works\n");
    EXPECT_FALSE(booted());
}

TEST_F(GuestState, FailsClearlyWithoutAPlaceToKeepIt) {
    Environment nowhere("DJSTAP_CACHE", "/proc/nowhere");
    Result<GuestOutcome> outcome = run_guest(job);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.failure().message.find("/proc/nowhere"), std::string::npos);
    EXPECT_NE(outcome.failure().hint.find("DJSTAP_CACHE"), std::string::npos);
}

TEST_F(GuestState, FailsClearlyWithoutQemu) {
    Environment path("PATH", cache.path());
    Result<GuestOutcome> outcome = run_guest(job);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.failure().hint.find("qemu-system-x86"), std::string::npos);
}

TEST_F(GuestState, FailsClearlyWhenTheKernelDoesNotBoot) {
    job.kernel_arguments = "rdinit=/no/such/init";
    Result<GuestOutcome> outcome = run_guest(job);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.failure().message.find("does not boot"), std::string::npos)
        << outcome.failure().message;
    EXPECT_NE(outcome.failure().message.find("panicked"), std::string::npos)
        << outcome.failure().message;
}

TEST_F(GuestState, FailsClearlyWithoutAKernel) {
    job.kernel.vmlinuz = "/no/such/vmlinuz";
    Result<GuestOutcome> outcome = run_guest(job);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.failure().message.find("/no/such/vmlinuz"), std::string::npos);
    EXPECT_NE(outcome.failure().hint.find("scripts/kernels"), std::string::npos);
}

TEST_F(GuestState, FailsClearlyWhenAFileIsMissing) {
    job.files = {{"/no/such/file", "/x", 0, ""}};
    Result<GuestOutcome> outcome = run_guest(job);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.failure().message.find("/no/such/file"), std::string::npos);
}

TEST_F(GuestState, HostRootIsSharedReadOnlyBelowAnOverlay) {
    if (geteuid() != 0)
        GTEST_SKIP() << "sharing the host's root needs root";
    std::string marker = write_file(cache.path() + "/marker", "of the host\n");
    job.host_root = true;
    job.memory_mb = 512;
    job.command = {"/bin/sh", "-c",
                   "cat " + marker + "; echo changed > " + marker + " && cat " + marker};
    EXPECT_EQ(run(), "of the host\nchanged\n");
    std::stringstream still;
    still << std::ifstream(marker).rdbuf();
    EXPECT_EQ(still.str(), "of the host\n");
}

} // namespace
} // namespace djstap
