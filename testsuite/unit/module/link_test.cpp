// SPDX-License-Identifier: GPL-2.0-or-later
#include "common.h"
#include "module/elf.h"
#include "module/handler_names.h"
#include "module/name.h"
#include "module/verify.h"

#include <map>
#include <set>

using namespace djstap;
using namespace djstap::module;
using namespace djstap::module::test;
namespace fs = std::filesystem;

namespace {

// One kernel and its kit, and a cache that all tests of a kernel share.
struct BuiltKernel {
    std::unique_ptr<Kernel> kernel;
    RuntimeKit kit;
};

class Linking : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        cache = std::make_unique<CacheFolder>();
        for (const KernelFiles& files : buildable_kernels()) {
            auto target = Kernel::open(files);
            ASSERT_TRUE(target) << target.failure().message;
            auto kit = open_runtime_kit(**target, tiny_runtime());
            ASSERT_TRUE(kit) << kit.failure().message;
            kernels.push_back({std::move(*target), *kit});
        }
    }
    static void TearDownTestSuite() {
        kernels.clear();
        cache.reset();
    }
    void SetUp() override {
        if (kernels.empty())
            GTEST_SKIP() << "no kernel with headers and vmlinux is installed";
    }
    std::string object(const BuiltKernel& kernel, const std::vector<std::string>& defines = {}) {
        return script_object(*kernel.kernel, defines, folder.path);
    }

    static std::unique_ptr<CacheFolder> cache;
    static std::vector<BuiltKernel> kernels;
    TestFolder folder;
};
std::unique_ptr<CacheFolder> Linking::cache;
std::vector<BuiltKernel> Linking::kernels;

// The target of a relocation: a section and an offset, or an undefined symbol.
using Destination = std::pair<std::string, int64_t>;
using Row = std::tuple<uint32_t, Destination, std::string>; // type, target, the bytes next to it

Destination target_of(const ElfObject& object, const ObjectRelocation& relocation) {
    const ObjectSymbol& symbol = object.symbols()[relocation.symbol];
    const ObjectSection* section = object.section_of(symbol);
    if (!section)
        return {std::string(symbol.name), relocation.addend};
    return {std::string(section->name), int64_t(symbol.value) + relocation.addend};
}

// Returns every table of relocated entries, ignoring the order of the entries; unwind rows together
// with their addresses.
std::map<std::string, std::multiset<Row>> tables_of(const ElfObject& object) {
    std::map<std::string, std::multiset<Row>> tables;
    const ObjectSection* orc = object.section(".orc_unwind");
    for (size_t i = 1; i < object.sections().size(); i++) {
        const ObjectSection& section = object.sections()[i];
        if (!section.allocated())
            continue;
        for (const ObjectRelocation& relocation : object.relocations(i)) {
            std::string beside;
            if (section.name == ".orc_unwind_ip" && orc)
                beside = orc->bytes.substr(relocation.offset / 4 * 6, 6);
            tables[std::string(section.name)].insert(
                {relocation.type, target_of(object, relocation), beside});
        }
    }
    return tables;
}

// Returns whether the kernel will overwrite the endbr64 of that function.
bool is_sealed(std::string_view bytes, std::string_view function) {
    auto module = ElfObject::read(bytes, "the module");
    EXPECT_TRUE(module);
    const ObjectSymbol* symbol = module->defined_symbol(function);
    EXPECT_NE(symbol, nullptr);
    const std::map<std::string, std::multiset<Row>> tables = tables_of(*module);
    for (const auto& [type, target, beside] : tables.at(".ibt_endbr_seal")) {
        if (target == Destination(".text", symbol->value))
            return true;
    }
    return false;
}

// The kit has lost the symbols of padding that objtool adds: the kernel would look up each of them.
// Those of handlers have lost their names.
std::multiset<std::string> symbols_of(const ElfObject& object) {
    std::multiset<std::string> symbols;
    for (const ObjectSymbol& symbol : object.symbols()) {
        if (symbol.type == STT_SECTION || symbol.type == STT_FILE ||
            symbol.name.starts_with("__pfx_"))
            continue;
        const ObjectSection* section = object.section_of(symbol);
        if (section && section->name == handler_section && symbol.name.empty())
            continue;
        symbols.insert(std::string(symbol.name) + " " + std::to_string(symbol.type) + " " +
                       std::to_string(symbol.binding) + " " +
                       std::string(section ? section->name : "-") + "+" +
                       std::to_string(symbol.value) + " " + std::to_string(symbol.size));
    }
    return symbols;
}

} // namespace

TEST_F(Linking, AModuleHasItsName) {
    for (const BuiltKernel& kernel : kernels) {
        std::string script = object(kernel);
        const std::string output = folder.path + "/my_probe.ko";
        auto module = link_module(kernel.kit, {"my_probe", script, output, {}, false});
        ASSERT_TRUE(module) << module.failure().message;
        EXPECT_EQ(module->path, output);
        EXPECT_FALSE(module->is_signed);
        EXPECT_FALSE(module->whole_objtool);
        EXPECT_EQ(*read_file(output), module->bytes);
        EXPECT_EQ(module->bytes.find(std::string(name_placeholder) + '\0'), std::string::npos);
        auto info = run_tool({"/sbin/modinfo", output});
        ASSERT_TRUE(info);
        EXPECT_NE(info->output.find("name:           my_probe\n"), std::string::npos)
            << info->output;
        EXPECT_NE(info->output.find("vermagic:       " + kernel.kit.release + " "),
                  std::string::npos)
            << info->output;
        // No other file is left next to it.
        size_t files = 0;
        for (const auto& entry : fs::directory_iterator(folder.path))
            files += entry.path().filename() != "script.o";
        EXPECT_EQ(files, 1u);
        fs::remove(output);
    }
}

// Returns the named symbols of the code in which no kprobe may be placed.
std::multiset<std::string> names_of_handlers(const ElfObject& object) {
    std::multiset<std::string> names;
    for (const ObjectSymbol& symbol : object.symbols()) {
        const ObjectSection* section = object.section_of(symbol);
        if (section && section->name == handler_section && !symbol.name.empty())
            names.emplace(symbol.name);
    }
    return names;
}

TEST_F(Linking, TheRuntimesHandlerCodeHasOneName) {
    for (const BuiltKernel& kernel : kernels) {
        auto module = link_module(kernel.kit, {"my_probe", object(kernel), {}, {}, false});
        ASSERT_TRUE(module) << module.failure().message;
        auto linked = ElfObject::read(module->bytes, "module");
        ASSERT_TRUE(linked);
        auto runtime = read_file(kernel.kit.directory + "/runtime.o");
        ASSERT_TRUE(runtime);
        auto before = ElfObject::read(*runtime, "runtime");
        ASSERT_TRUE(before);
        ASSERT_TRUE(names_of_handlers(*before).contains("djs_apply"));
        EXPECT_EQ(names_of_handlers(*linked),
                  (std::multiset<std::string>{std::string(handler_code_name), "script_part"}));
        // What is elsewhere keeps its name, and the code is where it was.
        EXPECT_TRUE(linked->defined_symbol("djs_script"));
        EXPECT_TRUE(linked->defined_symbol("init_module"));
        const std::string_view code = linked->section(handler_section)->bytes,
                               old = before->section(handler_section)->bytes;
        EXPECT_EQ(code.substr(0, old.size()), old);
    }
}

TEST_F(Linking, NamesOfEveryLengthFit) {
    const BuiltKernel& kernel = kernels.front();
    std::string script = object(kernel);
    for (const std::string& name : {std::string("x"), std::string(55, 'n')}) {
        auto module = link_module(kernel.kit, {name, script, {}, {}, false});
        ASSERT_TRUE(module) << module.failure().message;
        EXPECT_TRUE(module->path.empty());
        auto parsed = ElfObject::read(module->bytes, name);
        ASSERT_TRUE(parsed);
        std::string_view in_struct = parsed->section(".gnu.linkonce.this_module")->bytes;
        EXPECT_NE(in_struct.find(name + std::string(56 - name.size(), '\0')),
                  std::string_view::npos);
    }
    auto refused = link_module(kernel.kit, {"a-b", script, {}, {}, false});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.failure().message, "'a-b' is not a valid module name");
}

// The reason why objtool need not process the runtime again for every script.
TEST_F(Linking, AnnotatingApartEqualsAnnotatingTheWhole) {
    bool compared = false;
    for (const BuiltKernel& kernel : kernels) {
        if (!kernel.kit.delayed_objtool)
            continue;
        std::string script = object(kernel);
        auto apart = link_module(kernel.kit, {"same", script, {}, {}, false});
        auto whole = link_module(kernel.kit, {"same", script, {}, {}, true});
        ASSERT_TRUE(apart) << apart.failure().message;
        ASSERT_TRUE(whole) << whole.failure().message;
        EXPECT_FALSE(apart->whole_objtool);
        EXPECT_TRUE(whole->whole_objtool);
        auto first = ElfObject::read(apart->bytes, "apart");
        auto second = ElfObject::read(whole->bytes, "whole");
        ASSERT_TRUE(first && second);
        auto tables = tables_of(*first), expected = tables_of(*second);
        for (const char* table : {".orc_unwind_ip", ".return_sites", ".retpoline_sites",
                                  ".call_sites", ".ibt_endbr_seal"})
            EXPECT_FALSE(expected[table].empty()) << table;
        for (const auto& [name, rows] : expected)
            EXPECT_EQ(tables[name], rows) << name;
        EXPECT_EQ(tables.size(), expected.size());
        EXPECT_EQ(symbols_of(*first), symbols_of(*second));
        for (const char* section : {".text", ".kprobes.text"})
            EXPECT_EQ(first->section(section)->bytes, second->section(section)->bytes) << section;
        compared = true;
    }
    if (!compared)
        GTEST_SKIP() << "no kernel with IBT is installed";
}

TEST_F(Linking, AddressesOfTheRuntimeNeedTheWhole) {
    for (const BuiltKernel& kernel : kernels) {
        std::string script = object(kernel, {"TAKE_ADDRESS"});
        auto module = link_module(kernel.kit, {"taker", script, {}, {}, false});
        ASSERT_TRUE(module) << module.failure().message;
        EXPECT_EQ(module->whole_objtool, kernel.kit.delayed_objtool);
        if (!kernel.kit.ibt)
            continue;
        // djs_double can now be called through a pointer: its endbr64 must not be sealed, unlike
        // that of a module that does not take its address.
        auto plain = link_module(kernel.kit, {"plain", object(kernel), {}, {}, false});
        ASSERT_TRUE(plain) << plain.failure().message;
        EXPECT_FALSE(is_sealed(module->bytes, "djs_double"));
        EXPECT_TRUE(is_sealed(plain->bytes, "djs_double"));
    }
}

TEST_F(Linking, DataOfTheRuntimeDoesNotNeedTheWhole) {
    for (const BuiltKernel& kernel : kernels) {
        std::string script = object(kernel, {"USE_DATA"});
        auto module = link_module(kernel.kit, {"user", script, {}, {}, false});
        ASSERT_TRUE(module) << module.failure().message;
        EXPECT_FALSE(module->whole_objtool);
    }
}

TEST_F(Linking, UnknownSymbolsAreNamed) {
    for (const BuiltKernel& kernel : kernels) {
        auto unknown =
            link_module(kernel.kit, {"x", object(kernel, {"USE_UNKNOWN"}), {}, {}, false});
        ASSERT_FALSE(unknown);
        EXPECT_EQ(unknown.failure().message,
                  "the script's code refers to 'djs_doubel', which neither the runtime nor the "
                  "kernel provides to scripts");
        EXPECT_NE(unknown.failure().hint.find("'djs_double'"), std::string::npos);
        auto forbidden =
            link_module(kernel.kit, {"x", object(kernel, {"USE_PRINTK"}), {}, {}, false});
        ASSERT_FALSE(forbidden);
        EXPECT_EQ(forbidden.failure().message,
                  "the script's code refers to '_printk', which the kernel provides to the runtime "
                  "but not to scripts");
    }
}

TEST_F(Linking, ObjectsThatAreNoScriptsAreRefused) {
    const BuiltKernel& kernel = kernels.front();
    auto message = [&](const std::vector<std::string>& defines) {
        auto module = link_module(kernel.kit, {"x", object(kernel, defines), {}, {}, false});
        return module ? "" : module.failure().message;
    };
    EXPECT_EQ(message({"NO_SCRIPT"}), "the script's object does not define 'djs_script'");
    EXPECT_EQ(message({"NO_META"}), "the script's object lacks the section .djstap.meta");
    EXPECT_EQ(message({"CLASH"}),
              "the script's object defines 'djs_double', which is the runtime's");
    EXPECT_EQ(message({"CONSTRUCTOR"}), "the script's object has a section '.init_array', which "
                                        "is not allowed in scripts");
    auto garbage = link_module(kernel.kit, {"x", "garbage", {}, {}, false});
    ASSERT_FALSE(garbage);
    EXPECT_EQ(garbage.failure().message,
              "the script's object: is not a complete object file: it has no ELF header");
}

TEST_F(Linking, WhatObjtoolSaysIsAFailure) {
    // A function whose stack cannot be followed: objtool only warns, and succeeds.
    for (const BuiltKernel& kernel : kernels) {
        const std::string source = folder.path + "/odd.s", path = folder.path + "/odd.o";
        ASSERT_TRUE(write_file(source, R"(
        .section .djstap.meta,"a"
        .asciz "{}"
        .section .rodata
        .globl djs_script
djs_script: .quad odd, 0
        .text
        .type odd, @function
odd:    endbr64
        push %rbx
        jmp __x86_return_thunk
        .size odd, . - odd
)"));
        auto assembler = run_tool({"as", "--64", "-o", path, source});
        ASSERT_TRUE(assembler && assembler->status == 0) << assembler->output;
        auto bytes = read_file(path);
        ASSERT_TRUE(bytes);
        auto module = link_module(kernel.kit, {"odd", *bytes, {}, {}, false});
        ASSERT_FALSE(module);
        EXPECT_TRUE(module.failure().message.starts_with("objtool")) << module.failure().message;
        EXPECT_NE(module.failure().message.find("odd"), std::string::npos);
    }
}

TEST_F(Linking, ThunksThatAreNotListedAreFound) {
    for (const BuiltKernel& kernel : kernels) {
        // Without objtool no table exists; the same kit must then refuse the module.
        RuntimeKit kit = kernel.kit;
        kit.objtool = {"true", "--rethunk", "--retpoline"};
        auto module = link_module(kit, {"x", object(kernel), {}, {}, false});
        ASSERT_FALSE(module);
        EXPECT_TRUE(module.failure().message.starts_with("objtool did not list the use of"))
            << module.failure().message;
    }
}

TEST_F(Linking, MissingToolsAreNamed) {
    RuntimeKit kit = kernels.front().kit;
    kit.objtool[0] = "/no/such/objtool";
    auto module = link_module(kit, {"x", object(kernels.front()), {}, {}, false});
    ASSERT_FALSE(module);
    EXPECT_EQ(module.failure().message, "cannot run /no/such/objtool: No such file or directory");
    EXPECT_EQ(module.failure().hint, "apt-get install linux-headers-" + kit.release);
}

// The object in the cache is that of the header as it was.
TEST_F(Linking, EmbeddedCodeIsThatOfItsHeaders) {
    const BuiltKernel& kernel = kernels.front();
    const std::string header = folder.path + "/value.h";
    const auto compiled = [&](const std::string& value) {
        EXPECT_TRUE(write_file(header, "#define VALUE " + value + "\n"));
        auto object = add_embedded_code(kernel.kit, tiny_runtime(),
                                        "#include \"" + header +
                                            "\"\nlong value(void);\n"
                                            "long value(void) { return VALUE; }\n",
                                        this->object(kernel));
        EXPECT_TRUE(object) << object.failure().message;
        return object ? object->object : "";
    };
    const std::string first = compiled("1"), second = compiled("2");
    EXPECT_FALSE(first.empty());
    EXPECT_NE(first, second);
    EXPECT_EQ(compiled("1"), first);
}

TEST_F(Linking, OutputThatCannotBeWrittenLeavesTheOldFile) {
    const BuiltKernel& kernel = kernels.front();
    std::string script = object(kernel);
    auto nowhere = link_module(kernel.kit, {"x", script, "/no/such/folder/x.ko", {}, false});
    ASSERT_FALSE(nowhere);
    EXPECT_NE(nowhere.failure().message.find("/no/such/folder/x.ko"), std::string::npos);
    EXPECT_NE(nowhere.failure().message.find("No such file or directory"), std::string::npos);

    const std::string output = folder.path + "/old.ko";
    ASSERT_TRUE(write_file(output, "old"));
    ASSERT_FALSE(link_module(kernel.kit, {"x", "garbage", output, {}, false}));
    EXPECT_EQ(*read_file(output), "old");
    ASSERT_TRUE(link_module(kernel.kit, {"x", script, output, {}, false}));
    EXPECT_GT(read_file(output)->size(), 1000u);
}

TEST_F(Linking, ModulesAreSignedWhenThereIsAKey) {
    const std::string key = folder.path + "/key.pem", certificate = folder.path + "/cert.der";
    auto made = run_tool({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
                          "/CN=test", "-keyout", key, "-outform", "DER", "-out", certificate});
    if (!made || made->status != 0)
        GTEST_SKIP() << "openssl is not installed";
    for (const BuiltKernel& kernel : kernels) {
        std::string script = object(kernel);
        auto module = link_module(kernel.kit, {"x", script, {}, {key, certificate}, false});
        ASSERT_TRUE(module) << module.failure().message;
        EXPECT_TRUE(module->is_signed);
        EXPECT_TRUE(module->bytes.ends_with("~Module signature appended~\n"));
        auto no_certificate = link_module(kernel.kit, {"x", script, {}, {key, ""}, false});
        ASSERT_FALSE(no_certificate);
        EXPECT_NE(no_certificate.failure().hint.find("DJSTAP_MODULE_CERT"), std::string::npos);
        auto no_key = link_module(kernel.kit, {"x", script, {}, {"/no/key", certificate}, false});
        ASSERT_FALSE(no_key);
        EXPECT_NE(no_key.failure().message.find("/no/key"), std::string::npos);
        auto bad_key =
            link_module(kernel.kit, {"x", script, {}, {certificate, certificate}, false});
        ASSERT_FALSE(bad_key);
        EXPECT_NE(bad_key.failure().message.find("sign-file cannot sign"), std::string::npos);
        // A place in sign-file's source is no reason.
        EXPECT_EQ(bad_key.failure().message.find("main.c"), std::string::npos);
        EXPECT_NE(bad_key.failure().hint.find("the private key comes first"), std::string::npos);
    }
}

TEST_F(Linking, AKeyMayHaveAPassphrase) {
    const std::string key = folder.path + "/locked.pem", certificate = folder.path + "/locked.der";
    auto made =
        run_tool({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-passout", "pass:secret",
                  "-subj", "/CN=test", "-keyout", key, "-outform", "DER", "-out", certificate});
    if (!made || made->status != 0)
        GTEST_SKIP() << "openssl is not installed";
    const BuiltKernel& kernel = kernels.front();
    const std::string script = object(kernel);
    const ModuleRequest request{"x", script, {}, {key, certificate}, false};
    const Environment passphrase("KBUILD_SIGN_PIN", "secret");
    auto module = link_module(kernel.kit, request);
    ASSERT_TRUE(module) << module.failure().message;
    EXPECT_TRUE(module->is_signed);
    passphrase.set("another");
    EXPECT_FALSE(link_module(kernel.kit, request));
}
