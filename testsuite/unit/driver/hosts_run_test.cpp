// SPDX-License-Identifier: GPL-2.0-or-later
// A script on hosts that are this machine, as far as it gets without a kernel to compile for.
#include "driver/hosts_run.h"

#include "../hosts/fake_hosts.h"
#include "../surroundings.h"
#include "driver/hosts_clock.h"
#include "own_library.h"
#include "parsed_options.h"

#include <csignal>

namespace djstap::driver {
namespace {

TEST(ClocksOfHosts, AreToldIfTheyAreFarAway) {
    constexpr int64_t ms = 1'000'000;
    EXPECT_FALSE(is_notable({0, 0}));
    EXPECT_FALSE(is_notable({100 * ms, 0}));
    EXPECT_TRUE(is_notable({100 * ms + 1, 0}));
    EXPECT_FALSE(is_notable({-100 * ms, 0}));
    EXPECT_TRUE(is_notable({-100 * ms - 1, 0}));
    // What is not known is not told.
    EXPECT_FALSE(is_notable({105 * ms, 5 * ms}));
    EXPECT_TRUE(is_notable({105 * ms + 1, 5 * ms}));
    EXPECT_EQ(clock_text({250 * ms, 1'250'000}),
              "its clock is 250.0 ms ahead of this machine's (within 1.2 ms)");
    EXPECT_EQ(clock_text({-3 * ms, 60'000}),
              "its clock is 3.0 ms behind this machine's (within 0.1 ms)");
    EXPECT_EQ(clock_text({0, 0}), "its clock is 0.0 ms ahead of this machine's (within 0.0 ms)");
}

class HostsRuns : public OwnLibrary {
  protected:
    void SetUp() override {
        OwnLibrary::SetUp();
        signal(SIGPIPE, SIG_IGN);
    }
    void TearDown() override {
        signal(SIGPIPE, SIG_DFL);
        OwnLibrary::TearDown();
    }
    // A host whose kernel and architecture are these.
    void host(const std::string& name, const std::string& release,
              const std::string& machine = "$(command uname -m)") const {
        const std::string tools = hosts_.file(name + ".tools");
        std::filesystem::create_directory(tools);
        std::ofstream(tools + "/uname")
            << "#!/bin/sh\ncase $1 in -r) echo " << release << ";; *) PATH=/usr/bin:/bin; echo "
            << machine << ";; esac\n";
        std::filesystem::permissions(tools + "/uname", std::filesystem::perms::owner_all);
        hosts_.write(name + ".login", "PATH='" + tools + "':$PATH\n");
    }
    // Runs a script there; what was printed, told and reported is in the members.
    std::optional<int> run(const std::string& set, Words words,
                           const std::string& script = "probe end { println(\"end\") }") {
        words.insert(words.end(), {"--hosts=" + set, "--host-timeout=60",
                                   "--remote-shell=sh " + hosts_.file("shell"), "-e", script});
        invocation_ = std::make_unique<Invocation>(accept(std::move(words)));
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const auto status = run_on_hosts(*invocation_);
        told = testing::internal::GetCapturedStderr();
        printed = testing::internal::GetCapturedStdout();
        hosts_.wait_until_nothing_is_left();
        reported.clear();
        for (const Diagnostic& each : invocation_->diagnostics.all())
            reported += each.message + "\n";
        return status;
    }
    static size_t count(const std::string& text, const std::string& wanted) {
        size_t found = 0;
        for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1))
            found++;
        return found;
    }

    hosts::FakeHosts hosts_;
    std::unique_ptr<Invocation> invocation_;
    std::string told, printed, reported;
};

TEST_F(HostsRuns, KernelsWithoutFilesAreToldForEachHost) {
    for (const char* name : {"web1", "web2"})
        host(name, "9.9.9-none");
    EXPECT_EQ(run("web[1-2]", {}), 1);
    const std::string why = "the files of its kernel 9.9.9-none are not on this machine (apt-get "
                            "install linux-headers-9.9.9-none)";
    for (const std::string name : {"web1", "web2"}) {
        EXPECT_EQ(count(told, "djstap: " + name + ": " + why + "\n"), 1u) << told;
        EXPECT_EQ(count(reported, name), 1u) << reported;
    }
    EXPECT_EQ(count(reported, why), 2u) << reported;
    EXPECT_EQ(printed, "") << "nothing has begun";
    EXPECT_EQ(count(told, "its clock is"), 0u) << told;
    EXPECT_EQ(count(told, "hosts, "), 0u) << told;
}

TEST_F(HostsRuns, ClocksAndStepsAreToldOnRequest) {
    host("web1", "9.9.9-none");
    EXPECT_EQ(run("web1", {"-v"}), 1);
    EXPECT_EQ(count(told, "djstap: web1: its clock is "), 1u) << told;
    EXPECT_EQ(count(told, "hosts, connect: "), 1u) << told;
    EXPECT_EQ(count(told, "hosts, facts: "), 1u) << told;
    EXPECT_EQ(count(told, "hosts, compile: "), 0u) << told;
}

TEST_F(HostsRuns, OtherArchitecturesAreRefused) {
    host("web1", "9.9.9-none", "another");
    EXPECT_EQ(run("web1", {}), 1);
    EXPECT_EQ(count(told, "djstap: web1: it has another architecture: another\n"), 1u) << told;
    EXPECT_EQ(count(reported, "it has another architecture: another"), 1u) << reported;
}

TEST_F(HostsRuns, JsonHasWhatIsMissing) {
    host("web1", "9.9.9-none", "another");
    EXPECT_EQ(run("web1", {"--output=json"}), 1);
    EXPECT_EQ(count(printed, "\n"), 1u) << printed;
    EXPECT_EQ(count(printed, "\"web1\""), 1u) << printed;
    EXPECT_EQ(count(printed, "it has another architecture: another"), 1u) << printed;
}

TEST_F(HostsRuns, HostsThatCannotBeReachedAreTold) {
    hosts_.write("web1.login", "echo no route >&2; exit 255\n");
    host("web2", "9.9.9-none", "another");
    EXPECT_EQ(run("web[1-2]", {}), 1);
    EXPECT_EQ(count(reported, "web1"), 1u) << reported;
    EXPECT_EQ(count(reported, "no route"), 1u) << reported;
    EXPECT_EQ(count(reported, "web2"), 1u) << reported;
    EXPECT_EQ(count(told, "djstap: web1: "), 1u) << told;
    // With -v, what it says is shown when it says it.
    EXPECT_EQ(run("web1", {"-v"}), 1);
    EXPECT_GE(count(told, "djstap: web1: no route\n"), 1u) << told;
}

// Each host takes some, and there may be hundreds of hosts.
TEST_F(HostsRuns, MayOpenAsManyFilesAsTheSystemLets) {
    const test::Limit low(RLIMIT_NOFILE, 200);
    const rlim_t most = low.before().rlim_max;
    ASSERT_GT(most, 200u) << "the system lets open no more: ulimit -Hn";
    host("web1", "9.9.9-none");
    EXPECT_EQ(run("web1", {}), 1);
    rlimit meanwhile{};
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &meanwhile), 0);
    EXPECT_EQ(meanwhile.rlim_cur, most);
    EXPECT_EQ(meanwhile.rlim_max, most);
}

// An error in the script needs no host to be found.
TEST_F(HostsRuns, ScriptsAreReadBeforeHostsAreCalled) {
    hosts_.write("web1.login", "touch \"$PLAYED/called\"\n");
    EXPECT_EQ(run("web1", {}, "probe end { = }"), std::nullopt);
    EXPECT_EQ(reported, "");
    EXPECT_EQ(count(told, "error: "), 1u) << told;
    EXPECT_FALSE(std::filesystem::exists(hosts_.file("called")));
    // What it means is known when the first host is.
    host("web2", "9.9.9-none");
    EXPECT_EQ(run("web2", {}, "probe end { nobody() }"), std::nullopt);
    EXPECT_NE(count(told, "error: "), 0u) << told;
}

TEST_F(HostsRuns, OutputsAreOpenedFirst) {
    hosts_.write("web1.login", "touch \"$PLAYED/called\"\n");
    EXPECT_EQ(run("web1", {"-o", hosts_.file("no-folder/output")}), std::nullopt);
    EXPECT_NE(reported.find("no-folder/output"), std::string::npos) << reported;
    EXPECT_FALSE(std::filesystem::exists(hosts_.file("called")));
    // What is there stays until the script begins.
    hosts_.write("output", "from before");
    host("web2", "9.9.9-none");
    EXPECT_EQ(run("web2", {"-o", hosts_.file("output")}), 1);
    EXPECT_EQ(*read_file(hosts_.file("output")), "from before");
}

} // namespace
} // namespace djstap::driver
