// SPDX-License-Identifier: GPL-2.0-or-later
// What a Kbuild that is made up does otherwise than it has said, and what it makes besides.
#include "made_kbuild.h"

#include <algorithm>

namespace djstap::module {
namespace {

using Names = std::vector<std::string>;

class OtherKbuild : public test::MadeKbuild {
  protected:
    OtherKbuild() {
        change("build/scripts/mod.S", "\n.section __versions",
               "\n" + versions({"vfs_read", "kfree"}) + ".section __versions");
    }
    // Why Kbuild has built the kit alone; "" if it has not.
    std::string because() {
        const auto kit = build();
        EXPECT_TRUE(kit) << kit.failure().message;
        return kit ? kit->indirect_because : "";
    }
    // A line of the Makefile that only counts when make runs commands.
    void when_it_runs(const std::string& line) const {
        change("build/Makefile", "parts := ",
               "ifeq ($(findstring n,$(firstword -$(MAKEFLAGS))),)\n" + line +
                   "\nendif\nparts := ");
    }
    const std::string title_ = "building the runtime for 6.1.0-made (once)";
};

TEST_F(OtherKbuild, CompilesWithAnotherCommand) {
    EXPECT_EQ(because(), "");
    when_it_runs("flags += -DOTHER");
    EXPECT_EQ(because(), "Kbuild compiles with another command");
}

TEST_F(OtherKbuild, NotesNoCommand) {
    change("build/scripts/basic/fixdep", "savedcmd_%s := %s\\n", "savedcmd_%s = %s\\n");
    const auto kit = build();
    ASSERT_FALSE(kit);
    EXPECT_EQ(kit.failure().message, "unexpected Kbuild compile command for 6.1.0-made");
    EXPECT_EQ(told_.back().find("by Kbuild alone"), std::string::npos);
    EXPECT_NE(std::ranges::find(told_, title_ + " by Kbuild alone, which takes longer: Kbuild "
                                                "compiles with another command"),
              told_.end());
}

TEST_F(OtherKbuild, AsksMore) {
    when_it_runs("flags += $(call cc-option,-fother)");
    EXPECT_EQ(because(), "Kbuild tries other options");
}

TEST_F(OtherKbuild, Fails) {
    when_it_runs("ifneq ($(findstring djs_skeleton,$(parts) $($(DJS_NAME)-y)),)\n$(error broken "
                 "Error: here)\nendif");
    EXPECT_TRUE(because().starts_with("Kbuild fails:\n  ")) << because();
    EXPECT_NE(because().find("Error: here"), std::string::npos);
}

TEST_F(OtherKbuild, PrintsNoCommand) {
    put_program("build/scripts/basic/other", "printf 'savedcmd_%s := %s\\n' \"$2\" \"$3\"\n");
    change("build/Makefile", "scripts/basic/fixdep", "scripts/basic/other");
    EXPECT_EQ(because(), "Kbuild's command for a source is not known");
}

TEST_F(OtherKbuild, AsksNothing) {
    change("build/Makefile", "flags += $(call cc-option,-fno-strict-overflow)\n", "");
    change("build/Makefile", "flags += $(call cc-option,-fno-such-option)\n", "");
    EXPECT_EQ(because(), "Kbuild's tries of options have no certain answers");
}

TEST_F(OtherKbuild, HasNoSourcesToCompile) {
    put("runtime/Kbuild", "$(DJS_NAME)-y := stub.o\nccflags-y := -I$(M) $(DJS_FEATURES)\n");
    EXPECT_FALSE(build());
    EXPECT_NE(std::ranges::find(told_, title_ + " by Kbuild alone, which takes longer: the runtime "
                                                "has no sources"),
              told_.end());
}

TEST_F(OtherKbuild, MakesAnObjectThatAllModulesHave) {
    change("build/Makefile", "\tld -r -m elf_x86_64 -o $@",
           "\techo '.globl of_all; of_all: nop; .section .note.GNU-stack, \"\", @progbits' | as -o "
           "$(M)/.module-common.o -\n\tld -r -m elf_x86_64 -o $@");
    const auto kit = build();
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_TRUE(defines(kit->directory + "/module.o", "of_all"));
}

TEST_F(OtherKbuild, LeavesOutANote) {
    const auto said = [&] {
        const auto kit = build();
        return kit ? "" : kit.failure().message;
    };
    change("build/Makefile", "> $(M)/.$(DJS_NAME).ko.cmd", "> $(M)/other.cmd");
    EXPECT_TRUE(said().ends_with(".ko.cmd: cannot open: No such file or directory")) << said();
    change("build/Makefile", "> $(M)/other.cmd", "> $(M)/.$(DJS_NAME).ko.cmd");
    change("build/Makefile", "> $(M)/$(DJS_NAME).mod\n", "> $(M)/other.mod\n");
    EXPECT_TRUE(said().ends_with(".mod: cannot open: No such file or directory")) << said();
}

// What it makes is read again.
TEST_F(OtherKbuild, SpoilsWhatItMakes) {
    const std::string link = "\tld -r -m elf_x86_64 -o $@ $(parts) $(M)/$(DJS_NAME).mod.o\n";
    std::string former = link;
    const auto said_after = [&](const std::string& command) {
        change("build/Makefile", former, link + command);
        former = link + command;
        const auto kit = build_by_kbuild();
        return kit ? "" : kit.failure().message;
    };
    const std::string none = ": is not a complete object file: it has no ELF header";
    EXPECT_EQ(said_after("\techo x > $(M)/stub.o\n"), "stub.o" + none);
    EXPECT_TRUE(said_after("\trm $(M)/stub.o\n")
                    .ends_with("/stub.o: cannot open: No such file or directory"));
    EXPECT_EQ(said_after("\techo x > $@\n"), "the runtime's module" + none);
    EXPECT_TRUE(said_after("\trm $@\n").ends_with(".ko: cannot open: No such file or directory"));
    EXPECT_EQ(said_after(""), "");
}

// Only sources count, and no more of them than there are.
TEST_F(OtherKbuild, TellsHowFarItIs) {
    change("build/Makefile", "\tprintf '%s\\n'",
           "\techo '  CC [M]  x.mod.o'\n\techo '  LD [M]  x.ko'\n\tprintf '%s\\n'");
    ASSERT_TRUE(build_by_kbuild());
    EXPECT_EQ(told_.size(), 5U);
    EXPECT_EQ(told_.back(), title_ + ": 4 of 4");
    change("build/Makefile", "\techo '  LD [M]  x.ko'", "\techo '  CC [M]  more.o'");
    ASSERT_TRUE(build_by_kbuild());
    EXPECT_EQ(told_.size(), 6U);
    EXPECT_EQ(told_.back(), title_ + ": 4 of 4");
}

// What has no lists of its own is compiled in a few combined sources.
TEST_F(OtherKbuild, BuildsRuntimesWithoutParts) {
    put("runtime/Kbuild", "$(DJS_NAME)-y := main.o helper/helper.o offsets.o extra.o stub.o\n"
                          "ccflags-y := -I$(M) $(DJS_FEATURES)\n");
    const Names symbols{"djs_double", "djs_extra", "djs_help", "djs_number"};
    const auto direct = build();
    ASSERT_TRUE(direct) << direct.failure().message;
    EXPECT_EQ(direct->indirect_because, "");
    EXPECT_EQ(direct->runtime_symbols, symbols);
    EXPECT_TRUE(direct->parts.empty());
    EXPECT_EQ(direct->offsets.size(), 2U);
    EXPECT_EQ(told_.back(), title_ + ": 3 of 3");
    const auto alone = build_by_kbuild();
    ASSERT_TRUE(alone) << alone.failure().message;
    EXPECT_EQ(alone->runtime_symbols, symbols);
    EXPECT_TRUE(alone->combined);
}

} // namespace
} // namespace djstap::module
