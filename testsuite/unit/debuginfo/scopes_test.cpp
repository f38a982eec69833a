// SPDX-License-Identifier: GPL-2.0-or-later
// Places, scopes and calls in functions of a few lines.
#include "made_kernel.h"
#include "separate.h"

#include "arch/arch.h"
#include "debuginfo/dwarf_scan.h"
#include "kernels.h"

#include <algorithm>

namespace djstap {
namespace {

// Lines count: the tests below name them.
constexpr const char* places_source = R"c(static volatile int sink;
static inline __attribute__((always_inline)) int twice(int n)
{
    int result = n + n;
    if (result > 10)
        goto out;
    sink = result;
out:
    return result;
}
int outer(int x)
{
    int sum = twice(x);
    if (sum < 0)
        goto fail;
    {
inner:
        sum++;
    }
    sink = sum;
    if (sum < 5)
        goto inner;
    return sum;
fail:
    return -1;
}
int shadow(int n)
{
    int value = n;
    {
        long value = n * 2;
        char deep = value;
        sink = deep;
    }
    {
        short sibling = n;
        sink = sibling;
    }
    sink = value;
    return value;
}
)c";

const MadeKernel& places() {
    static const MadeKernel made({{"a.c", places_source}}, {"-O0"});
    return made;
}

StatementAddress only_statement(const std::string& pattern) {
    const auto found = places().info->statements(*parse_function_pattern(pattern), false);
    EXPECT_TRUE(found && found->addresses.size() == 1) << pattern;
    return found && !found->addresses.empty() ? found->addresses[0] : StatementAddress();
}

TEST(MadePlaces, StatementsBeginAtTheirAddress) {
    const StatementAddress line = only_statement("outer@a.c:20");
    const auto found = places().info->statement_at(line.address);
    ASSERT_TRUE(found) << found.failure().message;
    EXPECT_EQ(found->address, line.address);
    EXPECT_EQ(found->file, "a.c");
    EXPECT_EQ(found->line, 20u);
    EXPECT_TRUE(found->is_stmt);
    EXPECT_EQ(found->function, "outer");
    EXPECT_EQ(found->symbol, "outer");
    EXPECT_EQ(found->symbol_entry, places().address("outer"));
    const auto within = places().info->statement_at(line.address + 1);
    ASSERT_FALSE(within);
    EXPECT_EQ(within.failure().message, "no statement begins there");
    char begin[32];
    snprintf(begin, sizeof begin, "0x%lx", line.address);
    EXPECT_EQ(within.failure().hint, std::string("the one that it is in begins at ") + begin);
    const auto none = places().info->statement_at(16);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.failure().message, "no function is there");
}

TEST(MadePlaces, InlineInstancesAreWhereTheyBegin) {
    const auto instances = places().info->inlined(*parse_function_pattern("twice"), nullptr);
    ASSERT_EQ(instances.size(), 1u);
    const auto found = places().info->inlined_at(instances[0].address);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->address, instances[0].address);
    EXPECT_EQ(found->function, "twice");
    EXPECT_EQ(found->symbol, "outer");
    EXPECT_EQ(found->file, "a.c");
    EXPECT_EQ(found->line, 2u);
    EXPECT_TRUE(found->inlined);
    EXPECT_EQ(found->scope, instances[0].scope);
    EXPECT_FALSE(places().info->inlined_at(places().address("outer")));
    EXPECT_FALSE(places().info->inlined_at(only_statement("outer@a.c:20").address));
    EXPECT_FALSE(places().info->inlined_at(16));
    EXPECT_EQ(shown_parameters(places().info->variables_of_inlined(instances[0])),
              "n=[rbp+-8] result=[rbp+-12]");
}

// Those of what is inlined belong to the inlined function.
TEST(MadePlaces, LabelsAreThoseOfTheFunction) {
    const auto shown = [](const char* function, const char* label) {
        std::string text;
        for (const LabelAddress& each :
             places().info->labels(*parse_function_pattern(function), label))
            text += each.label + " " + each.at.function + " in " + each.at.symbol + " " +
                    each.at.file + ":" + std::to_string(each.at.line) +
                    (each.at.inlined ? " inlined" : "") + "; ";
        return text;
    };
    EXPECT_EQ(shown("outer", "*"), "inner outer in outer a.c:17; fail outer in outer a.c:24; ");
    EXPECT_EQ(shown("outer", "fa*"), "fail outer in outer a.c:24; ");
    EXPECT_EQ(shown("outer", "out"), "");
    EXPECT_EQ(shown("twice", "*"), "out twice in outer a.c:8 inlined; ");
    EXPECT_EQ(shown("shadow", "*"), "");
    const auto fail = places().info->labels(*parse_function_pattern("outer"), "fail");
    ASSERT_EQ(fail.size(), 1u);
    EXPECT_EQ(fail[0].at.address, only_statement("outer@a.c:25").address);
    EXPECT_EQ(fail[0].at.symbol_entry, places().address("outer"));
}

TEST(MadeScopes, InnerNamesHideOuterOnes) {
    const auto shown = [](const char* pattern) {
        std::string text;
        for (const Variable& each : places().info->variables_at(only_statement(pattern).address))
            text += places().info->type_name(each.type) + " " + each.name +
                    (each.is_parameter ? " parameter; " : "; ");
        return text;
    };
    EXPECT_EQ(shown("shadow@a.c:33"), "long int value; char deep; int n parameter; ");
    EXPECT_EQ(shown("shadow@a.c:37"), "short int sibling; int n parameter; int value; ");
    EXPECT_EQ(shown("shadow@a.c:39"), "int n parameter; int value; ");
}

// What is inlined is in scope where it runs; what the compiler has dropped is told with its reason.
TEST(MadeScopes, InstancesLackWhatWasDropped) {
    const MadeKernel made({{"a.c", "volatile int sink;\n"
                                   "static inline __attribute__((always_inline)) int f(int n)\n"
                                   "{\n"
                                   "    int unused = n * 3;\n"
                                   "    extern int elsewhere;\n"
                                   "    sink = n;\n"
                                   "    sink = 5;\n"
                                   "    return 1;\n"
                                   "}\n"
                                   "int outer(int x) { int y = x; return f(y + 4) + x; }\n"}},
                          {"-O2", "-fno-var-tracking"});
    const auto instances = made.info->inlined(*parse_function_pattern("f"), nullptr);
    ASSERT_EQ(instances.size(), 1u);
    std::vector<std::string> names;
    for (const Variable& each : made.info->variables_of_inlined(instances[0]))
        names.push_back(each.name + (each.location.kind == LocationKind::None ? "?" : ""));
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"n?", "unused?"}));
}

// clang's frame is where the frame pointer is, or the stack pointer.
TEST(MadeScopes, VariablesMayBelongToARegister) {
    const MadeKernel made({{"a.c", "int f(int a, long b)\n"
                                   "{\n"
                                   "    int local = a;\n"
                                   "    return local + b;\n"
                                   "}\n"}},
                          {"-O0"}, "clang-19");
    const auto found = made.info->statements(*parse_function_pattern("f@a.c:4"), false);
    ASSERT_TRUE(found && found->addresses.size() == 1);
    std::vector<int64_t> offsets;
    for (const Variable& each : made.info->variables_at(found->addresses[0].address)) {
        ASSERT_EQ(each.location.kind, LocationKind::Memory) << each.name << each.location.why;
        EXPECT_EQ(shown_register(each.location.reg), "rbp") << each.name;
        EXPECT_LT(each.location.offset, 0) << each.name;
        offsets.push_back(each.location.offset);
    }
    std::sort(offsets.begin(), offsets.end());
    ASSERT_EQ(offsets.size(), 3u);
    EXPECT_TRUE(std::unique(offsets.begin(), offsets.end()) == offsets.end());
}

constexpr const char* frame_source = R"c(
#define OWN __attribute__((noinline, noclone))
OWN int leaf(int n) { __asm__ volatile(""); return n + 1; }
static OWN int own(int n) { __asm__ volatile(""); return n + 2; }
int top(int n) { int own_result = own(n); return leaf(own_result) + 1; }
)c";

std::vector<CallSite> calls_in(const MadeKernel& made, const char* function) {
    return made.info->calls({made.address(function), 0}).sites;
}

// What a function takes of the stack is between its return address and that of what it calls.
TEST(MadeCallFrames, BelongToTheStackPointer) {
    const MadeKernel made(
        {{"a.c", frame_source + std::string("int room(int n) { volatile char all[40]; all[n] = 1; "
                                            "return leaf(n) + all[n]; }\n")}},
        {"-O2", "-fomit-frame-pointer", "-fno-ipa-ra"});
    for (const char* function : {"top", "room"}) {
        const uint64_t begin = made.address(function);
        const std::string code(made.image->bytes_at(begin, made.image->symbol(function)->size));
        int64_t taken = 0; // by sub imm8, %rsp and push
        if (const size_t at = code.find("\x48\x83\xec"); at != std::string::npos)
            taken += code[at + 3];
        for (size_t at = 0; at < code.size() && (code[at] == '\x53' || code[at] == '\x55'); at++)
            taken += 8;
        const auto calls = calls_in(made, function);
        ASSERT_FALSE(calls.empty());
        for (const CallSite& each : calls) {
            ASSERT_TRUE(each.return_slot);
            EXPECT_EQ(*each.return_slot, std::pair(arch::stack_pointer(), 8 + taken));
            EXPECT_EQ(each.frame_pointer.has_value(), code.find('\x55') == 0); // push %rbp
        }
    }
}

// "push %rbp; mov %rsp, %rbp": the frame pointer of the caller is below the return address.
TEST(MadeCallFrames, BelongToTheFramePointer) {
    const MadeKernel made({{"a.c", frame_source}}, {"-O2", "-fno-omit-frame-pointer"});
    const auto calls = calls_in(made, "top");
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(calls[0].callee.name, "own");
    EXPECT_EQ(calls[1].callee.name, "leaf");
    for (const CallSite& each : calls) {
        ASSERT_TRUE(each.return_slot);
        EXPECT_EQ(shown_register(each.return_slot->first), "rbp");
        EXPECT_EQ(each.return_slot->second, 8);
        ASSERT_TRUE(each.frame_pointer);
        EXPECT_EQ(*each.frame_pointer, -8);
    }
}

// Functions of one name: each unit has its own.
TEST(MadeCallees, AreThoseOfTheirUnit) {
    const auto unit = [](const std::string& number) {
        return std::pair("u" + number + ".c",
                         "static __attribute__((noinline, noclone)) int helper(int n)\n"
                         "{ __asm__ volatile(\"\"); return n + " +
                             number + "; }\nint top" + number +
                             "(int n) { return helper(n) * 3; }\n");
    };
    const MadeKernel made({unit("1"), unit("2")}, {"-O2"});
    for (const char* top : {"top1", "top2"}) {
        const auto calls = calls_in(made, top);
        ASSERT_EQ(calls.size(), 1u);
        EXPECT_EQ(calls[0].callee.name, "helper");
        const auto file = "u" + std::string(top + 3) + ".c";
        EXPECT_EQ(calls[0].callee.file, file);
    }
}

// Recorded once for all units: the definition of the first one, and what other units see of it.
TEST(MadeIndex, HasEachNameOnce) {
    const std::string header = "enum state { OFF = 3, ON = 4 };\n"
                               "struct common { int a; };\n";
    const MadeKernel made(
        {{"u1.c", header + "struct other { int a; };\nstatic int counter;\n"
                           "enum state now1 = ON;\nstruct common c1;\n"
                           "struct other o1;\nint *one(void) { return &counter; }\n"},
         {"u2.c", header + "struct other { long a, b; };\nint counter = 7;\n"
                           "enum state now2 = OFF;\nstruct common c2;\n"
                           "struct other o2;\nint two(void) { return counter; }\n"},
         {"u3.c", "static int counter;\nenum local { OFF = 9 };\n"
                  "int *three(void) { return &counter; }\n"}});
    const DebugInfo& info = *made.info;
    EXPECT_EQ(info.enumerator("ON"), std::optional<int64_t>(4));
    EXPECT_EQ(info.enumerator("OFF"), std::optional<int64_t>(3));
    EXPECT_FALSE(info.enumerator("NONE"));
    EXPECT_EQ(info.resolve(*info.type_by_name("struct other")).size, 4u);
    EXPECT_EQ(info.resolve(*info.type_by_name("struct common")).size, 4u);
    const auto counter = info.global("counter");
    ASSERT_TRUE(counter);
    EXPECT_EQ(counter->location.constant, made.address("counter")); // the one of all units
    std::string names;
    for (const FunctionInfo& each : find_functions(info, "*"))
        names += each.name + " ";
    EXPECT_EQ(names, "one three two ");
}

// More strings than there is room for at first, and one that is longer than a block of them.
TEST(StringNumbers, AreOnePerString) {
    StringSet strings;
    EXPECT_EQ(strings.add(""), 0u);
    std::vector<uint32_t> numbers;
    for (int i = 0; i < 20000; i++)
        numbers.push_back(strings.add("string " + std::to_string(i)));
    const std::string large((1 << 18) + 5, 'x');
    const uint32_t longest = strings.add(large);
    for (uint32_t i = 0; i < numbers.size(); i++) {
        EXPECT_EQ(numbers[i], i + 1);
        ASSERT_EQ(strings.add("string " + std::to_string(i)), numbers[i]);
        ASSERT_EQ(strings.all()[numbers[i]], "string " + std::to_string(i));
    }
    EXPECT_EQ(longest, 20001u);
    EXPECT_EQ(strings.add(large), longest);
    EXPECT_EQ(strings.all()[longest], large);
    EXPECT_EQ(strings.add("after"), 20002u);
    EXPECT_EQ(strings.all().size(), 20003u);
    EXPECT_EQ(strings.all()[0], "");
}

constexpr const char* calling_module = R"c(
#define OWN __attribute__((noinline, noclone))
OWN int leaf(int n) { __asm__ volatile(""); return n + 1; }
static OWN int own(int n) { __asm__ volatile(""); return n + 2; }
int outside(int n);
int top(int n) { return leaf(n) * own(n) + outside(n) + 1; }
)c";

} // namespace

// A module's instructions do not name global functions yet: relocations do.
TEST_F(SeparateDebugInfo, CalleesOfModulesAreKnownByName) {
    make_module("m.ko", calling_module);
    const Opened opened = open("m.ko");
    ASSERT_TRUE(opened.info) << opened.failure;
    const auto top = find_functions(*opened.info, "top");
    ASSERT_EQ(top.size(), 1u);
    std::vector<std::string> names;
    for (const CallSite& each : opened->calls({top[0].entry, 0}).sites)
        names.push_back(each.callee.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"leaf", "own"}));
}

} // namespace djstap
