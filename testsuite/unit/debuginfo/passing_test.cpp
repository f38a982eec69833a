// SPDX-License-Identifier: GPL-2.0-or-later
// How structures and classes are passed, which their debug information tells: System V ABI for
// x86-64, 3.2.3, and the Itanium C++ ABI, 3.1.
#include "made_kernel.h"

#include "kernels.h"

namespace djstap {
namespace {

// The parameters of each function, of code in which DWARF tells where the prologue puts them.
class Passed {
  public:
    Passed(const std::string& name, const std::string& source,
           const std::vector<std::string>& options = {}, const std::string& compiler = "gcc")
        : made_({{name, source}}, with_no_optimization(options), compiler) {}
    std::string operator()(const char* function) const {
        const auto found = find_functions(*made_.info, function);
        EXPECT_EQ(found.size(), 1u) << function;
        return found.size() == 1 ? shown_parameters(found[0].parameters) : "";
    }

  private:
    static std::vector<std::string> with_no_optimization(std::vector<std::string> options) {
        options.push_back("-O0");
        return options;
    }
    MadeKernel made_;
};

// What contains a floating-point number is in a vector register; where its other parts are, and so
// what follows, is not known here.
TEST(Passing, StructuresWithFloatingNumbersAreNotKnown) {
    const Passed passed("a.c", R"c(
struct whole { long a, b; };
struct real { double a; long b; };
struct behind { long a; float b; };
struct within { struct { long a; } in; union { int i; float f; } either; };
struct many { long a; float b[2]; };
struct points { long a; double *b; };
struct complex { long a; _Complex float b; };
struct nest { struct { struct whole x[1]; } y; };
struct enumerated { enum { ONE } a; _Bool b; long c; };
union either { long a; double b; };
union numbers { long a; char b[12]; };
long f1(int n, struct whole x, int last) { return n + x.a + last; }
long f2(int n, struct real x, int last) { return n + x.b + last; }
long f3(int n, struct behind x, int last) { return n + x.a + last; }
long f4(int n, struct within x, int last) { return n + x.in.a + last; }
long f5(int n, struct many x, int last) { return n + x.a + last; }
long f6(int n, struct points x, int last) { return n + x.a + last; }
long f7(int n, struct complex x, int last) { return n + x.a + last; }
long f8(int n, struct nest x, int last) { return n + x.y.x[0].a + last; }
long f9(int n, struct enumerated x, int last) { return n + x.c + last; }
long g1(int n, union either x, int last) { return n + x.a + last; }
long g2(int n, union numbers x, int last) { return n + x.a + last; }
long g3(int n, double x, int last) { return n + x + last; }
long g4(int n, float x, int last) { return n + x + last; }
long g5(int n, _Complex double x, int last) { return n + x + last; }
long g6(int n, _Complex float x, int last) { return n + x + last; }
long g7(int n, _Decimal64 x, int last) { return n + last; }
)c");
    const std::string known = "n=rdi x={8:rsi 8:rdx} last=rcx", unknown = "n=rdi x=? last=?";
    for (const char* name : {"f1", "f6", "f8", "f9"})
        EXPECT_EQ(passed(name), known) << name;
    for (const char* name : {"f2", "f3", "f4", "f5", "f7", "g1"})
        EXPECT_EQ(passed(name), unknown) << name;
    EXPECT_EQ(passed("g2"), "n=rdi x={8:rsi 8:rdx} last=rcx"); // 16 bytes, as it is aligned
    for (const char* name : {"g3", "g4", "g5", "g6", "g7"})
        EXPECT_EQ(passed(name), "n=rdi x=? last=rsi") << name;
}

// Members are looked at to a depth, as those of a damaged file may contain each other.
TEST(Passing, DeepStructuresAreNotKnown) {
    std::string source = "struct s0 { long a; };\n";
    for (int i = 1; i < 12; i++)
        source +=
            "struct s" + std::to_string(i) + " { struct s" + std::to_string(i - 1) + " in; };\n";
    for (int i = 0; i < 12; i++)
        source += "long f" + std::to_string(i) + "(struct s" + std::to_string(i) +
                  " x, int last) { return last; }\n";
    const Passed passed("a.c", source);
    for (int i = 0; i < 12; i++)
        EXPECT_EQ(passed(("f" + std::to_string(i)).c_str()),
                  i < 8 ? "x=rdi last=rsi" : "x=? last=?")
            << i;
}

const std::string classes = R"c(
struct base { double real; };
struct inherits : base { long a; };
struct whole_base { long whole; };
struct inherits_whole : whole_base { long a; };
struct shares { static double unit; long a, b; };
struct built { long a; built(const built &); built(); ~built(); };
struct member { built in; };
struct methods { long a; int get() const; };
class hidden { long a; public: long b; };
extern "C" {
long f1(int n, inherits x, int last) { return n + x.a + last; }
long f2(int n, inherits_whole x, int last) { return n + x.a + last; }
long f3(int n, shares x, int last) { return n + x.a + last; }
long f4(int n, built x, int last) { return n + last; }
long f5(int n, member x, int last) { return n + last; }
long f6(int n, methods x, int last) { return n + x.a + last; }
long f7(int n, hidden x, int last) { return n + x.b + last; }
}
)c";

TEST(Passing, ClassesArePassedAsTheCompilerSays) {
    const Passed passed("a.cpp", classes, {"-gdwarf-5"}, "clang-19");
    EXPECT_EQ(passed("f1"), "n=rdi x=? last=?");
    for (const char* name : {"f2", "f3", "f7"})
        EXPECT_EQ(passed(name), "n=rdi x={8:rsi 8:rdx} last=rcx") << name;
    // By the address of the object.
    for (const char* name : {"f4", "f5"})
        EXPECT_EQ(passed(name), "n=rdi x=[rsi+0] last=rdx") << name;
    EXPECT_EQ(passed("f6"), "n=rdi x=rsi last=rdx");
}

// gcc does not say it: the address of an object is seen where the prologue stores it, the others
// are unknown.
TEST(Passing, OtherClassesAreUnknown) {
    const Passed passed("a.cpp", classes, {"-gdwarf-4", "-gstrict-dwarf"});
    for (const char* name : {"f1", "f2", "f3", "f6", "f7"})
        EXPECT_EQ(passed(name), "n=rdi x=? last=?") << name;
    for (const char* name : {"f4", "f5"})
        EXPECT_EQ(passed(name), "n=rdi x=[rsi+0] last=rdx") << name;
}

// DWARF tells where they are.
TEST(Passing, ArgumentsMayFollowALongDoubleOnTheStack) {
    const Passed passed("a.c", "long f(int a, int b, int c, int d, int e, int f, long double x,\n"
                               "       int last, long more) { return last + more; }\n");
    EXPECT_EQ(passed("f"), "a=rdi b=rsi c=rdx d=rcx e=r8 f=r9 x=[rsp+8] last=[rsp+24] "
                           "more=[rsp+32]");
}

// The address of an object for which no register is left is on the stack, and what follows is above
// it. gcc describes both from the call frame address on, clang from the frame pointer or, without
// one, from where the prologue puts the stack pointer.
TEST(Passing, TheAddressOfAnObjectMayBeOnTheStack) {
    const std::string source = R"c(
struct built { long a; built(const built &); ~built(); };
extern "C" int grow(int *);
extern "C" int f(int a, int b, int c, int d, int e, int g, built x, int last)
{ int room[9] = {a, last}; return grow(room) + grow(room + 1) + x.a + last; }
)c";
    const std::string first = "a=rdi b=rsi c=rdx d=rcx e=r8 g=r9 ";
    struct Compiled {
        const char* compiler;
        std::vector<std::string> options;
        const char* object;
    };
    const Compiled all[] = {{"gcc", {"-O0", "-gdwarf-4", "-gstrict-dwarf"}, "[(rsp 8 + 8@)]"},
                            {"gcc", {"-O2"}, "[(rsp 8 + 8@)]"},
                            {"clang-19", {"-O0"}, "[(rsp 8 + 8@)]"},
                            {"clang-19", {"-O2", "-fno-omit-frame-pointer"}, "[(rsp 8 + 8@)]"},
                            {"clang-19", {"-O2", "-fomit-frame-pointer"}, "?"}};
    for (const Compiled& each : all) {
        SCOPED_TRACE(std::string(each.compiler) + " " + each.options.back());
        std::vector<std::string> options = each.options;
        options.push_back("-fno-exceptions");
        const MadeKernel made({{"a.cpp", source + "extern \"C\" int grow(int *n) { return *n; }\n"
                                                  "built::~built() { }\n"}},
                              options, each.compiler);
        std::vector<Variable> parameters = made.info->variables_at(made.address("f"));
        std::erase_if(parameters, [](const Variable& each) { return !each.is_parameter; });
        EXPECT_EQ(shown_parameters(parameters), first + "x=" + each.object + " last=[rsp+16]");
    }
}

// A function may get the place for its result before its first argument. A class without functions
// of its own, that has no member with such, is returned as a structure of C.
TEST(Passing, ResultsOfClassesMayTakeTheFirstArgument) {
    const std::string source = R"c(
struct large { long a[3]; };
struct plain { long a; };
struct built { long a; built(const built &) {} built() {} };
struct member { long b; built in; };
struct in_array { built in[2]; };
struct heir : built { };
struct numbers { int a[2]; };
class closed { public: long a; closed(const closed &) {} closed() {} };
union joined { long a; joined(const joined &) {} joined() {} };
class usual { public: long a; };
union bare { long a; int b; };
extern "C" {
large f1(int n) { large x = {}; x.a[0] = n; return x; }
plain f2(int n) { plain x = {n}; return x; }
built f3(int n) { return built(); }
member f4(int n) { return member(); }
in_array f5(int n) { return in_array(); }
heir f6(int n) { return heir(); }
numbers f7(int n) { return numbers(); }
long f8(int n) { return n; }
void f9(int n) { }
built *g1(int n) { return 0; }
closed h1(int n) { return closed(); }
joined h2(int n) { return joined(); }
usual h3(int n) { usual x = {n}; return x; }
bare h4(int n) { bare x = {n}; return x; }
}
)c";
    const Passed said("a.cpp", source, {"-gdwarf-5"}, "clang-19");
    for (const char* name : {"f1", "f3", "f4", "f5", "f6", "h1", "h2"})
        EXPECT_EQ(said(name), "n=rsi") << name;
    for (const char* name : {"f2", "f7", "f8", "f9", "g1", "h3", "h4"})
        EXPECT_EQ(said(name), "n=rdi") << name;
    const Passed unsaid("a.cpp", source, {"-gdwarf-4", "-gstrict-dwarf"});
    EXPECT_EQ(unsaid("f1"), "n=rsi");
    for (const char* name : {"f3", "f4", "f5", "f6", "h1", "h2"})
        EXPECT_EQ(unsaid(name), "n=?") << name;
    for (const char* name : {"f2", "f7", "f8", "f9", "g1", "h3", "h4"})
        EXPECT_EQ(unsaid(name), "n=rdi") << name;
}

// The parameters of an optimizer's clone may be others than the source's; those of a function that
// link-time optimization has only renamed are not.
TEST(Passing, ClonesAreNotCalledAsTheSourceSays) {
    std::string source;
    const std::pair<const char*, bool> symbols[] = {
        {"f1", true},        {"f1b.isra.0", false},     {"f1c.lto_priv.0", true},
        {"f1d.0", true},     {"f1e.part.7", false},     {"f1f.lto_priv.0.isra.3", false},
        {"f1g.12.34", true}, {"f1h.constprop.0", false}};
    for (const auto& [symbol, own] : symbols) {
        const std::string name = std::string(symbol).substr(0, std::string(symbol).find('.'));
        source += "int " + name + "(int n, long m) __asm__(\"" + symbol + "\");\nint " + name +
                  "(int n, long m) { return n + m; }\n";
    }
    const Passed passed("a.c", source);
    for (const auto& [symbol, own] : symbols) {
        const std::string name = std::string(symbol).substr(0, std::string(symbol).find('.'));
        EXPECT_EQ(passed(name.c_str()), own ? "n=rdi m=rsi" : "n=? m=?") << symbol;
    }
}

// Names that only begin alike are those of other functions.
TEST(Passing, SymbolsOfCxxAreOwn) {
    const Passed passed("a.cpp",
                        "namespace { __attribute__((used)) int inner(int n) { return n; } }\n"
                        "namespace shop { int outer(int n) { return n; } }\n"
                        "struct maker { long a; maker(int n); };\n"
                        "maker::maker(int n) : a(n) {}\n");
    EXPECT_EQ(passed("inner"), "n=rdi");
    EXPECT_EQ(passed("outer"), "n=rdi");
    EXPECT_EQ(passed("maker"), "this=rdi n=rsi");
}

} // namespace
} // namespace djstap
