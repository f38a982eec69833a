// SPDX-License-Identifier: GPL-2.0-or-later
// The text of stacks and addresses, wherever a string ends.
#include "include/symbols.h"
#include "include/words.h"
#include "stack_text_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr u64 alpha = 0xffffffff81000001, beta = 0xffffffff81000102, none = 0xffffffff81000200;
constexpr u64 in_program = 0x7f0000001234;

std::map<u64, std::string> known_symbols;

class StackText : public testing::Test {
  protected:
    void SetUp() override {
        known_symbols = {{alpha, "alpha+0x1/0x20 [kernel]"},
                         {beta, "beta+0x2/0x30 [ext4]"},
                         {none, "0xffffffff81000200"},
                         {djs_word(in_program, 5, false), "/bin/a/b+0x234"},
                         {djs_word(in_program, 5, true), "/bin/returns+0x233"}};
        test_symbol_text = [](char* symbol, u64 address) {
            const auto found = known_symbols.find(address);
            strcpy(symbol, found == known_symbols.end() ? "?" : found->second.c_str());
        };
        test_has_slots = test_no_room_for_records = false;
        test_record_count = 0;
        test_user_path = nullptr;
        trace({alpha, beta, none});
        context_.work = work_;
        context_.error_text = error_;
        set_size(200);
    }
    void TearDown() override { djs_script = {}; }

    static void trace(const std::vector<u64>& addresses) {
        std::copy(addresses.begin(), addresses.end(), test_trace);
        test_trace_count = static_cast<u32>(addresses.size());
    }
    void set_size(size_t bytes) {
        djs_script.string_bytes = static_cast<u32>(bytes);
        out_.assign(bytes + 1, '\xa5');
    }
    template <typename Function, typename... Arguments>
    std::string text(Function function, Arguments... arguments) {
        function(&context_, out_.data(), arguments...);
        EXPECT_EQ(out_.back(), '\xa5');
        return out_.data();
    }
    std::string error() {
        const std::string message = context_.error ? context_.error : "";
        context_.error = nullptr;
        return message;
    }
    struct Record {
        u32 id = 0, size = 0;
        std::vector<u64> words;
    };
    // Those since the last time.
    static std::vector<Record> records() {
        test_records_taken();
        std::vector<Record> all;
        for (u32 i = 0; i < test_record_count; i++) {
            const test_record& each = test_records[i];
            all.push_back({each.id, each.size, {each.words, each.words + (each.size - 16) / 8}});
        }
        test_record_count = 0;
        return all;
    }
    static std::string lines(const std::vector<Record>& all) {
        std::string text;
        for (const Record& each : all) {
            EXPECT_EQ(each.id, DJS_RECORD_TEXT);
            const char* bytes = reinterpret_cast<const char*>(each.words.data());
            u32 length = 0;
            memcpy(&length, bytes, sizeof length);
            EXPECT_LE(sizeof length + length, each.words.size() * 8);
            text += std::string(bytes + sizeof length, length);
        }
        return text;
    }

    djs_ctx context_{};
    char work_[2560]{}, error_[256]{};
    std::vector<char> out_;
};

TEST_F(StackText, OfABacktraceHasWholeLinesAndAMark) {
    const std::vector<std::string> whole = {"alpha+0x1 [kernel]\n", "beta+0x2 [ext4]\n",
                                            "0xffffffff81000200\n"};
    const std::string mark = "...\n";
    for (size_t size = 5; size < 70; size++) {
        set_size(size);
        std::string expected;
        for (size_t i = 0; i < whole.size(); i++) {
            const bool is_last = i + 1 == whole.size();
            if (expected.size() + whole[i].size() + (is_last ? 0 : mark.size()) >= size) {
                expected += mark;
                break;
            }
            expected += whole[i];
        }
        ASSERT_EQ(text(djs_fn_sprint_backtrace), expected) << size;
        ASSERT_EQ(text(djs_fn_sprint_ubacktrace), expected) << size;
    }
    trace({});
    EXPECT_EQ(text(djs_fn_sprint_backtrace), "");
}

TEST_F(StackText, OfAddressesHasWholeLinesButTheFirst) {
    const std::string addresses = " 0xffffffff81000001  0xffffffff81000102 ffffffff81000200 ";
    const std::vector<std::string> whole = {" 0xffffffff81000001 : alpha+0x1/0x20 [kernel]\n",
                                            " 0xffffffff81000102 : beta+0x2/0x30 [ext4]\n",
                                            " ffffffff81000200 : 0xffffffff81000200\n"};
    for (size_t size = 5; size < 150; size++) {
        set_size(size);
        std::string expected = whole[0].substr(0, size - 1);
        for (size_t i = 1; i < whole.size() && expected.size() + whole[i].size() < size; i++)
            expected += whole[i];
        for (auto* const function : {djs_fn_sprint_syms, djs_fn_sprint_stack})
            ASSERT_EQ(text(function, addresses.c_str()), expected) << size;
    }
    EXPECT_EQ(text(djs_fn_sprint_syms, ""), "");
    // Calls return to all but the first address of a program.
    for (auto* const function : {djs_fn_sprint_usyms, djs_fn_sprint_ustack})
        EXPECT_EQ(text(function, "0x7f0000001234 0x7f0000001234"),
                  " 0x7f0000001234 : /bin/a/b+0x234\n 0x7f0000001234 : /bin/returns+0x233\n");
}

TEST_F(StackText, OfOneAddress) {
    EXPECT_EQ(text(djs_fn_symdata, s64(alpha)), "alpha+0x1/0x20 [kernel]");
    EXPECT_EQ(text(djs_fn_symname, s64(alpha)), "alpha");
    EXPECT_EQ(text(djs_fn_symname, s64(none)), "0xffffffff81000200");
    EXPECT_EQ(text(djs_fn_modname, s64(beta)), "ext4");
    EXPECT_EQ(text(djs_fn_modname, s64(alpha)), "kernel");
    EXPECT_EQ(error(), "");
    EXPECT_EQ(text(djs_fn_modname, s64(none)), "");
    EXPECT_EQ(error(), "Cannot determine kernel module name");
    EXPECT_EQ(text(djs_fn_usymdata, s64(in_program)), "/bin/a/b+0x234");
    EXPECT_EQ(text(djs_fn_usymname, s64(in_program)), "/bin/a/b");
    // A number that looks like the word of an address is the address of nothing.
    const u64 word = djs_word(in_program, 5, false);
    char expected[32];
    snprintf(expected, sizeof expected, "0x%llx", static_cast<unsigned long long>(word));
    EXPECT_EQ(text(djs_fn_usymdata, s64(word)), expected);
    // Where it is in the source code is known to readers alone.
    for (auto* const function : {djs_fn_usymfile, djs_fn_usymfileline, djs_fn_usymline}) {
        set_size(200);
        EXPECT_EQ(text(function, s64(in_program)), "0x7f0000001234");
        set_size(10);
        EXPECT_EQ(text(function, s64(in_program)), "0x7f00000");
    }
}

// The owner of a program decides what its path is.
TEST_F(StackText, HasNoControlsOfAPath) {
    known_symbols[djs_word(in_program, 5, false)] =
        "\x01\x1f !~\x7f\x80\xc2\x80\xc2\x9f\xc2\xa0\xc2\x7f\xc3\x80\xc2";
    EXPECT_EQ(text(djs_fn_usymdata, s64(in_program)), "?? !~?\x80????\xc2\xa0\xc2?\xc3\x80\xc2");
    known_symbols[alpha] = "\x01"; // the kernel's are its own
    EXPECT_EQ(text(djs_fn_symdata, s64(alpha)), "\x01");
}

TEST_F(StackText, OfTheFileAtAnAddress) {
    EXPECT_EQ(text(djs_fn_umodname, s64(in_program)), "");
    EXPECT_EQ(error(), "Cannot determine the file of a user-space address");
    EXPECT_EQ(djs_fn_umodaddr(&context_, in_program), 0);
    EXPECT_EQ(error(), "Cannot determine the file of a user-space address");
    EXPECT_EQ(text(djs_fn_umodbuildid, s64(in_program)), "");
    EXPECT_EQ(error(), "Cannot determine the file of a user-space address");
    test_user_path = "/bin/program";
    for (u8 i = 0; i < 20; i++)
        test_build_id[i] = static_cast<u8>(0xf0 - 11 * i);
    EXPECT_EQ(text(djs_fn_umodname, s64(in_program)), "/bin/program");
    EXPECT_EQ(djs_fn_umodaddr(&context_, in_program), s64(in_program - 0x1000));
    const std::string whole = text(djs_fn_umodbuildid, s64(in_program));
    EXPECT_EQ(whole, "f0e5dacfc4b9aea3988d82776c61564b40352a1f");
    for (size_t size = 1; size < 45; size++) {
        set_size(size);
        EXPECT_EQ(text(djs_fn_umodbuildid, s64(in_program)), whole.substr(0, (size - 1) / 2 * 2))
            << size;
    }
    EXPECT_EQ(error(), "");
}

TEST_F(StackText, IsPrintedInLinesIfAddressesHaveNoSlots) {
    for (auto* const function : {djs_fn_print_stack, djs_fn_print_syms}) {
        function(&context_, "0xffffffff81000001 0x0 FFFFFFFF81000102zzz 12x34  ");
        EXPECT_EQ(lines(records()), " 0xffffffff81000001 : alpha+0x1/0x20 [kernel]\n"
                                    " 0xffffffff81000102 : beta+0x2/0x30 [ext4]\n 0x12 : ?\n");
    }
    for (auto* const function : {djs_fn_print_usyms, djs_fn_print_ustack}) {
        function(&context_, "0x7f0000001234 0x7f0000001234");
        EXPECT_EQ(lines(records()),
                  " 0x7f0000001234 : /bin/a/b+0x234\n 0x7f0000001234 : /bin/returns+0x233\n");
    }
    u64 stack[] = {2, 0, beta};
    djs_print_stack(&context_, stack);
    EXPECT_EQ(lines(records()), " 0xffffffff81000102 : beta+0x2/0x30 [ext4]\n");
    djs_fn_print_stack(&context_, "");
    EXPECT_EQ(records().size(), 0U);
    test_no_room_for_records = true;
    djs_fn_print_stack(&context_, "0xffffffff81000001");
    EXPECT_EQ(records().size(), 0U);
}

TEST_F(StackText, IsARecordOfSlots) {
    test_has_slots = true;
    for (const u32 count : {1U, 15U, 16U, 17U, 33U}) {
        std::string addresses;
        for (u32 i = 0; i < count; i++)
            addresses += (i ? " 0xffffffff810000" : "0xffffffff810000") + std::to_string(10 + i);
        djs_fn_print_stack(&context_, addresses.c_str());
        u32 seen = 0;
        for (const Record& each : records()) {
            EXPECT_EQ(each.id, DJS_RECORD_STACK);
            const u32 here = std::min(count - seen, 16U);
            ASSERT_EQ(each.words.size(), 1 + here);
            EXPECT_EQ(each.words[0], here);
            for (u32 i = 0; i < here; i++) {
                const std::string digits = std::to_string(10 + seen + i);
                EXPECT_EQ(each.words[1 + i],
                          (0xffffffff81000000 + std::stoul(digits, nullptr, 16)) ^ 1);
            }
            seen += here;
        }
        EXPECT_EQ(seen, count);
    }
    u64 stack[] = {2 | DJS_STACK_FILELINE, alpha, beta};
    djs_print_stack(&context_, stack);
    const std::vector<Record> all = records();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].words, (std::vector<u64>{2 | DJS_STACK_FILELINE, alpha ^ 1, beta ^ 1}));
    stack[0] = 0;
    djs_print_stack(&context_, stack);
    test_no_room_for_records = true;
    stack[0] = 1;
    djs_print_stack(&context_, stack);
    EXPECT_EQ(records().size(), 0U);
}

TEST_F(StackText, IsTheArgumentOfARecord) {
    const auto argument = [&](const std::vector<u64>& addresses, u32 type) {
        u64 words[40] = {addresses.size()};
        std::copy(addresses.begin(), addresses.end(), words + 1);
        const u64 bytes = djs_symbols_argument(&context_, words, type);
        if (!(words[0] >> 63)) {
            EXPECT_EQ(bytes, (1 + addresses.size()) * 8);
            std::string slots = "slots";
            for (size_t i = 0; i < addresses.size(); i++)
                slots += words[1 + i] == (addresses[i] ^ 1) ? " good" : " bad";
            return slots;
        }
        const std::string all(reinterpret_cast<const char*>(words + 1), words[0] << 1 >> 1);
        EXPECT_EQ(bytes, 8 + (all.size() + 7) / 8 * 8);
        return all;
    };
    EXPECT_EQ(argument({alpha, beta}, 'B'), "alpha+0x1 [kernel]\nbeta+0x2 [ext4]\n");
    EXPECT_EQ(argument({alpha, beta}, 'L'), " 0xffffffff81000001 : alpha+0x1/0x20 [kernel]\n"
                                            " 0xffffffff81000102 : beta+0x2/0x30 [ext4]\n");
    EXPECT_EQ(argument({alpha}, 'N'), "alpha");
    EXPECT_EQ(argument({alpha}, 'D'), "alpha+0x1/0x20 [kernel]");
    const u64 word = djs_word(in_program, 5, true);
    for (const u32 type : {'P', 'F', 'I'})
        EXPECT_EQ(argument({word}, type), "0x7f0000001234");
    EXPECT_EQ(argument({0x1234}, 0), "0x1234");
    test_has_slots = true;
    EXPECT_EQ(argument({alpha, beta}, 'B'), "slots good good");
    EXPECT_EQ(argument({0x1234}, 0), "0x1234"); // a number that is no address has none
}

TEST_F(StackText, OfADepth) {
    trace({djs_word(in_program, 5, false), djs_word(in_program + 8, 5, true)});
    EXPECT_EQ(djs_fn_ustack(&context_, 0), s64(in_program));
    EXPECT_EQ(djs_fn_ustack(&context_, 1), s64(in_program + 8));
    EXPECT_EQ(error(), "");
    for (const s64 depth : {s64(2), s64(-1)}) {
        EXPECT_EQ(djs_fn_ustack(&context_, depth), 0);
        EXPECT_EQ(error(),
                  "reached end of stack before unwinding to level " + std::to_string(depth));
    }
}

// A handler that had no slots has written the text itself, whose padding may be missing at the end.
TEST(TextOfSymbols, StandsInPlaceOfTheirSlots) {
    const djs_symbol_view view{};
    const auto word = [](u64 value) {
        return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    char out[64];
    const auto expanded_to = [&](const std::string& bytes) {
        std::memset(out, '#', sizeof out);
        return djs_symbols_expand(&view, out, sizeof out, "Bl", bytes.data(), bytes.size());
    };
    for (const size_t length : {0U, 1U, 4U, 5U, 8U, 13U}) {
        const std::string text = std::string("main+0x1 [x]\n").substr(0, length);
        std::string padded = text;
        padded.resize(DJS_ALIGN8(length), '-');
        std::string expected = word(length).substr(0, 4) + text;
        expected.resize(DJS_ALIGN8(expected.size()), '\0');
        const std::string argument = word(DJS_SYMBOLS_ARE_TEXT | length);
        ASSERT_EQ(expanded_to(argument + padded + word(7)), expected.size() + 8) << length;
        EXPECT_EQ(std::string(out, expected.size() + 9), expected + word(7) + '#') << length;
        // The number behind it is missing, and one byte of the text.
        EXPECT_EQ(expanded_to(argument + padded), DJS_SYMBOLS_DAMAGED) << length;
        if (length) {
            EXPECT_EQ(expanded_to(argument + text.substr(1)), DJS_SYMBOLS_DAMAGED) << length;
        }
    }
    for (const std::string& text : {std::string("main+0x1\n"), std::string("12345678")}) {
        const std::string argument = word(DJS_SYMBOLS_ARE_TEXT | text.size()) + text;
        const size_t bytes =
            djs_symbols_expand(&view, out, sizeof out, "B", argument.data(), argument.size());
        ASSERT_EQ(bytes, DJS_ALIGN8(4 + text.size()));
        EXPECT_EQ(std::string(out + 4, text.size()), text);
        EXPECT_EQ(
            djs_symbols_expand(&view, out, sizeof out, "B", argument.data(), argument.size() - 1),
            DJS_SYMBOLS_DAMAGED);
    }
}

} // namespace
