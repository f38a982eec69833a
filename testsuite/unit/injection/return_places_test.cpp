// SPDX-License-Identifier: GPL-2.0-or-later
// Which places of a program are patched for the returns of its functions. The lengths of the
// instructions are those of the Intel SDM; a jump takes five bytes.
#include "injection/return_places.h"

#include "unit/regions/program.h"

#include <gtest/gtest.h>

namespace djstap::injection {
namespace {

constexpr uint64_t none = DJS_NO_INDEX;

void keep(djs_ctx*) {}

// An assembled program, with a script that has a handler for each function's return.
class Placing {
  public:
    explicit Placing(const std::string& text)
        : program_(test::Program::assembled(".text\n.globl f, g\n" + text)),
          analyzed_(program_.path()), decoder_(arch::InstructionDecoder::create()) {}

    const regions::Analysis& analysis() const { return *analyzed_; }
    uint64_t address(const std::string& symbol) const {
        return analysis().address_of(symbol).value_or(0);
    }
    // An entry that is probed as well, as places.cpp has judged it.
    void probe_entry(const std::string& symbol, const std::string& refusal = "") {
        PatchedPlace place;
        const auto entry = analysis().entry(address(symbol));
        ASSERT_TRUE(entry);
        place.address = entry->address;
        place.refusal = refusal;
        place.site = static_cast<uint32_t>(image.places.size());
        if (refusal.empty())
            place.moved = moved_by_jump(analysis(), *entry, *decoder_);
        image.places.push_back(place);
    }
    void probe_return(uint64_t at, bool keeps) {
        const auto number = static_cast<uint32_t>(sites_.size());
        djs_handler handler{};
        if (keeps)
            handler.entry = keep;
        handlers_.push_back(handler);
        djs_site site{};
        site.handler = number;
        sites_.push_back(site);
        image.returning.push_back({at, {number}, 7 + number, ""});
    }
    void probe_return(const std::string& symbol, bool keeps = false) {
        probe_return(address(symbol), keeps);
    }
    void place() {
        script_.handlers = handlers_.data();
        script_.sites = sites_.data();
        ReturnPlacer(script_, analysis(), *decoder_, image).place();
    }
    // "OFFSET: LENGTH LENGTH…" of each place from f on; "e7" before it, if function 7 is entered
    // there, "r7" behind an instruction, if it returns there, and "." behind one that leaves.
    std::string places() const {
        std::string text;
        for (const PatchedPlace& each : image.places) {
            text += text.empty() ? "" : "; ";
            if (each.enters != none)
                text += "e" + std::to_string(each.enters) + " ";
            text += std::to_string(static_cast<int64_t>(each.address - address("f"))) + ":";
            for (const Moved& moved : each.moved) {
                text += " " + std::to_string(moved.bytes.size());
                if (moved.leaves)
                    text += ".";
                if (moved.returns != none)
                    text += "r" + std::to_string(moved.returns);
            }
        }
        return text;
    }
    const std::string& refusal(size_t function = 0) const {
        return image.returning[function].refusal;
    }

    PlacedImage image;
    arch::InstructionDecoder& decoder() { return *decoder_; }

  private:
    test::Program program_;
    test::Analyzed analyzed_;
    std::unique_ptr<arch::InstructionDecoder> decoder_;
    struct ::djs_script script_{};
    std::vector<djs_handler> handlers_;
    std::vector<djs_site> sites_;
};

std::string function(const std::string& name, const std::string& body) {
    return ".type " + name + ", @function\n" + name + ": .cfi_startproc\n" + body +
           "\n.cfi_endproc\n.size " + name + ", .-" + name + "\n";
}

// push (1), mov $imm32 (5), pop (1), ret (1)
const std::string long_body = "push %rbx\n mov $1, %eax\n pop %rbx\n ret";
const std::string last = "\n" + function("g", "xor %eax, %eax\n ret");

// A function of which nothing is kept at the entry is patched at its return alone.
TEST(ReturnPlaces, AreAtTheReturnAlone) {
    Placing placing(function("f", "xor %ecx, %ecx\n" + long_body) + last);
    placing.probe_return("f");
    placing.place();
    EXPECT_EQ(placing.refusal(), "");
    EXPECT_EQ(placing.places(), "3: 5 1 1.r7");
}

// xor (2), mov (5) and ret (1): the entry's jump takes the first two, the return's the second and
// the third, and both would overlap. Only what fills the space behind has room for another one.
TEST(ReturnPlaces, DoNotOverlapTheEntrys) {
    const std::string text = function("f", "xor %ecx, %ecx\n mov $1, %eax\n ret");
    Placing placing(text + last);
    placing.probe_return("f", true);
    placing.place();
    EXPECT_EQ(placing.refusal(), "the function ends before the jump would");
    EXPECT_EQ(placing.places(), "");
    Placing alone(text + last);
    alone.probe_return("f");
    alone.place();
    EXPECT_EQ(alone.places(), "2: 5 1.r7");
    Placing filled(text + "\n.p2align 5\n" + last);
    filled.probe_return("f", true);
    filled.place();
    EXPECT_EQ(filled.refusal(), "");
    EXPECT_EQ(filled.places(), "e7 0: 2 5; 7: 1.r7");
}

// Nor what is patched behind them: xor (2), xor (2), xor (2) and ret (1).
TEST(ReturnPlaces, DoNotOverlapWhatIsBehind) {
    const std::string text =
        function("f", "xor %ecx, %ecx\n xor %edx, %edx\n xor %eax, %eax\n ret") + last;
    Placing alone(text);
    alone.probe_return("f");
    alone.place();
    EXPECT_EQ(alone.places(), "2: 2 2 1.r7");
    Placing placing(text);
    PatchedPlace other;
    other.address = placing.address("f") + 4;
    placing.image.places.push_back(other);
    placing.probe_return("f");
    placing.place();
    EXPECT_EQ(placing.refusal(), "the function ends before the jump would");
    EXPECT_EQ(placing.places(), "4:");
}

// Five bytes behind the entry's beginning is where the next jump may begin.
TEST(ReturnPlaces, MayBeginWhereTheEntrysJumpEnds) {
    Placing placing(function("f", "mov $2, %ecx\n mov $1, %eax\n ret") + last);
    placing.probe_return("f", true);
    placing.place();
    EXPECT_EQ(placing.refusal(), "");
    EXPECT_EQ(placing.places(), "e7 0: 5; 5: 5 1.r7");
}

// The entry has a place of its own if the function's entry is probed, too: there is one jump.
TEST(ReturnPlaces, UseTheEntryThatIsThere) {
    Placing placing(function("f", "mov $2, %ecx\n mov $1, %eax\n ret") + last);
    placing.probe_entry("f");
    placing.probe_return("f", true);
    placing.place();
    EXPECT_EQ(placing.refusal(), "");
    EXPECT_EQ(placing.places(), "e7 0: 5; 5: 5 1.r7");
    EXPECT_EQ(placing.image.places[0].site, 0u);
    EXPECT_EQ(placing.image.places[1].site, DJS_NO_INDEX);
}

// lea (4), ret (1): one jump replaces both the entry and the return.
TEST(ReturnPlaces, OfShortFunctionsAreInTheEntrysJump) {
    for (const bool is_probed : {false, true}) {
        Placing placing(function("f", "lea 1(%rdi), %rax\n ret") + last);
        if (is_probed)
            placing.probe_entry("f");
        placing.probe_return("f", true);
        placing.place();
        EXPECT_EQ(placing.refusal(), "");
        EXPECT_EQ(placing.places(), "e7 0: 4 1.r7") << is_probed;
    }
    Placing other(function("f", "lea 1(%rdi), %rax\n ret") + last);
    other.probe_return("f");
    other.place();
    EXPECT_EQ(other.places(), "0: 4 1.r7");
}

// An entry that cannot be patched matters only to handlers that keep something of it.
TEST(ReturnPlaces, NeedTheEntryIfSomethingIsKept) {
    // A jump leads to the second instruction: xor (2), sub (3), jnz (2), mov (5), ret (1).
    const std::string text =
        function("f", "xor %ecx, %ecx\n1: sub $1, %edi\n jnz 1b\n mov $1, %eax\n ret") + last;
    Placing keeping(text);
    keeping.probe_return("f", true);
    keeping.place();
    EXPECT_EQ(keeping.refusal(), "its entry, of which the handler keeps something, cannot be "
                                 "patched: a jump leads into it");
    EXPECT_EQ(keeping.places(), "");
    Placing free(text);
    free.probe_return("f", false);
    free.place();
    EXPECT_EQ(free.refusal(), "");
    EXPECT_EQ(free.places(), "7: 5 1.r7");
    // One that was refused for its own probes is not taken for a place that is patched.
    Placing refused(text);
    refused.probe_entry("f", "of this");
    refused.probe_return("f", false);
    refused.place();
    EXPECT_EQ(refused.refusal(), "");
    EXPECT_EQ(refused.places(), "0:; 7: 5 1.r7");
}

// All returns are patched, or none of what the function would have needed.
TEST(ReturnPlaces, AreAllOrNone) {
    // mov (5), test (2), jz (2), mov (5), ret (1); push (1), mov (5), pop (1), ret (1)
    Placing both(function("f", "mov $2, %ecx\n test %edi, %edi\n jz 1f\n mov $2, %eax\n ret\n"
                               "1: push %rbx\n mov $3, %eax\n pop %rbx\n ret") +
                 last);
    both.probe_return("f", true);
    both.place();
    EXPECT_EQ(both.refusal(), "");
    EXPECT_EQ(both.places(), "e7 0: 5; 9: 5 1.r7; 16: 5 1 1.r7");
    // A call returns to where the second one would be replaced.
    Placing half(function("f", "mov $2, %ecx\n test %edi, %edi\n jz 1f\n mov $2, %eax\n ret\n"
                               "1: push %rbx\n call g\n pop %rbx\n ret") +
                 last);
    half.probe_return("f", true);
    half.probe_return("g", false);
    half.place();
    EXPECT_EQ(half.refusal(0), "a call returns into it");
    EXPECT_EQ(half.places(), "");
}

// Each function has its number at its own places, and what one has taken is not free for the next.
TEST(ReturnPlaces, OfTwoFunctionsAreApart) {
    Placing placing(function("f", long_body) + function("g", long_body) + "\n" +
                    function("h", "ret"));
    placing.probe_return("f");
    placing.probe_return("g");
    placing.place();
    EXPECT_EQ(placing.refusal(0), "");
    EXPECT_EQ(placing.refusal(1), "");
    EXPECT_EQ(placing.places(), "1: 5 1 1.r7; 9: 5 1 1.r8");
}

TEST(ReturnPlaces, AreOfFunctions) {
    Placing placing(function("f", long_body) + last);
    placing.probe_return(placing.address("f") + 1, false);
    placing.place();
    EXPECT_EQ(placing.refusal(), "no instruction of a function is known there");
    EXPECT_EQ(placing.places(), "");
}

// What follows a jump is not executed from a copy: mov (3), jmp (2), and what is behind it.
TEST(ReturnPlaces, WhatIsMovedEndsWithWhatLeaves) {
    Placing placing(function("f", "mov %rdi, %rax\n jmp 1f\n .skip 8, 0x90\n1: mov %rsi, %rbx\n"
                                  " mov $1, %eax\n ret") +
                    last);
    const auto entry = placing.analysis().entry(placing.address("f"));
    ASSERT_TRUE(entry);
    const std::vector<Moved> moved = moved_by_jump(placing.analysis(), *entry, placing.decoder());
    ASSERT_EQ(moved.size(), 2u);
    EXPECT_EQ(moved[0].address, placing.address("f"));
    EXPECT_EQ(moved[0].bytes, "\x48\x89\xf8");
    EXPECT_FALSE(moved[0].leaves);
    EXPECT_EQ(moved[1].address, placing.address("f") + 3);
    EXPECT_EQ(moved[1].bytes, "\xeb\x08");
    EXPECT_TRUE(moved[1].leaves);
    // A region that reaches into what is no instruction of a function is not known.
    regions::Place beyond = *entry;
    beyond.address = placing.address("g"); // the last one: xor (2), ret (1)
    beyond.region = 3;
    EXPECT_EQ(moved_by_jump(placing.analysis(), beyond, placing.decoder()).size(), 2u);
    beyond.address -= 1; // the return of f (1), of which the first byte leaves
    EXPECT_EQ(moved_by_jump(placing.analysis(), beyond, placing.decoder()).size(), 1u);
    beyond.address = placing.address("f") + 1;
    EXPECT_TRUE(moved_by_jump(placing.analysis(), beyond, placing.decoder()).empty());
}

} // namespace
} // namespace djstap::injection
