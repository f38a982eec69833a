// SPDX-License-Identifier: GPL-2.0-or-later
// The runtime's sources: which are read, and how they are combined.
#include "common.h"
#include "module/kit_build.h"

#include <filesystem>
#include <fstream>

using namespace djstap;
using namespace djstap::module;
using namespace djstap::module::test;

TEST(Sources, AreCombinedWithoutTheStub) {
    auto files = read_sources(tiny_runtime());
    ASSERT_TRUE(files) << files.failure().message;
    // helper.c includes no kernel header and uses a name that the kernel uses, too.
    auto combined = combine_sources(*files, 1);
    ASSERT_EQ(combined.size(), 2u);
    EXPECT_EQ(combined[0].name, "combined_1.c");
    EXPECT_EQ(combined[0].text, "#include \"main.c\"\n#include \"offsets.c\"\n");
    EXPECT_EQ(combined[1].name, "combined_2.c");
    EXPECT_EQ(combined[1].text, "#include \"helper/helper.c\"\n");
    EXPECT_EQ(combine_sources(*files, 2).size(), 3u);
    EXPECT_EQ(combine_sources(*files, 50).size(), 3u);
    EXPECT_TRUE(combine_sources({}, 2).empty());
}

// Each source once, in groups of similar size; what includes no header of the kernel is apart.
TEST(Sources, AreCombinedToPartsOfSimilarSize) {
    const auto source = [](const std::string& name, size_t size) {
        std::string text = "#include <linux/x.h>\n";
        text.resize(size, ' ');
        return SourceFile{name, text};
    };
    const std::vector<SourceFile> sources{
        {"Kbuild", "x-y := a.o b.o stub.o c.o a.o\nx-y += d.o e.o plain.o none.o stub.c f.o"},
        source("a.c", 300),
        source("b.c", 1000),
        source("c.c", 400),
        source("d.c", 500),
        source("e.c", 100),
        source("f.c", 100),
        source("stub.c", 50),
        source("unlisted.c", 50),
        {"plain.c", "#include \"other.h\"\n"}};
    const auto combined = [&](size_t parts) {
        std::vector<std::string> texts;
        size_t number = 1;
        for (const SourceFile& file : combine_sources(sources, parts)) {
            EXPECT_EQ(file.name, "combined_" + std::to_string(number++) + ".c");
            std::string names;
            for (size_t at = 0; (at = file.text.find('"', at)) != std::string::npos;
                 at = file.text.find('\n', at))
                names += file.text.substr(at + 1, file.text.find('.', at) - at - 1) + " ";
            texts.push_back(names);
        }
        return texts;
    };
    using Texts = std::vector<std::string>;
    EXPECT_EQ(combined(0), (Texts{"a b c d e f ", "plain "}));
    EXPECT_EQ(combined(1), (Texts{"a b c d e f ", "plain "}));
    EXPECT_EQ(combined(2), (Texts{"b e f ", "a c d ", "plain "}));
    EXPECT_EQ(combined(3), (Texts{"b ", "d e f ", "a c ", "plain "}));
    EXPECT_EQ(combined(6), (Texts{"b ", "d ", "c ", "a ", "e ", "f ", "plain "}));
    EXPECT_EQ(combined(9), combined(6));
}

TEST(Sources, MustBeThoseThatTheProgramWasBuiltWith) {
    const std::string runtime = std::string(DJSTAP_SOURCE_DIR) + "/runtime";
    EXPECT_TRUE(check_agreement({runtime}));
    TestFolder folder;
    std::filesystem::copy(runtime + "/include", folder.path + "/include");
    EXPECT_TRUE(check_agreement({folder.path}));
    std::ofstream(folder.path + "/include/script.h", std::ios::app) << "/* */";
    const Status changed = check_agreement({folder.path});
    ASSERT_FALSE(changed);
    EXPECT_NE(changed.failure().message.find("/include/script.h differs"), std::string::npos);
    std::filesystem::remove(folder.path + "/include/script.h");
    EXPECT_FALSE(check_agreement({folder.path}));
}

TEST(Sources, AreWithoutWhatABuildLeft) {
    TestFolder folder;
    std::filesystem::copy(tiny_runtime().directory, folder.path,
                          std::filesystem::copy_options::recursive);
    for (const char* name : {"/djprobe.mod.c", "/.main.c", "/main.o"})
        std::ofstream(folder.path + name) << "left";
    const auto before = read_sources(tiny_runtime()), files = read_sources({folder.path});
    ASSERT_TRUE(before && files);
    ASSERT_EQ(files->size(), before->size());
    for (size_t i = 0; i < files->size(); i++)
        EXPECT_EQ((*files)[i].name, (*before)[i].name);
}

TEST(Sources, MissingOnesAreNamed) {
    auto none = read_sources({"/no/such/folder"});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.failure().message,
              "the runtime's sources cannot be read: /no/such/folder: No such file or directory");
    TestFolder empty;
    auto nothing = read_sources({empty.path});
    ASSERT_FALSE(nothing);
    EXPECT_NE(nothing.failure().message.find("Kbuild is missing"), std::string::npos);
}
