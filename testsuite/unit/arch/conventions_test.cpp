// SPDX-License-Identifier: GPL-2.0-or-later
// Where arguments are (psABI 3.2.3), and names of the kernel's code by which it is treated in
// another way.
#include "arch/arch.h"
#include "arch/x86_64/registers.h"

#include <gtest/gtest.h>
#include <string>

namespace djstap::arch {
namespace {

// "rdi"; "rdi:8+rsi:4", pieces; "[rdi+0]", in memory; "?" and why it is nowhere.
std::string argument_place(const Location& location) {
    const auto name = [](PtReg reg) -> std::string {
        static constexpr const char* names[] = {"rdi", "rsi", "rdx", "rcx", "r8", "r9"};
        for (size_t i = 0; i < std::size(names); i++)
            if (argument_registers()[i] == reg)
                return names[i];
        return reg == stack_pointer() ? "rsp" : "another";
    };
    switch (location.kind) {
    case LocationKind::None:
        return "?" + location.why;
    case LocationKind::Register:
        return name(location.reg);
    case LocationKind::Memory:
        return "[" + name(location.reg) + "+" + std::to_string(location.offset) + "]";
    case LocationKind::Pieces: {
        std::string text;
        uint64_t at = 0;
        for (const LocationPiece& piece : location.pieces) {
            EXPECT_EQ(piece.offset, at);
            at += piece.size;
            text += (text.empty() ? "" : "+") + argument_place(piece.location) + ":" +
                    std::to_string(piece.size);
        }
        return text;
    }
    default:
        return "another kind";
    }
}

std::string argument_places(const std::vector<ArgumentShape>& arguments,
                            const ArgumentShape& result = {8}) {
    std::string text;
    for (const Location& location : argument_locations(arguments, result))
        text += (text.empty() ? "" : " ") + argument_place(location);
    return text;
}

constexpr ArgumentShape word{8}, small{1}, two_words{16}, odd{12, true}, pair{16, true},
    large{17, true}, empty{0, true}, real{8, false, true}, unknown{0, false, false, false},
    object{24, true, false, true, true};
constexpr const char* is_unknown = "?its location is unknown without DWARF";

TEST(Arguments, AreInSixRegistersAndThenOnTheStack) {
    EXPECT_EQ(argument_places({}), "");
    EXPECT_EQ(argument_places({word, small, word, word, small, word}), "rdi rsi rdx rcx r8 r9");
    EXPECT_EQ(argument_places({word, word, word, word, word, word, small, word}),
              "rdi rsi rdx rcx r8 r9 [rsp+8] [rsp+16]")
        << "above the return address";
}

TEST(Arguments, OfTwoWordsAreInTwoRegistersOrInNone) {
    EXPECT_EQ(argument_places({two_words, pair, odd}), "rdi:8+rsi:8 rdx:8+rcx:8 r8:8+r9:4");
    EXPECT_EQ(argument_places({word, word, word, word, pair, word}),
              "rdi rsi rdx rcx r8:8+r9:8 [rsp+8]");
    // The register that is left is for the next one.
    EXPECT_EQ(argument_places({word, word, word, word, word, odd, word, word}),
              "rdi rsi rdx rcx r8 [rsp+8] r9 [rsp+24]");
}

TEST(Arguments, ThatAreLargeAreOnTheStack) {
    EXPECT_EQ(argument_places({large, word, large, word}), "[rsp+8] rdi [rsp+32] rsi");
}

TEST(Arguments, OfNoSizeTakeNoPlace) {
    EXPECT_EQ(argument_places({empty, word}), "?empty type rdi");
}

TEST(Arguments, OfFloatingPointTakeNoGeneralRegister) {
    EXPECT_EQ(argument_places({real, word, real, word}),
              "?floating-point argument rdi ?floating-point argument rsi");
}

TEST(Arguments, BehindOneOfAnUnknownTypeAreUnknown) {
    EXPECT_EQ(argument_places({word, unknown, word, real}),
              "rdi " + std::string(is_unknown) + " " + is_unknown + " ?floating-point argument");
}

TEST(Arguments, OfClassesAreReferences) {
    EXPECT_EQ(argument_places({object, word}), "[rdi+0] rsi");
    EXPECT_EQ(argument_places({word, word, word, word, word, object, word}),
              "rdi rsi rdx rcx r8 [r9+0] [rsp+8]");
    EXPECT_EQ(argument_places({word, word, word, word, word, word, object, word}),
              "rdi rsi rdx rcx r8 r9 ?passed by a reference on the stack [rsp+16]");
}

TEST(Arguments, FollowThePlaceOfAResultInMemory) {
    for (const ArgumentShape& result : {large, object}) {
        EXPECT_TRUE(is_returned_in_memory(result));
        EXPECT_EQ(argument_places({word, word}, result), "rsi rdx");
    }
    for (const ArgumentShape& result : {word, pair, odd, real, empty, ArgumentShape{32}}) {
        EXPECT_FALSE(is_returned_in_memory(result));
        EXPECT_EQ(argument_places({word, word}, result), "rdi rsi");
    }
}

struct NameList {
    bool (*holds)(std::string_view);
    std::vector<const char*> names, others;
};

TEST(NamesOfTheKernel, WhatIsTreatedInAnotherWay) {
    const std::vector<NameList> all{
        {handles_faults,
         {"exc_page_fault", "bsearch", "fixup_exception", "search_extable.part.0"},
         {"", "page_fault", "exc_page_fault_other", "vfs_read"}},
        {runs_without_exceptions,
         {"start_secondary", "cpu_init", "memset", "load_idt.constprop.0", "startup_64",
          "startup_64_setup_env", "__x86_indirect_thunk_rax", "__x86_return_thunk", "__pi_memcpy",
          "srso_alias_safe_ret", "machine_kexec.cold"},
         {"", "memset64", "start", "x__pi_memcpy", "vfs_read"}},
        {is_between_tasks,
         {"__switch_to", "__switch_to_asm"},
         {"", "__switch_to_xtra", "schedule"}},
        {is_left_without_return,
         {"swsusp_save", "acpi_enter_sleep_state", "copy_data_pages.constprop.0", "bpf_throw",
          "acpi_read_bit_register"},
         {"", "swsusp_write", "acpi_suspend_enter", "x86_acpi_suspend_lowlevel", "vfs_read"}},
        {is_uncalled,
         {"ret_from_fork", "_stext", "_text", ".hidden", ".", "xen_entry_SYSCALL_64",
          "xen_asm_exc_page_fault", "__indirect_thunk_start", "bad_get_user"},
         {"", "_etext", "ret_from_fork.cold", "xen_entry", "xen_irq_enable", "vfs_read"}},
        {is_in_tracers,
         {"ftrace_call", "return_to_handler", "function_trace_call", "klp_ftrace_handler.part.0",
          "ftrace_caller", "ftrace_caller_op_ptr", "ftrace_regs_caller_end", "ftrace_stub_graph",
          "__bpf_prog_enter_recur", "__bpf_tramp_exit", "arch_rethook_trampoline"},
         {"", "ftrace", "ftrace_calls", "bpf_prog_enter", "vfs_read"}},
    };
    for (const NameList& each : all) {
        for (const char* name : each.names)
            EXPECT_TRUE(each.holds(name)) << name;
        for (const char* name : each.others)
            EXPECT_FALSE(each.holds(name)) << name;
    }
}

} // namespace
} // namespace djstap::arch
