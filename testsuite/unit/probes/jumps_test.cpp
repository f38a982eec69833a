// SPDX-License-Identifier: GPL-2.0-or-later
// What jumps in the process reach of what a script names (--runtime=process).
#include "unit/probes/programs.h"

#include "arch/arch.h"
#include "probes/families.h"
#include "probes/in_process.h"

#include <functional>

namespace djstap::programs {
namespace {

// Returns the sentences about what is not reached; "failed" after errors.
std::string unreached(const std::string& script, bool notes = true) {
    Images images("");
    images.open_programs_alone();
    test::Analysis analysis(script);
    EXPECT_TRUE(analysis.program) << analysis.errors();
    ProbeOptions options;
    options.in_process = true;
    options.notes_unreached = notes;
    const auto plan = resolve_probes(*analysis.program, images, options, analysis.diagnostics);
    if (!plan && notes)
        ADD_FAILURE() << analysis.errors();
    if (!plan)
        return "failed";
    std::string text;
    for (const std::string& each : plan->unreached)
        text += each + "\n";
    return text;
}

class Jumps : public Programs {
  protected:
    void SetUp() override {
        Programs::SetUp();
        std::ofstream(path("jumps.c")) << R"c(volatile int sink;
static inline __attribute__((always_inline)) int inlined(int a) { sink += a; return a * 3; }
__attribute__((noinline)) int sum(int a, long b) { sink++; return a + (int)b; }
__attribute__((noinline)) int tail(int a) { sink += a * 7; return sum(a, a); }
asm(".text\n.globl both\n.type both, @function\nboth: xor %eax, %eax\n1: dec %edi\njg 1b\nret\n.size both, .-both\n");
int both(int a);
int main(int argc, char **argv) { return both(argc) + sum(inlined(argc), 2) + tail(argc); }
)c";
        shell("gcc -w -g -O2 jumps.c -o jumps");
        file = path("jumps");
    }
    std::string point(const std::string& function, const std::string& suffix = {}) const {
        return "process(\"" + file + "\").function(\"" + function + "\")" + suffix;
    }
    std::string of(const std::string& function, const std::string& suffix = {}) const {
        return unreached("probe " + point(function, suffix) + " { println(1) }");
    }
    std::string file;
};

TEST_F(Jumps, ReachWhatTheAnalysisProves) {
    EXPECT_EQ(of("sum"), "");
    EXPECT_EQ(of("sum", ".return"), "");
    EXPECT_EQ(of("tail"), "");
}

TEST_F(Jumps, DoNotReachWhatItRefuses) {
    EXPECT_EQ(of("tail", ".return"),
              "the return of 'tail' of '" + file +
                  "' cannot be patched: it may end by a jump to another function, which returns "
                  "in its place\n");
    EXPECT_NE(of("both").find("'both' of '" + file + "' cannot be patched: "), std::string::npos);
}

TEST_F(Jumps, NamesAreNeitherPatternsNorOptional) {
    EXPECT_EQ(of("t*l", ".return"), "");
    EXPECT_EQ(of("{sum,tail}", ".return"), "");
    EXPECT_EQ(of("tail", ".return ?"), "");
}

TEST_F(Jumps, InlineInstancesAreNotReached) {
    EXPECT_EQ(of("inlined"), "\"inlined\": 1 inline instance of a function cannot be patched\n");
    EXPECT_EQ(unreached("probe " + point("inlined") + " { println(1) }", false), "failed");
    // Nothing of a pattern is left.
    EXPECT_EQ(of("inl*"), "\"inl*\": 1 inline instance of a function cannot be patched\n");
    EXPECT_EQ(of("{inlined,sum}"), "");
}

TEST_F(Jumps, ProgramsInGoAreNotPatched) {
    shell("echo table > table && objcopy --add-section .gopclntab=table jumps");
    EXPECT_EQ(of("sum"), "\"sum\": the program is written in Go, whose stacks are too small for "
                         "handlers\n");
    EXPECT_EQ(unreached("probe " + point("sum") + " { println(1) }", false), "failed");
}

// Compilers put what is no argument elsewhere only at the entries of functions that other languages
// have: here, a value is said to be there.
TEST_F(Jumps, PassTheRegistersOfArgumentsOnly) {
    constexpr uint64_t rbx = 3, rsi = 4, rsp = 7; // as DWARF numbers them
    ProbeOptions options;
    options.in_process = true;
    // What is noted and what is reported of a value.
    const auto told = [&](const std::function<void(Access&)>& change, bool notes,
                          const std::string& end = {}) {
        Images images("");
        test::Analysis analysis("probe " + point("sum", end) + " { println(1) }");
        EXPECT_TRUE(analysis.program) << analysis.errors();
        const ast::ProbePoint& written = *analysis.program->probes.at(0)->points.at(0);
        std::vector<std::string> sentences;
        UnreachedFunctions unreached(images, sentences);
        Resolver resolver{images, options, analysis.diagnostics};
        resolver.unreached = notes ? &unreached : nullptr;
        program::Number value;
        value.range = written.range;
        AccessMap accesses;
        change(accesses[&value].value);
        const bool good = check_registers(accesses, written, resolver);
        EXPECT_EQ(good, analysis.diagnostics.error_count() == 0);
        std::string text = good ? "" : "refused: " + analysis.diagnostics.all().at(0).message;
        for (const std::string& each : sentences)
            text += each;
        const std::string name(analysis.sources.text(written.range));
        if (const size_t at = text.find(name); at != std::string::npos)
            text.replace(at, name.size(), "VALUE");
        return text;
    };
    const auto in_register = [](uint64_t number) {
        return [number](Access& access) {
            access.base = Access::Base::Register;
            access.reg = *arch::register_of_dwarf(number);
        };
    };
    const std::string why = "it is in a register that passes no argument",
                      noted = "'VALUE' is not available to a jump: " + why;
    EXPECT_EQ(told(in_register(rsi), true), "");
    EXPECT_EQ(told(in_register(rsp), true), "");
    EXPECT_EQ(told(in_register(rbx), true), noted);
    EXPECT_EQ(told(in_register(rbx), false),
              "refused: 'VALUE' is not available in this probe: " + why);
    // What is optional is left out where it is not there.
    EXPECT_EQ(told(in_register(rbx), true, "?").substr(0, 8), "refused:");
    const auto computed = [](uint64_t number) {
        return [number](Access& access) {
            access.base = Access::Base::Computed;
            access.operations.resize(1);
            access.operations[0].kind = LocationOperation::Kind::Register;
            access.operations[0].reg = *arch::register_of_dwarf(number);
        };
    };
    EXPECT_EQ(told(computed(rsi), true), "");
    EXPECT_EQ(told(computed(rbx), true), noted);
    options.in_process = false;
    EXPECT_EQ(told(in_register(rbx), true), "");
}

// What its analysis reads are the sections of a file; what runs are its segments.
TEST_F(Jumps, FilesWithoutSectionsOfCodeAreNotPatched) {
    std::ofstream(path("bare.c")) << "int f(int a) { return a * 3; }\n";
    shell("gcc -w -g -O2 -shared -nostdlib -fPIC bare.c -o bare && "
          "objcopy --set-section-flags .text=alloc,contents,readonly bare");
    file = path("bare");
    EXPECT_EQ(of("f"), "'f' of '" + file + "' cannot be patched: " + file + ": contains no code\n");
}

TEST_F(Jumps, EachReasonIsToldOnce) {
    const std::string twice = "probe " + point("tail", ".return") + " { println(1) } probe " +
                              point("tail", ".return") + " { println(2) }";
    const std::string text = unreached(twice);
    EXPECT_EQ(text.find("the return of 'tail'"), text.rfind("the return of 'tail'"));
    EXPECT_NE(text, "");
}

// What is kept from the entry needs a jump there, too.
TEST_F(Jumps, ReturnsMayNeedTheEntry) {
    EXPECT_EQ(of("both", ".return"), "");
    const std::string kept =
        unreached("probe " + point("both", ".return") + " { println(@entry(int_arg(1))) }");
    EXPECT_NE(kept.find("cannot be patched: its entry, of which the handler keeps something: "),
              std::string::npos)
        << kept;
}

TEST_F(Jumps, ListsNameTheUprobeThatWouldTakeTheirPlace) {
    Images images("");
    images.open_programs_alone();
    const auto list = [&](bool uprobes) {
        std::string text;
        for (const std::string& suffix : {std::string(".return"), std::string()}) {
            test::Analysis analysis("probe " + point("{tail,inlined}", suffix) + " { println(1) }");
            EXPECT_TRUE(analysis.program) << analysis.errors();
            const auto found = list_probes(*analysis.program->probes.at(0)->points.at(0),
                                           {false, true, uprobes}, images, analysis.diagnostics);
            EXPECT_TRUE(found) << analysis.errors();
            for (const ProbeListing& each : *found)
                text += std::string(mechanism_name(each.mechanism)) + ": " + each.reason +
                        (each.jump.empty() ? "" : "; " + each.jump) + "\n";
        }
        return text;
    };
    const std::string tail_call =
        "it may end by a jump to another function, which returns in its place\n";
    EXPECT_EQ(list(false), "return-jumps: jumps at the returns of a function; not probed: " +
                               tail_call + "djprobe: a jump at the entry of a function\n");
    EXPECT_EQ(list(true), "uretprobe: no jump: " + tail_call +
                              "uprobe: no jump: it is an inline instance of a function\n"
                              "djprobe: a jump at the entry of a function\n");
}

} // namespace
} // namespace djstap::programs
