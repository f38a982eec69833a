// SPDX-License-Identifier: GPL-2.0-or-later
// What the decoder says of instructions, and what objdump does.
#include "arch/arch.h"
#include "arch/instructions.h"
#include "machine_code.h"

#include <set>

namespace djstap::arch {
namespace {

using test::bytes;

constexpr uint64_t address = 0x7fff81000000;

// The operation of a line of objdump's, without the prefixes that it prints as words.
std::string_view operation_of(std::string_view text) {
    static const std::set<std::string_view> prefixes{
        "bnd", "notrack", "lock", "rep", "repz", "repnz", "cs", "ds", "data16", "addr32", "rex.W"};
    for (;;) {
        const std::string_view word = text.substr(0, text.find(' '));
        if (!prefixes.contains(word) || word.size() == text.size())
            return word;
        text.remove_prefix(word.size());
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
}

// By the names that the manuals give to operations.
Flow flow_of(std::string_view text) {
    const std::string_view operation = operation_of(text);
    const bool is_indirect = text.find('*') != std::string_view::npos;
    if (operation.starts_with("jmp") || operation.starts_with("ljmp"))
        return is_indirect ? Flow::IndirectJump : Flow::Jump;
    if (operation.starts_with("call") || operation.starts_with("lcall"))
        return is_indirect ? Flow::IndirectCall : Flow::Call;
    if (operation.starts_with("j") || operation.starts_with("loop"))
        return Flow::Branch;
    for (const char* const back : {"ret", "lret", "iret", "sysret", "sysexit"})
        if (operation.starts_with(back))
            return Flow::Return;
    if (operation == "int" || operation == "int1" || operation == "int3" ||
        operation.starts_with("ud"))
        return Flow::Trap;
    return Flow::Next;
}

Fixed fixed_of(std::string_view text) {
    const std::string_view operation = operation_of(text);
    if (flow_of(text) == Flow::Trap)
        return Fixed::Trap;
    if (operation.starts_with("loop") || operation == "jrcxz" || operation == "xbegin")
        return Fixed::Relative;
    for (const char* const beside : {"hlt", "lret", "iret", "sysret", "sysexit", "ljmp", "lcall"})
        if (operation.starts_with(beside))
            return Fixed::Adjacent;
    if (operation == "monitor" || operation == "mwait")
        return Fixed::Adjacent;
    if (operation.starts_with("mov") && text.ends_with(",%ss"))
        return Fixed::Adjacent;
    return Fixed::No;
}

class Decoder : public testing::Test {
  protected:
    Instruction decode(const std::string& code) { return decoder_->decode(code, address); }

    // Calls `check` for each instruction that LLVM and objdump know, with what both say of it.
    template <class Check>
    void for_each(const std::vector<std::string>& instructions, const Check& check) {
        const std::string code = test::in_slots(instructions);
        const auto listed = test::listing(code, address);
        size_t known = 0;
        for (size_t at = 0; at < code.size(); at += test::slot) {
            const std::string_view own = std::string_view(code).substr(at, test::slot);
            const Instruction instruction = decoder_->decode(own, address + at);
            const test::Listed* line =
                test::read_by_both(listed, address + at, own, instruction.length);
            if (!line)
                continue;
            known++;
            SCOPED_TRACE(line->text);
            check(instruction, line->text, own);
        }
        // It is 78 %; an older objdump may know a few less.
        EXPECT_GE(known, instructions.size() * 77 / 100);
    }

    const std::unique_ptr<InstructionDecoder> decoder_ = InstructionDecoder::create();
};

std::vector<std::string> instructions() {
    std::vector<std::string> all = test::all_opcodes("", {0x00, 0xc0});
    for (const char* const prefix : {"\x48", "\xf3"})
        for (std::string& each : test::all_opcodes(prefix, {0xc0}))
            all.push_back(std::move(each));
    for (const char* const other : {"\x0f\x01\xc8", "\x0f\x01\xc9", "\x0f\x01\xca"})
        all.emplace_back(other);
    // Codes of other maps, which have other meanings there.
    for (unsigned code = 0; code < 256; code++)
        for (const char* const map : {"\xc5\xf9", "\xc4\xe2\x79", "\x66\x0f\x38"})
            all.push_back(map + std::string{static_cast<char>(code), '\xc1'});
    return all;
}

TEST_F(Decoder, TellsHowControlContinues) {
    for_each(instructions(), [](const Instruction& instruction, const std::string& text,
                                std::string_view) {
        EXPECT_EQ(instruction.flow, flow_of(text));
        EXPECT_EQ(instruction.fixed, fixed_of(text));
        EXPECT_EQ(instruction.breakpoint, operation_of(text) == "int3");
        if (instruction.is_direct_jump() || instruction.flow == Flow::Call) {
            const std::string_view target = std::string_view(text).substr(text.find("0x"));
            EXPECT_EQ(instruction.target, strtoull(std::string(target).c_str(), nullptr, 16));
        } else if (operation_of(text) != "xbegin") {
            EXPECT_EQ(instruction.target, 0U);
        }
    });
}

TEST_F(Decoder, CountsTheBytesBeforeAnOperation) {
    EXPECT_EQ(decode(bytes("\xc3")).prefixes, 0);
    EXPECT_EQ(decode(bytes("\xf3\xc3")).prefixes, 1);
    EXPECT_EQ(decode(bytes("\x48\x01\xc8")).prefixes, 0); // REX is a part of the operation
    for (const char prefix : {'\x26', '\x2e', '\x36', '\x3e', '\x64', '\x65', '\x66', '\x67'})
        EXPECT_EQ(decode(prefix + bytes("\x01\x08")).prefixes, 1) << static_cast<int>(prefix);
    EXPECT_EQ(decode(bytes("\xf0\x01\x08")).prefixes, 1);
    EXPECT_EQ(decode(bytes("\xf2\xa4")).prefixes, 1);
    EXPECT_EQ(decode(bytes("\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0")).prefixes, 3);
}

// What compilers and assemblers fill space with.
TEST_F(Decoder, KnowsWhatFillsSpace) {
    for (const std::string& filler :
         {bytes("\xcc"), bytes("\x90"), bytes("\x66\x90"), bytes("\x0f\x1f\0"),
          bytes("\x0f\x1f\x40\0"), bytes("\x0f\x1f\x44\0\0"), bytes("\x66\x0f\x1f\x44\0\0"),
          bytes("\x0f\x1f\x80\0\0\0\0"), bytes("\x66\x2e\x0f\x1f\x84\0\0\0\0\0")})
        EXPECT_TRUE(decode(filler).filler) << decoder_->text(filler, address);
    // pause, xchg %rax,%r8, xchg %eax,%r8d, xchg %eax,%ecx, endbr64, mov %eax,%eax
    for (const std::string& other : {bytes("\xf3\x90"), bytes("\x49\x90"), bytes("\x41\x90"),
                                     bytes("\x91"), bytes("\xf3\x0f\x1e\xfa"), bytes("\x89\xc0")})
        EXPECT_FALSE(decode(other).filler) << decoder_->text(other, address);
    EXPECT_TRUE(decode(bytes("\xf3\x0f\x1e\xfa")).landing_pad);
    EXPECT_FALSE(decode(bytes("\x90")).landing_pad);
}

TEST_F(Decoder, ReadsNothingInWhatIsNoInstruction) {
    EXPECT_EQ(decode("").length, 0);
    EXPECT_EQ(decode(bytes("\x06")).length, 0);
    EXPECT_EQ(decode(bytes("\xe8\0\0\0")).length, 0); // its last byte is missing
    EXPECT_EQ(decode(std::string(15, '\x66') + "\x90").length, 0);
    EXPECT_EQ(decode(std::string(14, '\x66') + "\x90").length, 15);
    EXPECT_EQ(decoder_->text(bytes("\x06"), address), "");
    EXPECT_EQ(decoder_->registers(bytes("\x06"), address).written, ~uint64_t{0});
    // lock incl (%rax) with more prefixes: the processor executes no more than 15 bytes at once.
    EXPECT_EQ(decode(std::string(13, '\xf0') + bytes("\xff\x00")).length, 15);
    EXPECT_EQ(decode(std::string(14, '\xf0') + bytes("\xff\x00")).length, 0);
}

TEST_F(Decoder, NamesAddresses) {
    const auto named = [&](const std::string& code) {
        std::string text;
        const Instruction decoded = decode(code);
        for (const NamedAddress& each : decoded.named()) {
            char number[32];
            snprintf(number, sizeof number, "%s%s %#lx", text.empty() ? "" : ", ",
                     each.use == NamedAddress::Use::Computed    ? "computed"
                     : each.use == NamedAddress::Use::Immediate ? "immediate"
                                                                : "read",
                     each.address);
            text += number;
        }
        return text;
    };
    EXPECT_EQ(named(bytes("\x48\x8d\x05\x10\0\0\0")), "computed 0x7fff81000017"); // lea 16(%rip)
    EXPECT_EQ(named(bytes("\x48\x8d\x05\xf0\xff\xff\xff")), "computed 0x7fff80fffff7");
    EXPECT_EQ(named(bytes("\x48\x8b\x05\x10\0\0\0")), "");         // mov 16(%rip), %rax
    EXPECT_EQ(named(bytes("\xbf\0\x10\0\0")), "immediate 0x1000"); // mov $0x1000, %edi
    EXPECT_EQ(named(bytes("\x48\x8b\x07")), "");                   // mov (%rdi), %rax
    EXPECT_EQ(named(bytes("\x0f\x1f\x80\0\x20\0\0")), "");         // a no-op with an operand
    EXPECT_EQ(named(bytes("\xbf\xff\x0f\0\0")), "");               // the first page
    EXPECT_EQ(named(bytes("\x48\xc7\xc0\0\0\0\x81")), "immediate 0xffffffff81000000");
    // mov 0x2000(,%rax,8), %rdx; lea 0x2000(,%rax,8), %rdx; mov %fs:0x2000, %rax
    EXPECT_EQ(named(bytes("\x48\x8b\x14\xc5\0\x20\0\0")), "read 0x2000");
    EXPECT_EQ(named(bytes("\x48\x8d\x14\xc5\0\x20\0\0")), "immediate 0x2000");
    EXPECT_EQ(named(bytes("\x64\x48\x8b\x04\x25\0\x20\0\0")), "");
    // movq $0x3000, 0x2000(%rax): both; jmp *0x2000(%rip) through a slot
    EXPECT_EQ(named(bytes("\x48\xc7\x80\0\x20\0\0\0\x30\0\0")), "read 0x2000, immediate 0x3000");
    EXPECT_TRUE(decode(bytes("\xff\x25\0\x20\0\0")).jumps_through_slot);
    EXPECT_FALSE(decode(bytes("\xff\x15\0\x20\0\0")).jumps_through_slot); // a call
    EXPECT_FALSE(decode(bytes("\xff\xa0\0\x20\0\0")).jumps_through_slot); // jmp *0x2000(%rax)
}

// What the kernel's optimizer of kprobes copies: all of its kernels, only newer ones, none.
TEST_F(Decoder, KnowsWhatTheKernelCopies) {
    enum class Copies : uint8_t { All, Newer, None };
    const auto check = [&](const std::string& code, Copies expected) {
        const Instruction decoded = decode(code + bytes("\0\0\0\0\0\0\0\0"));
        ASSERT_NE(decoded.length, 0);
        EXPECT_EQ(decoded.kernel_copies, expected == Copies::All)
            << decoder_->text(code + bytes("\0\0\0\0\0\0\0\0"), address);
        EXPECT_EQ(decoded.newer_kernel_copies, expected != Copies::None)
            << decoder_->text(code + bytes("\0\0\0\0\0\0\0\0"), address);
    };
    // By the codes of operations: conditional jumps, x87, loops, calls, traps.
    for (unsigned code = 0x00; code < 256; code++) {
        const std::string own(1, static_cast<char>(code));
        if (!test::is_opcode(code) ||
            decode(own + "\xc0" + bytes("\0\0\0\0\0\0\0\0")).length == 0 ||
            (code >= 0xc0 && code <= 0xc1) || (code >= 0xd0 && code <= 0xd3) || code == 0xf6 ||
            code == 0xf7 || code >= 0xfe)
            continue;
        const bool is_refused = (code >= 0x70 && code <= 0x7f) || (code >= 0xd8 && code <= 0xdf) ||
                                (code >= 0xe0 && code <= 0xe3) || code == 0xe8 || code == 0xe9 ||
                                code == 0xeb || code == 0xcc || code == 0xcd || code == 0xf1 ||
                                code == 0xf4;
        check(own + "\xc0", is_refused ? Copies::None : Copies::All);
    }
    // By the group in the ModRM byte. LLVM reads no undocumented ones.
    const auto of_group = [](char code, unsigned group) {
        return std::string{code, static_cast<char>(0xc0 | group << 3)};
    };
    for (const char shift : {'\xc0', '\xc1', '\xd0', '\xd1', '\xd2', '\xd3'})
        for (const unsigned group : {0, 1, 2, 3, 4, 5, 7})
            check(of_group(shift, group), Copies::Newer);
    for (const char code : {'\xf6', '\xf7'})
        for (const unsigned group : {0, 2, 3, 4, 5, 6, 7})
            check(of_group(code, group), Copies::Newer);
    for (const char code : {'\xfe', '\xff'})
        for (const unsigned group : {0, 1})
            check(of_group(code, group), Copies::Newer);
    check(of_group('\xff', 2), Copies::None); // call
    check(of_group('\xff', 4), Copies::All);  // jmp
    check(of_group('\xff', 6), Copies::None); // push
    // Prefixes of the code segment and of addresses.
    check(bytes("\x2e\x01\x08"), Copies::None);
    check(bytes("\x67\x01\x08"), Copies::None);
    check(bytes("\x3e\x01\x08"), Copies::All);
    // Of vector instructions, the code behind the prefix counts: vpxor, vpsubsb; vpshufb.
    check(bytes("\xc5\xf9\xef\xc1"), Copies::All);
    check(bytes("\xc5\xf9\xe8\xc1"), Copies::None);
    check(bytes("\xc4\xe1\xf9\xef\xc1"), Copies::All);
    check(bytes("\xc4\xe1\xf9\xe8\xc1"), Copies::None);
    check(bytes("\x62\xf1\x7d\x48\xef\xc1"), Copies::All);
    check(bytes("\x62\xf1\x7d\x48\xe8\xc1"), Copies::None);
    check(bytes("\x66\x0f\x38\x00\xc1"), Copies::None); // the longer maps
}

TEST_F(Decoder, FollowsABranchOfAnAbortedTransaction) {
    const Instruction begin = decode(bytes("\xc7\xf8\x10\0\0\0"));
    EXPECT_EQ(begin.flow, Flow::Next);
    EXPECT_EQ(begin.target, address + 6 + 16);
    EXPECT_EQ(decode(bytes("\xc7\xc0\x10\0\0\0")).target, 0U); // mov $16, %eax
    EXPECT_EQ(decode(bytes("\xc6\xf8\x10")).target, 0U);       // xabort $16
}

TEST_F(Decoder, AccessesMemoryThatMayNotBeThere) {
    for (const std::string& each : {
             bytes("\x48\x8b\x07"),             // mov (%rdi), %rax
             bytes("\x48\x8b\x04\x0c"),         // mov (%rsp,%rcx), %rax
             bytes("\xa4"),                     // movsb
             bytes("\xaa"),                     // stosb
             bytes("\x4d\x3b\x66\x18"),         // cmp 24(%r14), %r12
             bytes("\x49\x3b\x64\x3e\x10"),     // cmp 16(%r14,%rdi), %rsp
             bytes("\x48\xa1\0\0\0\0\0\0\0\0"), // movabs 0, %rax
             bytes("\xff\x10"),                 // call *(%rax)
         })
        EXPECT_TRUE(decode(each).accesses) << decoder_->text(each, address);
    for (const std::string& each : {
             bytes("\x48\x89\xc8"),         // mov %rcx, %rax
             bytes("\x48\x8b\x44\x24\x08"), // mov 8(%rsp), %rax
             bytes("\x48\x8b\x05\0\0\0\0"), // mov 0(%rip), %rax
             bytes("\x49\x3b\x66\x10"),     // cmp 16(%r14), %rsp: a goroutine's guard
             bytes("\x48\x8d\x07"),         // lea (%rdi), %rax
             bytes("\x50"),
             bytes("\x58"), // push, pop
             bytes("\x90"), bytes("\xc3"),
             bytes("\x0f\x1f\x07"), // nopl (%rdi)
         })
        EXPECT_FALSE(decode(each).accesses) << decoder_->text(each, address);
}

// Bits of registers, by their numbers in the manuals.
constexpr uint64_t rax = 1, rcx = 2, rdx = 4, rsp = 16, rsi = 64, rdi = 128, r8 = 256;

TEST_F(Decoder, TellsWhichRegistersChange) {
    const auto written = [&](const std::string& code) {
        return decoder_->registers(code, address).written;
    };
    EXPECT_EQ(written(bytes("\x48\x89\xc8")), rax);                 // mov %rcx, %rax
    EXPECT_EQ(written(bytes("\x88\xc8")), rax);                     // mov %cl, %al
    EXPECT_EQ(written(bytes("\x88\xc4")), rsp >> 4);                // mov %al, %ah
    EXPECT_EQ(written(bytes("\x4d\x01\xc8")), r8);                  // add %r9, %r8
    EXPECT_EQ(written(bytes("\x48\x39\xc8")), 0U);                  // cmp
    EXPECT_EQ(written(bytes("\x48\x89\x07")), 0U);                  // mov %rax, (%rdi)
    EXPECT_EQ(written(bytes("\x48\xf7\xe1")), rax | rdx);           // mul %rcx
    EXPECT_EQ(written(bytes("\x48\x91")), rax | rcx);               // xchg
    EXPECT_EQ(written(bytes("\x58")), rax | rsp);                   // pop %rax
    EXPECT_EQ(~written(bytes("\xf3\xa4")) & (rcx | rsi | rdi), 0U); // rep movsb
    EXPECT_EQ(written(bytes("\xe8\0\0\0\0")), ~uint64_t{0});
    EXPECT_EQ(written(bytes("\x0f\x05")), ~uint64_t{0}); // syscall
}

TEST_F(Decoder, TellsWhereAnAddressComesFrom) {
    const auto use = [&](const std::string& code) { return decoder_->registers(code, address); };
    RegisterUse copy = use(bytes("\x48\x89\xce")); // mov %rcx, %rsi
    EXPECT_EQ(copy.to, 6U);
    EXPECT_EQ(copy.from, 1U);
    copy = use(bytes("\x48\x8b\xf1")); // the same in the other form
    EXPECT_EQ(copy.to, 6U);
    EXPECT_EQ(copy.from, 1U);
    EXPECT_EQ(use(bytes("\x89\xce")).from, std::nullopt);    // mov %ecx, %esi
    const RegisterUse near = use(bytes("\x48\x8d\x71\x08")); // lea 8(%rcx), %rsi
    EXPECT_EQ(near.to, 6U);
    EXPECT_EQ(near.from, 1U);
    EXPECT_FALSE(near.is_there);
    EXPECT_TRUE(use(bytes("\x48\x8d\x74\x24\x08")).is_there); // lea 8(%rsp), %rsi
    EXPECT_TRUE(use(bytes("\x48\x8d\x35\x08\0\0\0")).is_there);
    EXPECT_EQ(use(bytes("\x48\x8d\x35\x08\0\0\0")).to, 6U);
    // Not: a page away, before the address, a sum.
    EXPECT_EQ(use(bytes("\x48\x8d\xb1\xff\x0f\0\0")).from, 1U);
    EXPECT_EQ(use(bytes("\x48\x8d\xb1\0\x10\0\0")).from, std::nullopt);
    EXPECT_EQ(use(bytes("\x48\x8d\x71\xff")).from, std::nullopt);
    EXPECT_EQ(use(bytes("\x48\x8d\x34\x11")).from, std::nullopt);
    EXPECT_FALSE(use(bytes("\x48\x8d\xb1\0\x10\0\0")).accesses_elsewhere);
}

TEST_F(Decoder, TellsWhatAnAccessIsAddressedBy) {
    const auto use = [&](const std::string& code) { return decoder_->registers(code, address); };
    const RegisterUse load = use(bytes("\x48\x8b\x41\x08")); // mov 8(%rcx), %rax
    EXPECT_EQ(load.base, 1U);
    EXPECT_TRUE(load.always);
    EXPECT_FALSE(load.accesses_elsewhere);
    EXPECT_EQ(use(bytes("\x48\x8b\x48\x08")).base, 0U);                     // mov 8(%rax), %rcx
    EXPECT_EQ(use(bytes("\x48\x8b\x04\x25\x10\0\0\0")).base, std::nullopt); // mov 16, %rax
    EXPECT_EQ(use(bytes("\x48\x8b\x81\xff\x0f\0\0")).base, 1U);
    const RegisterUse far = use(bytes("\x48\x8b\x81\0\x10\0\0")); // mov 4096(%rcx), %rax
    EXPECT_EQ(far.base, std::nullopt);
    EXPECT_TRUE(far.accesses_elsewhere);
    EXPECT_TRUE(use(bytes("\x48\x8b\x04\x11")).accesses_elsewhere); // (%rcx,%rdx)
    EXPECT_FALSE(use(bytes("\x48\x8b\x41\xff")).accesses_elsewhere);
    EXPECT_EQ(use(bytes("\x48\x8b\x41\xff")).base, std::nullopt);
    EXPECT_EQ(use(bytes("\x48\x8b\x44\x24\x08")).base, std::nullopt); // of the stack
    EXPECT_EQ(use(bytes("\x64\x48\x8b\x41\x08")).base, std::nullopt); // %fs:8(%rcx)
    EXPECT_EQ(use(bytes("\x67\x48\x8b\x41\x08")).base, std::nullopt); // 8(%ecx)
    for (const std::string& each :
         {bytes("\x0f\xb6\x01"), bytes("\x0f\xb7\x01"), bytes("\x0f\xbe\x01"),
          bytes("\x0f\xbf\x01"), bytes("\x0f\x10\x01"), bytes("\x0f\x11\x01")})
        EXPECT_TRUE(use(each).always) << decoder_->text(each, address);
    // A prefetch does not fault; a conditional move loads what it may not use.
    EXPECT_FALSE(use(bytes("\x0f\x18\x09")).always);
}

TEST_F(Decoder, TellsWhatIsComparedWithZero) {
    using IfZero = RegisterUse::IfZero;
    const auto use = [&](const std::string& code) { return decoder_->registers(code, address); };
    EXPECT_EQ(use(bytes("\x48\x85\xc9")).compared, 1U);           // test %rcx, %rcx
    EXPECT_EQ(use(bytes("\x48\x85\xca")).compared, std::nullopt); // test %rcx, %rdx
    EXPECT_EQ(use(bytes("\x85\xc9")).compared, std::nullopt);     // half of it
    EXPECT_EQ(use(bytes("\x74\x10")).if_zero, IfZero::Branches);
    EXPECT_EQ(use(bytes("\x75\x10")).if_zero, IfZero::Continues);
    EXPECT_EQ(use(bytes("\x0f\x84\0\0\0\0")).if_zero, IfZero::Branches);
    EXPECT_EQ(use(bytes("\x0f\x85\0\0\0\0")).if_zero, IfZero::Continues);
    for (const std::string& each : {bytes("\x73\x10"), bytes("\x76\x10"), bytes("\x0f\x83\0\0\0\0"),
                                    bytes("\x0f\x86\0\0\0\0"), bytes("\x90")})
        EXPECT_EQ(use(each).if_zero, IfZero::Unknown) << decoder_->text(each, address);
}

TEST_F(Decoder, WritesWhatAnAssemblerReads) {
    EXPECT_EQ(decoder_->text(bytes("\x48\x89\xc8"), address), "movq %rcx, %rax");
    EXPECT_EQ(decoder_->text(bytes("\xe8\x10\0\0\0"), address), "callq 0x7fff81000015");
    EXPECT_EQ(decoder_->text(bytes("\xbf\0\x10\0\0"), address), "movl $0x1000, %edi");
}

TEST(Instructions, HaveKnownSizes) {
    const auto decoder = InstructionDecoder::create();
    EXPECT_EQ(decoder->decode(return_instruction(), 0).flow, Flow::Return);
    EXPECT_EQ(decoder->decode(return_instruction(), 0).length, return_instruction().size());
    EXPECT_EQ(decoder->decode(bytes("\xe9\0\0\0\0"), 0).length, planted_jump_bytes());
    EXPECT_EQ(decoder->decode(bytes("\xeb\0"), 0).length, short_jump_bytes());
    EXPECT_TRUE(decoder->decode(std::string(1, static_cast<char>(space_between_functions())), 0)
                    .breakpoint);
    // call *%rax … call *%r15
    EXPECT_EQ(shorter_call_bytes("__x86_indirect_thunk_rax"), 2U);
    EXPECT_EQ(shorter_call_bytes("__x86_indirect_thunk_rbp"), 2U);
    EXPECT_EQ(shorter_call_bytes("__x86_indirect_thunk_r8"), 3U);
    EXPECT_EQ(shorter_call_bytes("__x86_indirect_thunk_r9"), 3U);
    EXPECT_EQ(shorter_call_bytes("__x86_indirect_thunk_r10"), 3U);
    EXPECT_EQ(shorter_call_bytes("__x86_indirect_thunk_r"), 2U);
    EXPECT_EQ(shorter_call_bytes("__x86_return_thunk"), 0U);
}

TEST(Instructions, ShortJumpsReachOneByte) {
    constexpr uint64_t from = 0x1000;
    // The decoder reads where the two farthest ones lead.
    const auto decoder = InstructionDecoder::create();
    const uint64_t last = decoder->decode(bytes("\xeb\x7f"), from).target,
                   first = decoder->decode(bytes("\xeb\x80"), from).target;
    EXPECT_TRUE(short_jump_reaches(from, last));
    EXPECT_FALSE(short_jump_reaches(from, last + 1));
    EXPECT_TRUE(short_jump_reaches(from, first));
    EXPECT_FALSE(short_jump_reaches(from, first - 1));
}

} // namespace
} // namespace djstap::arch
