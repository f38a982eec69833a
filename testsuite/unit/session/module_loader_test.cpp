// SPDX-License-Identifier: GPL-2.0-or-later
// Loading and unloading with a kernel that is made up.
#include "session/module_loader.h"

#include "../surroundings.h"
#include "fake_module.h"
#include "session/privilege.h"

#include <cerrno>
#include <elf.h>
#include <gtest/gtest.h>
#include <optional>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap {
namespace {

const std::string no_module_capability =
    geteuid() == 0 ? "this process is root without CAP_SYS_MODULE (a container?)"
                   : "this process has no CAP_SYS_MODULE";
const std::string in_a_namespace = "this process is in a user namespace of its own (a container), "
                                   "whose capabilities do not count";

TEST(MissingPrivilege, ReadsCapabilitiesFromTheirLine) {
    FakeModule module;
    std::string& status = module.files["/proc/self/status"];
    status = "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000210000\nCapBnd:\t0\n";
    EXPECT_EQ(missing_privilege(), "");
    status = "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000200000\nCapBnd:\t0\n";
    EXPECT_EQ(missing_privilege(), no_module_capability);
}

TEST(MissingPrivilege, WithoutThatLineRootHasAll) {
    FakeModule module;
    module.files["/proc/self/status"] = "Name:\tx\n";
    EXPECT_EQ(missing_privilege(), geteuid() == 0 ? "" : no_module_capability);
}

TEST(MissingPrivilege, CapabilitiesOfOtherNamespacesDoNotCount) {
    FakeModule module;
    for (const char* map : {"1 0 4294967295", "0 1 4294967295", "0 0 4294967294", ""}) {
        module.files["/proc/self/uid_map"] = map;
        EXPECT_EQ(missing_privilege(), in_a_namespace) << map;
    }
    module.files["/proc/self/uid_map"] = "         0          0 4294967295\n";
    EXPECT_EQ(missing_privilege(), "");
    module.files.erase("/proc/self/uid_map");
    module.open_errors["/proc/self/uid_map"] = ENOENT;
    EXPECT_EQ(missing_privilege(), "") << "a kernel without namespaces";
}

TEST(MissingPrivilege, TheHintSaysWhatToDo) {
    EXPECT_EQ(privilege_hint(), geteuid() == 0
                                    ? "run it outside the container, or in a guest with --guest"
                                    : "run it with sudo, or in a guest with --guest");
}

TEST(LoadingAllowed, OnAMachineThatLoadsModules) {
    FakeModule module;
    EXPECT_TRUE(check_loading_allowed());
    module.files.erase("/proc/sys/kernel/modules_disabled");
    module.open_errors["/proc/sys/kernel/modules_disabled"] = ENOENT;
    EXPECT_TRUE(check_loading_allowed());
}

TEST(LoadingAllowed, NamesWhatIsMissing) {
    FakeModule module;
    module.absent_files = {"/proc/modules"};
    EXPECT_EQ(check_loading_allowed().failure().message,
              "this kernel is built without module support (CONFIG_MODULES)");
    module.files["/proc/sys/kernel/modules_disabled"] = "1\n";
    EXPECT_EQ(check_loading_allowed().failure().message,
              "module loading is disabled until the next boot (kernel.modules_disabled is 1)");
    module.files["/proc/self/uid_map"] = "0 1000 1\n";
    EXPECT_EQ(check_loading_allowed().failure().message,
              "loading a kernel module and reading from it needs root (CAP_SYS_MODULE and "
              "CAP_SYS_ADMIN): " +
                  in_a_namespace);
    EXPECT_EQ(check_loading_allowed().failure().hint, privilege_hint());
}

TEST(LoadingAllowed, WithoutProcNothingIsSaidOfModules) {
    FakeModule module;
    module.absent_files = {"/proc/modules", "/proc/self"};
    EXPECT_TRUE(check_loading_allowed());
}

class Fits : public testing::Test {
  protected:
    Fits() {
        file.path = "x.ko";
        file.meta.release = running_release();
        file.meta.build_id = "0a0b";
        // A build-id of two bytes.
        const uint32_t header[] = {4, 2, NT_GNU_BUILD_ID};
        kernel.files["/sys/kernel/notes"] =
            std::string(reinterpret_cast<const char*>(header), sizeof header) +
            std::string("GNU\0\x0a\x0b\0\0", 8);
    }
    FakeModule kernel;
    ModuleFile file;
};

TEST_F(Fits, AModuleOfThisBuild) {
    EXPECT_TRUE(check_module_fits(file));
}

TEST_F(Fits, NoModuleOfAnotherBuild) {
    file.meta.build_id = "0a0c";
    const auto fits = check_module_fits(file);
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.failure().message, "x.ko: compiled for another build of kernel " +
                                          running_release() +
                                          " (build-id 0a0c, this one has 0a0b)");
}

TEST_F(Fits, WhereABuildIsNotKnownItDoesNotMatter) {
    file.meta.build_id = "";
    EXPECT_TRUE(check_module_fits(file));
    file.meta.build_id = "0a0c";
    kernel.files["/sys/kernel/notes"] = "";
    EXPECT_TRUE(check_module_fits(file));
    kernel.files.erase("/sys/kernel/notes");
    kernel.open_errors["/sys/kernel/notes"] = EACCES;
    EXPECT_TRUE(check_module_fits(file));
    file.meta.release = "";
    EXPECT_TRUE(check_module_fits(file));
}

TEST_F(Fits, OnALockedKernelOnlyWhatIsSigned) {
    kernel.files["/sys/kernel/security/lockdown"] = "none [integrity] confidentiality\n";
    const auto fits = check_module_fits(file);
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.failure().message,
              "this kernel is locked down (integrity) and x.ko is not signed");
    file.is_signed = true;
    EXPECT_TRUE(check_module_fits(file));
    file.is_signed = false;
    for (const char* unlocked : {"[none] integrity confidentiality\n", "", "none\n"}) {
        kernel.files["/sys/kernel/security/lockdown"] = unlocked;
        EXPECT_TRUE(check_module_fits(file)) << unlocked;
    }
}

TEST_F(Fits, WhereSignaturesAreEnforcedOnlyWhatIsSigned) {
    kernel.files["/sys/module/module/parameters/sig_enforce"] = "Y\n";
    const auto fits = check_module_fits(file);
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.failure().message, "this kernel loads only signed modules (module.sig_enforce) "
                                      "and x.ko is not signed");
    EXPECT_EQ(fits.failure().hint.find("sign it: djstap --sign-with KEY CERT"), 0U);
    file.is_signed = true;
    EXPECT_TRUE(check_module_fits(file));
    file.is_signed = false;
    kernel.files["/sys/module/module/parameters/sig_enforce"] = "N\n";
    EXPECT_TRUE(check_module_fits(file));
}

TEST(LoadModule, PassesParametersAndErrorsOn) {
    FakeModule kernel;
    kernel.open_errors["/dev/kmsg"] = EACCES;
    ModuleFile file;
    file.path = "/dev/null";
    file.name = "demo";
    EXPECT_TRUE(load_module(file, "a=1"));
    EXPECT_EQ(kernel.loads, std::vector<std::string>{"a=1"});
    for (int error : {ENOENT, EXDEV}) {
        kernel.load_error = error;
        const auto loaded = load_module(file, "");
        ASSERT_FALSE(loaded);
        EXPECT_EQ(loaded.failure().message, explain_load_error("demo", error).message);
        EXPECT_EQ(loaded.failure().hint, explain_load_error("demo", error).hint);
    }
    file.path = "/nowhere.ko";
    EXPECT_EQ(load_module(file, "").failure().message, "/nowhere.ko: No such file or directory");
}

TEST(LoadModule, ASignatureThatIsNotTrusted) {
    FakeModule kernel;
    kernel.open_errors["/dev/kmsg"] = EACCES;
    ModuleFile file;
    file.path = "/dev/null";
    file.name = "demo";
    file.is_signed = true;
    for (int error : {EPERM, EKEYREJECTED, ENOKEY}) {
        kernel.load_error = error;
        kernel.files["/sys/kernel/security/lockdown"] = "none [integrity] confidentiality\n";
        const auto loaded = load_module(file, "");
        ASSERT_FALSE(loaded);
        EXPECT_EQ(
            loaded.failure().message,
            "module demo cannot be loaded: the kernel does not trust the key that signed it, or "
            "it was changed afterwards");
        EXPECT_EQ(loaded.failure().hint.find("djstap --enroll-key CERT"), 0U);
        // Where no signature is required, something else is the reason.
        kernel.files["/sys/kernel/security/lockdown"] = "[none] integrity confidentiality\n";
        EXPECT_EQ(load_module(file, "").failure().message,
                  explain_load_error("demo", error).message);
    }
}

// Documentation/ABI/testing/dev-kmsg: each read yields one record, whose text is behind the first
// semicolon, and which lines with the properties of a device may follow.
TEST(LoadModule, TellsWhatTheKernelSaysMeanwhile) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    const FileDescriptor log(ends[0]), writer(ends[1]);
    FakeModule kernel;
    kernel.descriptors["/dev/kmsg"] = log.get();
    kernel.load_error = ENOEXEC;
    ModuleFile file;
    file.path = "/dev/null";
    file.name = "demo";
    const std::string reason = explain_load_error("demo", ENOEXEC).message;
    const auto told = [&](const std::vector<std::string>& records) {
        for (const std::string& record : records)
            EXPECT_EQ(write(writer.get(), record.data(), record.size()),
                      static_cast<ssize_t>(record.size()));
        const auto loaded = load_module(file, "");
        return loaded ? "it was loaded" : loaded.failure().message;
    };
    EXPECT_EQ(told({}), reason);
    EXPECT_EQ(told({"3,345,900,-;demo: disagrees about version of symbol _printk\n"
                    " SUBSYSTEM=module\n DEVICE=+module:demo\n",
                    "4,346,901,c;demo: Unknown symbol a;b (err -22)\n"}),
              reason + "; the kernel says:\ndemo: disagrees about version of symbol _printk\n"
                       "demo: Unknown symbol a;b (err -22)");
    // The last five lines.
    std::vector<std::string> many;
    for (const char* text : {"one", "two", "three", "four", "five", "six", "seven"})
        many.push_back("6,1,1,-;" + std::string(text) + "\n");
    EXPECT_EQ(told(many), reason + "; the kernel says:\nthree\nfour\nfive\nsix\nseven");
}

TEST(LoadModule, OtherErrorsAreTheSystems) {
    const Failure failure = explain_load_error("demo", EXDEV);
    EXPECT_EQ(failure.message, "module demo cannot be loaded: Invalid cross-device link");
    EXPECT_EQ(failure.hint, "");
}

TEST(ModuleIsLoaded, WhileItHasAReferenceCount) {
    FakeModule kernel;
    kernel.files["/sys/module/demo/refcnt"] = "0\n";
    EXPECT_TRUE(module_is_loaded("demo"));
    EXPECT_FALSE(module_is_loaded("another"));
}

constexpr std::chrono::milliseconds no_patience{0}, patience{10'000};

TEST(UnloadModule, OneThatIsGoneIsDone) {
    FakeModule kernel;
    kernel.answer_deletes({ENOENT});
    EXPECT_TRUE(unload_module("demo", no_patience));
    EXPECT_EQ(kernel.deletes(), 1);
}

TEST(UnloadModule, TriesAgainWhileItIsInUse) {
    FakeModule kernel;
    kernel.answer_deletes({EAGAIN, EBUSY, EINTR, 0});
    EXPECT_TRUE(unload_module("demo", patience));
    EXPECT_EQ(kernel.deletes(), 4);
}

TEST(UnloadModule, NamesHowManyUseIt) {
    FakeModule kernel;
    kernel.answer_deletes({EBUSY});
    auto unloaded = unload_module("demo", no_patience);
    ASSERT_FALSE(unloaded);
    EXPECT_EQ(unloaded.failure().message, "module demo is disarmed but cannot be unloaded yet: in "
                                          "use by some task(s) or file(s)");
    EXPECT_EQ(unloaded.failure().hint, "remove it later: rmmod demo");
    EXPECT_EQ(kernel.deletes(), 1);
    kernel.files["/sys/module/demo/refcnt"] = "3\n";
    EXPECT_EQ(unload_module("demo", no_patience).failure().message,
              "module demo is disarmed but cannot be unloaded yet: in use by 3 task(s) or file(s)");
}

TEST(UnloadModule, OtherErrorsAreFinal) {
    FakeModule kernel;
    kernel.answer_deletes({EPERM, 0});
    EXPECT_EQ(unload_module("demo", patience).failure().message,
              "module demo cannot be unloaded: Operation not permitted");
    EXPECT_EQ(kernel.deletes(), 1);
}

// The watchdog is a process of its own.

void wait_for_all_children() {
    while (waitpid(-1, nullptr, 0) > 0)
        ; // each in its turn
}

class WatchdogTest : public testing::Test {
  protected:
    WatchdogTest() {
        wait_for_all_children();
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        kernel.files["/sys/module/demo/parameters/reader"] = std::to_string(getpid()) + "\n";
        kernel.files["/sys/module/demo/parameters/overwrite"] = "N\n";
    }
    ~WatchdogTest() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }

    // How often the module was to be removed when a process that had a watchdog ended.
    int deletes_after_the_end(bool loads) {
        auto process = Process::fork([&] {
            kernel.files["/sys/module/demo/parameters/reader"] =
                std::to_string(read_by_another ? 1 : getpid()) + "\n";
            new Watchdog("demo", loads);
        });
        process->wait();
        wait_for_all_children();
        return kernel.deletes();
    }

    FakeModule kernel;
    bool read_by_another = false;
};

TEST_F(WatchdogTest, TheModuleIsToldWhoseItIs) {
    EXPECT_EQ(Watchdog::watched_parameters(), "reader=" + std::to_string(getpid()));
}

TEST_F(WatchdogTest, DoesNothingWhenItIsDismissed) {
    {
        Watchdog watchdog("demo", true);
        watchdog.dismiss();
        watchdog.dismiss();
    }
    {
        const Watchdog watchdog("demo", true); // which its end dismisses
    }
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "it has ended by then";
    EXPECT_EQ(kernel.deletes(), 0);
}

// The session goes on without it.
TEST_F(WatchdogTest, IsNoneWhereNothingCanBeOpened) {
    std::optional<Watchdog> watchdog;
    {
        const test::Limit none(RLIMIT_NOFILE, 0);
        watchdog.emplace("demo", true);
    }
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "there is no other process";
    watchdog->hand_over();
    watchdog.reset();
    EXPECT_EQ(kernel.deletes(), 0);
}

TEST_F(WatchdogTest, UnloadsWhenItsProcessEnds) {
    EXPECT_EQ(deletes_after_the_end(true), 1);
}

TEST_F(WatchdogTest, LeavesAModuleThatAnotherProcessLoaded) {
    read_by_another = true;
    EXPECT_EQ(deletes_after_the_end(true), 0);
}

TEST_F(WatchdogTest, UnloadsWhatWasAttachedTo) {
    read_by_another = true;
    EXPECT_EQ(deletes_after_the_end(false), 1);
}

TEST_F(WatchdogTest, LeavesAFlightRecorderThatWasAttachedTo) {
    kernel.files["/sys/module/demo/parameters/overwrite"] = "Y\n";
    EXPECT_EQ(deletes_after_the_end(false), 0);
}

TEST_F(WatchdogTest, LeavesAModuleThatWasNeverLoaded) {
    kernel.open_errors["/sys/module/demo/parameters/reader"] = ENOENT;
    EXPECT_EQ(deletes_after_the_end(true), 0);
}

TEST_F(WatchdogTest, UnloadsAsSoonAsNobodyUsesIt) {
    kernel.answer_deletes({EAGAIN, EBUSY, EINTR, 0});
    Watchdog watchdog("demo", true);
    watchdog.hand_over();
    watchdog.hand_over();
    watchdog.dismiss();
    wait_for_all_children();
    EXPECT_EQ(kernel.deletes(), 4);
}

TEST_F(WatchdogTest, GivesUpWhereItMayNot) {
    kernel.answer_deletes({EPERM, 0});
    Watchdog watchdog("demo", true);
    watchdog.hand_over();
    wait_for_all_children();
    EXPECT_EQ(kernel.deletes(), 1);
}

} // namespace
} // namespace djstap
