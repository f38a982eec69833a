// SPDX-License-Identifier: GPL-2.0-or-later
// Values that are in no memory: structures in registers (psABI, 3.2.3), numbers of the FPU; and
// those of which only the address is known.
#include "unit/probes/steps.h"
#include "unit/probes/whole_kernel.h"

namespace djstap::whole {
namespace {

// How a value is had, or why it is not there.
std::string value_of(const std::string& function, const std::string& value,
                     const std::string& suffix = "") {
    const Planned planned("probe kernel.function(\"" + function + "\")" + suffix + " { println(" +
                          value + ") }");
    if (!planned.plan)
        return said(planned.analysis.diagnostics);
    const AccessMap& accesses = planned.plan->variants.at(0).accesses;
    return accesses.size() == 1 ? steps_of(accesses.begin()->second.value) : "no value";
}

// The numbers of enum PtReg.
const std::string rdi = "register 14", rsi = "register 13", rdx = "register 12",
                  rcx = "register 11", r8 = "register 9", r9 = "register 10";

TEST(Parts, OfAStructureInOneRegister) {
    const auto part = [](const std::string& value) { return value_of("takes_parts", value); };
    EXPECT_EQ(part("$s->a"), rdi + " bits0+32u extend4s");
    EXPECT_EQ(part("$s->b"), rdi + " bits32+16u extend2s");
    EXPECT_EQ(part("$s->c"), rdi + " bits48+8u extend1s");
    EXPECT_EQ(part("$s->d"), rdi + " bits56+8u extend1s");
    EXPECT_EQ(part("$b->one"), rsi + " bits0+8u extend1u bits0+3u");
    EXPECT_EQ(part("$b->two"), rsi + " bits0+8u extend1u bits3+5s");
    EXPECT_EQ(part("$b->wide"), rsi + " bits0+48u bits8+40u");
    EXPECT_EQ(part("$l->items[0]"), rdx + " bits0+16u extend2s");
    EXPECT_EQ(part("$l->items[3]"), rdx + " bits48+16u extend2s");
    EXPECT_NE(part("$l->items[4]"), "no value");
    EXPECT_EQ(part("$u->number"), rcx + " bits0+32u extend4s");
    EXPECT_EQ(part("$u->letters[7]"), rcx + " bits56+8u extend1s");
    EXPECT_TRUE(part("$l->items[pid()]")
                    .find("it is not in memory, so its elements need constant indexes") !=
                std::string::npos)
        << part("$l->items[pid()]");
    EXPECT_EQ(part("&$s->a"), "the address of a value in a register cannot be used as a number");
    EXPECT_TRUE(part("$s").starts_with("a 'struct small' cannot be used as a number"));
    EXPECT_TRUE(part("$l->items").starts_with("a 'short int [4]' cannot be used as a number"))
        << part("$l->items");
}

TEST(Parts, OfAStructureInTwoRegisters) {
    const auto part = [](const std::string& value) { return value_of("takes_pairs", value); };
    EXPECT_EQ(part("$x->to"), rdi);
    EXPECT_EQ(part("$x->to->a"), rdi + " load8s");
    EXPECT_EQ(part("$x->to->b"), rdi + " +8 load8s");
    EXPECT_EQ(part("$x->to[2]->b"), rdi + " +32 +8 load8s");
    EXPECT_EQ(part("$x->count"), rsi + " bits0+32u extend4s");
    EXPECT_EQ(part("$y->a"), rdx);
    EXPECT_EQ(part("$y->b"), rcx);
}

TEST(Parts, OfAResult) {
    EXPECT_EQ(value_of("returns_small", "$return->a", ".return"), "return bits0+32u extend4s");
    EXPECT_EQ(value_of("returns_small", "$return->d", ".return"), "return bits56+8u extend1s");
    EXPECT_EQ(value_of("in_registers", "$return->a", ".return"), "return bits0+64u");
    EXPECT_TRUE(value_of("in_registers", "$return->b", ".return")
                    .ends_with("only its first 8 bytes are known"));
    // Its address is returned.
    EXPECT_EQ(value_of("in_memory", "$return->words[2]", ".return"), "return +16 load8s");
    EXPECT_EQ(value_of("returns_pointer", "$return->number", ".return"), "return load4s");
    EXPECT_EQ(value_of("returns_pointer", "$return->text[1]", ".return"), "return +4 +1 load1s");
}

// Numbers of the FPU are read as the bits of a double.
TEST(Parts, RealNumbers) {
    const auto part = [](const std::string& value) { return value_of("takes_pairs", value); };
    EXPECT_EQ(part("$r->narrow"), r8 + " load4u widen");
    EXPECT_EQ(part("$r->wide"), r8 + " +8 load8u");
    EXPECT_TRUE(part("$r->longest").starts_with("a 'long double' cannot be used as a number"));
    EXPECT_TRUE(
        value_of("returns_float", "$return", ".return").starts_with("a 'float' cannot be used"));
    EXPECT_EQ(value_of("returns_reals", "$return->narrow", ".return"), "return load4u widen");
}

TEST(Parts, Variables) {
    const auto part = [](const std::string& value) { return value_of("six", value); };
    EXPECT_EQ(part("$shared"), "address load4s");
    EXPECT_EQ(part("&$shared"), "address");
    EXPECT_EQ(part("@var(\"shared\")"), "address load4s");
    EXPECT_EQ(part("@var(\"shared@kernel.c\")"), "address load4s");
    EXPECT_EQ(part("$things[2]->number"), "address +24 load4s");
    EXPECT_EQ(part("$things[2]->text[3]"), "address +24 +4 +3 load1s");
    EXPECT_EQ(part("$table[1][2]->number"), "address +36 +24 load4s");
    EXPECT_EQ(part("$per_cpu_number"), "per CPU load4s");
    EXPECT_EQ(part("@var(\"per_cpu_number\")"), "per CPU load4s");
    EXPECT_EQ(part("@var(\"in_module\", \"extra\")"), "address load4s");
    // Where they are is known when the module is loaded, or never.
    for (const char* name : {"of_each_cpu", "of_beginning"})
        EXPECT_EQ(part("@var(\"" + std::string(name) + "\", \"extra\")"),
                  "'" + std::string(name) +
                      "' is not available in module 'extra': its address is "
                      "not known when the module is loaded");
    EXPECT_EQ(part("@var(\"nowhere\")"), "the kernel has no variable 'nowhere'");
    EXPECT_EQ(part("@var(\"shared\", \"extra\")"), "address load4s"); // of the kernel
    EXPECT_TRUE(part("@var(\"nowhere\", \"extra\")").ends_with("has no variable 'nowhere'"));
    EXPECT_TRUE(part("$things").starts_with("address"));
    EXPECT_EQ(part("$shared[1]"),
              "an index is applied to 'int', which is neither an array nor a pointer");
    EXPECT_EQ(part("$a->x"), "'->x' is applied to 'long int', which has no members");
}

// A whole structure in memory is no number; its address is one, if it is asked for.
TEST(Parts, StructuresInMemory) {
    const std::string of_buffer = "a 'struct sk_buff' cannot be used as a number; its members are "
                                  "next, len";
    for (const std::string& name : {std::string("$buffer"), std::string("@var(\"buffer\")")}) {
        EXPECT_EQ(value_of("six", name), of_buffer);
        EXPECT_EQ(value_of("six", "&" + name), "address");
        EXPECT_EQ(value_of("six", name + "->len"), "address +8 load4s");
    }
    EXPECT_EQ(value_of("in_stack", "$a"),
              "a 'struct large' cannot be used as a number; its members are words");
    // A cast alone is the pointer that it is given.
    const Planned cast("probe kernel.function(\"six\") { println(@cast($a, \"struct thing\")) }");
    ASSERT_TRUE(cast.plan) << cast.errors();
    std::string values;
    for (const auto& [node, access] : cast.plan->variants.at(0).accesses)
        values += "<" + steps_of(access.value) + ">";
    EXPECT_NE(values.find("<operand>"), std::string::npos) << values;
}

TEST(Parts, OfArraysOfOneAndOfNoneAsText) {
    const Planned planned("probe kernel.function(\"takes_ends\") { println($e$) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    const TargetAccess& access = planned.plan->variants.at(0).accesses.begin()->second;
    std::string text;
    for (const program::FormatPiece& piece : access.format)
        text += piece.literal + (piece.conversion ? std::string("%") + piece.conversion : "") +
                (piece.precision >= 0 ? "/" + std::to_string(piece.precision) : "");
    EXPECT_EQ(text, "{.one=\"%s/1\", .flag=%u, .eight=[...], .nine=[...], .rest=[...]}");
    const auto shown = [](const std::string& value) {
        const Planned planned("probe kernel.function(\"takes_ends\") { println(" + value + ") }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        std::string all;
        if (planned.plan)
            for (const program::FormatPiece& piece :
                 planned.plan->variants.at(0).accesses.begin()->second.format)
                all += piece.literal + (piece.conversion ? "%" : "");
        return all;
    };
    EXPECT_EQ(shown("$e->eight$"), "[%, %, %, %, %, %, %, %]");
    EXPECT_EQ(shown("$e->nine$"), "[%, %, %, %, %, %, %, %, ...]");
    EXPECT_EQ(said("kernel.function(\"takes_ends\")", {}, "println(&$e->flag)"),
              "the address of a value in a register cannot be used as a number");
}

TEST(Parts, TypesThatAreNamed) {
    const auto part = [](const std::string& type, const std::string& rest) {
        const std::string text = value_of("six", "@cast($a, \"" + type + "\")" + rest);
        return text;
    };
    for (const char* type : {"struct thing", "thing", "struct thing *", "struct thing*"}) {
        const Planned planned("probe kernel.function(\"six\") { println(@cast($a, \"" +
                              std::string(type) + "\")->text[2]) }");
        ASSERT_TRUE(planned.plan) << type << planned.errors();
        bool found = false;
        for (const auto& [node, access] : planned.plan->variants.at(0).accesses)
            found |= steps_of(access.value) == "operand +4 +2 load1s";
        EXPECT_TRUE(found) << type;
    }
    EXPECT_EQ(
        part("struct unlike_any", "->x"),
        "the kernel has no type 'struct unlike_any'; write it as in C: \"struct task_struct\"");
    EXPECT_EQ(part("struct thin", "->x"),
              "the kernel has no type 'struct thin'; did you mean \"struct thing\"?");
    EXPECT_TRUE(
        part("struct thing", "->nmber").ends_with("has no member 'nmber'; did you mean 'number'?"));
    EXPECT_TRUE(part("struct thing", "->zzz")
                    .ends_with("has no member 'zzz'; its members are number, text"))
        << part("struct thing", "->zzz");
    EXPECT_TRUE(part("struct pt_regs", "->zzz")
                    .ends_with("its members are r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, "
                               "cx …"))
        << part("struct pt_regs", "->zzz");
}

TEST(Parts, VariablesThatAreNotThereAreLikeOthers) {
    const auto part = [](const std::string& value) { return value_of("with_site", value); };
    EXPECT_EQ(part("$arg1"), rdi + " extend4s");
    EXPECT_EQ(part("$arg2"), rsi);
    for (const char* none : {"$arg0", "$arg3", "$arg", "$arg1x", "$nothing"})
        EXPECT_TRUE(part(none).starts_with("function 'with_site' has no variable")) << part(none);
    EXPECT_TRUE(part("$nothing").ends_with("; available variables: $a, $b")) << part("$nothing");
    EXPECT_TRUE(part("$return").ends_with(
        "; it is available when the function returns: add .return to the probe point"));
    EXPECT_TRUE(value_of("do_exit", "$return", ".return")
                    .ends_with("'$return' is not available in function 'do_exit': it returns "
                               "nothing"));
    EXPECT_TRUE(value_of("with_site", "$retrn", ".return").ends_with("did you mean '$return'?"));
    EXPECT_EQ(said("begin", {}, "println($x)"), "'$x': this probe point has no target variables");
    EXPECT_EQ(said("begin", {}, "println($$vars)"),
              "'$$vars': this probe point has no target variables");
    EXPECT_TRUE(said("kernel.function(\"six\")", {}, "println($$varz)")
                    .ends_with("; did you mean '$$vars'?"));
    EXPECT_TRUE(said("kernel.function(\"six\")", {}, "println($$xyzxyz)")
                    .ends_with("$$vars, $$parms, $$locals, $$return and $$name show variables"));
    EXPECT_TRUE(
        said("kernel.function(\"six\")", {}, "println($$name)")
            .ends_with("it is the name of a tracepoint; probefunc() is that of a function"));
    EXPECT_EQ(said("kernel.trace(\"first\")", {}, "println($$name)"), "nothing");
}

} // namespace
} // namespace djstap::whole
