// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/host_facts.h"

#include "fake_module.h"
#include "session/module_loader.h"
#include "system/file.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>
#include <unistd.h>

namespace djstap {
namespace {

HostFacts web1() {
    HostFacts facts;
    facts.host = "web1";
    facts.machine = "x86_64";
    facts.distribution = "debian";
    facts.release = "6.1.0-56-cloud-amd64";
    facts.version = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-10-31)";
    facts.build_id = "ab12";
    facts.processors = 4;
    facts.calls_at_entries = false;
    facts.refuses_modules = "module loading is disabled";
    facts.signatures = "is locked down (integrity)";
    return facts;
}

std::string facts_with(const char* member, const nlohmann::json& value) {
    auto object = nlohmann::json::parse(to_json(web1()));
    object[member] = value;
    return object.dump();
}

std::string facts_reason(const std::string& text) {
    const auto facts = parse_host_facts(text);
    return facts ? "accepted" : facts.failure().message;
}

TEST(HostFactsText, IsReadAsItWasWritten) {
    const auto read = parse_host_facts(to_json(web1()));
    ASSERT_TRUE(read) << read.failure().message;
    EXPECT_EQ(read->host, "web1");
    EXPECT_EQ(read->machine, "x86_64");
    EXPECT_EQ(read->distribution, "debian");
    EXPECT_EQ(read->release, "6.1.0-56-cloud-amd64");
    EXPECT_EQ(read->version, "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-10-31)");
    EXPECT_EQ(read->build_id, "ab12");
    EXPECT_EQ(read->processors, 4u);
    EXPECT_FALSE(read->calls_at_entries);
    EXPECT_EQ(read->refuses_modules, "module loading is disabled");
    EXPECT_EQ(read->signatures, "is locked down (integrity)");
}

TEST(HostFactsText, EveryMemberIsNeededAndChecked) {
    const auto all = nlohmann::json::parse(to_json(web1()));
    for (const auto& [name, value] : all.items()) {
        auto without = all;
        without.erase(name);
        EXPECT_NE(facts_reason(without.dump()), "accepted") << name;
        EXPECT_NE(facts_reason(facts_with(name.c_str(), nlohmann::json::array())), "accepted")
            << name;
    }
    EXPECT_EQ(facts_reason(facts_with("added later", 1)), "accepted");
    EXPECT_EQ(facts_reason(facts_with("processors", -1)),
              "these are not the facts of a host: 'processors' is not a number");
    EXPECT_EQ(facts_reason(facts_with("djstap_facts", 2)),
              "the facts have version 2, djstap reads version 1");
}

TEST(HostFactsText, ComesFromAnotherMachine) {
    EXPECT_EQ(facts_reason(""), "these are not the facts of a host: this is not an object of JSON");
    EXPECT_EQ(facts_reason("[1]"),
              "these are not the facts of a host: this is not an object of JSON");
    EXPECT_EQ(facts_reason("{}"), "these are not the facts of a host: 'djstap_facts' is missing");
    for (const char* release : {"", "../6.1", "6.1/x", "6.1 x", "..", "6.1\n", "6.1;reboot"})
        EXPECT_NE(facts_reason(facts_with("release", release)), "accepted") << release;
    EXPECT_EQ(facts_reason(facts_with("host", "a\x1b[2Jb")),
              "these are not the facts of a host: 'host' is not a text");
    HostFacts odd = web1();
    odd.host = "\xff";
    EXPECT_EQ(parse_host_facts(to_json(odd))->host, "\uFFFD");
}

// The release of a kernel is a part of paths and of the names of packages: uname -r of Debian,
// Ubuntu, Fedora, and of kernels that someone has built.
TEST(HostFactsText, AReleaseIsAWord) {
    for (const char* release :
         {"6", "6.1.0-56-cloud-amd64", "6.12~rc1", "6.1+", "a_b", "Z", "09az", "-6", "_", "~"})
        EXPECT_EQ(facts_reason(facts_with("release", release)), "accepted") << release;
    for (const char before_and_behind : std::string("*,/:;@[\\]^`{|}\x7f !\"#$%&'()<=>?"))
        EXPECT_NE(facts_reason(facts_with("release", std::string("6") + before_and_behind)),
                  "accepted")
            << before_and_behind;
    EXPECT_EQ(facts_reason(facts_with("release", ".6")),
              "these are not the facts of a host: 'release' is not the release of a kernel");
    EXPECT_EQ(facts_reason(facts_with("release", "6.")), "accepted");
    EXPECT_NE(facts_reason(facts_with("release", "\u00e4")), "accepted");
}

TEST(HostFactsText, TextsAreShownOnATerminal) {
    for (const char* text : {"a\tb", "\x7f", "\x1f", "\n"})
        EXPECT_EQ(facts_reason(facts_with("version", text)),
                  "these are not the facts of a host: 'version' is not a text");
    for (const char* text : {"", " ", "~", "\u00e4"})
        EXPECT_EQ(facts_reason(facts_with("version", text)), "accepted");
    EXPECT_EQ(facts_reason(facts_with("processors", 1.5)),
              "these are not the facts of a host: 'processors' is not a number");
    EXPECT_EQ(facts_reason(facts_with("calls_at_entries", 1)),
              "these are not the facts of a host: 'calls_at_entries' is neither true nor false");
    EXPECT_EQ(facts_reason(facts_with("djstap_facts", 0)),
              "the facts have version 0, djstap reads version 1");
    for (const nlohmann::json& version :
         {nlohmann::json(-1), nlohmann::json("1"), nlohmann::json(1.0)})
        EXPECT_EQ(facts_reason(facts_with("djstap_facts", version)),
                  "these are not the facts of a host: 'djstap_facts' is missing");
    EXPECT_TRUE(parse_host_facts(facts_with("calls_at_entries", true))->calls_at_entries);
    EXPECT_EQ(parse_host_facts(facts_with("processors", 0))->processors, 0u);
}

TEST(HostFactsRead, AreThoseOfThisMachine) {
    utsname name{};
    uname(&name);
    const HostFacts facts = read_host_facts();
    EXPECT_EQ(facts.host, name.nodename);
    EXPECT_EQ(facts.machine, name.machine);
    EXPECT_EQ(facts.release, name.release);
    EXPECT_EQ(facts.version, name.version);
    EXPECT_EQ(facts.processors, static_cast<uint64_t>(sysconf(_SC_NPROCESSORS_ONLN)));
    EXPECT_EQ(facts.refuses_modules.empty(), static_cast<bool>(check_modules_possible()));
    EXPECT_EQ(facts.signatures, signature_demand());
    EXPECT_TRUE(parse_host_facts(to_json(facts)));
    // A build-id is 20 bytes of what the kernel says about itself.
    const auto notes = read_file("/sys/kernel/notes");
    if (!notes)
        return;
    ASSERT_EQ(facts.build_id.size(), 40u);
    std::string bytes;
    for (size_t i = 0; i < facts.build_id.size(); i += 2)
        bytes += static_cast<char>(std::stoi(facts.build_id.substr(i, 2), nullptr, 16));
    EXPECT_NE(notes->find(bytes), std::string::npos);
}

TEST(HostFactsRead, TellWhatTheKernelRefuses) {
    FakeModule kernel;
    kernel.files["/proc/sys/kernel/ftrace_enabled"] = "1\n";
    kernel.files["/sys/module/module/parameters/sig_enforce"] = "N\n";
    HostFacts facts = read_host_facts();
    EXPECT_EQ(facts.refuses_modules, "");
    EXPECT_EQ(facts.signatures, "");
    EXPECT_TRUE(facts.calls_at_entries);
    kernel.files["/proc/sys/kernel/modules_disabled"] = "1\n";
    kernel.files["/proc/sys/kernel/ftrace_enabled"] = "0\n";
    kernel.files["/sys/module/module/parameters/sig_enforce"] = "Y\n";
    facts = read_host_facts();
    EXPECT_EQ(facts.refuses_modules,
              "module loading is disabled until the next boot (kernel.modules_disabled is 1)");
    EXPECT_EQ(facts.signatures, "loads only signed modules (module.sig_enforce)");
    EXPECT_FALSE(facts.calls_at_entries);
    kernel.open_errors["/proc/sys/kernel/ftrace_enabled"] = ENOENT;
    EXPECT_TRUE(read_host_facts().calls_at_entries) << "nothing says that they are disabled";
}

// os-release(5): values may be quoted, and a file of the vendor's stands for one that is missing.
TEST(HostFactsRead, NameTheDistribution) {
    FakeModule machine;
    machine.files["/usr/lib/os-release"] = "NAME=Fedora\nID=fedora\n";
    const auto told = [&](const std::string& release) {
        machine.files["/etc/os-release"] = release;
        return read_host_facts().distribution;
    };
    EXPECT_EQ(
        told("PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\nID=debian\nID_LIKE=x\n"),
        "debian");
    EXPECT_EQ(told("ID=\"rhel\"\n"), "rhel");
    EXPECT_EQ(told("ID='opensuse-leap'\n"), "opensuse-leap");
    EXPECT_EQ(told("NAME=own\n"), "fedora");
    machine.open_errors["/etc/os-release"] = ENOENT;
    EXPECT_EQ(read_host_facts().distribution, "fedora");
    machine.open_errors["/usr/lib/os-release"] = ENOENT;
    EXPECT_EQ(read_host_facts().distribution, "");
}

} // namespace
} // namespace djstap
