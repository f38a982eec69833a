// SPDX-License-Identifier: GPL-2.0-or-later
// The types, variables and operators of C++ by their names.
#include "unit/probes/programs.h"

namespace djstap::programs {
namespace {

const std::string shop_source = R"c(#define OWN __attribute__((noinline))
namespace shop {
int counter = 5;
struct part { int price; };
class order : public part {
  public:
    struct line { int count; order* of; };
    line first;
    static int total;
    OWN order(int n);
    OWN ~order();
    OWN int operator()(int k);
    OWN order operator+(const order& other) const;
    OWN bool operator<(const order& other) const;
    OWN order& operator<<(int n);
    OWN operator int() const;
    OWN operator const char*() const;
    OWN int& operator[](int i);
    OWN order* operator->();
    void* operator new(decltype(sizeof 0) size);
};
int order::total = 9;
template <class T> struct box { T value; OWN T get() { return value; } OWN operator bool() const { return true; } };
namespace { int secret = 3; struct hidden { int depth; }; OWN int reveal(hidden* h) { return h->depth + secret++; } }
order::order(int n) : part{n}, first{n, this} { total += n; }
order::~order() { total--; }
int order::operator()(int k) { return price + k; }
order order::operator+(const order& other) const { return order(price + other.price); }
bool order::operator<(const order& other) const { return price < other.price; }
order& order::operator<<(int n) { price += n; return *this; }
order::operator int() const { return price; }
order::operator const char*() const { return "order"; }
int& order::operator[](int) { return price; }
order* order::operator->() { return this; }
alignas(order) char room[64];
__attribute__((noinline)) void* order::operator new(decltype(sizeof 0)) { return room; }
}
int counter = 1;
OWN int operator+(shop::part a, int b) { return a.price + b; }
OWN void where(void* p, const shop::order& o, shop::part&& r) { asm volatile("" : : "r"(p), "r"(&o), "r"(&r) : "memory"); }
int main(int argc, char**) {
    shop::order a(argc), b(2), c = a + b;
    shop::box<int> ints{4};
    shop::box<shop::order::line> lines{{4, &a}};
    shop::hidden h{3};
    where(&ints, a, shop::part{2});
    return (a < b) + c(2) + (int)a + *(const char*)a + a[1] + (a << 3).price + a->price + (b.first.count ? shop::part{1} + 2 : 0) +
           ints.get() + lines.get().count + (ints ? 1 : 0) + (lines ? 1 : 0) + shop::reveal(&h) + counter + (*new shop::order(3)).price;
}
)c";

class ProgramTypes : public Programs {
  protected:
    void build(const std::string& compiler) {
        std::ofstream(path("shop.cpp")) << shop_source;
        shell(compiler + " -w -g shop.cpp -o shop");
        point = "process(\"" + path("shop") + "\").function(\"";
    }
    std::string functions_of(const std::string& pattern) const {
        const Planned planned("probe " + point + pattern + "\") { println(1) }");
        std::string names = planned.plan ? "" : planned.errors();
        if (planned.plan)
            for (const Site& site : planned.plan->sites)
                names += site.function + ":" + std::to_string(site.info->line) + " ";
        return names;
    }
    std::string read(const std::string& value) const {
        return refusal(point + "where\")", "println(" + value + ")");
    }
    std::string cast(const std::string& type, const std::string& member) const {
        return read("@cast($p, \"" + type + "\", \"" + path("shop") + "\")->" + member);
    }
    std::string point;
};

constexpr const char* compilers[] = {"g++ -O0", "g++ -O2", "clang++-19 -O2"};

TEST_F(ProgramTypes, AreNamedWithTheirScopes) {
    for (const char* compiler : compilers) {
        build(compiler);
        for (const char* type :
             {"shop::order", "order", "class order", "struct shop::order", "::shop::order"}) {
            EXPECT_EQ(cast(type, "first->count"), "fine") << compiler << type;
            EXPECT_EQ(cast(type, "price"), "fine") << compiler << type; // of its base class
        }
        EXPECT_EQ(cast("shop::order::line", "of->price"), "fine") << compiler;
        EXPECT_EQ(cast("order::line", "count"), "fine") << compiler;
        EXPECT_EQ(cast("shop::box<int>", "value"), "fine") << compiler;
        EXPECT_EQ(cast("box<shop::order::line>", "value->count"), "fine") << compiler;
        EXPECT_EQ(cast("shop::box< shop::order::line >", "value->count"), "fine") << compiler;
        EXPECT_EQ(cast("shop::hidden", "depth"), "fine") << compiler;
        EXPECT_EQ(cast("shop::(anonymous namespace)::hidden", "depth"), "fine") << compiler;
        for (const char* type : {"::order", "shop::line", "line::order", "union shop::order",
                                 "op::order", "shop::box<long>"})
            EXPECT_NE(cast(type, "price").find("has no type"), std::string::npos) << type;
        EXPECT_NE(cast("shop::order", "total").find("error"), std::string::npos);
    }
}

TEST_F(ProgramTypes, OfReferencesArePointers) {
    for (const char* compiler : compilers) {
        build(compiler);
        EXPECT_EQ(read("$o->first->count, $o->price, $r->price"), "fine") << compiler;
        Images images(kernel().folder());
        const auto program = images.program(path("shop"));
        ASSERT_TRUE(program);
        const auto functions = (*program)->info().functions(*parse_function_pattern("where"), true);
        ASSERT_EQ(functions.size(), 1U);
        EXPECT_EQ((*program)->info().type_name(functions[0].parameters.at(1).type),
                  compiler[0] == 'g' ? "const class order &" : "const class order &");
        EXPECT_EQ((*program)->info().type_name(functions[0].parameters.at(2).type),
                  "struct part &&");
    }
}

TEST_F(ProgramTypes, VariablesAreNamedWithTheirScopes) {
    for (const char* compiler : compilers) {
        build(compiler);
        const auto address = [&](const std::string& name) {
            const Planned planned("probe " + point + "where\") { println(@var(\"" + name +
                                  "\")) }");
            if (!planned.plan)
                return std::string("none");
            return std::to_string(
                planned.plan->variants.at(0).accesses.begin()->second.value.constant);
        };
        EXPECT_NE(address("shop::counter"), address("::counter")) << compiler;
        EXPECT_NE(address("shop::counter"), "none") << compiler;
        EXPECT_NE(address("shop::secret"), "none") << compiler;
        EXPECT_EQ(address("shop::secret"), address("shop::(anonymous namespace)::secret"));
        EXPECT_EQ(address("shop::secret"), address("secret"));
        EXPECT_EQ(address("order::total"), address("shop::order::total@shop.cpp")) << compiler;
        EXPECT_NE(address("order::total"), "none") << compiler;
        EXPECT_EQ(address("store::counter"), "none");
        EXPECT_EQ(address("::order::total"), "none");
    }
}

TEST_F(ProgramTypes, OperatorsAreFunctions) {
    for (const char* compiler : compilers) {
        build(compiler);
        const auto expect_functions = [&](const std::string& pattern,
                                          const std::string& functions) {
            EXPECT_EQ(functions_of(pattern), functions) << compiler << " " << pattern;
        };
        expect_functions("order::operator()", "operator():27 ");
        expect_functions("shop::order::operator+", "operator+:28 ");
        expect_functions("order::operator+@shop.cpp:28", "operator+:28 ");
        expect_functions("operator<", "operator<:29 ");
        expect_functions("shop::order::operator<", "operator<:29 ");
        expect_functions("shop::order::operator<<", "operator<<:30 ");
        expect_functions("order::operator->", "operator->:34 ");
        expect_functions("order::operator[]", "operator[]:33 ");
        expect_functions("shop::order::operator new", "operator new:36 ");
        expect_functions("operator int", "operator int:31 ");
        expect_functions("::shop::order::operator int", "operator int:31 ");
        EXPECT_TRUE(functions_of("shop::order::operator const char*").ends_with(":32 "))
            << functions_of("shop::order::operator const char*");
        expect_functions("shop::order::operator char const *@shop.cpp",
                         functions_of("operator const char*"));
        EXPECT_EQ(functions_of("shop::box<int>::operator bool"), "operator bool:23 ");
        EXPECT_NE(functions_of("shop::operator int").find("error"), std::string::npos);
        EXPECT_NE(functions_of("operator char*").find("error"), std::string::npos);
        expect_functions("shop::(anonymous namespace)::reveal", "reveal:24 ");
        EXPECT_NE(functions_of("shop::order::~order").find("~order:26 "), std::string::npos);
        EXPECT_NE(functions_of("shop::order::order").find("order:25 "), std::string::npos);
    }
    // Those of no class, too; which one the scope tells.
    build("g++ -O2");
    const std::string both = functions_of("operator+");
    EXPECT_NE(both.find("operator+:28 "), std::string::npos) << both;
    EXPECT_NE(both.find("operator+:39 "), std::string::npos) << both;
    EXPECT_EQ(functions_of("::operator+"), "operator+:39 ");
}

} // namespace
} // namespace djstap::programs
