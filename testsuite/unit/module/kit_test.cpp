// SPDX-License-Identifier: GPL-2.0-or-later
#include "common.h"
#include "kernel_fixture.h"
#include "module/kit_build.h"
#include "module/kit_files.h"
#include "module/manifest.h"
#include "system/descriptor.h"
#include "system/temporary.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace djstap;
using namespace djstap::module;
using namespace djstap::module::test;
namespace fs = std::filesystem;

namespace {

// A copy of the tiny runtime that tests can break.
struct OwnRuntime : TestFolder {
    OwnRuntime() { fs::copy(tiny_runtime().directory, path, fs::copy_options::recursive); }
    RuntimeSources sources() const { return {path}; }
    void append(const std::string& file, const std::string& text) {
        EXPECT_TRUE(write_file(path + "/" + file, text_of(path + "/" + file) + text));
    }
};

size_t entries_of(const std::string& folder) {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder))
        count += entry.is_directory();
    return count;
}

} // namespace

TEST(Manifest, RoundTripAndDamage) {
    RuntimeKit kit;
    kit.release = "6.1.0-x";
    kit.build_id = "00ff";
    kit.ibt = true;
    kit.linker = {"ld", "-r", "-m", "elf_x86_64"};
    kit.objtool = {"/usr/lib/x y/objtool", "--orc"};
    kit.signature_hash = "sha256";
    kit.versioned_symbols = {"_printk", "memset"};
    kit.offsets = {{"a", -5, ""}, {"b", 7, "some_symbol"}};
    std::string text = write_manifest(kit, {{"runtime.o", 12, 0xabc}});
    auto read = read_manifest(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kit.release, kit.release);
    EXPECT_TRUE(read->kit.ibt);
    EXPECT_EQ(read->kit.linker, kit.linker);
    EXPECT_EQ(read->kit.objtool, kit.objtool);
    EXPECT_EQ(read->kit.versioned_symbols, kit.versioned_symbols);
    EXPECT_EQ(read->kit.offset("a")->value, -5);
    EXPECT_EQ(read->kit.offset("b")->symbol, "some_symbol");
    EXPECT_FALSE(read->kit.offset("c"));
    EXPECT_EQ(read->files[0].checksum, 0xabcu);
    for (size_t size = 0; size < text.size(); size++)
        EXPECT_FALSE(read_manifest(text.substr(0, size))) << size;
    for (size_t at = 0; at < text.size(); at++) {
        std::string broken = text;
        broken[at] ^= 4;
        EXPECT_FALSE(read_manifest(broken)) << at;
    }
}

// Its first line says what it is, its last one that it is whole.
TEST(Manifest, MayHaveNoOtherLines) {
    const std::string whole = write_manifest({}, {}), first = whole.substr(0, whole.find('\n') + 1);
    const auto sealed = [](const std::string& text) {
        return text + "end " + hexadecimal(hash_bytes(text)) + "\n";
    };
    EXPECT_TRUE(read_manifest(sealed(first)));
    EXPECT_TRUE(read_manifest(sealed(first + "release x\n")));
    EXPECT_EQ(read_manifest(sealed(first + "release\n"))->kit.release, "");
    for (const std::string& text :
         {std::string(), first.substr(1), first + "release x", first + "unknown x\n", first + "\n",
          first + "state x\n", first + "offset a\n", first + "offset a x\n", first + "file a\n",
          first + "file a 1\n", first + "file a x 1\n", first + "file a 1 x\n"})
        EXPECT_FALSE(read_manifest(sealed(text))) << text;
    EXPECT_TRUE(read_manifest(sealed(first + "offset a 1\nfile a 1 f\n")));
}

// Each member is there again, and in its own place.
TEST(Manifest, KeepsEverything) {
    RuntimeKit kit;
    kit.release = "release";
    kit.build_id = "id";
    kit.delayed_objtool = true;
    kit.linker = {"linker"};
    kit.objtool = {"objtool"};
    kit.compiler = "gcc -c";
    kit.build_dir = "/build dir";
    kit.sign_file = "/sign-file";
    kit.signature_hash = "sha512";
    kit.runtime_symbols = {"runtime", "symbols"};
    kit.runtime_functions = {"runtime", "functions"};
    kit.kernel_symbols = {"kernel", "symbols"};
    kit.versioned_symbols = {"versioned"};
    kit.parts = {"one", "two"};
    kit.state = 7;
    kit.offsets = {{"offset", 1, "symbol"}};
    const auto read = read_manifest(write_manifest(kit, {{"a", 1, 2}, {"b", 3, 4}}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kit.release, kit.release);
    EXPECT_EQ(read->kit.build_id, kit.build_id);
    EXPECT_FALSE(read->kit.ibt);
    EXPECT_TRUE(read->kit.delayed_objtool);
    EXPECT_EQ(read->kit.linker, kit.linker);
    EXPECT_EQ(read->kit.objtool, kit.objtool);
    EXPECT_EQ(read->kit.compiler, kit.compiler);
    EXPECT_EQ(read->kit.build_dir, kit.build_dir);
    EXPECT_EQ(read->kit.sign_file, kit.sign_file);
    EXPECT_EQ(read->kit.signature_hash, kit.signature_hash);
    EXPECT_EQ(read->kit.runtime_symbols, kit.runtime_symbols);
    EXPECT_EQ(read->kit.runtime_functions, kit.runtime_functions);
    EXPECT_EQ(read->kit.kernel_symbols, kit.kernel_symbols);
    EXPECT_EQ(read->kit.versioned_symbols, kit.versioned_symbols);
    EXPECT_EQ(read->kit.parts, kit.parts);
    EXPECT_EQ(read->kit.state, kit.state);
    ASSERT_EQ(read->kit.offsets.size(), 1U);
    EXPECT_EQ(read->kit.offsets[0].name, "offset");
    EXPECT_EQ(read->kit.offsets[0].value, 1);
    EXPECT_EQ(read->kit.offsets[0].symbol, "symbol");
    ASSERT_EQ(read->files.size(), 2U);
    EXPECT_EQ(read->files[1].name, "b");
    EXPECT_EQ(read->files[1].size, 3U);
    EXPECT_EQ(read->files[1].checksum, 4U);
    // What has changed has other files; only the linker's script stays.
    EXPECT_EQ(file_name(kit, "a"), "7-a");
    EXPECT_EQ(file_name(kit, linker_script), linker_script);
    EXPECT_EQ(file_name({}, "a"), "a");
}

TEST(KitFiles, OnesThatAreNotHeldOpenHaveTheirUsualPaths) {
    KitFiles files("/kit");
    EXPECT_EQ(files.path("runtime.o"), "/kit/runtime.o");
    files.add("runtime.o", FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)));
    EXPECT_TRUE(files.path("runtime.o").starts_with("/proc/"));
    EXPECT_EQ(files.path("module.o"), "/kit/module.o");
}

TEST(Kit, IsBuiltForEveryKernelOnce) {
    auto kernels = buildable_kernels();
    if (kernels.empty())
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    CacheFolder cache;
    for (const KernelFiles& files : kernels) {
        auto kernel = open_kernel(files);
        std::vector<std::string> told;
        auto kit = open_runtime_kit(*kernel, tiny_runtime(),
                                    [&](const std::string& step) { told.push_back(step); });
        ASSERT_TRUE(kit) << kit.failure().message;
        EXPECT_TRUE(kit->built);
        EXPECT_TRUE(kit->combined);
        EXPECT_EQ(kit->indirect_because, "");
        ASSERT_GE(told.size(), 2u);
        EXPECT_EQ(told[0], "building the runtime for " + files.release + " (once)");
        EXPECT_NE(told[1].find("1 of "), std::string::npos);
        EXPECT_EQ(kit->release, files.release);
        EXPECT_EQ(kit->ibt, kernel->has_ibt());
        EXPECT_EQ(kit->delayed_objtool, kernel->has_ibt());
        EXPECT_TRUE(kit->has_runtime_symbol("djs_double"));
        EXPECT_FALSE(kit->has_runtime_symbol("djs_script"));
        EXPECT_TRUE(kit->has_kernel_symbol("memset"));
        EXPECT_FALSE(kit->has_kernel_symbol("_printk"));
        EXPECT_TRUE(std::binary_search(kit->versioned_symbols.begin(), kit->versioned_symbols.end(),
                                       "_printk"));
        ASSERT_TRUE(kit->offset("minus_five"));
        EXPECT_EQ(kit->offset("minus_five")->value, -5);
        ASSERT_TRUE(kit->offset("task_comm"));
        EXPECT_GT(kit->offset("task_comm")->value, 1000);
        EXPECT_EQ(kit->offset("task_comm")->symbol, "");
        ASSERT_TRUE(kit->offset("somewhere"));
        EXPECT_EQ(kit->offset("somewhere")->symbol, "some_symbol");
        EXPECT_EQ(kit->offset("somewhere")->value, 16);

        auto again = open_runtime_kit(*kernel, tiny_runtime());
        ASSERT_TRUE(again);
        EXPECT_FALSE(again->built);
        EXPECT_EQ(again->directory, kit->directory);
        EXPECT_EQ(again->objtool, kit->objtool);
        EXPECT_EQ(again->kernel_symbols, kit->kernel_symbols);
        EXPECT_EQ(again->offset("task_comm")->value, kit->offset("task_comm")->value);
        EXPECT_LT(again->times.open, 20);
    }
    EXPECT_EQ(entries_of(cache.path + "/runtime"), kernels.size());
}

TEST(Kit, TheRuntimeItselfIsBuiltFromFewSources) {
    const auto kernels = buildable_kernels();
    if (kernels.empty())
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    CacheFolder cache;
    for (const KernelFiles& files : kernels) {
        auto kernel = open_kernel(files);
        auto kit = open_runtime_kit(*kernel, {std::string(DJSTAP_SOURCE_DIR) + "/runtime"});
        ASSERT_TRUE(kit) << kit.failure().message;
        EXPECT_TRUE(kit->combined) << "two sources of the runtime cannot be compiled in one";
        EXPECT_EQ(kit->indirect_because, "");
        for (const char* name : {"djs_enter", "djs_leave", "djs_reserve", "djs_commit", "djs_load"})
            EXPECT_TRUE(kit->has_runtime_symbol(name)) << name;
        for (const char* name : {"memcpy", "memset", "__x86_return_thunk"})
            EXPECT_TRUE(kit->has_kernel_symbol(name)) << name;
        ASSERT_TRUE(kit->offset("current_task"));
        EXPECT_TRUE(kit->has_kernel_symbol(kit->offset("current_task")->symbol));
        ASSERT_TRUE(kit->offset("pt_regs.ip"));
        EXPECT_EQ(kit->offset("pt_regs.ip")->value, 128);
    }
}

TEST(Kit, IsNotBuiltWithoutItsLock) {
    ANY_KERNEL(kernel);
    CacheFolder cache;
    auto kit = open_runtime_kit(*kernel, tiny_runtime());
    ASSERT_TRUE(kit) << kit.failure().message;
    const fs::path folder = kit->directory;
    const fs::path lock = folder.parent_path() / ("." + folder.filename().string() + ".lock");
    ASSERT_TRUE(fs::is_regular_file(lock));
    fs::remove_all(folder);
    // Neither a folder nor another user's link is mistaken for it, and nobody waits.
    const auto refusal = [&] {
        std::vector<std::string> told;
        auto without = open_runtime_kit(*kernel, tiny_runtime(),
                                        [&](const std::string& step) { told.push_back(step); });
        EXPECT_TRUE(told.empty()) << told.front();
        return without ? "" : without.failure().message;
    };
    fs::remove(lock);
    fs::create_directory(lock);
    EXPECT_EQ(refusal(), lock.string() + ": cannot create: Is a directory");
    fs::remove(lock);
    fs::create_symlink(cache.path + "/elsewhere", lock);
    EXPECT_EQ(refusal(), lock.string() + ": cannot create: Too many levels of symbolic links");
    EXPECT_FALSE(fs::exists(cache.path + "/elsewhere"));
    EXPECT_FALSE(fs::exists(folder));
}

TEST(Kit, DamagedAndOutdatedOnesAreBuiltAnew) {
    ANY_KERNEL(kernel);
    CacheFolder cache;
    auto kit = open_runtime_kit(*kernel, tiny_runtime());
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_TRUE(load_kit(kit->directory, *kernel));
    const std::string manifest = kit->directory + "/manifest";
    const std::string runtime = kit->directory + "/runtime.o";
    const std::string whole = text_of(runtime), listed = text_of(manifest);
    ASSERT_TRUE(write_file(manifest, "nonsense"));
    EXPECT_FALSE(load_kit(kit->directory, *kernel));
    ASSERT_TRUE(write_file(manifest, listed));
    fs::remove(runtime);
    EXPECT_FALSE(load_kit(kit->directory, *kernel));
    std::string flipped = whole;
    flipped[whole.size() / 2] ^= 1;
    ASSERT_TRUE(write_file(runtime, flipped));
    EXPECT_FALSE(load_kit(kit->directory, *kernel));
    ASSERT_TRUE(write_file(runtime, whole));
    EXPECT_TRUE(load_kit(kit->directory, *kernel));
    fs::resize_file(runtime, whole.size() / 2);

    auto anew = open_runtime_kit(*kernel, tiny_runtime());
    ASSERT_TRUE(anew) << anew.failure().message;
    EXPECT_TRUE(anew->built);
    EXPECT_EQ(anew->directory, kit->directory);
    EXPECT_EQ(text_of(runtime).size(), whole.size());
    EXPECT_EQ(entries_of(cache.path + "/runtime"), 1u);

    // Sources that differ only in a comment are different.
    OwnRuntime runtime_sources;
    runtime_sources.append("tiny.h", "/* changed */\n");
    auto second = open_runtime_kit(*kernel, runtime_sources.sources());
    ASSERT_TRUE(second) << second.failure().message;
    EXPECT_TRUE(second->built);
    EXPECT_NE(kit->directory, second->directory);

    // Of those that others replace, the last one stays. Who has opened one can link with it.
    runtime_sources.append("tiny.h", "/* changed again */\n");
    auto third = open_runtime_kit(*kernel, runtime_sources.sources());
    ASSERT_TRUE(third) << third.failure().message;
    EXPECT_FALSE(fs::exists(kit->directory));
    EXPECT_TRUE(load_kit(second->directory, *kernel));
    EXPECT_TRUE(load_kit(third->directory, *kernel));
    TestFolder folder;
    const std::string object = script_object(*kernel, {}, folder.path);
    for (const RuntimeKit* each : {&*anew, &*second, &*third}) {
        auto module = link_module(*each, {"named", object, "", {}});
        EXPECT_TRUE(module) << module.failure().message;
    }

    fs::permissions(third->directory, fs::perms::all);
    auto refused = open_runtime_kit(*kernel, runtime_sources.sources());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.failure().message.find("is writable by others"), std::string::npos);
}

TEST(Kit, FoldersThatAreGoneAreNotReferredTo) {
    const auto kernels = buildable_kernels();
    if (kernels.empty() || kernels[0].root.empty())
        GTEST_SKIP() << "no kernel in a folder of its own";
    CacheFolder cache;
    TestFolder other;
    const std::string copy = other.path + "/kernel";
    // A link is copied as a link to the link: what is removed below must belong to the copy.
    auto made =
        run_tool({"sh", "-ec",
                  "cp -as \"$1\" \"$2\"; cd \"$2\"; rm -rf usr/src usr/lib/linux-kbuild* "
                  "lib/modules/*/build; cp -a \"$1/usr/src\" usr/; cp -a "
                  "\"$1\"/usr/lib/linux-kbuild* usr/lib/; for release in lib/modules/*; do cp -a "
                  "\"$1/$release/build\" \"$release/\"; done",
                  "sh", kernels[0].root, copy});
    ASSERT_TRUE(made && made->status == 0);
    auto files = find_kernel(copy);
    ASSERT_TRUE(files) << files.failure().message;
    auto copied = open_runtime_kit(*open_kernel(*files), tiny_runtime());
    ASSERT_TRUE(copied) << copied.failure().message;
    EXPECT_TRUE(copied->build_dir.starts_with(other.path));

    // A missing tool is reported, although everything that was built with it exists.
    const fs::path tool = fs::path(copied->build_dir) / "tools/objtool/objtool";
    ASSERT_TRUE(fs::canonical(tool).string().starts_with(other.path)) << fs::canonical(tool);
    // including those that a wrapper leads to
    // including those that a wrapper leads to
    for (const auto& each : fs::directory_iterator(tool.parent_path()))
        fs::remove(each);
    auto broken = open_runtime_kit(*open_kernel(*files), tiny_runtime());
    ASSERT_FALSE(broken);
    EXPECT_NE(broken.failure().message.find("missing " + copied->build_dir + "/tools/objtool"),
              std::string::npos)
        << broken.failure().message;

    fs::remove_all(copy);
    auto kit = open_runtime_kit(*open_kernel(kernels[0]), tiny_runtime());
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_EQ(kit->build_dir, kernels[0].build_dir);
    for (const std::string& word : kit->objtool)
        EXPECT_EQ(word.find(other.path), std::string::npos) << word;
}

TEST(Kit, SourcesThatCannotBeCombinedAreCompiledOneByOne) {
    ANY_KERNEL(kernel);
    CacheFolder cache;
    OwnRuntime runtime;
    // More sources than parts: two with the same name meet in one.
    for (int i = 0; i < 5; i++) {
        const std::string name = "extra" + std::to_string(i);
        runtime.append(name + ".c",
                       "#include <linux/types.h>\n"
                       "static __attribute__((unused)) int same_name(void) { return 1; }\n");
        runtime.append("Kbuild", "$(DJS_NAME)-y += " + name + ".o\n");
    }
    auto kit = open_runtime_kit(*kernel, runtime.sources());
    ASSERT_TRUE(kit) << kit.failure().message;
    EXPECT_FALSE(kit->combined);
    EXPECT_TRUE(kit->has_runtime_symbol("djs_double"));
}

// It takes a minute: with scripts/test --nightly.
TEST(Kit, DISABLED_TheSourcesOfTheRuntimeCanBeCompiledOneByOne) {
    CacheFolder cache;
    TestFolder runtime;
    fs::copy(std::string(DJSTAP_SOURCE_DIR) + "/runtime", runtime.path,
             fs::copy_options::recursive);
    // More sources than parts: two with the same name meet in one.
    std::string names;
    for (int i = 0; i < 5; i++) {
        const std::string name = "extra" + std::to_string(i);
        ASSERT_TRUE(
            write_file(runtime.path + "/" + name + ".c",
                       "#include <linux/types.h>\n"
                       "static __attribute__((unused)) int same_name(void) { return 1; }\n"));
        names += "$(DJS_NAME)-y += " + name + ".o\n";
    }
    const std::string kbuild = runtime.path + "/Kbuild";
    ASSERT_TRUE(write_file(kbuild, text_of(kbuild) + names));
    const auto kernels = buildable_kernels();
    if (kernels.empty())
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    for (const KernelFiles& files : kernels) {
        auto kernel = open_kernel(files);
        auto kit = open_runtime_kit(*kernel, {runtime.path});
        ASSERT_TRUE(kit) << kit.failure().message;
        EXPECT_FALSE(kit->combined);
    }
}

TEST(Kit, CompilerErrorsAreShownShort) {
    ANY_KERNEL(kernel);
    CacheFolder cache;
    OwnRuntime runtime;
    runtime.append("helper/helper.c", "int broken(void) { return no_such_thing; }\n");
    auto kit = open_runtime_kit(*kernel, runtime.sources());
    ASSERT_FALSE(kit);
    const std::string& message = kit.failure().message;
    EXPECT_NE(message.find("building the runtime for " + kernel->release() + " failed:"),
              std::string::npos);
    EXPECT_NE(message.find("\n  helper/helper.c:"), std::string::npos) << message;
    EXPECT_NE(message.find("'no_such_thing' undeclared"), std::string::npos) << message;
    EXPECT_LT(message.size(), 600u) << message;
    EXPECT_EQ(entries_of(cache.path + "/runtime"), 0u);
}

TEST(Kit, NameWithinTextIsFoundWhenTheKitIsBuilt) {
    ANY_KERNEL(kernel);
    CacheFolder cache;
    OwnRuntime runtime;
    runtime.append("main.c", "const char *tiny_text(void);\nconst char *tiny_text(void)\n"
                             "{\n\treturn KBUILD_MODNAME \" says\";\n}\n");
    auto kit = open_runtime_kit(*kernel, runtime.sources());
    ASSERT_FALSE(kit);
    EXPECT_NE(kit.failure().message.find("uses the module name inside a longer string"),
              std::string::npos);
}

TEST(Kit, SymbolsThatTheKernelLacksAreNamed) {
    ANY_KERNEL(kernel);
    CacheFolder cache;
    OwnRuntime runtime;
    runtime.append("main.c", "extern int not_exported_at_all(void);\nint tiny_more(void);\n"
                             "int tiny_more(void)\n{\n\treturn not_exported_at_all();\n}\n");
    auto kit = open_runtime_kit(*kernel, runtime.sources());
    ASSERT_FALSE(kit);
    EXPECT_NE(kit.failure().message.find("not_exported_at_all"), std::string::npos)
        << kit.failure().message;
}

TEST(Kit, TwoAtOnceBuildOne) {
    ANY_KERNEL(kernel);
    CacheFolder cache;
    int built = 0;
    pid_t children[3];
    for (pid_t& child : children) {
        child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            auto kit = open_runtime_kit(*kernel, tiny_runtime());
            _exit(kit ? (kit->built ? 1 : 0) : 2);
        }
    }
    for (pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status));
        EXPECT_LT(WEXITSTATUS(status), 2);
        built += WEXITSTATUS(status) == 1;
    }
    EXPECT_EQ(built, 1);
    EXPECT_EQ(entries_of(cache.path + "/runtime"), 1u);
}

// Whoever waits says so. What a djstap that was killed has left in memory is removed first.
TEST(Kit, WaitsForAnotherDjstap) {
    ANY_KERNEL(kernel);
    CacheFolder cache;
    std::vector<std::string> told;
    auto first = open_runtime_kit(*kernel, tiny_runtime(),
                                  [&](const std::string& step) { told.push_back(step); });
    ASSERT_TRUE(first) << first.failure().message;
    EXPECT_TRUE(std::none_of(told.begin(), told.end(),
                             [](const std::string& step) { return step.starts_with("waiting"); }));
    told.clear();
    const fs::path folder = first->directory;
    fs::remove_all(folder);
    const fs::path path = folder.parent_path() / ("." + folder.filename().string() + ".lock");
    FileDescriptor lock(open(path.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    const pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
    const fs::path left =
        fs::path(temporary_directory()) / ("djstap-" + std::to_string(gone) + "-Abcdef");
    fs::create_directory(left);
    const auto kit = open_runtime_kit(*kernel, tiny_runtime(), [&](const std::string& step) {
        told.push_back(step);
        lock = FileDescriptor(); // the other one has finished
    });
    ASSERT_TRUE(kit) << kit.failure().message;
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.front(),
              "waiting for another djstap to build the runtime for " + kernel->release());
    EXPECT_TRUE(kit->built);
    EXPECT_FALSE(fs::exists(left));
    fs::remove_all(left);
}

TEST(Kit, CacheThatCannotBeWrittenIsNamed) {
    ANY_KERNEL(kernel);
    TestFolder folder;
    ASSERT_TRUE(write_file(folder.path + "/file", "x"));
    const Environment cache("DJSTAP_CACHE", folder.path + "/file");
    auto kit = open_runtime_kit(*kernel, tiny_runtime());
    ASSERT_FALSE(kit);
    EXPECT_NE(kit.failure().message.find(folder.path + "/file/runtime: cannot create"),
              std::string::npos);
    EXPECT_NE(kit.failure().hint.find("DJSTAP_CACHE"), std::string::npos);
}
