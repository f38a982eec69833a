// SPDX-License-Identifier: GPL-2.0-or-later
// The code of a file and its functions, by themselves: without what the analysis makes of them.
#include "program.h"

#include "regions/functions.h"

#include <algorithm>

namespace djstap::regions {
namespace {

using test::Program;

constexpr uint64_t text_at = 0x500000, more_at = 0x600000;

// A file with `text` at text_at, and its code.
class CodeOf : public testing::Test {
  protected:
    void load(const std::string& text, const std::vector<std::string>& options = {}) {
        std::vector<std::string> all{"-Ttext=0x500000", "--section-start=.more=0x600000",
                                     "--no-eh-frame-hdr"};
        all.insert(all.end(), options.begin(), options.end());
        program_.emplace(Program::assembled(".text\n.globl f\nf:\n" + text, all));
        auto opened = ElfFile::open(program_->path());
        ASSERT_TRUE(opened) << opened.failure().message;
        file_ = std::move(*opened);
    }
    Code code(std::string_view live = {}) const {
        auto code = Code::of(*file_, live);
        EXPECT_TRUE(code) << (code ? "" : code.failure().message);
        return std::move(*code);
    }
    static constexpr const char* two_sections =
        ".skip 10, 0x90\n.section .more, \"ax\"\n.skip 4, 0x90\n.bss\n.skip 8\n.data\n.quad 1\n";

    std::optional<Program> program_;
    std::unique_ptr<ElfFile> file_;
};

TEST_F(CodeOf, IndexesCountTheBytesOfAllSections) {
    load(two_sections);
    const Code code = this->code();
    ASSERT_EQ(code.size(), 14U);
    ASSERT_EQ(code.sections().size(), 2U);
    for (Index i = 0; i < 14; i++) {
        const uint64_t address = i < 10 ? text_at + i : more_at + i - 10;
        EXPECT_EQ(code.index(address), i);
        EXPECT_EQ(code.address(i), address);
        EXPECT_EQ(code.section_at(i).address, i < 10 ? text_at : more_at) << i;
        EXPECT_EQ(code.bytes(i).size(), i < 10 ? 10 - i : 14 - i) << i;
    }
    for (const uint64_t none : {uint64_t{0}, text_at - 1, text_at + 10, more_at - 1, more_at + 4,
                                more_at + 5, UINT64_MAX})
        EXPECT_FALSE(code.index(none)) << std::hex << none;
    EXPECT_FALSE(code.instruction(text_at)) << "nothing is decoded yet";
    EXPECT_FALSE(code.is_live());
    EXPECT_FALSE(code.is_live_at(text_at));
}

// By their addresses, whatever their order in the file is.
TEST_F(CodeOf, IndexesFollowAddresses) {
    constexpr uint64_t before_at = 0x4f0000;
    load(".skip 10, 0x90\n.section .before, \"ax\"\n.skip 4, 0x91\n",
         {"--section-start=.before=0x4f0000"});
    std::vector<uint64_t> in_file;
    for (const ElfSection& each : file_->sections())
        if (each.flags & SHF_EXECINSTR)
            in_file.push_back(each.address);
    ASSERT_EQ(in_file, (std::vector<uint64_t>{text_at, before_at}));
    const Code code = this->code();
    ASSERT_EQ(code.size(), 14U);
    for (Index i = 0; i < 14; i++) {
        const uint64_t address = i < 4 ? before_at + i : text_at + i - 4;
        EXPECT_EQ(code.index(address), i);
        EXPECT_EQ(code.address(i), address);
        EXPECT_EQ(code.bytes(i).front(), i < 4 ? '\x91' : '\x90') << i;
    }
}

TEST_F(CodeOf, WhatIsWrittenEndsWithItsSection) {
    load(two_sections);
    Code code = this->code();
    const auto written = [&] {
        std::string shown;
        for (const uint8_t each : code.written)
            shown += static_cast<char>('0' + each);
        std::ranges::fill(code.written, uint8_t{0});
        return shown;
    };
    code.write(text_at + 2, 3, ByFtrace);
    EXPECT_EQ(written(), "00111000000000");
    code.write(text_at + 8, 100, AsJumpLabel);
    EXPECT_EQ(written(), "00000000220000");
    code.write(more_at, 4, AsStaticCall);
    EXPECT_EQ(written(), "00000000004444");
    code.write(more_at + 3, UINT64_MAX, ByFtrace);
    EXPECT_EQ(written(), "00000000000001");
    code.write(text_at, 0, ByFtrace);
    code.write(text_at - 1, 5, ByFtrace);
    code.write(text_at + 10, 5, ByFtrace);
    EXPECT_EQ(written(), "00000000000000");
    code.write(text_at, 2, ByFtrace);
    code.write(text_at + 1, 2, AsJumpLabel);
    EXPECT_EQ(written(), "13200000000000");
}

TEST_F(CodeOf, WhatIsEnteredIsNoted) {
    load(two_sections);
    Code code = this->code();
    code.enter(more_at + 3, ByTable);
    code.enter(more_at + 3, ByAddress);
    code.enter(text_at, ByJump);
    code.enter(text_at + 10, ByJump);
    code.enter(0, ByJump);
    for (Index i = 0; i < 14; i++)
        EXPECT_EQ(code.entries[i], i == 0 ? ByJump : i == 13 ? ByTable | ByAddress : 0) << i;
    code.lengths[3] = 2;
    EXPECT_EQ(code.instruction(text_at + 3), 3U);
    EXPECT_FALSE(code.instruction(text_at + 4));
    EXPECT_FALSE(code.instruction(text_at + 10));
}

TEST_F(CodeOf, JumpsAreThoseFromARange) {
    load(two_sections);
    Code code = this->code();
    code.jumps = {{1, 0}, {3, 0}, {3, 1}, {7, 2}};
    const auto from = [&](Index first, Index end) {
        const auto [low, high] = code.jumps_from(first, end);
        return std::pair(low - code.jumps.data(), high - low);
    };
    using Range = std::pair<ptrdiff_t, ptrdiff_t>;
    EXPECT_EQ(from(0, 14), Range(0, 4));
    EXPECT_EQ(from(1, 3), Range(0, 1));
    EXPECT_EQ(from(1, 4), Range(0, 3));
    EXPECT_EQ(from(2, 7), Range(1, 2));
    EXPECT_EQ(from(7, 8), Range(3, 1));
    EXPECT_EQ(from(8, 14), Range(4, 0));
    EXPECT_EQ(from(3, 3), Range(1, 0));
}

// What is in memory may have more than the section, at its end.
TEST_F(CodeOf, TextFromMemoryIsThatOfItsSection) {
    load(two_sections);
    const std::string live(12, '\xcc');
    const Code code = this->code(live);
    EXPECT_TRUE(code.is_live());
    EXPECT_EQ(code.size(), 14U);
    EXPECT_EQ(code.bytes(0), std::string(10, '\xcc'));
    EXPECT_EQ(code.bytes(10), std::string(4, '\x90'));
    for (const uint64_t address : {text_at, text_at + 9})
        EXPECT_TRUE(code.is_live_at(address));
    for (const uint64_t address : {text_at - 1, text_at + 10, more_at})
        EXPECT_FALSE(code.is_live_at(address));
    EXPECT_TRUE(Code::of(*file_, std::string_view(live).substr(0, 10)));
    EXPECT_EQ(Code::of(*file_, std::string_view(live).substr(0, 9)).failure().message,
              "the text from memory has 9 bytes, the file's section with code 10");
    // Without a section of this name, it is that of the first one.
    load(".section .less, \"ax\"\n.skip 3, 0x90\n.section .more, \"ax\"\n.skip 4, 0x90\n",
         {"--section-start=.less=0x5fff00"});
    EXPECT_EQ(this->code("\xcc\xcc\xcc").bytes(0), "\xcc\xcc\xcc");
}

// Of several at an address, the first one names the function.
TEST_F(CodeOf, TheFirstSymbolIsTheBestOne) {
    const auto function = [](const std::string& name, const std::string& size, bool global) {
        return ".type " + name + ", @function\n" + (global ? ".globl " + name + "\n" : "") +
               ".set " + name + ", .Lp\n.size " + name + ", " + size + "\n";
    };
    load("nop\n.Lp: .skip 9, 0x90\n" + function("zz", "5", true) + function("local", "6", false) +
         function("long_one", "6", true) + function("gb", "6", true) + function("ga", "6", true) +
         ".globl label\n.set label, .Lp\n"
         ".globl __pfx_p\n.type __pfx_p, @function\n.set __pfx_p, .Lp\n"
         ".globl __cfi_p\n.type __cfi_p, @function\n.set __cfi_p, .Lp\n"
         ".globl chosen\n.type chosen, @gnu_indirect_function\n.set chosen, .Lp + 2\n"
         ".globl variable\n.type variable, @object\n.set variable, .Lp\n"
         ".globl number\n.set number, 0x500001\n"
         ".globl behind\n.set behind, .Lp + 9\n");
    const Code code = this->code();
    std::string found;
    for (const Symbol& symbol : code_symbols(code)) {
        if (symbol.address == text_at)
            continue; // f
        found += std::string(symbol.name) + (symbol.function ? "()" : "") + "+" +
                 std::to_string(symbol.address - text_at) + (symbol.global ? " " : "- ");
    }
    EXPECT_EQ(found, "ga()+1 gb()+1 long_one()+1 local()+1- zz()+1 label+1 __cfi_p+1 __pfx_p+1 "
                     "chosen()+3 ");
}

// Names, first and last bytes.
std::string shown(const std::vector<FunctionRange>& functions) {
    std::string text;
    for (const FunctionRange& each : functions) {
        EXPECT_EQ(each.filled_end, each.end);
        text += std::string(each.name) + ":" + std::to_string(each.first) + "-" +
                std::to_string(each.end) + " ";
    }
    return text;
}

TEST_F(CodeOf, FunctionsDoNotOverlap) {
    load(two_sections);
    const Code code = this->code();
    const auto of = [&](const std::vector<Symbol>& symbols) {
        return shown(find_functions(code, symbols, {}, {}));
    };
    EXPECT_EQ(of({{"a", text_at, 4, true, true}, {"b", text_at + 4, 6, true, true}}),
              "a:0-4 b:4-10 ");
    EXPECT_EQ(of({{"a", text_at, 5, true, true}, {"b", text_at + 4, 600, true, true}}),
              "a:0-4 b:4-10 ");
    // Without a size: up to the next symbol that is elsewhere, or to the end.
    EXPECT_EQ(of({{"a", text_at, 0, true, true},
                  {"alias", text_at, 3, true, true},
                  {"label", text_at, 0, false, true},
                  {"end", text_at + 6, 0, false, true},
                  {"b", text_at + 7, 0, true, true}}),
              "a:0-6 b:7-10 ");
    EXPECT_EQ(of({{"a", text_at + 9, 0, true, true}, {"b", more_at, 0, true, true}}),
              "a:9-10 b:10-14 ");
    EXPECT_EQ(of({{"label", text_at, 4, false, true}, {"a", text_at, 4, true, true}}), "");
    EXPECT_EQ(of({{"nowhere", text_at + 10, 4, true, true}}), "");
    EXPECT_EQ(of({}), "");
}

// What only Go's table or unwind information describes, beside what has a name.
TEST_F(CodeOf, OtherTablesAddFunctionsBetweenThose) {
    load(".skip 4, 0x90\n" // 4: what no table has
         ".cfi_startproc\n.skip 4, 0x90\n.cfi_endproc\n.cfi_startproc\n.skip 4, 0x90\n"
         ".cfi_endproc\n.skip 12, 0x90\n");
    const Code code = this->code();
    const Frames frames = Frames::of(*file_);
    ASSERT_EQ(frames.all().size(), 2U);
    const std::vector<Symbol> none;
    EXPECT_EQ(shown(find_functions(code, none, frames, {})), ":4-8 :8-12 ");
    const auto named = [&](uint64_t address, uint64_t size) {
        const std::vector<Symbol> symbols{{"a", text_at + address, size, true, true}};
        return shown(find_functions(code, symbols, frames, {}));
    };
    EXPECT_EQ(named(4, 4), "a:4-8 :8-12 ");
    EXPECT_EQ(named(0, 4), "a:0-4 :4-8 :8-12 ");
    EXPECT_EQ(named(0, 5), "a:0-5 :8-12 ");
    EXPECT_EQ(named(0, 9), "a:0-9 ");
    EXPECT_EQ(named(6, 1), ":4-6 a:6-7 :8-12 ") << "it begins before";
    GoTable go;
    go.functions = {{"g", text_at + 8, 3, 0, false, 0, 0, 0},
                    {"empty", text_at + 13, 0, 0, false, 0, 0, 0},
                    {"h", text_at + 14, 2, 0, false, 0, 0, 0}};
    EXPECT_EQ(shown(find_functions(code, none, frames, go)), ":4-8 g:8-11 h:14-16 ");
    const std::vector<Symbol> symbols{{"a", text_at + 12, 3, true, true}};
    EXPECT_EQ(shown(find_functions(code, symbols, {}, go)), "g:8-11 a:12-15 ");
}

} // namespace
} // namespace djstap::regions
