// SPDX-License-Identifier: GPL-2.0-or-later
// What is said of a kernel by the files that it has.
#include "driver/machine.h"

#include "../surroundings.h"
#include "parsed_options.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace djstap::driver {
namespace {

class Machine : public testing::Test {
  protected:
    void SetUp() override { files.release = "6.1-own"; }
    // "VALUE / REMEDY" of a fact, with a ! before it if it is needed to compile and not there.
    std::string fact(const std::string& name) const {
        for (const Fact& each : kernel_facts(files))
            if (each.name == name)
                return (each.present             ? ""
                        : each.needed_to_compile ? "! "
                                                 : "- ") +
                       each.value + (each.remedy.empty() ? "" : " / " + each.remedy);
        return "no such fact";
    }
    void configure(const std::string& text) {
        files.config = folder_.file("config");
        std::ofstream(files.config) << text;
    }

    KernelFiles files;

  private:
    const test::TestFolder folder_;
};

TEST_F(Machine, FilesOfAKernelAreFacts) {
    EXPECT_EQ(fact("kernel headers"), "! none for 6.1-own / apt-get install linux-headers-6.1-own");
    EXPECT_EQ(fact("debug symbols"),
              "- none: statement probes and local variables are not available / apt-get install "
              "linux-image-6.1-own-dbg");
    EXPECT_EQ(fact("BTF"), "- none");
    EXPECT_EQ(fact("symbols"), "! none: neither debug symbols nor kallsyms are readable / apt-get "
                               "install linux-image-6.1-own-dbg");
    EXPECT_EQ(fact("configuration"), "- none");
    EXPECT_EQ(fact("kprobes"), "no such fact");
    files.build_dir = "/headers";
    files.kallsyms = "/kallsyms";
    EXPECT_EQ(fact("kernel headers"), "/headers");
    EXPECT_EQ(fact("symbols"), "/kallsyms");
    files.vmlinux = "/vmlinux";
    EXPECT_EQ(fact("debug symbols"), "/vmlinux");
    EXPECT_EQ(fact("symbols"), "/vmlinux");
    EXPECT_EQ(fact("BTF"), "in /vmlinux");
    files.btf = "/btf";
    EXPECT_EQ(fact("BTF"), "/btf");
}

// A setting is a whole line of the configuration.
TEST_F(Machine, SettingsOfAKernelAreFacts) {
    const std::pair<const char*, const char*> settings[] = {
        {"direct calls at function entries", "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS=y"},
        {"kprobes", "CONFIG_KPROBES=y"},
        {"indirect branch tracking", "CONFIG_X86_KERNEL_IBT=y"},
        {"module signatures required", "CONFIG_MODULE_SIG_FORCE=y"}};
    for (const auto& [name, line] : settings) {
        const std::string text = line;
        for (const std::string& config : {text + "\n", "A=y\n" + text + "\nB=y\n"}) {
            configure(config);
            EXPECT_EQ(fact(name), "yes") << line;
        }
        for (const std::string& config :
             {std::string("A=y\n"), "# " + text + "\n", text + "x\n", "X" + text + "\n"}) {
            configure(config);
            EXPECT_TRUE(fact(name).starts_with("- no")) << fact(name);
        }
    }
    EXPECT_EQ(fact("configuration"), files.config);
    EXPECT_EQ(fact("kprobes"), "- no: only function entries can be probed");
    EXPECT_EQ(fact("direct calls at function entries"),
              "- no: every function is probed with a kprobe");
}

TEST_F(Machine, KernelsThatTheRuntimeDoesNotKnowAreFacts) {
    configure("CONFIG_UNWINDER_ORC=y\n");
    EXPECT_EQ(fact("known to the runtime"), "yes");
    const std::string reason =
                          "CONFIG_UNWINDER_GUESS: it cannot unwind stacks reliably, which return "
                          "djprobes require",
                      remedy = " / use a kernel packaged by a distribution";
    configure("CONFIG_UNWINDER_GUESS=y\n");
    EXPECT_EQ(fact("known to the runtime"), "! " + reason + remedy);
    configure("CONFIG_CC_IS_CLANG=y\nCONFIG_UNWINDER_GUESS=y\n");
    EXPECT_EQ(fact("known to the runtime"),
              "! CONFIG_CC_IS_CLANG: it was built by clang, and the runtime is built by gcc; " +
                  reason + remedy);
}

// Another kernel than the running one runs nowhere but in a guest; what it lacks is told with it.
TEST_F(Machine, WhatIsMissingIsToldTogether) {
    struct utsname name = {};
    ASSERT_EQ(uname(&name), 0);
    const std::string running = name.release;
    const MissingParts other = missing_parts(files, accept({"-e", "x"}));
    const std::string begin = "it runs kernel " + running +
                              ", not 6.1-own; kernel headers: none for "
                              "6.1-own; symbols: none: neither debug "
                              "symbols nor kallsyms are readable";
    EXPECT_TRUE(other.text.starts_with(begin)) << other.text;
    EXPECT_TRUE(other.remedies.starts_with("apt-get install linux-headers-6.1-own; apt-get install "
                                           "linux-image-6.1-own-dbg"))
        << other.remedies;
    files.release = running;
    files.build_dir = "/headers";
    files.vmlinux = "/vmlinux";
    const MissingParts own = missing_parts(files, accept({"-e", "x"}));
    EXPECT_EQ(own.text.find("it runs"), std::string::npos);
    EXPECT_EQ(own.text.find("kernel headers"), std::string::npos);
}

TEST_F(Machine, KeysAreThoseOfTheOptionsFirst) {
    const test::Environment key("DJSTAP_MODULE_KEY", "/of/environment"),
        certificate("DJSTAP_MODULE_CERT", "/cert");
    Options options = accept({"-e", "x"});
    EXPECT_EQ(signing_key(options).key, "/of/environment");
    options.signing_key = "/key";
    options.signing_certificate = "/certificate";
    EXPECT_EQ(signing_key(options).key, "/key");
    EXPECT_EQ(signing_key(options).certificate, "/certificate");
}

} // namespace
} // namespace djstap::driver
