// SPDX-License-Identifier: GPL-2.0-or-later
// C code of scripts and types of headers, compiled with a compiler that notes how often it runs.
#include "made_kit.h"

#include <chrono>
#include <thread>

namespace djstap::module {
namespace {

using Names = std::vector<std::string>;

class Embedded : public test::MadeKit {
  protected:
    Embedded() {
        EXPECT_TRUE(write_file(own("Module.symvers"),
                               "0x00000011\tvfs_read\tvmlinux\tEXPORT_SYMBOL\t\n"
                               "0x00000012\tknown\tvmlinux\tEXPORT_SYMBOL\t\n"
                               "0x00000013\tlisted\tvmlinux\tEXPORT_SYMBOL\t\n"));
        kit_.compiler = script("cc", "exec gcc -O1 -fno-pic -fcf-protection=none \"$@\"\n");
        kit_.directory = own("kit");
        kit_.runtime_symbols = {"djs_x"};
        kit_.kernel_symbols = {"known"};
        kit_.versioned_symbols = {"known", "listed"};
        std::filesystem::create_directories(own("sources/embedded"));
        script_ = content(assemble(own("script.o"), ".globl of_script\nof_script: nop\n"));
    }
    Result<EmbeddedObject> add(const std::string& code) const {
        return add_embedded_code(kit_, {own("sources")}, code, script_);
    }
    std::string said(const std::string& code) const {
        const auto object = add(code);
        return object ? "" : object.failure().message;
    }
    // Of the compiler, since the last call.
    size_t runs() {
        const size_t before = runs_;
        runs_ = calls("cc");
        return runs_ - before;
    }
    static void let_files_age() { std::this_thread::sleep_for(std::chrono::milliseconds(40)); }

    // Needs nothing.
    static constexpr const char* plain = "int own(void);\nint own(void) { return 1; }\n";
    std::string script_;
    size_t runs_ = 0;
};

TEST_F(Embedded, TheObjectBringsWhatItNeeds) {
    ASSERT_TRUE(write_file(own("sources/outer.h"), "void vfs_read(void); void known(void);\n"));
    ASSERT_TRUE(write_file(own("sources/embedded/inner.h"), "void djs_x(void); void listed(void);"
                                                            "void of_script(void);\n"));
    const auto object = add("#include <outer.h>\n#include <inner.h>\nextern long __this_module;\n"
                            "long own(void);\nlong own(void)\n{\n\tint unused;\n"
                            "\tvfs_read(); known(); djs_x(); of_script(); listed();\n"
                            "\treturn __this_module;\n}\n");
    ASSERT_TRUE(object) << object.failure().message;
    EXPECT_TRUE(object->kit.embedded_code);
    EXPECT_EQ(object->kit.kernel_symbols, (Names{"__this_module", "known", "listed", "vfs_read"}));
    EXPECT_EQ(object->kit.versioned_symbols, (Names{"known", "listed", "vfs_read"}));
    EXPECT_EQ(object->kit.runtime_symbols, kit_.runtime_symbols);
    const auto read = ElfObject::read(object->object, "joined.o");
    ASSERT_TRUE(read) << read.failure().message;
    EXPECT_TRUE(read->defined_symbol("own"));
    EXPECT_TRUE(read->defined_symbol("of_script"));
    // Only what has no version yet gets one.
    ASSERT_TRUE(read->section("__versions"));
    const std::string_view rows = read->section("__versions")->bytes;
    ASSERT_EQ(rows.size(), 64U);
    EXPECT_EQ(rows.substr(0, 17), std::string_view("\x11\0\0\0\0\0\0\0vfs_read\0", 17));
    for (const ObjectSymbol& symbol : read->symbols())
        EXPECT_FALSE(symbol.name.ends_with(".c")) << symbol.name;
    // The given kit stays as it was.
    EXPECT_FALSE(kit_.embedded_code);
    EXPECT_EQ(kit_.kernel_symbols, Names{"known"});
}

TEST_F(Embedded, WithoutNewSymbolsThereIsNoTable) {
    const auto object = add(plain);
    ASSERT_TRUE(object) << object.failure().message;
    EXPECT_FALSE(ElfObject::read(object->object, "joined.o")->section("__versions"));
    EXPECT_EQ(object->kit.kernel_symbols, (Names{"__this_module", "known"}));
    EXPECT_EQ(object->kit.versioned_symbols, kit_.versioned_symbols);
    EXPECT_EQ(runs(), 1U);
}

TEST_F(Embedded, WhatIsWrongWithItIsTold) {
    EXPECT_TRUE(said("int own(void) { return none; }\n")
                    .starts_with("the script's C code does not compile:\n  "))
        << said("int own(void) { return none; }\n");
    EXPECT_EQ(said("void nowhere(void); void own(void) { nowhere(); }\n"),
              "the script's C code refers to 'nowhere', which the kernel does not export to "
              "modules");
    EXPECT_TRUE(said("int of_script;\n").starts_with("ld failed:\n  "));
    script_ = "nonsense";
    EXPECT_EQ(said(plain), "the script: is not a complete object file: it has no ELF header");
    std::filesystem::remove(own("Module.symvers"));
    script_ = content(own("script.o"));
    EXPECT_EQ(said(plain), own("Module.symvers") + ": cannot open: No such file or directory");
}

// One in the cache is taken if it is that of this code, this kit and this compiler.
TEST_F(Embedded, CodeIsCompiledOnce) {
    const std::string first = add(plain)->object;
    EXPECT_EQ(runs(), 1U);
    EXPECT_EQ(add(plain)->object, first);
    EXPECT_EQ(runs(), 0U);
    EXPECT_NE(add(plain + std::string("int more;\n"))->object, first);
    EXPECT_EQ(runs(), 1U);
    kit_.directory += "2";
    EXPECT_EQ(add(plain)->object, first);
    EXPECT_EQ(runs(), 1U);
    kit_.compiler += " -DX";
    EXPECT_EQ(add(plain)->object, first);
    EXPECT_EQ(runs(), 1U);
}

TEST_F(Embedded, ADamagedOneIsCompiledAnew) {
    const std::string whole = add(plain)->object;
    EXPECT_EQ(runs(), 1U);
    std::string path;
    for (const auto& each : std::filesystem::directory_iterator(cache_.path + "/embedded"))
        if (each.path().extension() == ".o")
            path = each.path();
    const std::string kept = content(path);
    ASSERT_GT(kept.size(), 16U);
    std::string flipped = kept, seal = kept;
    flipped[100] ^= 1;
    seal.back() = seal.back() == '0' ? '1' : '0';
    for (const std::string& damaged :
         {flipped, seal, kept.substr(0, kept.size() - 1), kept.substr(kept.size() - 16),
          kept.substr(0, 15), std::string()}) {
        ASSERT_TRUE(write_file(path, damaged));
        EXPECT_EQ(add(plain)->object, whole) << damaged.size();
        EXPECT_EQ(runs(), 1U) << damaged.size();
        EXPECT_EQ(content(path), kept);
    }
    EXPECT_EQ(add(plain)->object, whole);
    EXPECT_EQ(runs(), 0U);
}

// What the build folder's compiler says of headers in it.
TEST_F(Embedded, TypesOfHeadersAreCompiledInTheBuildFolder) {
    kit_.compiler += " -I.";
    ASSERT_TRUE(write_file(own("own_types.h"), "struct djs_never_used { long member; };\n"));
    let_files_age();
    const auto path = compile_kernel_headers(kit_, {"own_types.h"});
    ASSERT_TRUE(path) << path.failure().message;
    EXPECT_TRUE(path->starts_with(cache_.path + "/headers/"));
    const std::string bytes = content(*path);
    EXPECT_NE(bytes.find("djs_never_used"), std::string::npos);
    const std::set<std::string> sections = sections_in(*path);
    EXPECT_TRUE(sections.contains(".debug_info"));
    EXPECT_TRUE(sections.contains(".note.gnu.build-id"));
    EXPECT_EQ(runs(), 1U);
    EXPECT_EQ(*compile_kernel_headers(kit_, {"own_types.h"}), *path);
    EXPECT_EQ(runs(), 0U);
    // Of another kit, and in another order.
    kit_.directory += "2";
    EXPECT_NE(*compile_kernel_headers(kit_, {"own_types.h"}), *path);
    EXPECT_EQ(runs(), 1U);
    EXPECT_TRUE(compile_kernel_headers(kit_, {"stddef.h", "own_types.h"}));
    EXPECT_EQ(runs(), 1U);
}

TEST_F(Embedded, ErrorsOfHeadersAreWithoutTheScratchFolder) {
    const auto failed = compile_kernel_headers(kit_, {"no_such_header.h"});
    ASSERT_FALSE(failed);
    EXPECT_TRUE(failed.failure().message.starts_with(
        "its headers do not compile:\n  headers.c:1:10: fatal error: no_such_header.h: No such "
        "file or directory"))
        << failed.failure().message;
}

// The compiler has its own search path here: only the shell and the linker are looked up.
TEST_F(Embedded, TypesOfHeadersNeedAShellAndALinker) {
    const std::string path = getenv("PATH");
    kit_.compiler = script("cc", "PATH='" + path + "'\nexport PATH\nexec gcc \"$@\"\n") + " -I.";
    ASSERT_TRUE(write_file(own("own_types.h"), "struct djs_types { long member; };\n"));
    std::filesystem::create_directory(own("tools"));
    const auto said_with = [&](const std::string& folders) {
        const test::Environment searched("PATH", folders);
        const auto types = compile_kernel_headers(kit_, {"own_types.h"});
        return types ? "" : types.failure().message;
    };
    EXPECT_EQ(said_with(own("tools")), "cannot run sh: No such file or directory");
    EXPECT_EQ(runs(), 0U);
    std::filesystem::create_symlink("/bin/sh", own("tools/sh"));
    EXPECT_EQ(said_with(own("tools")), "cannot run ld: No such file or directory");
    EXPECT_EQ(runs(), 1U);
    EXPECT_EQ(said_with(path), "");
}

// Nobody else may have written what is taken from the cache.
TEST_F(Embedded, WhatOthersMayChangeIsNotTaken) {
    kit_.compiler += " -I.";
    ASSERT_TRUE(write_file(own("own_types.h"), "struct djs_types { long member; };\n"));
    let_files_age();
    const std::string path = *compile_kernel_headers(kit_, {"own_types.h"});
    EXPECT_EQ(runs(), 1U);
    std::filesystem::permissions(path, std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);
    EXPECT_EQ(*compile_kernel_headers(kit_, {"own_types.h"}), path);
    EXPECT_EQ(runs(), 1U) << "it was compiled anew";
}

} // namespace
} // namespace djstap::module
