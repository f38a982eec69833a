// SPDX-License-Identifier: GPL-2.0-or-later
// What symbol tables, the kernel's own table of system calls, and line programs tell alone.
#include "debuginfo/line_lookup.h"
#include "debuginfo/line_rows.h"
#include "debuginfo/symbol_info.h"
#include "debuginfo/syscalls.h"
#include "made_kernel.h"

#include <algorithm>
#include <fstream>

namespace djstap {
namespace {

const std::string parts = R"s(
    .text
    .globl work, work_more, work_other_name, other
    .type work, @function
work:
work_other_name:
    .type work_other_name, @function
    ret
    .size work, .-work
    .size work_other_name, .-work
    .type work_more, @function
work_more:
    nop
    ret
    .size work_more, .-work_more
    .type work.cold, @function
work.cold:
    ret
    .size work.cold, .-work.cold
    .type work_more.cold.3, @function
work_more.cold.3:
    ret
    .size work_more.cold.3, .-work_more.cold.3
    .type other, @function
other:
    ret
    .size other, .-other
    .globl _ZN4shop5orderEv
    .type _ZN4shop5orderEv, @function
_ZN4shop5orderEv:
    ret
    .size _ZN4shop5orderEv, .-_ZN4shop5orderEv
    .type local, @function
local:
    ret
    .size local, .-local
    .globl work_data
    .data
    .type work_data, @function
work_data:
    .quad 0
    .size work_data, .-work_data
)s";

// The kernel's table of one system call: struct syscall_metadata of include/trace/syscall.h.
const std::string tables = R"c(struct metadata {
    const char *name;
    int number, count;
    const char **types, **names;
};
static const char *types[] = {"int", "const char *", "long", "long", "long", "long", "long"};
static const char *names[] = {"fd", "text", "c", "d", "e", "f", "g"};
static const char *empty[] = {"fd", ""};
struct metadata __syscall_meta__made = {"sys_made", 1, 2, types, names};
struct metadata __syscall_meta__none = {"sys_none", 2, 0, types, names};
struct metadata __syscall_meta__most = {"sys_most", 3, 6, types, names};
struct metadata __syscall_meta__more = {"sys_more", 4, 7, types, names};
struct metadata __syscall_meta__less = {"sys_less", 5, -1, types, names};
struct metadata __syscall_meta__empty = {"sys_empty", 6, 2, types, empty};
long __x64_sys_made(void) { return 1; }
long __x64_sys_most(void) { return 2; }
long sys_most_of_all(void) { return 3; }
)c";

const MadeKernel& symbols_kernel() {
    static const MadeKernel made({{"kernel/parts.s", parts}, {"kernel/tables.c", tables}});
    return made;
}

std::string functions_of(const std::string& text) {
    const SymbolInfo info(*symbols_kernel().image);
    const auto pattern = parse_function_pattern(text);
    EXPECT_TRUE(pattern) << text;
    std::string shown;
    for (const FunctionInfo& each : info.functions(*pattern, true)) {
        EXPECT_EQ(each.symbol, each.name);
        EXPECT_EQ(each.entry, symbols_kernel().address(each.name));
        EXPECT_EQ(each.size, symbols_kernel().image->symbol(each.name)->size);
        EXPECT_FALSE(each.parameters_hint.empty());
        shown += (shown.empty() ? "" : " ") + each.name + (each.external ? "" : " (local)");
    }
    return shown;
}

// The cold part of a function is none, nor are data; a second name of a function is not told again.
TEST(SymbolTable, TellsFunctionsInTheOrderOfTheirNames) {
    EXPECT_EQ(functions_of("work_more"), "work_more");
    EXPECT_EQ(functions_of("work_data"), "");
    EXPECT_EQ(functions_of("work.cold"), "");
    EXPECT_EQ(functions_of("work_more.cold.3"), "");
    EXPECT_EQ(functions_of("work_m*"), "work_more");
    EXPECT_EQ(functions_of("[lo]*[lr]"), "local (local) other");
    const std::string all = functions_of("work*");
    EXPECT_TRUE(all == "work work_more" || all == "work_more work_other_name") << all;
    EXPECT_EQ(functions_of("none*"), "");
    // Symbols have no files.
    EXPECT_EQ(functions_of("work_more@parts.s"), "");
}

TEST(SymbolTable, TellsNoStatements) {
    const SymbolInfo info(*symbols_kernel().image);
    const std::string why = "statements are known only from debug information";
    const auto lines = info.statements(*parse_function_pattern("work@parts.s:5"), true);
    ASSERT_FALSE(lines);
    EXPECT_EQ(lines.failure().message, why);
    const auto at = info.statement_at(symbols_kernel().address("work"));
    ASSERT_FALSE(at);
    EXPECT_EQ(at.failure().message, why);
    FunctionInfo function;
    info.add_details(function);
    EXPECT_EQ(function.parameters_hint, at.failure().hint);
}

TEST(SymbolTable, TellsSimilarNames) {
    const SymbolInfo info(*symbols_kernel().image);
    const auto has = [&](std::string_view name, const std::string& wanted) {
        const auto names = info.similar_functions(name);
        return std::find(names.begin(), names.end(), wanted) != names.end();
    };
    EXPECT_TRUE(has("othre", "other"));
    // As they are asked for: with scopes, without, or as the linker knows them.
    EXPECT_TRUE(has("shop::ordre", "shop::order"));
    EXPECT_TRUE(has("ordre", "order"));
    EXPECT_FALSE(has("ordre", "shop::order"));
    EXPECT_TRUE(has("_ZN4shop5ordreEv", "_ZN4shop5orderEv"));
    EXPECT_FALSE(has("_ZN4shop5ordreEv", "order"));
}

TEST(SyscallTable, TellsParameters) {
    const auto parameters = [](const char* name) -> std::string {
        const auto found = syscall_table_parameters(*symbols_kernel().image, name);
        if (!found)
            return "unknown";
        std::string shown;
        for (const SyscallParameter& each : *found)
            shown += each.type + "|" + each.name + ";";
        return shown;
    };
    EXPECT_EQ(parameters("made"), "int|fd;const char *|text;");
    EXPECT_EQ(parameters("none"), "");
    EXPECT_EQ(parameters("most"), "int|fd;const char *|text;long|c;long|d;long|e;long|f;");
    // A system call has at most six arguments; anything else is no such table.
    EXPECT_EQ(parameters("more"), "unknown");
    EXPECT_EQ(parameters("less"), "unknown");
    EXPECT_EQ(parameters("empty"), "unknown");
    EXPECT_EQ(parameters("missing"), "unknown");
}

TEST(SyscallWrappers, AreFoundByTheNamesOfCalls) {
    const auto found = [](const char* pattern) {
        std::vector<std::string> names;
        for (const SyscallWrapper& each : syscall_wrappers(*symbols_kernel().image, pattern)) {
            EXPECT_EQ(each.symbol.name, "__x64_sys_" + each.name);
            names.push_back(each.name);
        }
        std::sort(names.begin(), names.end());
        return names;
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(found("sys_made"), Names{"made"});
    EXPECT_EQ(found("sys_m*"), (Names{"made", "most"}));
    EXPECT_EQ(found("{sys_made,sys_most}"), (Names{"made", "most"}));
    EXPECT_EQ(found("sys_none"), Names());
    // What may be anything else is no system call.
    EXPECT_EQ(found("s*_made"), Names());
    EXPECT_EQ(found("other"), Names());
}

// struct pt_regs of arch/x86/include/asm/ptrace.h: r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si
// di; arguments are in di, si, dx, r10, r8, r9.
TEST(SyscallArguments, AreInTheRegistersOfTheCall) {
    constexpr int64_t words[] = {14, 13, 12, 7, 9, 8};
    for (size_t i = 0; i < std::size(words); i++) {
        const Location location = syscall_argument(i);
        EXPECT_EQ(location.kind, LocationKind::Memory);
        EXPECT_EQ(location.offset, 8 * words[i]) << i;
    }
    EXPECT_NE(syscall_argument(6).kind, LocationKind::Memory);
}

const std::string lines_of_c = R"c(int first(int a)
{
    return a + 1;
}

int second(int a)
{
    return first(a) * 2;
}
)c";

const MadeKernel& with_lines() {
    static const MadeKernel made({{"fs/lines.c", lines_of_c}});
    return made;
}

TEST(LineLookup, FindsFilesAndLinesOfAddresses) {
    const MadeKernel& made = with_lines();
    const LineLookup lookup(made.folder() + "/vmlinux");
    EXPECT_EQ(lookup.at(made.address("first")), "fs/lines.c:2");
    EXPECT_EQ(lookup.at(made.address("second")), "fs/lines.c:7");
    const uint64_t end = made.address("second") + made.image->symbol("second")->size;
    EXPECT_EQ(lookup.at(end - 1), "fs/lines.c:9"); // its ret
    EXPECT_EQ(lookup.at(end + 0x100000), "");
    EXPECT_EQ(lookup.at(0), "");
    const std::string no_lines = made.folder() + "/.config";
    EXPECT_EQ(LineLookup(no_lines).at(made.address("first")), "");
    EXPECT_EQ(LineLookup(made.folder() + "/none").at(made.address("first")), "");
}

TEST(LineRows, AreThoseOfTheLineProgram) {
    const MadeKernel& made = with_lines();
    const auto rows = read_line_rows(made.folder() + "/vmlinux");
    ASSERT_TRUE(rows);
    const uint64_t begin = made.address("first"),
                   end = made.address("second") + made.image->symbol("second")->size;
    EXPECT_EQ(rows->front().address, begin);
    EXPECT_EQ(rows->front().line, 2u);
    EXPECT_TRUE(rows->front().statement);
    EXPECT_FALSE(rows->front().end);
    EXPECT_TRUE(rows->back().end);
    EXPECT_EQ(rows->back().address, end);
    EXPECT_TRUE(std::any_of(rows->begin(), rows->end(), [&](const LineRow& row) {
        return row.address == made.address("second") && row.line == 7;
    }));
    // gcc's columns begin with 1: of the brace that opens a function.
    EXPECT_EQ(rows->front().column, 1u);
    EXPECT_FALSE(read_line_rows(made.folder() + "/.config"));
    EXPECT_FALSE(read_line_rows(made.folder() + "/none"));
}

// Rows that are marked as the beginning of a block, which gcc does not do: by hand.
TEST(LineRows, OfBlocksAreThoseOfTheUnitsThatAreAsked) {
    const std::string one_text = R"s(
    .file 1 "one.c"
    .text
    .globl one
    .type one, @function
one:
    .loc 1 1
    nop
    .loc 1 2 basic_block
    nop
    .loc 1 3
    ret
    .size one, .-one
)s",
                      two_text = R"s(
    .file 1 "two.c"
    .text
    .globl two
    .type two, @function
two:
    .loc 1 1 basic_block
    ret
    .size two, .-two
)s";
    const MadeKernel made({{"kernel/one.s", one_text}, {"kernel/two.s", two_text}});
    const std::string path = made.folder() + "/vmlinux";
    const uint64_t one = made.address("one"), two = made.address("two");
    using Addresses = std::vector<uint64_t>;
    EXPECT_EQ(read_block_rows(path, Addresses{one}), Addresses{one + 1});
    EXPECT_EQ(read_block_rows(path, Addresses{one, one + 2}), Addresses{one + 1}); // one unit
    EXPECT_EQ(read_block_rows(path, Addresses{two}), Addresses{two});
    EXPECT_EQ(read_block_rows(path, Addresses{0, two, one}), (Addresses{two, one + 1}));
    EXPECT_EQ(read_block_rows(path, Addresses{}), Addresses());
    EXPECT_EQ(read_block_rows(made.folder() + "/none", Addresses{one}), Addresses());
}

} // namespace
} // namespace djstap
