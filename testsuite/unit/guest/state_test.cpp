// SPDX-License-Identifier: GPL-2.0-or-later
// The saved state: created once, shared by all runs, recreated when it is broken.
#include "support.h"

#include <algorithm>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

    // Returns the folder of the only state in the test's own cache.
    std::string state_folder() {
        for (const auto& entry : std::filesystem::directory_iterator(cache.path + "/guest"))
            if (entry.path().filename().string().starts_with(kernel.release))
                return entry.path();
        return "";
    }

    bool booted() const { return !seen.progress.empty(); }
    bool said(const std::string& what) const {
        return std::ranges::any_of(seen.progress,
                                   [&](const auto& each) { return each.starts_with(what); });
    }

    TestFolder cache;
    Environment environment{"DJSTAP_CACHE", cache.path};
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

    // Only loading it shows that this state is broken.
    auto time = std::filesystem::last_write_time(folder + "/devices");
    {
        std::fstream devices(folder + "/devices", std::ios::in | std::ios::out | std::ios::binary);
        devices << std::string(100, 'x');
    }
    std::filesystem::last_write_time(folder + "/devices", time);
    EXPECT_EQ(run(), "works\n") << "the devices are garbage";
    ASSERT_EQ(seen.progress.size(), 2u);
    EXPECT_NE(seen.progress[0].find("cannot be restored"), std::string::npos) << seen.progress[0];

    make_file(folder + "/manifest.json", "{ not JSON");
    std::filesystem::remove(folder + "/initramfs");
    EXPECT_EQ(run(), "works\n") << "the manifest is broken and a file is missing";
    EXPECT_TRUE(booted());
    EXPECT_EQ(run(), "works\n");
    EXPECT_FALSE(booted());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cache.path))
        EXPECT_EQ(entry.path().string().find(".new"), std::string::npos) << entry.path();
}

// DJSTAP_CACHE may name a folder that the user has other files in.
TEST_F(GuestState, RemovesOlderStatesAndNothingElse) {
    const std::string guests = cache.path + "/guest/";
    const std::string manifest = R"({"key": "k", "base": "of an older QEMU", "files": {}})";
    const std::string older = guests + kernel.release + "-0123456789abcdef";
    const std::string shared = guests + kernel.release + "-fedcba9876543210";
    const std::vector<std::string> others = {guests + "myapp/manifest.json",
                                             guests + kernel.release + "-notes/manifest.json",
                                             guests + "app-0123456789abcdef/manifest.json"};
    std::filesystem::create_directories(guests);
    for (const std::string& folder : {older, shared}) {
        std::filesystem::create_directory(folder);
        make_file(folder + "/manifest.json", manifest);
        make_file(folder + "/memory", "of the state");
    }
    make_file(shared + "/notes.txt", "of the user");
    const auto long_ago =
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 31);
    for (const std::string& file : others) {
        const auto folder = std::filesystem::path(file).parent_path();
        std::filesystem::create_directory(folder);
        make_file(file, R"({"base": "what the user's program begins with"})");
        std::filesystem::last_write_time(folder, long_ago);
    }
    EXPECT_EQ(run(), "works\n");
    EXPECT_FALSE(std::filesystem::exists(older));
    EXPECT_FALSE(std::filesystem::exists(shared + "/memory"));
    EXPECT_TRUE(std::filesystem::exists(shared + "/notes.txt"));
    for (const std::string& file : others)
        EXPECT_TRUE(std::filesystem::exists(file)) << file;
}

TEST_F(GuestState, IsMadeByOneOfTwoThatNeedIt) {
    pid_t children[2];
    for (pid_t& child : children) {
        child = fork();
        if (child == 0)
            _exit(run() != "works\n" ? 2 : said("booting") ? 1 : 0);
    }
    int boots = 0; // the other one says that it waits, if it comes before the state is kept
    for (pid_t child : children) {
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << status;
        boots += WEXITSTATUS(status);
    }
    EXPECT_EQ(boots, 1);
    EXPECT_EQ(run(), "works\n");
    EXPECT_FALSE(booted());
}

// The first guest of a kernel tells its symbols.
TEST_F(GuestState, SymbolsAreNotThoseOfARandomAddress) {
    job.kernel_arguments = "kaslr";
    EXPECT_EQ(run(), "works\n");
    const Result<GuestKernelFacts> facts = guest_kernel_facts(job.kernel);
    ASSERT_TRUE(facts) << facts.failure().message;
    std::stringstream symbols;
    symbols << std::ifstream(facts->kallsyms).rdbuf();
    EXPECT_NE(symbols.str().find("ffffffff81000000 T _text"), std::string::npos);
}

TEST_F(GuestState, FailsClearlyWithoutAPlaceToKeepIt) {
    Environment nowhere("DJSTAP_CACHE", "/proc/nowhere");
    Result<GuestOutcome> outcome = run_guest(job);
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.failure().message.find("/proc/nowhere"), std::string::npos);
    EXPECT_NE(outcome.failure().hint.find("DJSTAP_CACHE"), std::string::npos);
}

TEST_F(GuestState, FailsClearlyWithoutQemu) {
    Environment path("PATH", cache.path);
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

TEST_F(GuestState, HostFilesAreSharedReadOnlyBelowAnOverlay) {
    std::string marker = make_file(cache.path + "/marker", "of the host\n");
    job.host_root = true;
    job.command = {"/bin/sh", "-c",
                   "cat marker; echo changed > marker && cat marker; mkdir -p /new/folder && cd "
                   "/new/folder && pwd; hostname; modprobe dummy && ls -d /sys/module/dummy"};
    job.directory = cache.path;
    char name[65] = "";
    gethostname(name, sizeof name);
    EXPECT_EQ(run(),
              std::string("of the host\nchanged\n/new/folder\n") + name + "\n/sys/module/dummy\n")
        << seen.errors;
    std::stringstream still;
    still << std::ifstream(marker).rdbuf();
    EXPECT_EQ(still.str(), "of the host\n");
    EXPECT_FALSE(std::filesystem::exists("/new/folder"));
    // virtiofsd maps the memory, which therefore is a copy of the saved one.
    job.command = {"/bin/sh", "-c", "cat marker"};
    EXPECT_EQ(run(), "of the host\n") << seen.errors;
    EXPECT_FALSE(booted());
}

TEST_F(GuestState, AUsersFilesAreSharedWithoutRoot) {
    constexpr uid_t user = 65534;
    if (geteuid() != 0)
        GTEST_SKIP() << "the test above was a user's own";
    ASSERT_EQ(chown(cache.path.c_str(), user, user), 0);
    ASSERT_EQ(chmod(cache.path.c_str(), 0700), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (setgroups(0, nullptr) || setgid(user) || setuid(user))
            _exit(9);
        // The kernel refuses namespaces to a process that is not dumpable.
        prctl(PR_SET_DUMPABLE, 1);
        if (!can_share_host_files())
            _exit(8);
        make_file(cache.path + "/marker", "of the user\n");
        job.host_root = true;
        job.command = {"/bin/sh", "-c",
                       "id -u; cat marker; echo changed > marker; echo changed >> /etc/passwd; "
                       "tail -n 1 /etc/passwd; cat /etc/shadow 2>/dev/null"};
        job.directory = cache.path;
        const std::string output = run();
        if (output != "0\nof the user\nchanged\n")
            fprintf(stderr, "%s%s\n", output.c_str(), seen.errors.c_str());
        _exit(output != "0\nof the user\nchanged\n");
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 8)
        GTEST_SKIP() << "users cannot make namespaces here";
    EXPECT_EQ(status, 0);
}

// The kernel is none, so that no guest is made: the folder that it would be in remains.
TEST(GuestStateFolders, EachSizeOfADiskHasOne) {
    const TestFolder folder;
    const Environment environment("DJSTAP_CACHE", folder.path);
    GuestJob job = shell_job(
        {"6.1.0-none", make_file(folder.path + "/vmlinuz", "no kernel"), folder.path}, "true");
    for (const unsigned megabytes : {0, 48, 64, 48}) {
        job.disk_mb = megabytes;
        EXPECT_FALSE(run_guest(job));
    }
    size_t folders = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path + "/guest"))
        folders += entry.path().filename().string().starts_with("6.1.0-none-");
    EXPECT_EQ(folders, 3U);
}

TEST_F(GuestState, EachShapeHasAStateOfItsOwn) {
    job.command = {
        "/bin/sh", "-c",
        "awk '/MemTotal/ {print ($2 > 900000)}' /proc/meminfo; ls /sys/block | grep vda; "
        "dd if=/dev/zero of=/tmp/x bs=1M count=64 2>&1 | grep -o 'No space.*'"};
    job.disk_mb = 48;
    EXPECT_EQ(run(), "0\nvda\nNo space left on device\n");
    EXPECT_TRUE(booted());
    job.disk_mb = 0;
    job.memory_mb = 1024;
    EXPECT_EQ(run(), "1\n");
    EXPECT_TRUE(booted());
    job.disk_mb = 48;
    job.memory_mb = 256;
    EXPECT_EQ(run(), "0\nvda\nNo space left on device\n");
    EXPECT_FALSE(booted());
}

} // namespace
} // namespace djstap
