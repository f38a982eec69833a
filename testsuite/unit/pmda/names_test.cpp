// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/module.h"
#include "pmda/agent.h"
#include "pmda/metrics.h"
#include "pmda/scripts.h"

#include "system/file.h"
#include "system/temporary.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace djstap::pmda {
namespace {

// The dimensions and scales of a unit.
std::string unit_of(std::string_view description) {
    const pmUnits units = meaning_of(description).units;
    return std::to_string(units.dimSpace) + std::to_string(units.dimTime) +
           std::to_string(units.dimCount) + " " + std::to_string(units.scaleSpace) +
           std::to_string(units.scaleTime);
}

TEST(Meaning, UnitsAreThoseInTheLastBrackets) {
    EXPECT_EQ(unit_of("Bytes [bytes]"), "100 00");
    EXPECT_EQ(unit_of("[byte]"), "100 00");
    EXPECT_EQ(unit_of("[KB]"), "100 10");
    EXPECT_EQ(unit_of("[MB]"), "100 20");
    EXPECT_EQ(unit_of("[GB]"), "100 30");
    EXPECT_EQ(unit_of("[ns]"), "010 00");
    EXPECT_EQ(unit_of("[us]"), "010 01");
    EXPECT_EQ(unit_of("[ms]"), "010 02");
    EXPECT_EQ(unit_of("[s]"), "010 03");
    EXPECT_EQ(unit_of("[count]"), "001 00");
    EXPECT_EQ(unit_of("in [ms], then [KB] of them"), "100 10");
    EXPECT_EQ(unit_of("[counter,ms]"), "010 02");
    for (const char* none : {"", "ms", "[", "]", "]ms[", "[]", "[miles]", "[msec]", "[ m s ]x"})
        EXPECT_EQ(unit_of(none), std::string_view(none) == "[ m s ]x" ? "010 03" : "000 00")
            << none;
}

TEST(Meaning, OnlyAWordMakesACounter) {
    for (const char* counter : {"[counter]", "[counter, ms]", "[ms counter]", "x [ ,\tcounter ]"})
        EXPECT_TRUE(meaning_of(counter).is_counter) << counter;
    for (const char* other : {"counter", "[counters]", "[a-counter]", "[counter] [ms]", ""})
        EXPECT_FALSE(meaning_of(other).is_counter) << other;
}

TEST(Names, ComponentsBeginWithALetter) {
    EXPECT_EQ(name_component("reads"), "reads");
    EXPECT_EQ(name_component("web-1.a b"), "web_1_a_b");
    EXPECT_EQ(name_component("_odd"), "x_odd");
    EXPECT_EQ(name_component("1st"), "x1st");
    EXPECT_EQ(name_component("\xc3\xa4"), "x__");
    EXPECT_EQ(name_component(""), "x");
}

TEST(Names, GlobalsOfAScriptDiffer) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(name_components({"n", "_n"}), (Names{"n", "x_n"}));
    // The one whose name it is has it, wherever it is declared.
    EXPECT_EQ(name_components({"_n", "x_n"}), (Names{"xx_n", "x_n"}));
    EXPECT_EQ(name_components({"x_n", "_n"}), (Names{"x_n", "xx_n"}));
    EXPECT_EQ(name_components({"_n", "x_n", "xx_n"}), (Names{"xxx_n", "x_n", "xx_n"}));
    // What only a damaged recording has.
    EXPECT_EQ(name_components({"n", "n", "", "1", "x1"}), (Names{"n", "xn", "x", "xx1", "x1"}));
    EXPECT_EQ(name_components({}), Names{});
}

std::string instance_of(std::initializer_list<ElementKey> keys) {
    ElementKeys all;
    for (const ElementKey& key : keys)
        std::visit([&](const auto& value) { all.add(value); }, key);
    return instance_name(all.bytes());
}

TEST(Names, InstancesOfDifferentKeysDiffer) {
    EXPECT_EQ(instance_of({"a b", int64_t{-1}}), "a%20b,-1");
    EXPECT_EQ(instance_of({"a,b%", "c"}), "a%2cb%25,c");
    EXPECT_EQ(instance_of({"\x01\x1f !~\x7f"}), "%01%1f%20!~%7f");
    EXPECT_EQ(instance_of({"\xc3\xa4"}), "\xc3\xa4");
    EXPECT_EQ(instance_of({"", ""}), ",");
    EXPECT_EQ(instance_of({""}), "%");
    EXPECT_EQ(instance_of({"%"}), "%25");
    EXPECT_EQ(instance_name("?"), ""); // not keys
}

class Scripts : public testing::Test {
  protected:
    void add(const std::string& name, mode_t mode = 0644) const {
        const std::string path = folder_.file(name);
        ASSERT_TRUE(write_file(path, "a script"));
        ASSERT_EQ(chmod(path.c_str(), mode), 0);
    }
    // Returns the names of the scripts, with their refusals.
    std::string found() const {
        const auto scripts = find_scripts(folder_.path());
        EXPECT_TRUE(scripts);
        std::string text;
        for (const ScriptFile& script : *scripts)
            text += script.name + (script.is_module ? " (module)" : "") +
                    (script.refusal.empty() ? "" : ": " + script.refusal) + "\n";
        return text;
    }
    std::string path(const std::string& name) const { return folder_.file(name); }

    TemporaryFolder folder_ = std::move(*TemporaryFolder::create("/tmp"));
};

TEST_F(Scripts, AreScriptsAndModulesByName) {
    for (const char* name : {"b.stp", "a.ko", "README", "x.stp.old", "c"})
        add(name);
    EXPECT_EQ(found(), "a (module)\nb\n");
    const auto missing = find_scripts(path("nowhere"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.failure().message, path("nowhere") + ": No such file or directory");
}

// What a group may run does not run by itself, and the group may not run what the agent does.
TEST(Agent, HasAFolderOfItsOwn) {
    EXPECT_EQ(AgentOptions{}.folder, "/etc/djstap/metrics");
    EXPECT_NE(AgentOptions{}.folder, offered::module_folder);
    EXPECT_EQ(AgentOptions{}.between_looks, std::chrono::seconds(2));
}

TEST_F(Scripts, AreRefusedWithTheReason) {
    add("agent.stp");
    add("open.stp", 0666);
    ASSERT_TRUE(std::filesystem::create_directory(path("folder.stp")));
    EXPECT_EQ(found(), "agent: " + path("agent.stp") +
                           ": djstap.agent is the agent's own name\n"
                           "folder: " +
                           path("folder.stp") +
                           ": not a file\n"
                           "open: " +
                           path("open.stp") +
                           ": is writable by others, so its content is not used\n");
}

TEST_F(Scripts, OfOneNameAreOneThatIsRefused) {
    for (const char* name : {"a-b.stp", "a.b.ko", "a_b.stp", "c.stp"})
        add(name);
    EXPECT_EQ(found(),
              "a-b: " + path("a.b.ko") + " and " + path("a-b.stp") + " have the same name\nc\n");
}

TEST_F(Scripts, TellWhenTheyWereChanged) {
    add("a.stp");
    const timespec times[] = {{5, 0}, {1'000'000'000, 999'999'999}};
    ASSERT_EQ(utimensat(AT_FDCWD, path("a.stp").c_str(), times, 0), 0);
    EXPECT_EQ(find_scripts(folder_.path())->front().changed_ns, 1'000'000'000'999'999'999);
}

// pmcd tells its clients to look the names up again, so only a change is told to it.
TEST(Publishing, TellsOfNamesOnce) {
    static pmdaInterface dispatch{}; // PCP's library cannot free what it allocates for it
    char name[] = "djstap";
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, name, 400, nullptr, nullptr);
    ASSERT_EQ(dispatch.status, 0);
    pmdaExt& extension = *dispatch.version.any.ext;
    Metrics metrics(400);
    const auto is_told = [&] {
        extension.e_flags = 0;
        metrics.publish(extension);
        return (extension.e_flags & PMDA_EXT_NAMES_CHANGE) != 0;
    };
    EXPECT_TRUE(is_told());
    EXPECT_FALSE(is_told());
    metrics.script("one");
    EXPECT_FALSE(is_told());
    metrics.remove("one");
    EXPECT_TRUE(is_told());
    EXPECT_FALSE(is_told());
}

} // namespace
} // namespace djstap::pmda
