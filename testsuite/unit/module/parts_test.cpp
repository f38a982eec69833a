// SPDX-License-Identifier: GPL-2.0-or-later
// Kits that lack parts of the runtime, and get them when a script needs them.
#include "common.h"
#include "module/kit_build.h"
#include "module/manifest.h"
#include "module/parts.h"

#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace djstap;
using namespace djstap::module;
using namespace djstap::module::test;
namespace fs = std::filesystem;

namespace {

const RuntimeSources whole_runtime{std::string(DJSTAP_SOURCE_DIR) + "/runtime"};

std::string content_of(const std::string& path) {
    auto text = read_file(path);
    return text ? *text : "";
}

// The tiny runtime with parts: `second` needs `first`, and what every kit contains calls
// djs_second_init of it. A part's functions need a symbol of the kernel that nothing else needs.
struct PartedRuntime : TestFolder {
    PartedRuntime() {
        fs::copy(tiny_runtime().directory, path, fs::copy_options::recursive);
        put("Kbuild", content_of(path + "/Kbuild") +
                          "djs-parts := first second third\n"
                          "djs-handler-objects := main.o common.o\n"
                          "djs-cold-objects := offsets.o\n"
                          "djs-portable-objects := helper/helper.o\n"
                          "djs-handler-objects.first := first.o\n"
                          "djs-handler-objects.second := second.o\n"
                          "djs-cold-objects.second := \\\n\tsecond_cold.o\n"
                          "djs-needs.second := first\n"
                          "djs-absent.second := djs_second_init djs_ops_second\n"
                          "djs-portable-objects.third := third.o\n"
                          "$(DJS_NAME)-y += common.o first.o second.o second_cold.o third.o\n");
        put("common.c", "#include <linux/types.h>\nint djs_second_init(void);\n"
                        "extern const void *const djs_ops_second[16];\n"
                        "int djs_common(void);\nint djs_common(void)\n"
                        "{\n\treturn djs_second_init() + (djs_ops_second[0] != NULL);\n}\n");
        put("first.c", "#include <linux/jiffies.h>\n#include <linux/sort.h>\n"
                       "u64 djs_first(u64 x);\nu64 djs_first(u64 x)\n"
                       "{\n\treturn nsecs_to_jiffies(x);\n}\n");
        put("second.c", "#include <linux/types.h>\nu64 djs_first(u64 x);\n"
                        "int djs_second_init(void);\nint djs_second_init(void)\n"
                        "{\n\treturn djs_first(1);\n}\n");
        put("second_cold.c", "#include <linux/types.h>\n"
                             "extern const void *const djs_ops_second[16];\n"
                             "const void *const djs_ops_second[16] = {&djs_ops_second};\n");
        put("third.c", "int djs_third(void);\nint djs_third(void)\n{\n\treturn 3;\n}\n");
    }
    void put(const std::string& file, const std::string& text) {
        EXPECT_TRUE(write_file(path + "/" + file, text));
    }
    RuntimeSources sources() const { return {path}; }
};

NeededSymbols only(std::set<std::string> symbols) {
    return [symbols] { return symbols; };
}

// Opens kits of one kernel, and keeps what is told meanwhile.
struct Opener {
    Result<RuntimeKit> open(const RuntimeSources& sources, const NeededSymbols& needed) {
        told.clear();
        auto kit = open_runtime_kit(
            *kernel, sources, [&](const std::string& step) { told.push_back(step); }, needed);
        EXPECT_TRUE(kit) << kit.failure().message;
        return kit;
    }
    std::unique_ptr<Kernel> kernel;
    std::vector<std::string> told;
};

std::vector<std::unique_ptr<Kernel>> kernels() {
    std::vector<std::unique_ptr<Kernel>> found;
    for (const KernelFiles& files : buildable_kernels())
        if (auto kernel = Kernel::open(files))
            found.push_back(std::move(*kernel));
    return found;
}

// What links scripts agrees.
void expect_equal(const RuntimeKit& one, const RuntimeKit& other) {
    EXPECT_EQ(one.parts, other.parts);
    EXPECT_EQ(one.runtime_symbols, other.runtime_symbols);
    EXPECT_EQ(one.runtime_functions, other.runtime_functions);
    EXPECT_EQ(one.kernel_symbols, other.kernel_symbols);
    EXPECT_EQ(one.versioned_symbols, other.versioned_symbols);
    EXPECT_EQ(one.offsets.size(), other.offsets.size());
}

} // namespace

TEST(Parts, AreReadFromKbuild) {
    PartedRuntime runtime;
    auto sources = read_sources(runtime.sources());
    ASSERT_TRUE(sources);
    const Parts parts(*sources);
    EXPECT_EQ(parts.all(), (PartNames{"first", "second", "third"}));
    EXPECT_EQ(parts.providing({"djs_first"}), PartNames{"first"});
    EXPECT_EQ(parts.providing({"djs_second_init"}), (PartNames{"first", "second"}));
    EXPECT_EQ(parts.providing({"djs_ops_second", "djs_third"}), parts.all());
    // Parts of names, declarations, and what every kit contains.
    EXPECT_TRUE(parts.providing({"djs_thir", "jiffies", "djs_common", "nothing"}).empty());

    EXPECT_EQ(parts.replaced({}), (std::set<std::string>{"djs_ops_second", "djs_second_init"}));
    EXPECT_TRUE(parts.replaced({"first", "second"}).empty());
    const std::string source = stand_ins(parts.replaced({}));
    EXPECT_NE(source.find("const unsigned long djs_ops_second[16] = {0};"), std::string::npos);
    EXPECT_NE(source.find("long djs_second_init(void) { return 0; }"), std::string::npos);

    const std::vector<Unit> common = parts.units({}, true, "");
    ASSERT_EQ(common.size(), 3u);
    EXPECT_EQ(common[0].source.text, "#include \"main.c\"\n#include \"common.c\"\n");
    EXPECT_EQ(common[1].name(), "djs_cold");
    EXPECT_TRUE(common[1].cold);
    const std::vector<Unit> added = parts.units({"first", "second"}, false, "_7");
    ASSERT_EQ(added.size(), 2u);
    EXPECT_EQ(added[0].source.name, "djs_handler_7.c");
    EXPECT_EQ(added[0].source.text, "#include \"first.c\"\n#include \"second.c\"\n");
    EXPECT_EQ(added[1].source.text, "#include \"second_cold.c\"\n");
}

// As in the runtime's style: a definition begins in the first column.
TEST(Parts, HaveWhatTheirSourcesDefine) {
    const std::pair<const char*, bool> texts[] = {
        {"int x;\n", true},
        {"int x = 5;\n", true},
        {"int x[4];\n", true},
        {"const struct ops x = {0};\n", true},
        {"int x(void)\n{\n}\n", true},
        {"int x(int (*f)(void), int a)\n{\n}\n", true},
        {"int y;\nint x(void) {}\n", true},
        {"int x(int);\nint x(int a)\n\t{\n}\n", true},
        {"int xx;\nint x;\n", true},
        {"int x(void);\n", false},
        {"int x(void)", false},
        {"int x(", false},
        {"int f(int (*x)(void))\n{\n}\n", false},
        {"static int x;\n", false},
        {"extern int x;\n", false},
        {"struct x;\n", false},
        {"union x;\n", false},
        {"enum x;\n", false},
        {"int f(void)\n{\n\tint x;\n}\n", false},
        {"\tint x;\n", false},
        {"// int x;\n", false},
        {"int yx;\n", false},
        {"int _x;\n", false},
        {"int x1;\n", false},
        {"int x, y;\n", false}, // one name in each
        {"", false},
    };
    for (const auto& [text, defines] : texts) {
        const std::vector<SourceFile> sources{{"Kbuild",
                                               "djs-parts := one\ndjs-handler-objects.one := a.o\n"
                                               "djs-handler-objects := b.o\n"},
                                              {"a.c", text}};
        EXPECT_EQ(Parts(sources).providing({"x"}), defines ? PartNames{"one"} : PartNames{})
            << text;
    }
}

// Only what is assigned at once and has the prefix, on lines that may go on.
TEST(Parts, AreListsOfTheirOwn) {
    const std::vector<SourceFile> sources{{"Kbuild", "obj-m := all.o\n"
                                                     "djs-parts := one \\\n two\n"
                                                     "djs-parts += three\n"
                                                     "other-parts := four\n"
                                                     "djs-warm-objects := a.o \\\n\tb.o\\\n\tc.o\n"
                                                     "djs-warm-objects.one := d.o\n"
                                                     "djs-cold-objects := e.o\n"
                                                     "djs-cold-objects.two := f.o g.o\n"
                                                     "djs-needs.two := one\n"
                                                     "djs-absent.one := djs_ops_one djs_one\n"}};
    const Parts parts(sources);
    EXPECT_EQ(parts.all(), (PartNames{"one", "two"}));
    const auto text = [](const std::vector<Unit>& units) {
        std::string all;
        for (const Unit& unit : units)
            all += unit.name() + (unit.cold ? " cold: " : ": ") + unit.source.text;
        return all;
    };
    EXPECT_EQ(text(parts.units({}, true, "")),
              "djs_warm: #include \"a.c\"\n#include \"b.c\"\n#include \"c.c\"\n"
              "djs_cold cold: #include \"e.c\"\n");
    EXPECT_EQ(text(parts.units({"two"}, false, "_3")),
              "djs_cold_3 cold: #include \"f.c\"\n#include \"g.c\"\n");
    EXPECT_EQ(text(parts.units({"one"}, true, "")),
              "djs_warm: #include \"a.c\"\n#include \"b.c\"\n#include \"c.c\"\n#include "
              "\"d.c\"\ndjs_cold cold: #include \"e.c\"\n");
    EXPECT_TRUE(parts.units({}, false, "").empty());
    EXPECT_EQ(parts.replaced({"two"}), (std::set<std::string>{"djs_ops_one", "djs_one"}));
    EXPECT_TRUE(Parts(std::vector<SourceFile>{}).all().empty());
}

// The C compiler takes what stands for others, and it does nothing.
TEST(Parts, StandInsAreFunctionsThatReturnZero) {
    TestFolder folder;
    ASSERT_TRUE(write_file(folder.path + "/stand_ins.c", stand_ins({"djs_f", "djs_ops_x"})));
    ASSERT_TRUE(write_file(folder.path + "/main.c",
                           "extern const void *const djs_ops_x[16];\nlong djs_f(void);\n"
                           "int main(void) { long sum = djs_f();\n"
                           "for (int i = 0; i < 16; i++) sum |= (long)djs_ops_x[i];\n"
                           "return sum ? 1 : 0; }\n"));
    const auto compiled =
        run_tool({"cc", "-Wall", "-Werror", "-Wmissing-prototypes", "-o", folder.path + "/program",
                  folder.path + "/main.c", folder.path + "/stand_ins.c"});
    ASSERT_TRUE(compiled && compiled->status == 0) << (compiled ? compiled->output : "");
    EXPECT_EQ(run_tool({folder.path + "/program"})->status, 0);
    EXPECT_EQ(run_tool({"nm", "-S", folder.path + "/program"})->output.find(" U djs"),
              std::string::npos);
    EXPECT_NE(run_tool({"nm", "-S", folder.path + "/program"})
                  ->output.find(" 0000000000000080 R djs_ops_x\n"),
              std::string::npos)
        << "16 pointers";
}

// In the runtime itself, the definitions of symbols are found where they are.
TEST(Parts, DefineTheSymbolsThatReplaceThem) {
    auto sources = read_sources(whole_runtime);
    ASSERT_TRUE(sources);
    const Parts parts(*sources);
    EXPECT_GT(parts.all().size(), 15u);
    for (const std::string& part : parts.all()) {
        PartNames others = parts.all();
        others.erase(part);
        for (const std::string& symbol : parts.replaced(others))
            EXPECT_TRUE(parts.providing({symbol}).contains(part)) << part << ": " << symbol;
        // It has objects, and each of them belongs to it alone.
        for (const Unit& unit : parts.units({part}, false, ""))
            for (const Unit& other : parts.units(others, true, ""))
                for (size_t at = 0; at < unit.source.text.size();) {
                    const size_t end = unit.source.text.find('\n', at) + 1;
                    EXPECT_EQ(other.source.text.find(unit.source.text.substr(at, end - at)),
                              std::string::npos)
                        << unit.source.text.substr(at, end - at);
                    at = end;
                }
        EXPECT_FALSE(parts.units({part}, false, "").empty()) << part;
    }
}

TEST(Kit, GetsThePartsThatScriptsNeed) {
    auto found = kernels();
    if (found.empty())
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    PartedRuntime runtime;
    for (auto& kernel : found) {
        SCOPED_TRACE(kernel->release());
        Opener opener{std::move(kernel), {}};
        CacheFolder cache;
        auto first = opener.open(runtime.sources(), only({"djs_common", "no_such_symbol"}));
        ASSERT_TRUE(first);
        EXPECT_EQ(first->indirect_because, "");
        EXPECT_TRUE(first->built);
        EXPECT_TRUE(first->parts.empty());
        EXPECT_TRUE(first->has_runtime_symbol("djs_common"));
        // Stand-ins are not for scripts.
        for (const char* name : {"djs_first", "djs_second_init", "djs_ops_second", "djs_third"})
            EXPECT_FALSE(first->has_runtime_symbol(name)) << name;
        EXPECT_FALSE(std::binary_search(first->versioned_symbols.begin(),
                                        first->versioned_symbols.end(), "nsecs_to_jiffies"));
        auto again = opener.open(runtime.sources(), only({}));
        ASSERT_TRUE(again);
        EXPECT_FALSE(again->built);
        EXPECT_TRUE(opener.told.empty());

        auto second = opener.open(runtime.sources(), only({"djs_second_init"}));
        ASSERT_TRUE(second);
        EXPECT_EQ(opener.told,
                  (std::vector<std::string>{"adding to the runtime for " + second->release +
                                            " (once): first, second"}));
        EXPECT_TRUE(second->built);
        EXPECT_EQ(second->directory, first->directory);
        EXPECT_EQ(second->parts, (PartNames{"first", "second"}));
        EXPECT_TRUE(second->has_runtime_symbol("djs_ops_second"));
        EXPECT_TRUE(std::binary_search(second->versioned_symbols.begin(),
                                       second->versioned_symbols.end(), "nsecs_to_jiffies"));
        // Who still has the kit of before can link with it, although its files are removed.
        EXPECT_FALSE(fs::exists(first->directory + "/" + file_name(*first, runtime_object)));
        EXPECT_NE(file_name(*first, runtime_object), file_name(*second, runtime_object));
        TestFolder folder;
        const std::string object = script_object(*opener.kernel, {}, folder.path);
        for (const RuntimeKit* kit : {&*first, &*second})
            EXPECT_TRUE(link_module(*kit, {"named", object, "", {}}));

        // Step by step or at once, it becomes the same.
        auto third = opener.open(runtime.sources(), nullptr);
        ASSERT_TRUE(third);
        EXPECT_EQ(opener.told.back(),
                  "adding to the runtime for " + third->release + " (once): third");
        EXPECT_EQ(third->state, 2u);
        CacheFolder other;
        auto whole = opener.open(runtime.sources(), nullptr);
        ASSERT_TRUE(whole);
        EXPECT_EQ(whole->indirect_because, "");
        EXPECT_EQ(whole->state, 0u);
        expect_equal(*third, *whole);
        auto read = load_kit(whole->directory, *opener.kernel);
        ASSERT_TRUE(read);
        expect_equal(*read, *whole);
    }
}

TEST(Kit, PartsAreAddedByOneAfterTheOther) {
    auto found = kernels();
    if (found.empty())
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    PartedRuntime runtime;
    CacheFolder cache;
    TestFolder folder;
    const std::string object = script_object(*found[0], {}, folder.path);
    const char* const needs[] = {"djs_first", "djs_third", "djs_second_init"};
    pid_t children[3];
    int opened[2], go[2];
    ASSERT_EQ(pipe(opened), 0);
    ASSERT_EQ(pipe(go), 0);
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        ASSERT_GE(children[i], 0);
        if (children[i] == 0) {
            close(go[1]);
            auto kit = open_runtime_kit(*found[0], runtime.sources(), nullptr, only({needs[i]}));
            char byte = kit && kit->indirect_because.empty() && kit->has_runtime_symbol(needs[i]);
            // Each links when the others have replaced what it has opened.
            if (write(opened[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 0)
                _exit(2);
            _exit(kit && link_module(*kit, {"named", object, "", {}}) ? 0 : 1);
        }
    }
    close(opened[1]);
    for (pid_t child : children) {
        char byte = 0;
        EXPECT_EQ(read(opened[0], &byte, 1), 1);
        EXPECT_EQ(byte, 1) << child;
    }
    close(go[1]);
    for (pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    auto kit = open_runtime_kit(*found[0], runtime.sources());
    ASSERT_TRUE(kit);
    EXPECT_FALSE(kit->built);
    EXPECT_EQ(kit->parts.size(), 3u);
    // Only the last state's files are left.
    for (const auto& entry : fs::directory_iterator(kit->directory)) {
        const std::string name = entry.path().filename();
        EXPECT_TRUE(name == manifest_name || name == linker_script ||
                    name.starts_with(std::to_string(kit->state) + "-"))
            << name;
    }
    close(opened[0]);
    close(go[0]);
}

TEST(Kit, DamagedPartsAreBuiltAnew) {
    auto found = kernels();
    if (found.empty())
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    PartedRuntime runtime;
    Opener opener{std::move(found[0]), {}};
    CacheFolder cache;
    ASSERT_TRUE(opener.open(runtime.sources(), only({})));
    auto kit = opener.open(runtime.sources(), only({"djs_third"}));
    ASSERT_TRUE(kit);
    const std::string pieces = kit->directory + "/" + file_name(*kit, pieces_object);
    std::string flipped = content_of(pieces);
    ASSERT_FALSE(flipped.empty());
    flipped[flipped.size() / 2] ^= 1;
    ASSERT_TRUE(write_file(pieces, flipped));
    EXPECT_FALSE(load_kit(kit->directory, *opener.kernel));
    auto anew = opener.open(runtime.sources(), only({"djs_first"}));
    ASSERT_TRUE(anew);
    EXPECT_EQ(anew->parts, PartNames{"first"});
    EXPECT_EQ(anew->state, 0u);
}

TEST(Kit, KbuildBuildsAllIfAPartCannotBeAdded) {
    auto found = kernels();
    if (found.empty())
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    PartedRuntime runtime;
    // The stub's name is that of what is compiled with the kit's command.
    runtime.put("third.c",
                "_Static_assert(sizeof(KBUILD_BASENAME) != sizeof(\"stub\"), \"alone\");\n"
                "int djs_third(void);\nint djs_third(void)\n{\n\treturn 3;\n}\n");
    Opener opener{std::move(found[0]), {}};
    CacheFolder cache;
    ASSERT_TRUE(opener.open(runtime.sources(), only({})));
    auto kit = opener.open(runtime.sources(), only({"djs_third"}));
    ASSERT_TRUE(kit);
    EXPECT_TRUE(kit->indirect_because.starts_with("djs_portable_1:\n")) << kit->indirect_because;
    EXPECT_NE(kit->indirect_because.find("static assertion failed: \"alone\""), std::string::npos);
    ASSERT_GE(opener.told.size(), 2u);
    EXPECT_TRUE(opener.told[1].starts_with("building the runtime for " + kit->release +
                                           " (once) by Kbuild alone, which takes longer: "));
    EXPECT_EQ(kit->parts.size(), 3u);
    EXPECT_TRUE(kit->has_runtime_symbol("djs_third"));

    // What nobody can compile is an error of the part, and the kit of before remains.
    CacheFolder other;
    runtime.put("third.c", "int djs_third(void);\nint djs_third(void)\n{\n\treturn x;\n}\n");
    ASSERT_TRUE(opener.open(runtime.sources(), only({})));
    auto failed = open_runtime_kit(*opener.kernel, runtime.sources(), nullptr, only({"djs_third"}));
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.failure().message.find("third.c:4:16: error: 'x' undeclared"),
              std::string::npos)
        << failed.failure().message;
    auto before = opener.open(runtime.sources(), only({"djs_first"}));
    ASSERT_TRUE(before);
    EXPECT_EQ(before->state, 1u);
}

// Each part of the runtime needs no others than Kbuild says: it is linked with these alone.
TEST(Kit, PartsNeedWhatTheyDeclare) {
    auto sources = read_sources(whole_runtime);
    ASSERT_TRUE(sources);
    const Parts parts(*sources);
    auto found = kernels();
    if (found.empty())
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    Opener opener{std::move(found[0]), {}};
    CacheFolder cache;
    auto common = opener.open(whole_runtime, only({}));
    ASSERT_TRUE(common);
    EXPECT_EQ(common->indirect_because, "");
    EXPECT_TRUE(common->parts.empty());
    ASSERT_FALSE(common->has_runtime_symbol("djs_ops_timer"));
    for (const std::string& part : parts.all()) {
        SCOPED_TRACE(part);
        // Any symbol that only this part defines.
        std::string symbol;
        for (const SourceFile& file : *sources)
            for (const Unit& unit : parts.units({part}, false, ""))
                if (unit.source.text.find("\"" + file.name + "\"") != std::string::npos)
                    for (size_t at = 0;
                         symbol.empty() && (at = file.text.find("djs_", at)) != std::string::npos;
                         at += 4) {
                        const size_t end = file.text.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyz0123456789_", at);
                        const std::string name = file.text.substr(at, end - at);
                        const PartNames providers = parts.providing({name});
                        if (providers.contains(part))
                            symbol = name;
                    }
        ASSERT_FALSE(symbol.empty());
        TestFolder alone;
        fs::copy(cache.path, alone.path, fs::copy_options::recursive);
        const Environment used("DJSTAP_CACHE", alone.path);
        auto kit = opener.open(whole_runtime, only({symbol}));
        ASSERT_TRUE(kit);
        EXPECT_EQ(kit->indirect_because, "");
        EXPECT_EQ(kit->parts, parts.providing({symbol}));
        EXPECT_TRUE(kit->parts.contains(part));
        EXPECT_TRUE(kit->has_runtime_symbol(symbol)) << symbol;
    }
}
