// SPDX-License-Identifier: GPL-2.0-or-later
// What is read of code that an optimizing compiler makes: inline instances, constants and clones.
#include "made_kernel.h"

#include "kernels.h"

#include <algorithm>

namespace djstap {

TEST(MadeInlined, InstancesHaveTheirPlaceAndVariables) {
    MadeKernel made({{"a.c", "int sink;\n"
                             "static inline __attribute__((always_inline)) int twice(int n)\n"
                             "{\n"
                             "    sink = n;\n"
                             "    return n + n;\n"
                             "}\n"
                             "int first(int x) { return twice(x); }\n"
                             "int second(void) { return twice(21); }\n"}},
                    {"-O2"});
    const DebugInfo& info = *made.info;
    EXPECT_TRUE(info.only_inlined("twice"));
    EXPECT_FALSE(info.only_inlined("first"));
    auto pattern = parse_function_pattern("twice");
    EXPECT_EQ(info.inlined_count(*pattern), 2u);
    const auto instances = info.inlined(*pattern, nullptr);
    ASSERT_EQ(instances.size(), 2u);
    // One of each function: the first that is accepted, else any.
    for (const std::string symbol : {"first", "second"}) {
        const auto one = info.inlined(
            *pattern, [&](const StatementAddress& place) { return place.symbol == symbol; });
        ASSERT_EQ(one.size(), 1u);
        EXPECT_EQ(one[0].symbol, symbol);
    }
    EXPECT_EQ(info.inlined(*pattern, [](const StatementAddress&) { return false; }).size(), 1u);
    for (size_t i = 0; i < 2; i++) {
        EXPECT_EQ(instances[i].function, "twice");
        EXPECT_EQ(instances[i].symbol, i == 0 ? "first" : "second");
        EXPECT_EQ(instances[i].file, "a.c");
        EXPECT_EQ(instances[i].line, 2u);
        EXPECT_TRUE(instances[i].inlined);
    }
    EXPECT_EQ(shown_parameters(info.variables_of_inlined(instances[0])), "n=rdi");
    EXPECT_EQ(shown_parameters(info.variables_of_inlined(instances[1])), "n=21");
    EXPECT_TRUE(find_functions(info, "twice").empty());
}

// The linker dropped the code of one of them, between the others in the debug symbols: it has no
// place.
TEST(MadeInlined, InstancesWithoutCodeAreNoPlaces) {
    const MadeKernel made({{"a.c", "volatile int sink;\n"
                                   "static inline __attribute__((always_inline)) int twice(int n)\n"
                                   "{\n"
                                   "    sink = n;\n"
                                   "    return sink;\n"
                                   "}\n"
                                   "int first(int x) { return twice(x); }\n"
                                   "int without(int x)\n"
                                   "{\n"
                                   "    sink = x;\n"
                                   "    asm volatile(\".pushsection .gnu.lto_dropped\");\n"
                                   "    twice(x);\n"
                                   "    asm volatile(\".popsection\");\n"
                                   "    return sink;\n"
                                   "}\n"
                                   "int second(void) { return twice(21); }\n"}},
                          {"-O2", "-fno-var-tracking"});
    const DebugInfo& info = *made.info;
    auto pattern = parse_function_pattern("twice");
    EXPECT_EQ(info.inlined_count(*pattern), 2u);
    const auto instances = info.inlined(*pattern, nullptr);
    ASSERT_EQ(instances.size(), 2u);
    EXPECT_EQ(instances[0].symbol, "first");
    EXPECT_EQ(instances[1].symbol, "second");
}

// A function whose symbol is gone may be another one by now: nothing in it is probed by name.
TEST(MadeInlined, InstancesInFunctionsWithoutSymbolsAreNoPlaces) {
    const MadeKernel made({{"a.c", "volatile int sink;\n"
                                   "static inline __attribute__((always_inline)) int twice(int n)\n"
                                   "{\n"
                                   "    sink = n;\n"
                                   "    return sink;\n"
                                   "}\n"
                                   "int first(int x) { return twice(x); }\n"
                                   "static int without(int x) __asm__(\".Lwithout\");\n"
                                   "static __attribute__((noinline, used)) int without(int x)\n"
                                   "{ return twice(x + 1); }\n"
                                   "int second(void) { return twice(21); }\n"}},
                          {"-O2"});
    std::vector<std::string> symbols;
    for (const StatementAddress& each :
         made.info->inlined(*parse_function_pattern("twice"), nullptr))
        symbols.push_back(each.symbol);
    std::sort(symbols.begin(), symbols.end());
    EXPECT_EQ(symbols, (std::vector<std::string>{"first", "second"}));
    EXPECT_TRUE(find_functions(*made.info, "without").empty());
}

TEST(MadeParameters, AreTheArgumentsThoughTheFirstStatementAssignsToThem) {
    const std::string source = "void use(long n) { __asm__ volatile(\"\" : : \"r\"(n)); }\n"
                               "int counts(int n, long other)\n"
                               "{\n"
                               "    while (n-- > 0)\n"
                               "        use(n + other);\n"
                               "    return 0;\n"
                               "}\n"
                               "void masks(long n, unsigned flags)\n"
                               "{\n"
                               "    flags &= ~6u;\n"
                               "    use(n + flags);\n"
                               "}\n"
                               "long clears(long *n)\n"
                               "{\n"
                               "    long *last = n;\n"
                               "    n = 0;\n"
                               "    use(*last + (n == 0));\n"
                               "    return *last;\n"
                               "}\n";
    const std::vector<std::pair<std::string, std::string>> sources = {{"a.c", source}};
    // Without variable tracking a parameter has one location, which holds behind the prologue.
    for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
             {"-O2", "-fno-inline"}, {"-O2", "-fno-inline", "-fno-var-tracking"}, {"-O0"}}) {
        const MadeKernel made(sources, options);
        auto shown = [&](const char* name) {
            return shown_parameters(find_functions(*made.info, name).at(0).parameters);
        };
        EXPECT_EQ(shown("counts"), "n=rdi other=rsi") << options.back();
        EXPECT_EQ(shown("masks"), "n=rdi flags=rsi") << options.back();
        EXPECT_EQ(shown("clears"), "n=rdi") << options.back();
    }
}

// Where DWARF says that the prologue puts them they are not yet.
TEST(MadeParameters, StructuresInTwoRegistersAreThereAtTheEntry) {
    const std::vector<std::pair<std::string, std::string>> sources = {
        {"a.c", "struct pair { long a; int b; };\n"
                "struct odd { char all[13]; };\n"
                "long pairs(struct pair x, int n, struct pair y) { return x.b + y.a + n; }\n"
                "int odds(struct odd x, struct pair y) { return x.all[12] + y.b; }\n"}};
    for (const char* option : {"-O0", "-O2"}) {
        const MadeKernel made(sources, {option});
        auto shown = [&](const char* name) {
            return shown_parameters(find_functions(*made.info, name).at(0).parameters);
        };
        EXPECT_EQ(shown("pairs"), "x={8:rdi 8:rsi} n=rdx y={8:rcx 8:r8}") << option;
        EXPECT_EQ(shown("odds"), "x={8:rdi 5:rsi} y={8:rdx 8:rcx}") << option;
        EXPECT_EQ(shown_parameters(made.info->variables_at(made.address("pairs"))), shown("pairs"))
            << option;
    }
}

// The arguments of an optimizer's clone are known by DWARF only.
TEST(MadeParameters, AreNotWhereTheyWillBeKeptBehindTheEntry) {
    const std::string source = "void use(long n) { __asm__ volatile(\"\" : : \"r\"(n)); }\n"
                               "static long cloned(long n, long same)\n"
                               "{\n"
                               "    use(n);\n"
                               "    use(n + same);\n"
                               "    return n * same;\n"
                               "}\n"
                               "long first(long n) { return cloned(n, 11) + 1; }\n"
                               "long second(long n) { return cloned(n + 1, 11) + 2; }\n";
    const std::vector<std::pair<std::string, std::string>> sources = {{"a.c", source}};
    const std::vector<std::string> options = {"-O2", "-fno-inline", "-fno-var-tracking"};
    const MadeKernel made(sources, options);
    const auto functions = find_functions(*made.info, "cloned");
    ASSERT_EQ(functions.size(), 1u);
    ASSERT_NE(functions[0].symbol, "cloned");
    EXPECT_EQ(shown_parameters(functions[0].parameters), "n=? same=?");
}

// The linker script's aliases (ftrace_ops_list_func) have no size.
TEST(MadeBlacklist, AnAliasWithoutSizeDoesNotShortenAForbiddenFunction) {
    const std::string assembly = ".text\n"
                                 ".globl before, hidden, later, after\n"
                                 ".type before, @function\n"
                                 ".type hidden, @function\n"
                                 ".type later, @function\n"
                                 "before: hidden: later: nop\n"
                                 "nop\n"
                                 ".size hidden, .-hidden\n"
                                 ".type after, @function\n"
                                 "after: nop\n"
                                 ".size after, .-after\n"
                                 ".data\n"
                                 ".globl __start_kprobe_blacklist, __stop_kprobe_blacklist\n"
                                 "__start_kprobe_blacklist: .quad hidden\n"
                                 "__stop_kprobe_blacklist:\n";
    const std::vector<std::pair<std::string, std::string>> sources = {
        {"a.c", "int nothing;\nint other(void) { return nothing; }\n"}, {"b.s", assembly}};
    const MadeKernel made(sources);
    const uint64_t hidden = made.address("hidden");
    EXPECT_TRUE(made.image->kprobe_forbidden(hidden));
    EXPECT_TRUE(made.image->kprobe_forbidden(hidden + 1));
    EXPECT_FALSE(made.image->kprobe_forbidden(made.address("after")));
    EXPECT_FALSE(made.image->kprobe_forbidden(made.address("other")));
}

} // namespace djstap
