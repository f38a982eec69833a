// SPDX-License-Identifier: GPL-2.0-or-later
// What a script's object and a module may contain, on objects that are assembled for it.
#include "module/verify.h"

#include "common.h"
#include "module/elf.h"
#include "module/handler_names.h"
#include "module/offsets.h"

#include <algorithm>

namespace djstap::module {
namespace {

class Checks : public testing::Test {
  protected:
    Checks() {
        kit_.runtime_symbols = {"djs_load", "djs_table"};
        kit_.runtime_functions = {"djs_load"};
        kit_.kernel_symbols = {"_printk"};
        kit_.versioned_symbols = {"__x86_indirect_thunk_rax", "__x86_return_thunk", "_printk",
                                  "vfs_read"};
    }
    std::string assembled(const std::string& text) {
        const std::string source = folder_.path + "/x.s", object = folder_.path + "/x.o";
        EXPECT_TRUE(write_file(source, text));
        const auto outcome = run_tool({"as", "--64", "-o", object, source});
        EXPECT_TRUE(outcome && outcome->status == 0) << (outcome ? outcome->output : "");
        auto bytes = read_file(object);
        return bytes ? *bytes : "";
    }
    // What is said of an object with this text; "" if nothing.
    std::string of_script(const std::string& text, const std::string& base = script) {
        const std::string bytes = assembled(base + text);
        const auto object = ElfObject::read(bytes, "x.o");
        EXPECT_TRUE(object);
        const auto facts = check_script_object(*object, kit_);
        takes_addresses_ = facts && facts->takes_runtime_addresses;
        return facts ? "" : facts.failure().message;
    }
    std::string of_module(const std::string& text, const std::string& base = whole) {
        const std::string bytes = assembled(base + text);
        const auto object = ElfObject::read(bytes, "x.o");
        EXPECT_TRUE(object);
        const Status status = check_module(*object, kit_);
        return status ? "" : status.failure().message;
    }

    static constexpr const char* script = ".section .djstap.meta, \"a\"\n.ascii \"{}\"\n"
                                          ".data\n.globl djs_script\ndjs_script: .quad 0\n"
                                          ".text\nstart: call djs_load\n";
    static constexpr const char* whole =
        ".section .djstap.meta, \"a\"\n.ascii \"{}\"\n.section .modinfo, \"a\"\n.ascii \"x\"\n"
        ".section .gnu.linkonce.this_module, \"aw\"\n.quad 0\n.text\nstart: nop\n";
    const test::TestFolder folder_;
    RuntimeKit kit_;
    bool takes_addresses_ = false;
};

TEST_F(Checks, AScriptUsesWhatItIsProvidedWith) {
    EXPECT_EQ(of_script(""), "");
    EXPECT_FALSE(takes_addresses_);
    EXPECT_EQ(of_script("call _printk\n"), "");
    EXPECT_EQ(
        of_script("call vfs_read\n"),
        "the script's code refers to 'vfs_read', which the kernel provides to the runtime but "
        "not to scripts");
    EXPECT_EQ(of_script("call elsewhere\n"), "the script's code refers to 'elsewhere', which "
                                             "neither the runtime nor the kernel provides to "
                                             "scripts");
    // The address of a function, and of something else.
    EXPECT_EQ(of_script(".data\n.quad djs_load\n"), "");
    EXPECT_TRUE(takes_addresses_);
    EXPECT_EQ(of_script(".data\n.quad djs_table\n"), "");
    EXPECT_FALSE(takes_addresses_);
}

// The nearest of the names that are provided, whoever provides them.
TEST_F(Checks, ANameThatIsMisspeltGetsTheNearest) {
    const auto hint = [&](const std::string& name) {
        const std::string bytes = assembled(script + ("call " + name + "\n"));
        const auto facts = check_script_object(*ElfObject::read(bytes, "x.o"), kit_);
        return facts ? "provided" : facts.failure().hint;
    };
    EXPECT_EQ(hint("djs_tabel"), "did you mean 'djs_table'?");
    EXPECT_EQ(hint("_prinkt"), "did you mean '_printk'?");
    EXPECT_EQ(hint("vfs_raed"), "") << "scripts may not use vfs_read";
    const std::string bytes = assembled(whole + std::string("call vfs_raed\n"));
    const Status status = check_module(*ElfObject::read(bytes, "x.o"), kit_);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.failure().hint, "did you mean 'vfs_read'?");
}

TEST_F(Checks, AScriptDefinesItsOwnNames) {
    EXPECT_EQ(of_script(".globl djs_table\ndjs_table: nop\n"),
              "the script's object defines 'djs_table', which is the runtime's");
    EXPECT_EQ(of_script(".globl _printk\n_printk: nop\n"),
              "the script's object defines '_printk', which is the kernel's");
    EXPECT_EQ(of_script("_printk: nop\n"), ""); // nobody else sees it
    EXPECT_EQ(of_script(".comm mine, 8\n"), "the script's object has a common symbol 'mine'");
    const std::string meta = ".section .djstap.meta, \"a\"\n.ascii \"{}\"\n.text\n";
    EXPECT_EQ(of_script("", meta), "the script's object does not define 'djs_script'");
    EXPECT_EQ(of_script("djs_script: nop\n", meta),
              "the script's object does not define 'djs_script'");
    const std::string without = ".globl djs_script\ndjs_script: nop\n";
    EXPECT_EQ(of_script(without, ""), "the script's object lacks the section .djstap.meta");
    EXPECT_EQ(of_script(without + ".section .djstap.meta, \"a\"\n", ""),
              "the script's object lacks the section .djstap.meta");
}

TEST_F(Checks, AScriptHasItsOwnSections) {
    for (const char* const name : {".text.own", ".kprobes.text.own", ".rodata.str1.1", ".data.own",
                                   ".djstap.own", "__ex_table", ".debug_own", "_kprobe_blacklist"})
        EXPECT_EQ(of_script(std::string(".section ") + name + ", \"a\"\n.byte 0\n"), "") << name;
    const auto refused = [](const std::string& name) {
        return "the script's object has a section '" + name + "', which is not allowed in scripts";
    };
    for (const char* const name :
         {".init.text", "__ksymtab", "__ex_tables", ".altinstructions", ".static_call.text"})
        EXPECT_EQ(of_script(std::string(".section ") + name + ", \"a\"\n.byte 0\n"), refused(name));
    const std::string constructors = ".section .init_array, \"aw\", @init_array\n.quad 0\n";
    EXPECT_EQ(of_script(constructors), refused(".init_array"));
    kit_.versioned_symbols.insert(kit_.versioned_symbols.begin(), "__asan_register_globals");
    EXPECT_EQ(of_script(constructors), refused(".init_array"));
    // C code brings more, and with a sanitizer constructors.
    kit_.embedded_code = true;
    EXPECT_EQ(of_script(constructors), "");
    for (const char* const name : {".altinstructions", ".static_call.text", "__bug_table",
                                   "__dyndbg", "__dyndbg_classes", ".printk_index", "alloc_tags"})
        EXPECT_EQ(of_script(std::string(".section ") + name + ", \"a\"\n.byte 0\n"), "") << name;
    for (const char* const name : {"__ksymtab", "__trace_printk_fmt"})
        EXPECT_EQ(of_script(std::string(".section ") + name + ", \"a\"\n.byte 0\n"), refused(name));
    kit_.versioned_symbols = {"__tsan_init"};
    EXPECT_EQ(of_script(constructors), "");
    kit_.versioned_symbols = {"_printk"};
    EXPECT_EQ(of_script(constructors), refused(".init_array"));
    EXPECT_EQ(of_script(".section .data.own, \"awx\"\n.byte 0\n"),
              "the section '.data.own' of the script's object is writable and executable");
}

TEST_F(Checks, RelocationsAreThoseThatTheKernelHandles) {
    const std::string code = ".word djs_table - .\n";
    const std::string message =
        "the code cannot be loaded: R_X86_64_PC16 against 'djs_table' in .text";
    EXPECT_EQ(of_script(code), message);
    kit_.versioned_symbols.emplace_back("djs_table");
    std::ranges::sort(kit_.versioned_symbols);
    EXPECT_EQ(of_module(code), message);
    // What is not loaded is not relocated.
    const std::string debug = ".section .debug_own\n.word djs_table - .\n";
    EXPECT_EQ(of_script(debug), "");
    EXPECT_EQ(of_module(debug), "");
}

TEST_F(Checks, AModuleIsComplete) {
    EXPECT_EQ(of_module(""), "");
    EXPECT_EQ(of_module("call vfs_read\n"), "");
    EXPECT_EQ(of_module("call vfs_write\n"),
              "the module needs 'vfs_write', which has no version in the kernel's table");
    EXPECT_EQ(of_module(".section .data.own, \"awx\"\n.byte 0\n"),
              "the module's section '.data.own' is writable and executable");
    EXPECT_EQ(of_module("", ".section .modinfo, \"a\"\n.byte 0\n"),
              "the module lacks the section .djstap.meta");
    EXPECT_EQ(of_module("", ".section .djstap.meta, \"a\"\n.section .modinfo, \"a\"\n"),
              "the module lacks the section .gnu.linkonce.this_module");
}

TEST_F(Checks, UnwindTablesHaveARowForEachAddress) {
    const auto tables = [](size_t rows, size_t addresses) {
        return ".section .orc_unwind, \"a\"\n.skip " + std::to_string(6 * rows) +
               "\n.section .orc_unwind_ip, \"a\"\n.skip " + std::to_string(4 * addresses) + "\n";
    };
    EXPECT_EQ(of_module(tables(2, 3)), "");
    kit_.objtool = {"objtool", "--orc"};
    EXPECT_EQ(of_module(tables(1, 1)), "");
    EXPECT_EQ(of_module(tables(3, 3)), "");
    EXPECT_EQ(of_module(tables(2, 3)),
              "the module's unwind tables do not match: 2 rows for 3 addresses");
    EXPECT_EQ(of_module(""), "the module's unwind tables do not match: 0 rows for 0 addresses");
}

TEST_F(Checks, UsesOfThunksAreListed) {
    struct Kind {
        const char *flag, *thunk, *table;
    };
    for (const Kind& kind : {Kind{"--rethunk", "__x86_return_thunk", ".return_sites"},
                             Kind{"--retpoline", "__x86_indirect_thunk_rax", ".retpoline_sites"}}) {
        const auto with = [&](const std::string& code, const std::string& entry) {
            return of_module(code + kind.thunk + "\n.section " + kind.table + ", \"a\"\n.long " +
                             entry + "\n");
        };
        const std::string message =
            "objtool did not list the use of '" + std::string(kind.thunk) + "' in .text";
        kit_.objtool.clear();
        EXPECT_EQ(of_module(std::string("jmp ") + kind.thunk + "\n"), "");
        kit_.objtool = {kind.flag};
        EXPECT_EQ(of_module(std::string("jmp ") + kind.thunk + "\n"), message);
        EXPECT_EQ(with("site: jmp ", "site - ."), "");
        EXPECT_EQ(with("site: jne ", "site - ."), "");
        EXPECT_EQ(with("site: cs jne ", "site - ."), "");
        EXPECT_EQ(with("site: nop\nnop\njmp ", "start - ."), message); // four bytes before it
        EXPECT_EQ(with("site: nop\nnop\ncs jne ", "start - ."), message);
        EXPECT_EQ(with("jmp ", "start + 2 - ."), message); // behind the operation
        // In a section of its own, at the same offset.
        EXPECT_EQ(with("site: nop\n.section .text.own, \"ax\"\nnop\njmp ", "site - ."),
                  "objtool did not list the use of '" + std::string(kind.thunk) + "' in .text.own");
    }
}

TEST_F(Checks, VersionsAreReadFromTheirTable) {
    const auto names = [&](const std::string& text) -> std::optional<std::vector<std::string>> {
        const std::string bytes = assembled(text);
        const auto versions = read_versions(*ElfObject::read(bytes, "x.o"));
        return versions ? std::optional(*versions) : std::nullopt;
    };
    const std::string table = ".section __versions, \"a\"\n";
    const std::string row = ".quad 1\n.ascii \"vfs_read\"\n.skip 48\n";
    EXPECT_EQ(names(table + row + ".quad 2\n.ascii \"_printk\"\n.skip 49\n"),
              (std::vector<std::string>{"_printk", "vfs_read"}));
    const std::string longest(56, 'x'); // without a NUL
    EXPECT_EQ(names(table + ".quad 2\n.ascii \"" + longest + "\"\n"),
              (std::vector<std::string>{longest}));
    EXPECT_EQ(names(table + row + ".byte 0\n"), std::nullopt);
    EXPECT_EQ(names(".text\nnop\n"), std::nullopt);
}

TEST_F(Checks, OffsetsAreLinesOfTheRuntime) {
    const auto found = [&](const std::string& lines) {
        assembled(".section .djstap.offsets\n.ascii \"" + lines + "\"\n");
        const auto offsets = find_offsets({folder_.path + "/x.o"});
        if (!offsets)
            return "? " + offsets.failure().message;
        std::string text;
        for (const KitOffset& each : *offsets)
            text += each.name + "=" + each.symbol + "+" + std::to_string(each.value) + " ";
        return text;
    };
    EXPECT_EQ(found("b 5\\na:sym -3\\n\\0\\nc 0\\0d 1"), "a=sym+-3 b=+5 c=+0 d=+1 ");
    EXPECT_EQ(found(""), "");
    for (const char* const wrong : {"x", " 5", "x ", "x y", "x 5y", "x: 5", ":y 5", "x  5", "x 5 "})
        EXPECT_EQ(found(wrong),
                  "? the runtime's section .djstap.offsets contains an invalid line: " +
                      std::string(wrong));
    EXPECT_EQ(found("x 1\\ny 2\\nx 1"), "? the runtime defines the offset x twice");
    assembled(".text\nnop\n");
    EXPECT_TRUE(find_offsets({folder_.path + "/x.o"})->empty());
    EXPECT_FALSE(find_offsets({folder_.path + "/none.o"}));
}

TEST_F(Checks, HandlersHaveOneName) {
    const auto names = [&](const std::string& text) {
        std::string bytes = assembled(text);
        name_handlers_as_one(bytes, *ElfObject::read(bytes, "x.o"), {"kept"});
        const auto object = ElfObject::read(bytes, "x.o");
        EXPECT_TRUE(object);
        std::string found;
        const size_t section = object->section_index(handler_section);
        for (const ObjectSymbol& symbol : object->symbols())
            if (!symbol.name.empty())
                found += (symbol.section == section ? "" : "other ") + std::string(symbol.name) +
                         "+" + std::to_string(symbol.value) + " ";
        return found;
    };
    const std::string section = ".section .kprobes.text, \"ax\"\n";
    const std::string whole = ".data\n.quad .kprobes.text\n";
    EXPECT_EQ(names(".text\nf: nop\n" + section + "a: nop\nkept: nop\nb: nop\n" + whole),
              "other f+0 djs_handler_code+0 kept+1 ");
    // Without another name, or without one for the section, nothing changes.
    EXPECT_EQ(names(section + "kept: nop\n" + whole), "kept+0 ");
    EXPECT_EQ(names(".text\na: nop\n"), "other a+0 ");
}

} // namespace
} // namespace djstap::module
