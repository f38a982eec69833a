// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/agent.h"

#include "system/file.h"
#include "system/process.h"
#include "system/temporary.h"

#include <gtest/gtest.h>

namespace djstap::hosts {
namespace {

TEST(Agent, ReadsWhatAHostTells) {
    AgentFacts facts;
    EXPECT_TRUE(take_fact(facts, "release 6.1.0-18-amd64"));
    EXPECT_TRUE(take_fact(facts, "machine x86_64"));
    EXPECT_TRUE(take_fact(facts, "notes 0400000004000000030000004"
                                 "74e550001020304"));
    EXPECT_TRUE(take_fact(facts, "has 4038471504 75"));
    EXPECT_FALSE(take_fact(facts, "Last login: yesterday"));
    EXPECT_FALSE(take_fact(facts, ""));
    EXPECT_EQ(facts.release, "6.1.0-18-amd64");
    EXPECT_EQ(facts.machine, "x86_64");
    EXPECT_EQ(facts.build_id, "01020304");
    EXPECT_EQ(facts.djrun, "4038471504 75");
    EXPECT_FALSE(facts.has_own_djrun);
    EXPECT_TRUE(take_fact(facts, "unpacks cpio"));
    EXPECT_FALSE(facts.unpacks);
    EXPECT_TRUE(take_fact(facts, "unpacks gzip"));
    EXPECT_TRUE(facts.unpacks);
    EXPECT_TRUE(take_fact(facts, "has own"));
    EXPECT_TRUE(facts.has_own_djrun);
}

TEST(Agent, ReadsEveryHexadecimalDigit) {
    AgentFacts facts;
    EXPECT_TRUE(take_fact(facts, "notes 040000000800000003000000474e5500"
                                 "0123456789abcdef"));
    EXPECT_EQ(facts.build_id, "0123456789abcdef");
    EXPECT_TRUE(take_fact(facts, "notes 040000000800000003000000474E5500"
                                 "FEDCBA9876543210"));
    EXPECT_EQ(facts.build_id, "fedcba9876543210");
}

TEST(Agent, TakesNoPathAndNoCommandForARelease) {
    AgentFacts facts;
    EXPECT_TRUE(take_fact(facts, "release ../6.1; $(id)\x1b[31m"));
    EXPECT_TRUE(take_fact(facts, "machine x86_64\x1b[31m"));
    EXPECT_EQ(facts.release, "..?6.1????id???31m");
    EXPECT_EQ(facts.machine, "x86_64??31m");
}

TEST(Agent, TakesDamagedNotesForNone) {
    for (const char* notes : {"notes ", "notes 04", "notes 0400zz", "notes 0400000004000000",
                              "notes 04000000ffffffff03000000474e5500"}) {
        AgentFacts facts;
        EXPECT_TRUE(take_fact(facts, notes));
        EXPECT_EQ(facts.build_id, "");
    }
}

TEST(Agent, CalculatesTheSumOfCksum) {
    const auto folder = std::move(*TemporaryFolder::create_in_memory());
    for (const std::string& text :
         {std::string(), std::string("a"), std::string("123456789"), std::string(70'000, '\xa5')}) {
        const std::string path = folder.file("bytes");
        ASSERT_TRUE(write_file(path, text));
        const auto sum = run_program({"sh", "-c", "cksum <" + path});
        ASSERT_TRUE(sum);
        EXPECT_EQ(cksum(text) + "\n", sum->output);
    }
    EXPECT_EQ(cksum("123456789"), "930766865 9");
}

TEST(Agent, IsOneWordForEveryShell) {
    const std::string command = agent_command();
    EXPECT_TRUE(command.starts_with("exec sh -c '"));
    EXPECT_EQ(command.find('\'', sizeof "exec sh -c '" - 1), command.size() - 1);
    EXPECT_EQ(command.find('\n'), std::string::npos);
}

} // namespace
} // namespace djstap::hosts
