// SPDX-License-Identifier: GPL-2.0-or-later
// Kits that are built, and extended, for a kernel which is made up.
#include "made_kbuild.h"

#include <algorithm>

namespace djstap::module {
namespace {

using Names = std::vector<std::string>;

class MadeBuild : public test::MadeKbuild {
  protected:
    // The message of a failure of both ways.
    std::string said() {
        const auto kit = build();
        return kit ? "" : kit.failure().message;
    }
    Names files_of(const RuntimeKit& kit) const {
        Names names;
        for (const auto& each : std::filesystem::directory_iterator(kit.directory))
            names.push_back(each.path().filename());
        std::ranges::sort(names);
        return names;
    }
    static constexpr const char* compiler =
        "gcc -O2 -I./include -fno-pic -fcf-protection=none -fno-asynchronous-unwind-tables "
        "-fno-strict-overflow -DREADS=1 -DPRINTS=1 -g0 -DKBUILD_BASENAME='\"stub\"'";
    const std::string title_ = "building the runtime for 6.1.0-made (once)";
};

TEST_F(MadeBuild, AKitIsBuiltBesideKbuild) {
    const auto kit = build();
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_EQ(kit->indirect_because, "");
    EXPECT_TRUE(kit->built);
    EXPECT_TRUE(kit->combined);
    EXPECT_EQ(kit->release, "6.1.0-made");
    EXPECT_FALSE(kit->ibt);
    EXPECT_EQ(kit->linker, (Names{"ld", "-r", "-m", "elf_x86_64", "--build-id=sha1"}));
    EXPECT_EQ(kit->objtool, (Names{own("build/tools/objtool/objtool"), "--own"}));
    EXPECT_FALSE(kit->delayed_objtool);
    EXPECT_EQ(kit->compiler, compiler);
    EXPECT_EQ(kit->build_dir, own("build"));
    EXPECT_EQ(kit->sign_file, "");
    EXPECT_EQ(kit->signature_hash, "sha256");
    EXPECT_EQ(kit->runtime_symbols, (Names{"djs_double", "djs_help", "djs_number"}));
    EXPECT_EQ(kit->runtime_functions, (Names{"djs_double", "djs_help"}));
    EXPECT_EQ(kit->kernel_symbols, Names{"vfs_read"});
    EXPECT_EQ(kit->versioned_symbols, (Names{"_printk", "vfs_read"}));
    EXPECT_TRUE(kit->parts.empty());
    EXPECT_EQ(kit->state, 0U);
    ASSERT_EQ(kit->offsets.size(), 2U);
    EXPECT_EQ(kit->offsets[1].symbol, "here");
    EXPECT_EQ(files_of(*kit),
              (Names{"manifest", "module.lds", "module.o", "pieces.o", "runtime.o"}));
    EXPECT_EQ(content(kit->directory + "/module.lds"), content(own("build/scripts/module.lds")));
    EXPECT_TRUE(defines(kit->directory + "/runtime.o", "djs_extra")) << "its stand-in";
    EXPECT_FALSE(defines(kit->directory + "/pieces.o", "djs_extra"));
    EXPECT_FALSE(sections_in(kit->directory + "/pieces.o").contains(".djstap.offsets"));
    // Three units, what stands for the part, and Kbuild, which may be done before they are counted.
    ASSERT_GE(told_.size(), 5U);
    EXPECT_EQ(told_[0], title_);
    for (size_t i = 0; i < 4; i++)
        EXPECT_EQ(told_[told_.size() - 1 - i], title_ + ": " + std::to_string(5 - i) + " of 5");
    EXPECT_GT(kit->times.kbuild, 0);
    EXPECT_GT(kit->times.finish, 0);
    const auto loaded = load_kit(kit->directory, *kernel_);
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->compiler, kit->compiler);
    EXPECT_EQ(loaded->runtime_symbols, kit->runtime_symbols);
}

TEST_F(MadeBuild, AKitHasThePartsThatAreWanted) {
    const auto kit = build({"extra"});
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_EQ(kit->indirect_because, "");
    EXPECT_EQ(kit->parts, PartNames{"extra"});
    EXPECT_EQ(kit->runtime_symbols, (Names{"djs_double", "djs_extra", "djs_help", "djs_number"}));
    EXPECT_EQ(kit->versioned_symbols, (Names{"_printk", "kfree", "vfs_read"}));
    EXPECT_TRUE(defines(kit->directory + "/pieces.o", "djs_extra"));
    EXPECT_EQ(told_.back(), title_ + ": 4 of 4") << "nothing stands for it";
}

TEST_F(MadeBuild, KbuildAloneBuildsTheSame) {
    put("build/scripts/mod.S",
        content(own("build/scripts/mod.S")) + versions({"vfs_read", "kfree"}));
    const auto kit = build_by_kbuild();
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_EQ(kit->indirect_because, "of this");
    EXPECT_TRUE(kit->combined);
    EXPECT_EQ(kit->compiler, compiler);
    EXPECT_EQ(kit->linker, (Names{"ld", "-r", "-m", "elf_x86_64", "--build-id=sha1"}));
    EXPECT_EQ(kit->objtool, (Names{own("build/tools/objtool/objtool"), "--own"}));
    EXPECT_EQ(kit->parts, PartNames{"extra"});
    EXPECT_EQ(kit->runtime_symbols, (Names{"djs_double", "djs_extra", "djs_help", "djs_number"}));
    EXPECT_EQ(kit->kernel_symbols, Names{"vfs_read"});
    EXPECT_EQ(kit->versioned_symbols, (Names{"_printk", "kfree", "vfs_read"}));
    ASSERT_EQ(kit->offsets.size(), 2U);
    EXPECT_TRUE(defines(kit->directory + "/runtime.o", "djs_extra"));
    EXPECT_FALSE(defines(kit->directory + "/runtime.o", "djs_script")) << "the stub is apart";
    ASSERT_EQ(told_.size(), 5U);
    EXPECT_EQ(told_[0], title_ + " by Kbuild alone, which takes longer: of this");
    for (size_t i = 1; i <= 4; i++)
        EXPECT_EQ(told_[i], title_ + ": " + std::to_string(i) + " of 4");
    EXPECT_TRUE(load_kit(kit->directory, *kernel_));
}

// Two sources with a function of one name.
TEST_F(MadeBuild, SourcesThatDoNotFitTogetherAreCompiledAlone) {
    put("build/scripts/mod.S",
        content(own("build/scripts/mod.S")) + versions({"vfs_read", "kfree"}));
    for (const char* name : {"runtime/main.c", "runtime/extra.c"})
        put(name,
            content(own(name)) + "static __attribute__((unused)) int same(void) { return 1; }\n");
    const auto kit = build({"extra"});
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_FALSE(kit->combined);
    EXPECT_NE(kit->indirect_because.find("redefinition of 'same'"), std::string::npos)
        << kit->indirect_because;
    EXPECT_EQ(kit->runtime_symbols, (Names{"djs_double", "djs_extra", "djs_help", "djs_number"}));
    EXPECT_EQ(told_.back(), title_ + ": 5 of 5");
}

TEST_F(MadeBuild, WhatDoesNotCompileIsToldWithoutTheFolder) {
    put("runtime/helper/helper.c", "int djs_help(void) { return none; }\n");
    EXPECT_TRUE(said().starts_with("building the runtime for 6.1.0-made failed:\n  "
                                   "helper/helper.c:1:"))
        << said();
    put("runtime/helper/helper.c", "#warning odd\n");
    EXPECT_TRUE(said().starts_with("building the runtime for 6.1.0-made gave warnings:\n  "))
        << said();
    put_runtime();
    put("runtime/features.list", "X\n");
    EXPECT_EQ(said(), "the runtime's features.list contains an invalid line: X");
}

// As with link-time annotation: objtool processes whole modules, and Debian wraps it.
TEST_F(MadeBuild, ObjtoolsCommandMayBeThatOfTheWholeModule) {
    change("build/Makefile", "OBJTOOL = ; ./tools/objtool/objtool --own $@\n", "OBJTOOL :=\n");
    change("build/Makefile", "\tld -r",
           "\techo 'cmd_x.o := ld -r -o x.o x ; ./tools/objtool/objtool --link --own x.o' > "
           "$(M)/.$(DJS_NAME).o.cmd\n\tld -r");
    auto kit = build();
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_EQ(kit->indirect_because, "");
    EXPECT_EQ(kit->objtool, (Names{own("build/tools/objtool/objtool"), "--link", "--own"}));
    EXPECT_TRUE(kit->delayed_objtool);
    EXPECT_EQ(files_of(*kit), (Names{"manifest", "module.lds", "module.o", "pieces.o",
                                     "runtime-plain.o", "runtime.o"}));
    EXPECT_TRUE(content(own("objtool.log")).starts_with("--link --own "));
    EXPECT_EQ(calls("objtool"), 1U);
    put_program("build/tools/objtool/objtool.real-x86", ":\n");
    EXPECT_EQ(build()->objtool[0], own("build/tools/objtool/objtool.real-x86"));
}

TEST_F(MadeBuild, AKernelWithoutObjtoolNeedsNone) {
    change("build/Makefile", "OBJTOOL = ; ./tools/objtool/objtool --own $@\n", "OBJTOOL :=\n");
    EXPECT_EQ(said(), "unexpected Kbuild objtool command for 6.1.0-made");
    open_kernel("CONFIG_MODVERSIONS=y\n");
    const auto kit = build();
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_EQ(kit->indirect_because, "");
    EXPECT_TRUE(kit->objtool.empty());
    EXPECT_FALSE(kit->delayed_objtool);
    EXPECT_FALSE(std::filesystem::exists(own("objtool.log")));
}

TEST_F(MadeBuild, CommandsOfAnotherFormAreRefused) {
    change("build/Makefile", " -T scripts/module.lds\n", "\n");
    EXPECT_EQ(said(), "unexpected Kbuild link command for 6.1.0-made");
    change("build/Makefile", "LINK := ld -r -m elf_x86_64 --build-id=sha1\n",
           "LINK := -T scripts/module.lds\n");
    EXPECT_EQ(said(), "unexpected Kbuild link command for 6.1.0-made");
    change("build/Makefile", "LINK := -T scripts/module.lds\n",
           "LINK := ld -T " + own("other.lds") + " -r -m elf_x86_64\n");
    EXPECT_EQ(said(), own("other.lds") + ": cannot open: No such file or directory");
    put("other.lds", "/* other */\n");
    const auto kit = build();
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_EQ(kit->linker, (Names{"ld", "-r", "-m", "elf_x86_64"}));
    EXPECT_EQ(content(kit->directory + "/module.lds"), "/* other */\n");
}

// Newer Kbuild lists objects by their names in the module's folder.
TEST_F(MadeBuild, ObjectsAreListedWithAndWithoutTheirFolder) {
    put("build/scripts/mod.S",
        content(own("build/scripts/mod.S")) + versions({"vfs_read", "kfree"}));
    change("build/Makefile", "LISTED = $(parts)", "LISTED = $($(DJS_NAME)-y)");
    const auto kit = build_by_kbuild();
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_EQ(kit->runtime_symbols, (Names{"djs_double", "djs_extra", "djs_help", "djs_number"}));
    EXPECT_FALSE(defines(kit->directory + "/runtime.o", "djs_script"));
}

TEST_F(MadeBuild, WithoutVersionsAllThatIsNeededIsListed) {
    open_kernel("CONFIG_OBJTOOL=y\nCONFIG_MODULE_SIG_HASH=\"sha512\"\n");
    put("build/scripts/sign-file", "");
    auto kit = build();
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_EQ(kit->indirect_because, "");
    EXPECT_EQ(kit->versioned_symbols, (Names{"_printk", "vfs_read"}));
    EXPECT_EQ(kit->kernel_symbols, Names{"vfs_read"});
    EXPECT_EQ(kit->signature_hash, "sha512");
    EXPECT_EQ(kit->sign_file, own("build/scripts/sign-file"));
}

// The compiler may insert calls of thunks into a script that the stub does not have.
TEST_F(MadeBuild, ThunksAreForScriptsToo) {
    put("build/scripts/mod.S",
        content(own("build/scripts/mod.S")) + versions({"vfs_read", "kfree", "__x86_return_thunk",
                                                        "__x86_indirect_thunk_rax", "other"}));
    const auto kit = build();
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_EQ(kit->kernel_symbols,
              (Names{"__x86_indirect_thunk_rax", "__x86_return_thunk", "vfs_read"}));
}

TEST_F(MadeBuild, TheNameMustBeApartFromOtherText) {
    put("build/scripts/mod.S", content(own("build/scripts/mod.S")) +
                                   versions({"vfs_read", "kfree"}) +
                                   ".section .rodata\n.ascii \"in \"\n.asciz NAME\n");
    EXPECT_TRUE(said().starts_with("the runtime uses the module name inside a longer string"))
        << said();
}

TEST_F(MadeBuild, APartIsAddedToAKit) {
    const auto kit = build();
    ASSERT_TRUE(kit);
    std::filesystem::remove(own("objtool.log"));
    const auto files = read_sources(sources());
    const Parts parts(*files);
    const auto more = extend_kit(*kit, *kernel_, *files, parts, {"extra"}, telling());
    ASSERT_TRUE(more) << more.failure().message;
    EXPECT_EQ(told_, Names{"adding to the runtime for 6.1.0-made (once): extra"});
    EXPECT_TRUE(more->built);
    EXPECT_EQ(more->state, 1U);
    EXPECT_EQ(more->parts, PartNames{"extra"});
    EXPECT_EQ(more->directory, kit->directory);
    const auto whole = build({"extra"});
    EXPECT_EQ(more->runtime_symbols, whole->runtime_symbols);
    EXPECT_EQ(more->runtime_functions, whole->runtime_functions);
    EXPECT_EQ(more->versioned_symbols, whole->versioned_symbols);
    EXPECT_EQ(more->kernel_symbols, whole->kernel_symbols);
    EXPECT_EQ(files_of(*more),
              (Names{"1-module.o", "1-pieces.o", "1-runtime.o", "manifest", "module.lds"}));
    EXPECT_TRUE(defines(more->directory + "/1-pieces.o", "djs_extra"));
    EXPECT_TRUE(defines(more->directory + "/1-pieces.o", "djs_double"));
    EXPECT_GT(more->times.finish, 0);
    // It alone was compiled.
    EXPECT_TRUE(content(own("objtool.log")).find("djs_handler_1.o") != std::string::npos);
    EXPECT_EQ(content(own("objtool.log")).find("djs_cold_1.o"), std::string::npos);
    const auto loaded = load_kit(more->directory, *kernel_);
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->parts, more->parts);
    EXPECT_EQ(loaded->state, 1U);
}

TEST_F(MadeBuild, APartThatCannotBeAddedLeavesTheKit) {
    const auto kit = build();
    ASSERT_TRUE(kit);
    const Names before = files_of(*kit);
    const auto added = [&] {
        const auto files = read_sources(sources());
        const Parts parts(*files);
        const auto more = extend_kit(*kit, *kernel_, *files, parts, {"extra"}, nullptr);
        EXPECT_EQ(files_of(*kit), before);
        EXPECT_TRUE(load_kit(kit->directory, *kernel_));
        return more ? "" : more.failure().message;
    };
    put("runtime/extra.c", "long djs_extra(void) { return none; }\n");
    EXPECT_TRUE(added().starts_with("djs_handler_1:\n  extra.c:1:")) << added();
    put("runtime/extra.c", "#warning odd\n");
    EXPECT_TRUE(added().starts_with("djs_handler_1:\n")) << added();
    put("runtime/extra.c", "void nowhere(void);\nlong djs_extra(void);\n"
                           "long djs_extra(void)\n{\n\tnowhere();\n\treturn 1;\n}\n");
    EXPECT_EQ(added(), "nowhere is not simply exported by the kernel");
    std::filesystem::rename(kit->directory + "/pieces.o", own("pieces.o"));
    const auto files = read_sources(sources());
    const Parts parts(*files);
    EXPECT_EQ(extend_kit(*kit, *kernel_, *files, parts, {"extra"}, nullptr).failure().message,
              kit->directory + "/pieces.o: No such file or directory");
}

} // namespace
} // namespace djstap::module
