// SPDX-License-Identifier: GPL-2.0-or-later
// Objects in the cache that are compiled from files which change.
#include "module/kept_object.h"

#include "common.h"

#include <chrono>
#include <thread>

using namespace djstap;
using namespace djstap::module;
using namespace djstap::module::test;
namespace fs = std::filesystem;

namespace {

class Kept : public testing::Test {
  protected:
    std::string file(const std::string& name, const std::string& text) const {
        const std::string path = folder.path + "/" + name;
        EXPECT_TRUE(write_file(path, text));
        return path;
    }
    static void let_files_age() { std::this_thread::sleep_for(std::chrono::milliseconds(40)); }
    // Whether an object is found again that is made now.
    bool is_kept(const std::string& listed) const { return is_kept(KeptObject(stem), listed); }
    bool is_kept(const KeptObject& kept, const std::string& listed) const {
        const auto path = kept.keep("object", listed, folder.path, folder.path + "/scratch");
        EXPECT_TRUE(path) << path.failure().message;
        const std::string found = KeptObject(stem).find();
        EXPECT_TRUE(found.empty() || found == *path) << found;
        return !found.empty();
    }

    CacheFolder cache;
    TestFolder folder;
    std::string stem = cache.path + "/headers/name";
};

} // namespace

TEST_F(Kept, UntilAFileChanges) {
    file("a.h", "1");
    const std::string other = file("b c.h", "2");
    let_files_age();
    const std::string rule = "x.o: scratch/x.c a.h \\\n " + folder.path + "/b\\ c.h \\\n";
    EXPECT_EQ(KeptObject(stem).find(), "");
    EXPECT_TRUE(is_kept(rule));
    const auto time = fs::last_write_time(other);
    file("b c.h", "3"); // of the same size, and then of the same age
    fs::last_write_time(other, time);
    EXPECT_EQ(KeptObject(stem).find(), "");
    let_files_age();
    EXPECT_TRUE(is_kept(rule));
    fs::remove(folder.path + "/a.h");
    EXPECT_EQ(KeptObject(stem).find(), "");
}

// The compiler escapes these in the names of files (libcpp, munge()).
TEST_F(Kept, FilesMayHaveAnyName) {
    const std::pair<const char*, const char*> names[] = {
        {"a b", "a\\ b"}, {"a#b", "a\\#b"},   {"a$b", "a$$b"},  {"a:b", "a\\:b"},
        {"a:b", "a:b"},   {"a\\b", "a\\\\b"}, {"a\\b", "a\\b"}, {"a$", "a$$"}};
    for (const auto& [name, written] : names) {
        SCOPED_TRACE(written);
        file(name, "1");
        let_files_age();
        for (const char* begin : {"x.o: ", "x.o: \\\n ", "x:y.o: / \\\n  "})
            EXPECT_TRUE(is_kept(std::string(begin) + written + " \\\n /usr\n")) << begin;
        ASSERT_TRUE(is_kept("x.o: " + std::string(written) + "\n"));
        fs::remove(folder.path + "/" + name);
        EXPECT_EQ(KeptObject(stem).find(), "");
    }
}

TEST_F(Kept, WhatIsInTheScratchFolderIsOfNoInterest) {
    fs::create_directories(folder.path + "/scratch");
    let_files_age();
    EXPECT_TRUE(is_kept("x.o: scratch/none.c scratch/../scratch/none.h /\n"));
    EXPECT_FALSE(is_kept("x.o: scratches/none.c /\n"));
    // A name of one letter, in a folder of its own.
    EXPECT_TRUE(is_kept("x.o: / /usr\n"));
    EXPECT_EQ(KeptObject::listing_options("/a b"), " -MD -MF '/a b'");
}

TEST_F(Kept, NotIfAFileMayHaveChangedMeanwhile) {
    const KeptObject begun(stem); // however long the rest takes, the file is newer
    file("a.h", "1");
    EXPECT_FALSE(is_kept(begun, "x.o: a.h\n"));
    EXPECT_FALSE(is_kept("x.o: is-not-there.h\n"));
    EXPECT_TRUE(is_kept("x.o: /\n"));
}

TEST_F(Kept, NotIfTheListIsDamaged) {
    file("a.h", "1");
    let_files_age();
    ASSERT_TRUE(is_kept("x.o: a.h\n"));
    for (const char* damaged : {"1 2 3", "\n", "/", " /a\n", "1 2 3 /a"}) {
        ASSERT_TRUE(write_file(stem + ".files", damaged));
        EXPECT_EQ(KeptObject(stem).find(), "") << damaged;
    }
}

TEST_F(Kept, TypesOfHeadersAreThoseOfTheirContent) {
    const std::string header =
        file("types.h", "#include \"inner.h\"\nstruct outer { struct inner i; };\n");
    file("inner.h", "struct inner { long a; };\n");
    let_files_age();
    const auto first = compile_user_headers({header});
    ASSERT_TRUE(first) << first.failure().message;
    EXPECT_EQ(*compile_user_headers({header}), *first);
    file("inner.h", "struct inner { long b; };\n");
    const auto second = compile_user_headers({header});
    ASSERT_TRUE(second) << second.failure().message;
    EXPECT_NE(*second, *first);
    EXPECT_NE(*read_file(*second), *read_file(*first));
}
