// SPDX-License-Identifier: GPL-2.0-or-later
// How the host's files become the root of the guest's agent, and what it says if they do not.
#include "setup_for_test.h"
#include "support.h"

#include <cerrno>
#include <cstring>

namespace djstap {
namespace {

class HostRoot : public testing::Test {
  protected:
    void SetUp() override { begin(); }
    // There is nothing in the host's root.
    void begin() const {
        std::filesystem::remove_all(at_host(""));
        std::filesystem::create_directories(at_host(""));
        test_setup_begin(folder_.path.c_str(), "6.1.0-made");
    }
    // What of the host's root the overlay shows.
    std::filesystem::path at_host(const std::string& path) const {
        return folder_.path + "/mnt/root" + path;
    }
    // What failed; "" if nothing did.
    static std::string used(const std::string& modules = "") {
        const char* const failed = use_host_root("share", modules.c_str());
        EXPECT_EQ(test_setup_open, 0);
        return failed ? failed : "";
    }
    // The same if steps whose lines begin like this are refused.
    std::string used_refusing(const char* step, int error, int times = 1) const {
        begin();
        test_setup_refused = step;
        test_setup_error = error;
        test_setup_refusals = times;
        return used();
    }

    static inline const std::string mounting = "mount share /mnt/host virtiofs read-only -\n",
                                    entering = "mount overlay /mnt/root overlay lowerdir=/mnt/host,"
                                               "upperdir=/mnt/disk/upper,workdir=/mnt/disk/work\n"
                                               "move /proc /mnt/root/proc\n"
                                               "move /sys /mnt/root/sys\n"
                                               "move /dev /mnt/root/dev\n"
                                               "enter /mnt/root\n"
                                               "move . /\n"
                                               "root .\n"
                                               "enter /\n";

  private:
    TestFolder folder_;
};

TEST_F(HostRoot, IsBelowAnOverlay) {
    EXPECT_EQ(used(), "");
    EXPECT_EQ(test_setup_log, mounting + entering);
    for (const char* const folder : {"/proc", "/sys", "/dev"})
        EXPECT_TRUE(std::filesystem::is_directory(at_host(folder))) << folder;
}

// The host may run another kernel, or have none of its own, as a container.
TEST_F(HostRoot, HasTheModulesOfTheGuestsKernel) {
    const std::string modules = "/var/kernels/lib/modules/6.1.0-made";
    const auto own = at_host("/lib/modules/6.1.0-made");
    for (const char* const of_host : {"", "/lib", "/lib/modules", "/lib/modules/6.1.0-made-2"}) {
        begin();
        std::filesystem::create_directories(at_host(of_host));
        EXPECT_EQ(used(modules), "");
        EXPECT_TRUE(std::filesystem::is_symlink(own)) << of_host;
        if (std::filesystem::is_symlink(own)) {
            EXPECT_EQ(std::filesystem::read_symlink(own), modules);
        }
    }
    begin();
    std::filesystem::create_directories(own);
    EXPECT_EQ(used(modules), "");
    EXPECT_FALSE(std::filesystem::is_symlink(own)) << "the host has them where they belong";
    begin();
    EXPECT_EQ(used(), "");
    EXPECT_FALSE(std::filesystem::exists(at_host("/lib")));
}

// The share is none before its driver has found it.
TEST_F(HostRoot, WaitsForTheDriver) {
    EXPECT_EQ(used_refusing("mount share", EINVAL, 3), "");
    const std::string again = mounting + "wait\n";
    EXPECT_EQ(test_setup_log, again + again + again + mounting + entering);
    EXPECT_EQ(used_refusing("mount share", EACCES, 3),
              std::string("mounting the host's root: ") + std::strerror(EACCES));
    EXPECT_EQ(test_setup_log, mounting);
}

TEST_F(HostRoot, FailuresAreNamed) {
    for (const auto& [step, what] :
         {std::pair("mount overlay", "mounting the overlay"), std::pair("move /sys", "/sys"),
          std::pair("enter /mnt", "entering the host's root"),
          std::pair("move .", "entering the host's root"),
          std::pair("root", "entering the host's root"),
          std::pair("enter /\n", "entering the host's root")}) {
        EXPECT_EQ(used_refusing(step, EACCES), std::string(what) + ": " + std::strerror(EACCES));
        const std::string log = test_setup_log;
        EXPECT_EQ(log.rfind(step), log.rfind('\n', log.size() - 2) + 1) << "it ends with that step";
    }
}

} // namespace
} // namespace djstap
