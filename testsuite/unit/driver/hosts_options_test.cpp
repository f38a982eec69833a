// SPDX-License-Identifier: GPL-2.0-or-later
// --hosts and its kin, with the options that make no sense on many machines.
#include "parsed_options.h"

#include <gtest/gtest.h>

namespace djstap::driver {
namespace {

TEST(HostsOptions, AreASetAShellAndATime) {
    const Options options = accept({"--hosts", "web[1-3],db", "--remote-shell", "ssh -i 'a key'",
                                    "--host-timeout", "1.5", "x"});
    EXPECT_EQ(options.hosts.size(), 4u);
    EXPECT_EQ(options.remote_shell, (Words{"ssh", "-i", "a key"}));
    EXPECT_EQ(options.host_timeout.count(), 1500);
    const Options plain = accept({"--hosts=web", "x"});
    EXPECT_TRUE(plain.remote_shell.empty());
    EXPECT_EQ(plain.host_timeout.count(), 30'000);
    EXPECT_TRUE(accept({"x"}).hosts.empty());
}

TEST(HostsOptions, TheTimeIsUpToADay) {
    const auto timeout = [](const char* seconds) {
        return accept({"--hosts=a", "--host-timeout", seconds, "x"}).host_timeout.count();
    };
    EXPECT_EQ(timeout("86400"), 86'400'000);
    EXPECT_EQ(timeout("0.001"), 1);
    EXPECT_EQ(timeout("0.0001"), 1);
    for (const char* wrong : {"0", "-1", "86400.1", "1s", "x", "nan", "inf"})
        EXPECT_EQ(complaint({"--hosts=a", "--host-timeout", wrong, "x"}),
                  std::string("--host-timeout=") + wrong +
                      ": expected a number of seconds up to 86400");
}

TEST(HostsOptions, NeedHosts) {
    EXPECT_EQ(complaint({"--remote-shell=rsh", "x"}), "--remote-shell requires --hosts");
    EXPECT_EQ(complaint({"--host-timeout=1", "x"}), "--host-timeout requires --hosts");
    EXPECT_EQ(complaint({"--host-timeout=1", "--remote-shell=rsh", "x"}),
              "--remote-shell requires --hosts");
    EXPECT_TRUE(complaint({"--hosts=web[1-", "x"}).starts_with("--hosts: "));
    EXPECT_TRUE(
        complaint({"--hosts=a", "--remote-shell=a 'b", "x"}).starts_with("--remote-shell: "));
}

TEST(HostsOptions, ExcludeWhatIsOfOneMachine) {
    const struct {
        const char* name;
        Words words;
    } others[] = {
        {"--guest", {"--guest"}},
        {"--runtime", {"--runtime=user"}},
        {"-F", {"-F"}},
        {"-x", {"-x", "1"}},
        {"-c", {"-c", "true"}},
        {"--target-namespaces", {"--target-namespaces=1"}},
        {"-r", {"-r", "6.1"}},
        {"--kernel-from", {"--kernel-from", "facts"}},
        {"-p", {"-p4"}},
        {"-m", {"-m", "name"}},
        {"--event-fields", {"--json", "--event-fields=cpu"}},
    };
    for (const auto& other : others) {
        Words words{"--hosts=a"};
        words.insert(words.end(), other.words.begin(), other.words.end());
        words.emplace_back("x");
        EXPECT_EQ(complaint(words), std::string(other.name) + " and --hosts exclude each other");
    }
    for (const Words& lists : {Words{"-l", "begin"}, Words{"--info"}, Words{"--dump-functions"}}) {
        Words words{"--hosts=a"};
        words.insert(words.end(), lists.begin(), lists.end());
        EXPECT_EQ(complaint(words),
                  "--hosts runs a script and cannot be combined with listings and "
                  "--info");
    }
    EXPECT_EQ(accept({"--hosts=a", "-p5", "-T1", "-s2", "-w", "x"}).hosts.size(), 1u);
}

TEST(HostsOptions, OneOutputOfTextOrJson) {
    EXPECT_EQ(accept({"--hosts=a", "--json", "x"}).output_requests.size(), 1u);
    EXPECT_EQ(accept({"--hosts=a", "--output=text:file", "x"}).output_requests.size(), 1u);
    EXPECT_EQ(complaint({"--hosts=a", "--output=json:a", "--output=text:b", "x"}),
              "--hosts writes one output");
    for (const char* kind : {"csv", "folded", "svg", "pprof", "perfetto", "snapshots"})
        EXPECT_EQ(complaint({"--hosts=a", std::string("--output=") + kind + ":file", "x"}),
                  std::string("--output=") + kind +
                      ": what is merged of many hosts is written as text or JSON");
    // What needs records of its own, and what another format has.
    const auto hint = [](const char* output) {
        const ParsedOptions parsed = parse_options({"--hosts=a", output, "x"});
        const auto* failure = std::get_if<Failure>(&parsed);
        return failure ? failure->hint : "no failure";
    };
    EXPECT_EQ(hint("--output=csv:file"), "--output=json has all values");
    for (const char* records : {"--output=svg:file", "--output=pprof:file", "--output=ctf:file"})
        EXPECT_EQ(hint(records), "hosts show what they print and their globals, without the "
                                 "records that this needs");
}

} // namespace
} // namespace djstap::driver
