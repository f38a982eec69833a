// SPDX-License-Identifier: GPL-2.0-or-later
// A kit's files, linked from objects that are assembled here.
#include "module/assembly.h"

#include "made_kit.h"
#include "module/direct_build.h"
#include "module/verify.h"

#include <cstring>

namespace djstap::module {
namespace {

using Names = std::vector<std::string>;

class Assembled : public test::MadeKit {
  protected:
    // What a module's own part has besides its versions.
    static constexpr const char* own_part = ".section .gnu.linkonce.this_module, \"aw\"\n.globl "
                                            "__this_module\n__this_module: .quad 0\n";
    void put_runtime(const std::string& text) const {
        assemble(assembly_.file(runtime_object), text);
    }
    void put_module(const std::string& text) const {
        assemble(assembly_.file(module_object), own_part + text);
    }
};

TEST_F(Assembled, ToolsMustSucceedAndBeSilent) {
    const auto said = [&](const std::string& script) {
        return message_of(assembly_.run({"/bin/sh", "-c", script}));
    };
    EXPECT_EQ(said("exit 0"), "");
    const std::string failed = "building the runtime for 6.1.0-made failed in sh:";
    EXPECT_EQ(said("echo odd"), failed + "\n  odd");
    EXPECT_EQ(said("exit 3"), failed);
    EXPECT_EQ(said("echo odd; exit 3"), failed + "\n  odd");
    EXPECT_EQ(message_of(assembly_.run({"/no/such/tool"})),
              "cannot run /no/such/tool: No such file or directory");
}

// A module has one build-id, which is made at the end.
TEST_F(Assembled, PiecesHaveNoBuildId) {
    const std::string object = assemble(own("a.o"), ".text\nnop\n"), linked = own("linked.o");
    kit_.linker.emplace_back("--build-id=sha1");
    Names words = kit_.linker;
    words.insert(words.end(), {"-o", linked, object});
    ASSERT_TRUE(assembly_.run(words));
    EXPECT_TRUE(sections_in(linked).contains(".note.gnu.build-id"));
    ASSERT_TRUE(assembly_.ld({"-o", linked, object}));
    EXPECT_FALSE(sections_in(linked).contains(".note.gnu.build-id"));
    // The other flags stay.
    kit_.linker = {"ld", "-r", "-m", "no_such_machine"};
    EXPECT_NE(message_of(assembly_.ld({"-o", linked, object})), "");
}

TEST_F(Assembled, PiecesLackWhatOnlyTheKitReads) {
    const std::string rest = ".section .debug_own\n.byte 1\n.section .comment\n.asciz \"as\"\n"
                             ".section .djstap.offsets\n.quad one\n";
    const std::string first = assemble(own("a.o"), ".globl one\n.text\none: nop\n" + rest),
                      second = assemble(own("b.o"), ".globl two\n.data\ntwo: .quad one\n");
    ASSERT_TRUE(sections_in(first).contains(".rela.djstap.offsets"));
    ASSERT_TRUE(assembly_.link_pieces({first, second}));
    const std::string pieces = assembly_.file(pieces_object);
    EXPECT_TRUE(defines(pieces, "one"));
    EXPECT_TRUE(defines(pieces, "two"));
    for (const char* name : {".debug_own", ".comment", ".djstap.offsets", ".rela.djstap.offsets"})
        EXPECT_FALSE(sections_in(pieces).contains(name)) << name;
    EXPECT_FALSE(assembly_.link_pieces({own("none.o")}));
}

TEST_F(Assembled, TheRuntimeIsItsPiecesAndStandIns) {
    const std::string pieces = assemble(assembly_.file(pieces_object), ".globl one\none: nop\n"),
                      runtime = assembly_.file(runtime_object);
    ASSERT_TRUE(assembly_.link_runtime(""));
    EXPECT_EQ(content(runtime), content(pieces));
    const std::string stand_ins = assemble(
        own("absent.o"),
        ".globl two\ntwo: nop\n.section .debug_own\n.byte 1\n.section .comment\n.asciz \"as\"\n");
    ASSERT_TRUE(assembly_.link_runtime(stand_ins)) << "it replaces the former one";
    EXPECT_TRUE(defines(runtime, "one"));
    EXPECT_TRUE(defines(runtime, "two"));
    EXPECT_FALSE(sections_in(runtime).contains(".debug_own"));
    EXPECT_FALSE(sections_in(runtime).contains(".comment"));
    EXPECT_FALSE(defines(pieces, "two"));
    EXPECT_FALSE(std::filesystem::exists(assembly_.file(plain_runtime)));
    EXPECT_FALSE(assembly_.link_runtime(own("none.o")));
    std::filesystem::remove(pieces);
    EXPECT_EQ(message_of(assembly_.link_runtime("")),
              runtime + ": cannot write: No such file or directory");
}

// Where objtool processes whole modules, it does so once for the runtime, which is kept without,
// too.
TEST_F(Assembled, ObjtoolProcessesTheRuntimeIfItIsToProcessModules) {
    const std::string pieces = assemble(assembly_.file(pieces_object), ".globl one\none: nop\n"),
                      runtime = assembly_.file(runtime_object),
                      plain = assembly_.file(plain_runtime);
    kit_.objtool = {script("objtool", "exec objcopy --add-symbol __pfx_one=.text:0 --add-symbol "
                                      "mine=.text:0 \"$2\"\n"),
                    "--own"};
    ASSERT_TRUE(assembly_.link_runtime(""));
    EXPECT_EQ(calls("objtool"), 0U);
    EXPECT_FALSE(std::filesystem::exists(plain));
    kit_.delayed_objtool = true;
    ASSERT_TRUE(assembly_.link_runtime(""));
    EXPECT_EQ(content(own("objtool.log")), "--own " + runtime + "\n");
    EXPECT_EQ(content(plain), content(pieces));
    EXPECT_TRUE(defines(runtime, "mine"));
    EXPECT_FALSE(defines(runtime, "__pfx_one")) << "the kernel would look up each of them";
    EXPECT_TRUE(defines(runtime, "one"));
    kit_.objtool = {script("objtool", "echo odd\n")};
    EXPECT_EQ(message_of(assembly_.link_runtime("")),
              "building the runtime for 6.1.0-made failed in objtool:\n  odd");
}

constexpr const char* runtime_with_all =
    ".globl djs_f, djs_data, other, djs_absent\n.type djs_f, @function\n"
    ".type djs_absent, @function\n.type djs_local, @function\n"
    "djs_f: call vfs_read\ncall _printk\ndjs_absent: nop\ndjs_local: nop\nother: nop\n"
    ".data\ndjs_data: .quad djs_script, __this_module, _printk\n";

TEST_F(Assembled, ScriptsMayUseWhatTheRuntimeDefinesForAll) {
    put_runtime(runtime_with_all);
    put_module(versions({"vfs_read", "unused", "_printk"}));
    kit_.runtime_symbols = kit_.runtime_functions = kit_.versioned_symbols = {"of_before"};
    for (const char* call : {"first", "second"}) {
        SCOPED_TRACE(call);
        ASSERT_TRUE(assembly_.read_runtime_symbols({"djs_absent"}, true));
        EXPECT_EQ(kit_.runtime_symbols, (Names{"djs_data", "djs_f"}));
        EXPECT_EQ(kit_.runtime_functions, Names{"djs_f"});
        EXPECT_EQ(kit_.versioned_symbols, (Names{"_printk", "unused", "vfs_read"}));
    }
    ASSERT_TRUE(assembly_.read_runtime_symbols({}, true));
    EXPECT_EQ(kit_.runtime_functions, (Names{"djs_absent", "djs_f"}));
}

TEST_F(Assembled, WhatTheRuntimeNeedsHasAVersion) {
    put_runtime(runtime_with_all);
    put_module(versions({"_printk"}));
    EXPECT_EQ(message_of(assembly_.read_runtime_symbols({}, true)),
              "the runtime needs 'vfs_read', which has no version in the kernel's table");
    put_module("");
    EXPECT_EQ(message_of(assembly_.read_runtime_symbols({}, true)),
              "the runtime was built without a table of symbol versions");
    // A kernel without versions: what modpost has found.
    kit_.versioned_symbols = {"of_the_stub"};
    ASSERT_TRUE(assembly_.read_runtime_symbols({}, false));
    EXPECT_EQ(kit_.versioned_symbols, (Names{"_printk", "of_the_stub", "vfs_read"}));
    ASSERT_TRUE(assembly_.read_runtime_symbols({}, false));
    EXPECT_EQ(kit_.versioned_symbols, (Names{"_printk", "of_the_stub", "vfs_read"}));
    put_module(versions({}));
    kit_.versioned_symbols.clear();
    ASSERT_TRUE(assembly_.read_runtime_symbols({}, true)) << "a table without rows";
    EXPECT_EQ(kit_.versioned_symbols, (Names{"_printk", "vfs_read"}));
}

TEST_F(Assembled, BothObjectsMustBeReadable) {
    put_runtime(runtime_with_all);
    const std::string module = assembly_.file(module_object);
    EXPECT_EQ(message_of(assembly_.read_runtime_symbols({}, false)),
              module + ": cannot open: No such file or directory");
    ASSERT_TRUE(write_file(module, "x"));
    EXPECT_EQ(message_of(assembly_.read_runtime_symbols({}, false)),
              "module.o: is not a complete object file: it has no ELF header");
    put_module("");
    EXPECT_TRUE(assembly_.read_runtime_symbols({}, false));
    ASSERT_TRUE(write_file(assembly_.file(runtime_object), "x"));
    EXPECT_EQ(message_of(assembly_.read_runtime_symbols({}, false)),
              "runtime.o: is not a complete object file: it has no ELF header");
}

TEST_F(Assembled, FilesAreKeptUnderTheNamesOfTheirState) {
    const std::string folder = cache_.path + "/runtime/key";
    kit_.state = 2;
    const Names names{"pieces.o", "runtime.o", "runtime-plain.o", "module.o", "module.lds"};
    for (const std::string& name : names)
        ASSERT_TRUE(write_file(assembly_.file(name), "the content of " + name));
    const auto kept = [&] {
        const auto manifest = read_manifest(content(folder + "/manifest"));
        EXPECT_TRUE(manifest);
        Names found;
        for (const KitFile& file : manifest->files) {
            const std::string bytes = content(folder + "/" + file.name);
            EXPECT_EQ(file.size, bytes.size());
            EXPECT_EQ(file.checksum, hash_bytes(bytes));
            EXPECT_TRUE(bytes.ends_with(file.name.substr(file.name.find('-') + 1))) << bytes;
            found.push_back(file.name);
        }
        EXPECT_EQ(manifest->kit.release, kit_.release);
        return found;
    };
    ASSERT_TRUE(assembly_.keep(folder));
    EXPECT_EQ(kept(), (Names{"2-pieces.o", "2-runtime.o", "2-module.o", "module.lds"}));
    EXPECT_FALSE(std::filesystem::exists(folder + "/2-runtime-plain.o"));
    kit_.delayed_objtool = true;
    ASSERT_TRUE(assembly_.keep(folder));
    EXPECT_EQ(kept(), (Names{"2-pieces.o", "2-runtime.o", "2-runtime-plain.o", "2-module.o",
                             "module.lds"}));
    // The manifest is the last one: without it there is no kit.
    std::filesystem::remove(folder + "/manifest");
    std::filesystem::remove(assembly_.file("module.lds"));
    EXPECT_FALSE(assembly_.keep(folder));
    EXPECT_FALSE(std::filesystem::exists(folder + "/manifest"));
}

// The version table of a module whose runtime Kbuild has not seen.
class Completed : public Assembled {
  protected:
    Completed() {
        kit_.compiler = "gcc -O2";
        EXPECT_TRUE(write_file(own("Module.symvers"),
                               "0x00000011\tvfs_read\tvmlinux\tEXPORT_SYMBOL\t\n"
                               "0x00000012\t_printk\tvmlinux\tEXPORT_SYMBOL\t\n"
                               "0x00000013\tmemset\tvmlinux\tEXPORT_SYMBOL\t\n"
                               "0x00000014\tof_module\tdrivers/x\tEXPORT_SYMBOL\t\n"));
        put_module(versions({"_printk"}));
        stub_ = assemble(own("stub.o"), ".globl djs_script\ndjs_script: call memset\ncall djs_f\n");
    }
    static std::string runtime(const std::string& text, const std::string& info = license) {
        return ".globl init_module, cleanup_module, djs_f\ninit_module: nop\ncleanup_module: nop\n"
               "djs_f: call djs_script\n" +
               text + "\n.section .modinfo, \"a\"\n" + info;
    }
    std::string completed(const std::string& text, bool versioned = true, bool has_stub = true) {
        put_runtime(text);
        return message_of(
            complete_versions(kit_, assembly_, scratch_, has_stub ? stub_ : "", versioned));
    }
    // The rows of the table: checksums and names.
    std::set<std::pair<uint64_t, std::string>> rows() const {
        const std::string bytes = content(assembly_.file(module_object));
        const auto object = ElfObject::read(bytes, "module.o");
        EXPECT_TRUE(object->defined_symbol("__this_module"));
        std::set<std::pair<uint64_t, std::string>> found;
        for (std::string_view rest = object->section("__versions")->bytes; !rest.empty();
             rest.remove_prefix(64)) {
            uint64_t checksum;
            std::memcpy(&checksum, rest.data(), sizeof checksum);
            found.emplace(checksum, rest.data() + sizeof checksum);
        }
        return found;
    }
    using Rows = std::set<std::pair<uint64_t, std::string>>;

    static constexpr const char* license = ".asciz \"license=GPL\"\n";
    std::string stub_;
};

TEST_F(Completed, ARowIsAddedForWhatIsNeededInAddition) {
    EXPECT_EQ(completed(runtime("call vfs_read\ncall _printk\n.quad __this_module\n")), "");
    EXPECT_EQ(rows(), (Rows{{0x11, "vfs_read"}, {1, "_printk"}, {0x13, "memset"}}));
}

TEST_F(Completed, WithoutAStubItNeedsNothing) {
    EXPECT_EQ(completed(runtime("call vfs_read\n"), true, false), "");
    EXPECT_EQ(rows(), (Rows{{0x11, "vfs_read"}, {1, "_printk"}}));
}

TEST_F(Completed, NothingChangesIfNothingIsMissing) {
    const std::string before = content(assembly_.file(module_object));
    EXPECT_EQ(completed(runtime("call _printk\n"), true, false), "");
    EXPECT_EQ(content(assembly_.file(module_object)), before);
    // Nor for a kernel without versions.
    EXPECT_EQ(completed(runtime("call vfs_read\n"), false), "");
    EXPECT_EQ(content(assembly_.file(module_object)), before);
    assemble(assembly_.file(module_object), own_part);
    EXPECT_EQ(completed(runtime("call vfs_read\n"), false), "") << "it has no table";
    EXPECT_NE(completed(runtime("call vfs_read\n"), true), "");
}

TEST_F(Completed, OnlyTheKernelsOwnExportsAreAdded) {
    for (const bool versioned : {true, false}) {
        EXPECT_EQ(completed(runtime("call nowhere\n"), versioned),
                  "nowhere is not simply exported by the kernel");
        EXPECT_EQ(completed(runtime("call of_module\n"), versioned),
                  "of_module is not simply exported by the kernel");
    }
    // What the runtime needs of a script, the stub has.
    stub_ = assemble(own("stub.o"), ".globl other\nother: nop\n");
    EXPECT_EQ(completed(runtime("")), "djs_script is not simply exported by the kernel");
    std::filesystem::remove(own("Module.symvers"));
    EXPECT_EQ(completed(runtime("")),
              own("Module.symvers") + ": cannot open: No such file or directory");
}

TEST_F(Completed, EachObjectMustBeReadable) {
    for (const std::string& file :
         {stub_, assembly_.file(module_object), assembly_.file(runtime_object)}) {
        put_runtime(runtime(""));
        put_module(versions({"_printk"}));
        ASSERT_TRUE(write_file(file, "x"));
        const auto said = [&] {
            return message_of(complete_versions(kit_, assembly_, scratch_, stub_, true));
        };
        EXPECT_EQ(said(), file + ": is not a complete object file: it has no ELF header");
        std::filesystem::remove(file);
        EXPECT_EQ(said(), file + ": cannot open: No such file or directory");
        assemble(stub_, ".globl djs_script\ndjs_script: nop\n");
    }
}

// What modpost would have to see: exports, tables of devices, versions and namespaces of modules
// (scripts/mod/modpost.c).
TEST_F(Completed, ARuntimeThatIsMoreIsLeftToModpost) {
    const std::string more = "the runtime is more than functions and variables";
    const auto section = [](const std::string& name) {
        return ".section " + name + ", \"a\"\n.byte 0\n";
    };
    for (const char* name :
         {"___ksymtab+own", "___ksymtab_gpl+own", "__ksymtab_strings", ".export_symbol"})
        EXPECT_EQ(completed(runtime(section(name))), more) << name;
    EXPECT_EQ(completed(runtime("__mod_pci__own_device_table: nop\n")), more);
    const std::string lines = license;
    EXPECT_EQ(completed(runtime("", "")), more) << "no license";
    EXPECT_EQ(completed(runtime("", ".asciz \"license=MIT\"\n")), more);
    EXPECT_EQ(completed(runtime("", ".asciz \"xlicense=GPL\"\n")), more);
    EXPECT_EQ(completed(runtime("", lines + ".asciz \"version=1\"\n")), more);
    EXPECT_EQ(completed(runtime("", ".asciz \"import_ns=CRYPTO\"\n" + lines)), more);
    EXPECT_EQ(completed(".globl init_module\ninit_module: nop\n.section .modinfo, \"a\"\n" + lines),
              more);
    EXPECT_EQ(
        completed(".globl cleanup_module\ncleanup_module: nop\n.section .modinfo, \"a\"\n" + lines),
        more);
    EXPECT_EQ(completed(".globl init_module, cleanup_module\ninit_module: nop\n"
                        "cleanup_module: nop\n"),
              more)
        << "no .modinfo";
    // What only looks like it.
    for (const char* text : {"__mod_own: nop\n", "own_device_table: nop\n", "ksymtab: nop\n"})
        EXPECT_EQ(completed(runtime(text)), "") << text;
    EXPECT_EQ(completed(runtime("", ".asciz \"author=A\"\n.asciz \"\"\n.asciz \"versions=2\"\n"
                                    ".ascii \"license=GPL\"\n")),
              "");
}

} // namespace
} // namespace djstap::module
