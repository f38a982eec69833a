// SPDX-License-Identifier: GPL-2.0-or-later
// Modules that are linked with a kit which is made up.
#include "made_kit.h"
#include "module/kit_files.h"
#include "module/name.h"

namespace djstap::module {
namespace {

class MadeLink : public test::MadeKit {
  protected:
    MadeLink() {
        std::filesystem::create_directory(own("kit"));
        kit_.directory = own("kit");
        kit_.files = std::make_shared<KitFiles>(kit_.directory);
        kit_.runtime_symbols = kit_.runtime_functions = {"djs_load"};
        kit_.versioned_symbols = {"_printk"};
        const std::string mark(name_placeholder);
        const std::string runtime = ".globl djs_load\n.type djs_load, @function\n"
                                    "djs_load: call _printk\n";
        assemble(own("kit/runtime.o"), runtime + "plain_or_not: nop\n");
        assemble(own("kit/runtime-plain.o"), runtime + "plain: nop\n");
        assemble(own("kit/module.o"),
                 ".section .gnu.linkonce.this_module, \"aw\"\n.asciz \"" + mark +
                     "\"\n.section .modinfo, \"a\"\n.asciz \"name=" + mark + "\"\n");
        EXPECT_TRUE(
            write_file(own("kit/module.lds"), "SECTIONS { /DISCARD/ : { *(.data.own_drop) } }\n"));
        object_ = content(assemble(own("script.o"), std::string(script_text) + "call djs_load\n"));
        taking_ = content(
            assemble(own("taking.o"), std::string(script_text) + ".data\n.quad djs_load\n"));
    }
    // Adds an objtool that changes nothing.
    void add_objtool(const std::string& text = "", const std::string& name = "objtool") {
        kit_.objtool = {script(name, text), "--own-flag"};
    }
    Result<BuiltModule> linked(const std::string& object, bool whole = false,
                               const std::string& output = "") const {
        return link_module(kit_, {"own_name", object, output, {}, whole});
    }
    std::string said() const {
        const auto module = linked(object_);
        return module ? "" : module.failure().message;
    }
    std::string hint() const {
        const auto module = linked(object_);
        return module ? "" : module.failure().hint;
    }

    static constexpr const char* script_text =
        ".section .djstap.meta, \"a\"\n.ascii \"{}\"\n.data\n.globl djs_script\n"
        "djs_script: .quad 0\n.section .data.own_drop, \"aw\"\n.quad 0\n.text\n";
    std::string object_, taking_;
};

TEST_F(MadeLink, AModuleHasTheScriptTheRuntimeAndItsName) {
    const auto module = linked(object_, false, own("own.ko"));
    ASSERT_TRUE(module) << module.failure().message;
    EXPECT_EQ(module->path, own("own.ko"));
    EXPECT_EQ(content(module->path), module->bytes);
    EXPECT_FALSE(module->is_signed);
    const auto read = ElfObject::read(module->bytes, "own.ko");
    ASSERT_TRUE(read);
    for (const char* symbol : {"djs_script", "djs_load", "plain_or_not"})
        EXPECT_TRUE(read->defined_symbol(symbol)) << symbol;
    EXPECT_FALSE(read->section(".data.own_drop")) << "the kernel's script for ld drops it";
    EXPECT_FALSE(read->defined_symbol("plain"));
    const std::string padding(name_placeholder.size() + 1 - 8, '\0');
    EXPECT_EQ(read->section(".modinfo")->bytes, "name=own_name" + padding);
    EXPECT_EQ(read->section(".gnu.linkonce.this_module")->bytes, "own_name" + padding);
    // The runtime comes first.
    EXPECT_EQ(read->defined_symbol("djs_load")->value, 0U);
    // Without a place for it, it is only returned.
    const auto returned = linked(object_);
    ASSERT_TRUE(returned);
    EXPECT_EQ(returned->path, "");
    EXPECT_EQ(returned->bytes, module->bytes);
}

TEST_F(MadeLink, ObjtoolProcessesTheScriptAlone) {
    add_objtool();
    for (const bool delayed : {false, true}) {
        kit_.delayed_objtool = delayed;
        std::filesystem::remove(own("objtool.log"));
        const auto module = linked(object_);
        ASSERT_TRUE(module) << module.failure().message;
        EXPECT_FALSE(module->whole_objtool);
        const std::string log = content(own("objtool.log"));
        EXPECT_TRUE(log.starts_with("--own-flag ") && log.ends_with("/script.o\n")) << log;
        EXPECT_EQ(calls("objtool"), 1U);
        EXPECT_TRUE(ElfObject::read(module->bytes, "x")->defined_symbol("plain_or_not"));
    }
    // Nor does it process more because it is asked to, if the kernel has it process objects.
    kit_.delayed_objtool = false;
    EXPECT_FALSE(linked(object_, true)->whole_objtool);
    EXPECT_FALSE(linked(taking_)->whole_objtool);
}

TEST_F(MadeLink, ObjtoolProcessesTheWholeIfItMust) {
    add_objtool();
    kit_.delayed_objtool = true;
    for (const bool taking : {false, true}) {
        std::filesystem::remove(own("objtool.log"));
        const auto module = linked(taking ? taking_ : object_, !taking);
        ASSERT_TRUE(module) << module.failure().message;
        EXPECT_TRUE(module->whole_objtool);
        const std::string log = content(own("objtool.log"));
        EXPECT_TRUE(log.ends_with("/whole.o\n")) << log;
        EXPECT_EQ(calls("objtool"), 1U);
        const auto read = ElfObject::read(module->bytes, "x");
        EXPECT_TRUE(read->defined_symbol("plain")) << "what objtool has not processed before";
        EXPECT_FALSE(read->defined_symbol("plain_or_not"));
        EXPECT_TRUE(read->defined_symbol("djs_script"));
        EXPECT_TRUE(read->section(".modinfo"));
        EXPECT_FALSE(read->section(".data.own_drop"));
    }
}

// objtool succeeds after warnings of code that leaves a module unsound.
TEST_F(MadeLink, WhateverAToolSaysIsAFailure) {
    add_objtool("echo odd\n");
    EXPECT_EQ(said(), "objtool rejects the script's code:\n  odd");
    std::string lines, shown;
    for (int i = 1; i <= 9; i++) {
        lines += "echo " + std::to_string(i) + "\n";
        shown += i <= 8 ? "\n  " + std::to_string(i) : "";
    }
    add_objtool(lines + "exit 1\n");
    EXPECT_EQ(said(), "objtool rejects the script's code:" + shown);
    add_objtool("exit 3\n");
    EXPECT_EQ(said(), "objtool ended with status 3");
    add_objtool("printf 'a\\n\\nb'\n");
    EXPECT_EQ(said(), "objtool rejects the script's code:\n  a\n  \n  b");
    add_objtool();
    EXPECT_EQ(said(), "");
    kit_.linker = {script("ld", "echo odd\n")};
    EXPECT_EQ(said(), "ld rejects the script's code:\n  odd");
}

TEST_F(MadeLink, MissingToolsAreInTheirPackages) {
    kit_.objtool = {"/none/objtool"};
    EXPECT_EQ(hint(), "apt-get install linux-headers-6.1.0-made");
    kit_.objtool = {"/none/objtool.real-x86"};
    EXPECT_EQ(hint(), "apt-get install linux-headers-6.1.0-made");
    kit_.objtool = {"/none/objtoolish"};
    EXPECT_EQ(hint(), "apt-get install binutils");
    kit_.objtool.clear();
    kit_.linker = {"/none/ld"};
    EXPECT_EQ(said(), "cannot run /none/ld: No such file or directory");
    EXPECT_EQ(hint(), "apt-get install binutils");
}

TEST_F(MadeLink, TheModuleIsChecked) {
    kit_.versioned_symbols.clear();
    EXPECT_EQ(said(), "the module needs '_printk', which has no version in the kernel's table");
    kit_.versioned_symbols = {"_printk"};
    assemble(own("kit/module.o"), ".section .gnu.linkonce.this_module, \"aw\"\n.asciz \"x\"\n"
                                  ".section .modinfo, \"a\"\n.asciz \"name=x\"\n");
    EXPECT_EQ(said(), "the module has no place for its name");
    std::filesystem::remove(own("kit/module.o"));
    EXPECT_TRUE(said().starts_with("ld rejects the script's code:\n  ")) << said();
    kit_.linker = {"true"};
    EXPECT_TRUE(said().ends_with("/module.ko: cannot open: No such file or directory")) << said();
    kit_.linker = {"sh", "-c", "echo x > \"$4\"", "sh"}; // sh -T SCRIPT -o MODULE
    EXPECT_EQ(said(), "the linked module: is not a complete object file: it has no ELF header");
    object_ = "x";
    EXPECT_EQ(said(), "the script's object: is not a complete object file: it has no ELF header");
}

TEST_F(MadeLink, AModuleIsSignedWithItsName) {
    ASSERT_TRUE(write_file(own("key"), "key"));
    kit_.sign_file = script("sign-file", "grep -q own_name \"$4\" || exit 1\n"
                                         "printf '~Module signature appended~\\n' >> \"$4\"\n");
    kit_.signature_hash = "sha256";
    const auto module =
        link_module(kit_, {"own_name", object_, own("own.ko"), {own("key"), own("key")}, false});
    ASSERT_TRUE(module) << module.failure().message;
    EXPECT_TRUE(module->is_signed);
    EXPECT_EQ(module->bytes, linked(object_)->bytes + "~Module signature appended~\n");
    EXPECT_EQ(content(own("own.ko")), module->bytes);
    kit_.sign_file = "/none/sign-file";
    const auto failed =
        link_module(kit_, {"own_name", object_, own("other.ko"), {own("key"), own("key")}, false});
    EXPECT_FALSE(failed);
    EXPECT_FALSE(std::filesystem::exists(own("other.ko")));
}

TEST_F(MadeLink, StepsHaveTheirTimes) {
    add_objtool("sleep 0.02\n");
    const auto module = linked(object_, false, own("own.ko"));
    ASSERT_TRUE(module);
    const ModuleTimes& times = module->times;
    for (const double time : {times.write, times.objtool, times.link, times.check, times.output})
        EXPECT_GT(time, 0);
    EXPECT_GE(times.objtool, 20);
    EXPECT_EQ(times.sign, 0);
    EXPECT_GE(times.total + 0.001,
              times.write + times.objtool + times.link + times.check + times.output);
}

TEST_F(MadeLink, TheSymbolsOfTheRuntimeAreThoseThatAreUndefined) {
    const auto needed = [&](const std::string& text) {
        return needed_symbols(content(assemble(own("x.o"), text)));
    };
    EXPECT_EQ(*needed("call djs_a\ncall djs_b\ncall vfs_read\ncall my_djs_c\ndjs_d: nop\n"
                      ".globl djs_e\ndjs_e: call djs_a\n"),
              (std::set<std::string>{"djs_a", "djs_b"}));
    EXPECT_TRUE(needed("nop\n")->empty());
    EXPECT_EQ(needed_symbols("x").failure().message,
              "the script's object: is not a complete object file: it has no ELF header");
}

TEST_F(MadeLink, SymbolsAndOffsetsAreFoundByTheirWholeNames) {
    RuntimeKit kit;
    kit.runtime_symbols = {"djs_a", "djs_b"};
    kit.kernel_symbols = {"a", "b", "c"};
    kit.offsets = {{"a", 1, ""}, {"c", 3, ""}};
    for (const char* name : {"djs_a", "djs_b"})
        EXPECT_TRUE(kit.has_runtime_symbol(name) && !kit.has_kernel_symbol(name)) << name;
    for (const char* name : {"a", "b", "c"})
        EXPECT_TRUE(kit.has_kernel_symbol(name) && !kit.has_runtime_symbol(name)) << name;
    for (const char* name : {"", "djs_", "djs_aa", "djs_c", "d", "bb"})
        EXPECT_FALSE(kit.has_runtime_symbol(name) || kit.has_kernel_symbol(name)) << name;
    EXPECT_EQ(kit.offset("a")->value, 1);
    EXPECT_EQ(kit.offset("c")->value, 3);
    for (const char* name : {"", "b", "aa", "d"})
        EXPECT_FALSE(kit.offset(name)) << name;
}

TEST_F(MadeLink, TheKeyIsThatOfTheEnvironment) {
    const test::Environment key("DJSTAP_MODULE_KEY", "/own/key"),
        certificate("DJSTAP_MODULE_CERT", "/own/certificate");
    const SigningKey both = signing_key_from_environment();
    EXPECT_EQ(both.key, "/own/key");
    EXPECT_EQ(both.certificate, "/own/certificate");
    key.set(std::nullopt);
    certificate.set(std::nullopt);
    EXPECT_TRUE(signing_key_from_environment().empty());
    EXPECT_EQ(signing_key_from_environment().certificate, "");
}

} // namespace
} // namespace djstap::module
