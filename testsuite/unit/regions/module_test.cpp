// SPDX-License-Identifier: GPL-2.0-or-later
// Kernel modules: relocatable files, whose calls, jumps and tables are only relocations.
#include "program.h"

#include "image/module_file.h"
#include "regions/module_text.h"

#include <algorithm>

using namespace djstap;
using namespace djstap::test;
using regions::Model;

namespace {

// Assembles a module and links it as the analysis wants it; null if that fails.
std::unique_ptr<ElfFile> linked_module_of(const std::string& text) {
    auto folder = TemporaryFolder::create(temporary_directory());
    const std::string source = folder->file("m.s"), object = folder->file("m.ko");
    EXPECT_TRUE(write_file(source, text + "\n.section .gnu.linkonce.this_module, \"aw\"\n"
                                          ".skip 64\n"));
    run_tool({"as", "-o", object, source});
    auto bytes = read_file(object);
    EXPECT_TRUE(bytes);
    auto raw = ElfFile::hold(*bytes, "m.ko");
    EXPECT_TRUE(raw && is_module(**raw));
    auto linked = link_module_code(std::move(*bytes), "m.ko");
    if (!linked) {
        ADD_FAILURE() << linked.failure().message;
        return nullptr;
    }
    return std::move(*ElfFile::hold(std::move(*linked), "m.ko"));
}

// Such a module, analyzed.
class Module {
  public:
    explicit Module(const std::string& text, Model model = Model::Relocate)
        : file_(linked_module_of(text)) {
        if (!file_)
            return;
        auto analysis = regions::Analysis::of(*file_, {model, 1});
        if (!analysis) {
            ADD_FAILURE() << analysis.failure().message;
            return;
        }
        analysis_.emplace(std::move(*analysis));
    }

    const regions::Analysis* operator->() const { return &*analysis_; }
    regions::Place place(const std::string& symbol) const {
        const auto address = analysis_ ? analysis_->address_of(symbol) : std::nullopt;
        const auto place = address ? analysis_->place(*address) : std::nullopt;
        EXPECT_TRUE(place) << "no instruction at " << symbol;
        return place.value_or(regions::Place{});
    }
    std::string reason(const std::string& symbol = "p") const {
        return std::string(regions::reason_tag(place(symbol).reason));
    }

  private:
    std::unique_ptr<ElfFile> file_;
    std::optional<regions::Analysis> analysis_;
};

// A function whose region at p can be replaced, unless something else says otherwise.
const std::string plain = entered_region("");

std::string reason_with(const std::string& more) {
    return Module(plain + more).reason();
}

} // namespace

TEST(ModuleRegions, Nothing) {
    EXPECT_EQ(reason_with(""), "");
    EXPECT_EQ(Module(plain, Model::Kernel).reason(), "");
}

// The jump is a relocation: another section's distance is unknown to the assembler.
TEST(ModuleRegions, ColdPartsJumpBack) {
    const Module module(plain + R"(
    .section .text.unlikely, "ax"
    .type f.cold, @function
f.cold: nop
    jmp .Lt
    .size f.cold, .-f.cold
)");
    EXPECT_EQ(module.reason(), "jump");
    EXPECT_TRUE(module.place("p").by_kernel);
    const auto unsafe = module->unsafe();
    ASSERT_EQ(unsafe.size(), 1U);
    ASSERT_TRUE(unsafe[0].entered_from);
    EXPECT_EQ(module->describe(*unsafe[0].entered_from), "f.cold+0x1");
}

TEST(ModuleRegions, AddressesInData) {
    EXPECT_EQ(reason_with(".data\n.quad .Lt\n"), "address");
    EXPECT_EQ(reason_with(".data\n.quad p\n"), "");
    EXPECT_EQ(reason_with(".text\n.type g, @function\ng: lea .Lt(%rip), %rax\nret\n.size g, .-g\n"),
              "address");
    EXPECT_EQ(reason_with(".section .text.g, \"ax\"\n.type g, @function\n"
                          "g: mov $.Lt, %rax\nret\n.size g, .-g\n"),
              "address");
}

TEST(ModuleRegions, JumpTables) {
    const std::string jumping = entered_region("jmp *table(,%rdi,8)\n");
    EXPECT_EQ(Module(jumping + ".section .rodata\n.balign 8\ntable: .quad .Lt, p\n").reason(),
              "table");
    EXPECT_EQ(Module(jumping + ".section .rodata\n.balign 8\ntable: .quad p, p\n").reason(), "");
    const std::string distances = entered_region("lea table(%rip), %rdx\n"
                                                 "movslq (%rdx,%rdi,4), %rax\n"
                                                 "add %rdx, %rax\njmp *%rax\n");
    EXPECT_EQ(Module(distances + ".section .rodata\n.balign 4\n"
                                 "table: .long p - table, .Lt - table\n")
                  .reason(),
              "table");
    EXPECT_EQ(Module(distances + ".section .rodata\n.balign 4\n"
                                 "table: .long p - table, p - table\n")
                  .reason(),
              "");
}

// A jump to the kernel's thunk is an indirect one.
TEST(ModuleRegions, IndirectJumps) {
    EXPECT_EQ(
        Module(entered_region("test %edi, %edi\nje p\njmp __x86_indirect_thunk_rax\n")).reason(),
        "unknown-targets");
    EXPECT_EQ(Module(entered_region("test %edi, %edi\nje p\njmp memcpy\n")).reason(), "");
}

TEST(ModuleRegions, CallsOfTheKernelsThunksBecomeShorter) {
    const Module module(R"(
    .text
    .globl f, p, q
    .type f, @function
f:  xor %ecx, %ecx
p:  call __x86_indirect_thunk_rax
    mov %rcx, %rdx
q:  call memcpy
    mov %rcx, %rdx
    ret
    .size f, .-f
)");
    EXPECT_EQ(module.reason("p"), "return-inside");
    EXPECT_EQ(module.reason("q"), "");
}

TEST(ModuleRegions, ReturnThunks) {
    const Module module(R"(
    .text
    .globl f, p, q
    .type f, @function
f:  xor %ecx, %ecx
q:  mov 8(%rax,%rcx,8), %edx
    mov %rcx, %rdx
p:  mov %ecx, %edx
    jmp __x86_return_thunk
    .size f, .-f
)",
                        Model::Kernel);
    EXPECT_EQ(module.reason("p"), "not-copied");
    EXPECT_EQ(module.reason("q"), "");
}

TEST(ModuleRegions, Tables) {
    EXPECT_EQ(reason_with(".section __mcount_loc, \"a\"\n.quad .Lt\n"), "ftrace");
    EXPECT_EQ(reason_with(".section __mcount_loc, \"a\"\n.quad f\n"), "");
    const std::string g =
        ".text\n.type g, @function\ng: .Lg: nopl 0(%rax,%rax)\nret\n.size g, .-g\n";
    EXPECT_EQ(reason_with(g + ".section __jump_table, \"aw\"\n.balign 8\n"
                              ".long .Lg - ., .Lt - .\n.quad key - .\n"),
              "jump-label");
    EXPECT_EQ(reason_with(g + ".section __jump_table, \"aw\"\n.balign 8\n"
                              ".long .Lt - ., .Lg - .\n.quad key - .\n"),
              "patched-jump-label");
    EXPECT_EQ(
        reason_with(".section .static_call_sites, \"aw\"\n.balign 8\n.long .Lt - ., key - .\n"),
        "patched-static-call");
    EXPECT_EQ(reason_with(".section __ex_table, \"a\"\n.balign 4\n.long f - ., .Lt - ., 3\n"),
              "fixup");
    EXPECT_EQ(reason_with(".section __ex_table, \"a\"\n.balign 4\n.long .Lt - ., f - ., 3\n"),
              "fault");
    EXPECT_EQ(reason_with(".section .altinstructions, \"a\"\n.long .Lt - ., .Lnew - .\n.long 7\n"
                          ".byte 3, 1\n.section .altinstr_replacement, \"ax\"\n.Lnew: nop\n"),
              "patched-alternative");
    EXPECT_EQ(reason_with(".section .altinstructions, \"a\"\n.long f - ., .Lnew - .\n.long 7\n"
                          ".byte 2, 5\n.section .altinstr_replacement, \"ax\"\n.Lnew: jmp .Lt\n"),
              "jump");
    EXPECT_EQ(reason_with(".section .parainstructions, \"a\"\n.balign 8\n.quad .Lt\n.byte 1, 3\n"
                          ".balign 8\n"),
              "patched-alternative");
    EXPECT_EQ(reason_with(".section _kprobe_blacklist, \"aw\"\n.quad p\n"), "no-probes");
}

TEST(ModuleRegions, CodeThatIsNotProbed) {
    auto in = [](const std::string& section) {
        std::string text = plain;
        text.replace(text.find(".text"), 5, ".section " + section + ", \"ax\"");
        return Module(text).reason();
    };
    EXPECT_EQ(in(".init.text"), "no-probes");
    EXPECT_EQ(in(".noinstr.text"), "no-probes");
    EXPECT_EQ(in(".kprobes.text"), "no-probes");
    EXPECT_EQ(in(".static_call.text"), "patched-static-call");
    EXPECT_EQ(in(".exit.text"), "");
}

// What the loader writes into the region is not compared when a probe is planted.
TEST(ModuleRegions, RelocatedBytes) {
    const Module module(R"(
    .text
    .globl f, p, q
    .type f, @function
f:  xor %ecx, %ecx
p:  mov other(%rip), %rax
q:  mov %rcx, %rdx
    jmp __x86_return_thunk
    .size f, .-f
)",
                        Model::Kernel);
    const regions::ReplacedBytes loaded = module->replaced_bytes(module.place("p"));
    ASSERT_EQ(loaded.bytes.size(), 7U);
    EXPECT_EQ(loaded.bytes.substr(0, 3), "\x48\x8b\x05");
    EXPECT_EQ(loaded.known, std::string("\xff\xff\xff\0\0\0\0", 7));
    // The jump becomes a return.
    const regions::ReplacedBytes returning = module->replaced_bytes(module.place("q"));
    EXPECT_EQ(returning.bytes, "\x48\x89\xca\xc3");
    EXPECT_EQ(returning.known, "\xff\xff\xff\xff");
}

// What is in memory has addresses of the loaded module and of its kernel.
TEST(ModuleRegions, TextFromMemory) {
    const std::string alternatives = R"(
    .section .altinstructions, "a"
    .long p - ., .Lnew - .
    .long 7
    .byte 7, 7
    # Directly before and behind the address in the call, which is restored nevertheless.
    .long p + 7 - ., .Lnew - .
    .long 7
    .byte 1, 1
    .long q - ., .Lnew - .
    .long 7
    .byte 2, 2
    .section .altinstr_replacement, "ax"
.Lnew: .byte 0x90, 0x90, 5, 1, 2, 3, 4
)";
    const auto file = linked_module_of(R"(
    .text
    .globl f, p, q
    .type f, @function
f:  xor %ecx, %ecx
p:  mov other(%rip), %rax
    call memcpy
q:  mov %ecx, %edx
    jmp __x86_return_thunk
    .size f, .-f
)" + alternatives);
    ASSERT_TRUE(file);
    const std::string text(file->section(".text")->bytes);
    ASSERT_EQ(text.size(), 21U);
    std::string loaded = text;
    for (const size_t field : {5, 10, 17})
        loaded.replace(field, 4, "\x12\x34\x56\x78");
    auto merged = [&](size_t at, std::string_view patched) {
        std::string live = loaded;
        const auto result = regions::module_text(*file, live.replace(at, patched.size(), patched));
        EXPECT_TRUE(result) << result.failure().message;
        return result ? *result : std::string();
    };
    EXPECT_EQ(merged(0, ""), text);
    auto expected = [&](size_t at, std::string_view patched) {
        return std::string(text).replace(at, patched.size(), patched);
    };
    for (const auto& [at, patched] :
         {std::pair<size_t, std::string_view>(16, "\xc3\xcc\xcc\xcc\xcc"),
          {9, std::string_view("\x0f\x1f\x44\0\0", 5)},
          {14, "\x31\xd2"},
          // The alternative has the same byte before the address, but others are new.
          {2, "\x90\x90\x05\x01\x02\x03\x04"}})
        EXPECT_EQ(merged(at, patched), expected(at, patched)) << at;

    const std::string live = merged(2, "\x90\x90\x05\x01\x02\x03\x04");
    auto analysis = regions::Analysis::of(*file, {Model::Relocate, 1, live});
    ASSERT_TRUE(analysis);
    EXPECT_EQ(analysis->place(*analysis->address_of("p"))->length, 1U);
    EXPECT_TRUE(analysis->place(*analysis->address_of("p"))->safe());
    analysis = regions::Analysis::of(*file, {Model::Relocate, 1});
    ASSERT_TRUE(analysis);
    EXPECT_EQ(analysis->place(*analysis->address_of("p"))->reason,
              regions::Reason::PatchedAlternative);

    EXPECT_FALSE(regions::module_text(*file, loaded.substr(1)));
    EXPECT_FALSE(regions::module_text(*file, std::string(text.size(), '\0')));
    EXPECT_FALSE(regions::module_text(*linked_module_of(".data\n.quad 0"), loaded));
}

// Addresses may be all that is there, from the first byte to the last.
TEST(ModuleRegions, TextOfAddresses) {
    const auto file = linked_module_of(".text\n.quad other\n.type f, @function\n"
                                       "f: mov $1, %eax\nmov $2, %ecx\nmov $3, %edx\nret\n"
                                       ".size f, .-f\n.quad other\n");
    ASSERT_TRUE(file);
    const std::string text(file->section(".text")->bytes);
    std::string live = text;
    live.replace(0, 8, "\1\2\3\4\5\6\7\x8");
    live.replace(text.size() - 8, 8, "\1\2\3\4\5\6\7\x8");
    const auto merged = regions::module_text(*file, live);
    ASSERT_TRUE(merged);
    EXPECT_EQ(*merged, text);
    // More than the section is read of it.
    EXPECT_EQ(*regions::module_text(*file, live + "more"), text);
    // Half of the other bytes tell that it is the module's.
    for (const auto& [same, known] : {std::pair<size_t, bool>(8, true), {7, false}}) {
        std::string other = live;
        for (size_t at = 8 + same; at < 8 + 16; at++)
            other[at] = static_cast<char>(~other[at]);
        EXPECT_EQ(static_cast<bool>(regions::module_text(*file, other)), known) << same;
    }
}

// Without any, and behind the last one, the bytes still tell whose they are.
TEST(ModuleRegions, TextBehindTheLastAddress) {
    for (const char* before : {"", ".quad other\n"}) {
        const auto file = linked_module_of(".text\n" + std::string(before) +
                                           ".type f, @function\nf: mov $1, %eax\n"
                                           "mov $2, %ecx\nmov $3, %edx\nret\n.size f, .-f\n");
        ASSERT_TRUE(file);
        const std::string text(file->section(".text")->bytes);
        ASSERT_EQ(text.size() % 16, *before ? 8U : 0U);
        for (const auto& [same, known] :
             {std::pair<size_t, bool>(16, true), {8, true}, {7, false}}) {
            std::string other = text;
            for (size_t at = text.size() - 16 + same; at < text.size(); at++)
                other[at] = static_cast<char>(~other[at]);
            const auto merged = regions::module_text(*file, other);
            ASSERT_EQ(static_cast<bool>(merged), known) << before << same;
            if (known) {
                EXPECT_EQ(*merged, other);
            } else {
                EXPECT_EQ(merged.failure().message,
                          "m.ko: the text from memory is not that of this module");
            }
        }
    }
}

// The kernel's thunks and functions have names.
TEST(ModuleRegions, NamesOfTheKernel) {
    const Module module(entered_region("call __fentry__\n"));
    const auto address = module->address_of("f");
    ASSERT_TRUE(address);
    const std::string_view call = module->bytes(*module->place(*address));
    int32_t distance = 0;
    ASSERT_EQ(call.size(), 5U);
    std::memcpy(&distance, call.data() + 1, sizeof distance);
    EXPECT_EQ(module->describe(*address + 5 + static_cast<uint64_t>(int64_t{distance})),
              "__fentry__");
}

// What a module's kernel copies is the kernel's business.
TEST(ModuleRegions, TheRuleIsThatOfTheKernel) {
    const std::string shift = R"(
    .text
    .globl f, p
    .type f, @function
f:  xor %ecx, %ecx
p:  shl $4, %rdi
    mov %rdi, %rax
    ret
    .size f, .-f
    .section .gnu.linkonce.this_module, "aw"
    .skip 64
)";
    auto folder = TemporaryFolder::create(temporary_directory());
    const std::string source = folder->file("m.s"), object = folder->file("m.ko");
    ASSERT_TRUE(write_file(source, shift));
    run_tool({"as", "-o", object, source});
    auto linked = link_module_code(*read_file(object), "m.ko");
    ASSERT_TRUE(linked);
    const auto file = ElfFile::hold(*linked, "m.ko");
    ASSERT_TRUE(file);
    auto safe = [&](bool newer) {
        const auto analysis = regions::Analysis::of(
            **file, {Model::Kernel, 1, {}, regions::KernelRule{false, newer}});
        EXPECT_TRUE(analysis);
        return analysis->place(*analysis->address_of("p"))->safe();
    };
    EXPECT_TRUE(safe(true));
    EXPECT_FALSE(safe(false));
}

TEST(ModuleRegions, OtherObjectsAreNotLinked) {
    auto folder = TemporaryFolder::create(temporary_directory());
    const std::string source = folder->file("o.s"), object = folder->file("o.o");
    ASSERT_TRUE(write_file(source, plain));
    run_tool({"as", "-o", object, source});
    const auto file = ElfFile::open(object);
    ASSERT_TRUE(file);
    EXPECT_FALSE(is_module(**file));
    EXPECT_FALSE(regions::Analysis::of(**file, {Model::Relocate, 1}));
    // A relocation of a kind that no module has.
    ASSERT_TRUE(write_file(source, plain + ".data\n.quad f@GOTOFF\n"));
    run_tool({"as", "-o", object, source});
    EXPECT_FALSE(link_module_code(*read_file(object), "o.o"));
}
