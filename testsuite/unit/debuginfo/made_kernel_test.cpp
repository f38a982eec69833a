// SPDX-License-Identifier: GPL-2.0-or-later
// What is read of a kernel whose source is known to the last line.
#include "made_kernel.h"

#include "kernels.h"

namespace djstap {
namespace {

// Lines count: the tests below name them.
const std::string types = R"c(typedef unsigned int u32;
typedef long (*callback)(const char *, int, ...);
enum color { RED, GREEN = 5, BLUE = -1 };
union either { int number; char text[8]; };
struct inner { short a; struct { u32 deep; union { u32 x, y; }; }; };
struct outer {
    struct inner first;
    u32 low : 3, high : 5;
    int table[2][3];
    struct outer *next;
    callback call;
    volatile const char *name;
    enum color color;
    _Bool flag;
    unsigned char byte;
    double real;
    union either either;
    char rest[];
};
struct outer everything;
static int hidden;
int shared = 4;
int *use(void) { return &hidden; }
enum later { LATER = 7 };
enum later when = LATER;
)c";

const std::string functions = R"c(int plain(int a, long b)
{
    int local = a;
    {
        long nested = b;
        local += nested;
    }
    return local;
}

static int inside(int x) { return x + 1; }

void nothing(void) { inside(2); }

int many(int a, int b, int c, int d, int e, int f, int g, long h) { return g + h; }

int variable(const char *format, ...) { return *format; }

_Noreturn void ends(void) { for (;;) ; }

struct pt_regs { unsigned long r[21]; };
static long __do_sys_made(int fd, const char *text) { long local = fd; return local + *text; }
long __x64_sys_made(const struct pt_regs *regs) { return __do_sys_made(regs->r[14], 0); }
static long __do_sys_bare(const struct pt_regs *__unused) { return 0; }
long __x64_sys_bare(const struct pt_regs *__unused) { return __do_sys_bare(0); }
)c";

MadeKernel& kernel() {
    static MadeKernel made({{"fs/functions.c", functions}, {"kernel/types.c", types}});
    return made;
}

FunctionInfo only(const std::string& pattern) {
    const auto found = find_functions(*kernel().info, pattern);
    EXPECT_EQ(found.size(), 1u) << pattern;
    return found.empty() ? FunctionInfo() : found.front();
}

CType type_of(const std::string& name) {
    const auto type = kernel().info->type_by_name(name);
    EXPECT_TRUE(type) << name;
    return kernel().info->resolve(type.value_or(0));
}

CMember member(const std::string& name, const std::string& of = "struct outer") {
    const auto found = kernel().info->member(*kernel().info->type_by_name(of), name);
    EXPECT_TRUE(found) << name;
    return found.value_or(CMember());
}

std::string written(const std::string& name) {
    return kernel().info->type_name(member(name).type);
}

// gcc describes a parameter at the call, and after the first statements, at the same address.
TEST(MadeFunctions, HaveParametersThatTheFirstStatementChanges) {
    const MadeKernel kernel({{"kernel/first.c", R"c(struct wide { long a; int b; unsigned char c; };
int shrink(int a, int b)
{
    b -= 1;
    return a * b;
}
int widen(struct wide wide, int step)
{
    wide.a += step;
    return wide.a + wide.b * 10 + wide.c * 100;
}
)c"}},
                            {"-O2"});
    auto parameters = [&](const char* name) {
        const auto found = find_functions(*kernel.info, name);
        return found.size() == 1 ? shown_parameters(found[0].parameters) : "";
    };
    EXPECT_EQ(parameters("shrink"), "a=rdi b=rsi");
    EXPECT_EQ(parameters("widen"), "wide={8:rdi 8:rsi} step=rdx");
    // Those of a statement probe at the entry, too.
    EXPECT_EQ(shown_parameters(kernel.info->variables_at(kernel.address("shrink"))), "a=rdi b=rsi");
}

} // namespace

TEST(MadeFunctions, HaveTheirPlaceAndSize) {
    const FunctionInfo plain = only("plain");
    EXPECT_EQ(plain.name, "plain");
    EXPECT_EQ(plain.symbol, "plain");
    EXPECT_EQ(plain.file, "fs/functions.c");
    EXPECT_EQ(plain.line, 1u);
    EXPECT_EQ(plain.entry, kernel().address("plain"));
    EXPECT_EQ(plain.size, kernel().image->symbol("plain")->size);
    EXPECT_TRUE(plain.external);
    EXPECT_FALSE(plain.varargs);
    EXPECT_FALSE(plain.noreturn);
    EXPECT_FALSE(plain.is_syscall);
    EXPECT_EQ(kernel().info->type_name(*plain.return_type), "int");
    EXPECT_EQ(shown_parameters(plain.parameters), "a=rdi b=rsi");
    EXPECT_EQ(kernel().info->type_name(plain.parameters[0].type), "int");
    EXPECT_EQ(kernel().info->type_name(plain.parameters[1].type), "long int");
    EXPECT_TRUE(plain.parameters[0].is_parameter);
    EXPECT_EQ(plain.parameters[0].location.why, ""); // the empty string of the index
}

TEST(MadeFunctions, AreListedByName) {
    std::vector<std::string> names;
    for (const FunctionInfo& function : find_functions(*kernel().info, "*"))
        names.push_back(function.name);
    EXPECT_EQ(names, (std::vector<std::string>{"__do_sys_bare", "__do_sys_made", "__x64_sys_bare",
                                               "__x64_sys_made", "ends", "inside", "many",
                                               "nothing", "plain", "use", "variable"}));
}

TEST(MadeFunctions, HaveTheirFlags) {
    EXPECT_FALSE(only("inside").external);
    EXPECT_EQ(only("inside").line, 11u);
    EXPECT_TRUE(only("variable").varargs);
    EXPECT_EQ(shown_parameters(only("variable").parameters), "format=rdi");
    EXPECT_TRUE(only("ends").noreturn);
    EXPECT_FALSE(only("ends").varargs);
    EXPECT_EQ(kernel().info->type_name(*only("nothing").return_type), "void");
    EXPECT_TRUE(only("nothing").parameters.empty());
}

TEST(MadeFunctions, TakeTheSeventhArgumentFromTheStack) {
    EXPECT_EQ(shown_parameters(only("many").parameters),
              "a=rdi b=rsi c=rdx d=rcx e=r8 f=r9 g=[rsp+8] h=[rsp+16]");
}

TEST(MadeFunctions, SystemCallsHaveTheParametersOfTheirDefinition) {
    const FunctionInfo call = only("sys_made");
    EXPECT_TRUE(call.is_syscall);
    EXPECT_EQ(call.symbol, "__x64_sys_made");
    EXPECT_EQ(call.entry, kernel().address("__x64_sys_made"));
    EXPECT_EQ(shown_parameters(call.parameters), "fd=[rdi+112] text=[rdi+104]");
    EXPECT_EQ(kernel().info->type_name(call.parameters[1].type), "const char *");
    EXPECT_TRUE(only("sys_bare").is_syscall);
    EXPECT_TRUE(only("sys_bare").parameters.empty());
    EXPECT_FALSE(only("__x64_sys_made").is_syscall);
}

TEST(MadeFunctions, AreFoundByTheirFile) {
    EXPECT_EQ(find_functions(*kernel().info, "*@kernel/types.c").size(), 1u);
    EXPECT_EQ(find_functions(*kernel().info, "plain@functions.c").size(), 1u);
    EXPECT_EQ(find_functions(*kernel().info, "plain@types.c").size(), 0u);
}

TEST(MadeFunctions, DetailsAreAddedLater) {
    auto pattern = parse_function_pattern("plain");
    auto found = kernel().info->functions(*pattern, false);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].parameters.empty());
    EXPECT_FALSE(found[0].return_type);
    kernel().info->add_details(found[0]);
    EXPECT_EQ(shown_parameters(found[0].parameters), "a=rdi b=rsi");
    EXPECT_TRUE(found[0].return_type);
}

TEST(MadeFunctions, HaveTheirOwnNameAmongSymbolsOfOneAddress) {
    MadeKernel made({{"a.c", "int middle(int a) { return a; }\n"
                             "int aaa(int a) __attribute__((alias(\"middle\")));\n"
                             "int zzz(int a) __attribute__((alias(\"middle\")));\n"}},
                    {"-O0"});
    const auto found = find_functions(*made.info, "middle");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].symbol, "middle");
    EXPECT_EQ(found[0].size, made.image->symbol("middle")->size);
}

TEST(MadeFunctions, HaveTheSymbolThatIsThereWhereNoneIsTheirs) {
    MadeKernel made({{"a.c", "int written(int a) __asm__(\"called\");\n"
                             "int written(int a) { return a; }\n"}},
                    {"-O0"});
    const auto found = find_functions(*made.info, "written");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].symbol, "called");
    EXPECT_EQ(found[0].entry, made.address("called"));
    EXPECT_EQ(find_functions(*made.info, "called").size(), 1u);
}

TEST(MadeFunctions, ClonesHaveTheirSymbol) {
    MadeKernel made({{"a.c", "int cloned(int a) __asm__(\"cloned.isra.0\");\n"
                             "int cloned(int a) { return a; }\n"
                             "int clonedx(int a) { return a; }\n"}},
                    {"-O0"});
    const auto found = find_functions(*made.info, "cloned");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].symbol, "cloned.isra.0");
    EXPECT_EQ(find_functions(*made.info, "cloned.isra.0").size(), 1u);
}

// Lines.

std::vector<uint32_t> lines_of(const std::string& text, bool nearest = false) {
    auto pattern = parse_function_pattern(text);
    EXPECT_TRUE(pattern);
    const auto found = kernel().info->statements(*pattern, nearest);
    EXPECT_TRUE(found) << found.failure().message;
    std::vector<uint32_t> lines;
    if (found)
        for (const StatementAddress& each : found->addresses) {
            EXPECT_EQ(each.file, "fs/functions.c");
            EXPECT_TRUE(each.is_stmt);
            EXPECT_FALSE(each.inlined);
            lines.push_back(each.line);
        }
    return lines;
}

TEST(MadeLines, AbsoluteRelativeAndRanges) {
    using Lines = std::vector<uint32_t>;
    EXPECT_EQ(lines_of("plain@fs/functions.c:3"), Lines{3});
    EXPECT_EQ(lines_of("plain@fs/functions.c+2"), Lines{3});
    EXPECT_EQ(lines_of("plain@fs/functions.c:3-6"), (Lines{3, 5, 6}));
    EXPECT_EQ(lines_of("plain@fs/functions.c:4", true), Lines{5});
    EXPECT_EQ(lines_of("plain@fs/functions.c:*"), (Lines{2, 3, 5, 6, 8, 9}));
}

TEST(MadeLines, OneWithoutCodeNamesItsNeighbours) {
    auto pattern = parse_function_pattern("plain@fs/functions.c:7");
    const auto found = kernel().info->statements(*pattern, false);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->addresses.empty());
    EXPECT_EQ(found->nearest_lines, (std::vector<uint32_t>{6, 8}));
}

TEST(MadeLines, OfNoFunctionAreAFailureWithTheNearest) {
    const auto failure = [](const std::string& text) {
        const auto found = kernel().info->statements(*parse_function_pattern(text), false);
        EXPECT_FALSE(found) << text;
        return found ? Failure{} : found.failure();
    };
    Failure none = failure("plain@kernel/types.c:3");
    EXPECT_EQ(none.message, "no function 'plain' in a file 'kernel/types.c' has code in "
                            "kernel 6.1.0-made");
    EXPECT_EQ(none.hint, "it is in fs/functions.c");
    none = failure("plian@functions.c:3");
    EXPECT_EQ(none.message, "no function 'plian' in a file 'functions.c' has code in "
                            "kernel 6.1.0-made");
    EXPECT_EQ(none.hint, "did you mean 'plain'?");
    EXPECT_EQ(failure("nowhere@functions.c:3").hint, "");
}

TEST(MadeLines, HaveTheFunctionThatCoversThem) {
    auto pattern = parse_function_pattern("*@fs/functions.c:13");
    const auto found = kernel().info->statements(*pattern, false);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->addresses.size(), 1u);
    EXPECT_EQ(found->addresses[0].function, "nothing");
    EXPECT_EQ(found->addresses[0].symbol, "nothing");
    EXPECT_EQ(found->addresses[0].symbol_entry, kernel().address("nothing"));
}

// Variables.

std::string variables_at_line(const std::string& text) {
    auto pattern = parse_function_pattern(text);
    const auto found = kernel().info->statements(*pattern, false);
    if (!found || found->addresses.empty())
        return "no line";
    return shown_parameters(kernel().info->variables_at(found->addresses[0].address));
}

TEST(MadeVariables, AreThoseOfTheScopesAround) {
    EXPECT_EQ(variables_at_line("plain@fs/functions.c:3"),
              "a=[rbp+-20] b=[rbp+-32] local=[rbp+-4]");
    EXPECT_EQ(variables_at_line("plain@fs/functions.c:6"),
              "nested=[rbp+-16] a=[rbp+-20] b=[rbp+-32] local=[rbp+-4]");
}

TEST(MadeVariables, ParametersAtTheEntryAreWhereTheCallPutThem) {
    EXPECT_EQ(shown_parameters(kernel().info->variables_at(kernel().address("plain"))),
              "a=rdi b=rsi local=[rsp+-12]");
}

TEST(MadeVariables, NoneWhereNoFunctionIs) {
    EXPECT_TRUE(kernel().info->variables_at(0).empty());
    EXPECT_TRUE(kernel().info->variables_at(kernel().address("plain") - 1).empty());
}

TEST(MadeVariables, GlobalsHaveTheirAddress) {
    const auto shared = kernel().info->global("shared");
    ASSERT_TRUE(shared);
    EXPECT_EQ(shared->location.kind, LocationKind::Address);
    EXPECT_EQ(shared->location.constant, kernel().address("shared"));
    EXPECT_EQ(kernel().info->type_name(shared->type), "int");
    EXPECT_TRUE(kernel().info->global("hidden@kernel/types.c"));
    EXPECT_FALSE(kernel().info->global("hidden@fs/functions.c"));
    EXPECT_FALSE(kernel().info->global("plain"));
}

// Types.

TEST(MadeTypes, BaseTypes) {
    EXPECT_EQ(type_of("int").kind, CTypeKind::Integer);
    EXPECT_EQ(type_of("int").size, 4u);
    EXPECT_TRUE(type_of("int").is_signed);
    EXPECT_FALSE(type_of("u32").is_signed);
    EXPECT_EQ(type_of("u32").name, "unsigned int");
    EXPECT_EQ(kernel().info->resolve(member("flag").type).kind, CTypeKind::Bool);
    EXPECT_EQ(kernel().info->resolve(member("byte").type).kind, CTypeKind::Char);
    EXPECT_FALSE(kernel().info->resolve(member("byte").type).is_signed);
    EXPECT_EQ(kernel().info->resolve(member("real").type).kind, CTypeKind::Float);
    EXPECT_EQ(kernel().info->resolve(member("real").type).size, 8u);
}

TEST(MadeTypes, MembersHaveTheirPlaces) {
    EXPECT_EQ(type_of("struct outer").kind, CTypeKind::Struct);
    EXPECT_EQ(type_of("struct outer").size, 88u);
    EXPECT_EQ(type_of("union either").kind, CTypeKind::Union);
    EXPECT_EQ(type_of("union either").size, 8u);
    std::string places;
    for (const CMember& each : kernel().info->members(*kernel().info->type_by_name("struct outer")))
        places += each.name + "=" + std::to_string(each.offset) + " ";
    EXPECT_EQ(places, "first=0 low=12 high=12 table=16 next=40 call=48 name=56 color=64 flag=68 "
                      "byte=69 real=72 either=80 rest=88 ");
    EXPECT_EQ(member("a", "struct inner").offset, 0u);
    EXPECT_EQ(member("deep", "struct inner").offset, 4u);
    EXPECT_EQ(member("y", "struct inner").offset, 8u);
}

TEST(MadeTypes, BitFieldsHaveTheirBits) {
    EXPECT_EQ(member("low").bit_size, 3u);
    EXPECT_EQ(member("low").bit_offset, 0u);
    EXPECT_EQ(member("high").bit_size, 5u);
    EXPECT_EQ(member("high").bit_offset, 3u);
    EXPECT_EQ(member("table").bit_size, 0u);
}

// DWARF 3 (5.5.6) counts the bits of a storage unit from the most significant one.
TEST(MadeTypes, BitFieldsOfOldDwarfAreTheSame) {
    const std::string source = "struct fields {\n"
                               "    unsigned low : 3, high : 5, : 0;\n"
                               "    unsigned long narrow : 7, wide : 40;\n"
                               "    unsigned short last : 9;\n"
                               "} fields;\n";
    for (const char* version : {"-gdwarf-5", "-gdwarf-3"}) {
        const MadeKernel made({{"a.c", source + "int f(void) { return fields.low; }\n"}},
                              {"-O0", "-gstrict-dwarf", version});
        std::string places;
        for (const CMember& each : made.info->members(*made.info->type_by_name("struct fields")))
            places += each.name + "=" + std::to_string(each.offset) + ":" +
                      std::to_string(each.bit_offset) + "+" + std::to_string(each.bit_size) + " ";
        EXPECT_EQ(places, "low=0:0+3 high=0:3+5 narrow=0:32+7 wide=8:0+40 last=14:0+9 ") << version;
    }
}

TEST(MadeTypes, ArraysOfArrays) {
    const CType rows = kernel().info->resolve(member("table").type);
    EXPECT_EQ(rows.kind, CTypeKind::Array);
    EXPECT_EQ(rows.count, 2u);
    EXPECT_EQ(rows.size, 24u);
    const CType columns = kernel().info->resolve(rows.base_type);
    EXPECT_EQ(columns.kind, CTypeKind::Array);
    EXPECT_EQ(columns.count, 3u);
    EXPECT_EQ(columns.size, 12u);
    EXPECT_EQ(kernel().info->resolve(columns.base_type).name, "int");
    const CType rest = kernel().info->resolve(member("rest").type);
    EXPECT_EQ(rest.kind, CTypeKind::Array);
    EXPECT_EQ(rest.count, 0u);
}

TEST(MadeTypes, AreWrittenAsInC) {
    EXPECT_EQ(written("table"), "int [2][3]");
    EXPECT_EQ(written("next"), "struct outer *");
    EXPECT_EQ(written("call"), "callback");
    EXPECT_EQ(written("name"), "volatile const char *");
    EXPECT_EQ(written("color"), "enum color");
    EXPECT_EQ(written("either"), "union either");
    EXPECT_EQ(kernel().info->resolve(member("call").type).kind, CTypeKind::Pointer);
    EXPECT_EQ(kernel().info->type_name(kernel().info->resolve(member("call").type).base_type),
              "long int (const char *, int, ...)");
}

TEST(MadeTypes, EnumeratorsHaveTheirValues) {
    const auto values = kernel().info->enumerators(*kernel().info->type_by_name("enum color"));
    ASSERT_EQ(values.size(), 3u);
    EXPECT_EQ(values[0].name, "RED");
    EXPECT_EQ(values[0].value, 0);
    EXPECT_EQ(values[1].value, 5);
    EXPECT_EQ(values[2].value, -1);
    EXPECT_EQ(kernel().info->enumerator("BLUE"), -1);
    EXPECT_EQ(kernel().info->enumerator("LATER"), 7);
    EXPECT_FALSE(kernel().info->enumerator("NEVER"));
}

} // namespace djstap
