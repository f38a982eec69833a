// SPDX-License-Identifier: GPL-2.0-or-later
// Tracepoints, static markers, and variables at which the processor stops.
#include "unit/probes/whole_kernel.h"

#include "arch/arch.h"

#include "include/script.h"

namespace djstap::whole {
namespace {

std::string trace(const std::string& name) {
    return "kernel.trace(\"" + name + "\")";
}

std::vector<std::string> variables_of(const std::string& point) {
    Images images(files().path());
    const test::Analysis analysis("probe " + point + " { println(1) }");
    EXPECT_TRUE(analysis.program) << analysis.errors();
    Diagnostics diagnostics(analysis.sources);
    const auto listed =
        list_probes(*analysis.program->probes.at(0)->points.at(0), {true}, images, diagnostics);
    EXPECT_TRUE(listed && listed->size() == 1) << render_all(diagnostics);
    return listed && listed->size() == 1 ? listed->front().variables : std::vector<std::string>();
}

TEST(Tracepoints, AreNamedWithTheirSystems) {
    const std::string first = trace("made:first") + " tracepoint\n",
                      second = trace("other:second") + " tracepoint\n",
                      alone = trace("alone") + " tracepoint\n";
    EXPECT_EQ(places_of(trace("first")), first);
    EXPECT_EQ(places_of(trace("made:first")), first);
    EXPECT_EQ(places_of(trace("m*:f*")), first);
    EXPECT_EQ(places_of(trace("*")), alone + first + second);
    EXPECT_EQ(places_of(trace("*:*")), alone + first + second);
    EXPECT_EQ(places_of(trace("other:*")), second);
    EXPECT_EQ(places_of(trace("{made:first,alone}")), first + alone);
    EXPECT_EQ(places_of(trace("alone")), alone);
}

TEST(Tracepoints, ThatAreNotThereAreRefused) {
    const std::string none = "no tracepoint of kernel 6.1.0-whole matches ";
    EXPECT_EQ(said(trace("fist")), none + "\"fist\"; did you mean 'first'?");
    EXPECT_EQ(said(trace("other:first")), none + "\"other:first\"; did you mean \"made:first\"?");
    const std::string list = "; djstap -l 'kernel.trace(\"*\")' lists all tracepoints";
    EXPECT_EQ(said(trace("x*")), none + "\"x*\"" + list);
    EXPECT_EQ(said(trace("zzzzzzzz")), none + "\"zzzzzzzz\"" + list);
    // What calls its probes alone makes no tracepoint.
    EXPECT_NE(said(trace("gone")).find(none), std::string::npos);
    EXPECT_EQ(places_of(trace("fist") + "?"), "");
    const std::string hint = "; write \"name\" or \"system:name\", as in "
                             "kernel.trace(\"sched:sched_switch\")";
    for (const char* name : {"", ":first", "made:", "a:b:c", ":"})
        EXPECT_TRUE(
            said(trace(name))
                .ends_with("\"" + std::string(name) + "\" does not name a tracepoint" + hint))
            << said(trace(name));
}

TEST(Tracepoints, OfModulesAreReachedByTheKernelsPoint) {
    const std::string sent = "module(\"extra\").trace(\"extra:extra_sent\")";
    for (const char* name : {"extra_sent", "extra:extra_sent", "ext*:extra_sent"})
        EXPECT_EQ(places_of(trace(name)), sent + " tracepoint\n") << name;
    EXPECT_EQ(places_of("module(\"extra\").trace(\"*\")"), sent + " tracepoint\n");
    EXPECT_EQ(places_of("module(\"*\").trace(\"e*\")"), sent + " tracepoint\n");
    const std::string missed = said(trace("extra_lost"));
    EXPECT_TRUE(missed.starts_with("no tracepoint of kernel 6.1.0-whole matches \"extra_lost\""))
        << missed;
    EXPECT_EQ(
        said("module(\"extra\").trace(\"extra_snt\")"),
        "no tracepoint of module 'extra' of kernel 6.1.0-whole matches \"extra_snt\"; did you mean "
        "'extra_sent'?");
    EXPECT_EQ(said("module(\"extra\").trace(\"x*\")"),
              "no tracepoint of module 'extra' of kernel 6.1.0-whole matches \"x*\"; djstap -l "
              "'module(\"extra\").trace(\"*\")' lists all tracepoints");
    EXPECT_EQ(variables_of("module(\"extra\").trace(\"extra_sent\")"),
              std::vector<std::string>{"$parcel:struct parcel *"});
}

// Of a kernel without vmlinux: symbols of tracepoints and of two systems, BTF without any type.
const std::string& symbols_alone() {
    static const test::Folder root;
    static const std::string path = [] {
        std::string map = "ffffffff81000000 T _stext\n"
                          "ffffffff81000000 T _printk\n"
                          "ffffffff81000010 T __traceiter_first\n"
                          "ffffffff81000020 T __traceiter_second\n"
                          "ffffffff81000030 T __traceiter_alone\n"
                          "ffffffff81000040 T _etext\n"
                          "ffffffff82000000 D __tracepoint_first\n"
                          "ffffffff82000100 D __tracepoint_second\n"
                          "ffffffff82000200 D __tracepoint_alone\n"
                          "ffffffff82000300 d event_first\n"
                          "ffffffff82000400 d event_second\n"
                          "ffffffff82000500 d str__made__trace_system_name\n"
                          "ffffffff82000508 d str__some_other__trace_system_name\n";
        for (int i = 0; map.size() <= 4096; i++) // one that is shorter names another file
            map += "ffffffff82001000 d more_" + std::to_string(i) + "\n";
        const std::string modules = "lib/modules/" + std::string(release);
        root.write(modules + "/System.map", map);
        root.write(modules + "/config", "CONFIG_HZ=1000\n");
        const char no_types[] = "\x9f\xeb\1\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0";
        root.write("boot/btf-" + std::string(release), std::string(no_types, sizeof no_types));
        return root.path + "/";
    }();
    return path;
}

// The points of a tracepoint there, else what is wrong with it.
std::string by_symbols(const std::string& name) {
    Images images(symbols_alone());
    test::Analysis analysis("probe " + trace(name) + " { println(1) }");
    EXPECT_TRUE(analysis.program) << analysis.errors();
    const auto plan = resolve_probes(*analysis.program, images, {}, analysis.diagnostics);
    if (!plan)
        return said(analysis.diagnostics);
    std::string points;
    for (const Site& site : plan->sites)
        points += site.point + "\n";
    return points;
}

// Symbols do not tell which system a tracepoint is in, but which ones there are.
TEST(Tracepoints, OfUnknownSystemsAreNamedByThemselves) {
    const std::string first = trace("first") + "\n", second = trace("second") + "\n",
                      alone = trace("alone") + "\n";
    EXPECT_EQ(by_symbols("first"), first);
    EXPECT_EQ(by_symbols("{first,s*}"), first + second);
    // A name is that of one tracepoint.
    EXPECT_EQ(by_symbols("made:first"), trace("made:first") + "\n");
    EXPECT_EQ(by_symbols("some-other:first"), trace("some-other:first") + "\n");
    const std::string none = "no tracepoint of kernel 6.1.0-whole matches ";
    EXPECT_EQ(by_symbols("other:first"), none + "\"other:first\"; did you mean \"first\"?");
    EXPECT_EQ(by_symbols("made:alone"), none + "\"made:alone\"; did you mean \"alone\"?");
    // Whether it is of a system that matches is not known.
    EXPECT_EQ(by_symbols("*:*"), alone + first + second);
    EXPECT_EQ(by_symbols("*:s*"), second);
    const auto hint = [](const std::string& name) {
        return "; which system a tracepoint is in is known only from debug symbols, which are "
               "missing; \"*:" +
               name + "\" means those of all systems";
    };
    EXPECT_EQ(by_symbols("made:*"), none + "\"made:*\"" + hint("*"));
    EXPECT_EQ(by_symbols("m*:f*"), none + "\"m*:f*\"" + hint("f*"));
    EXPECT_EQ(by_symbols("m*:first"), none + "\"m*:first\"" + hint("first"));
    EXPECT_EQ(by_symbols("zzz*:first"), none + "\"zzz*:first\"" + hint("first"));
    EXPECT_EQ(by_symbols("{gone,made:f*}"), none + "\"{gone,made:f*}\"" + hint("f*"));
    EXPECT_EQ(by_symbols("*:first"), first);
}

// The first parameter of a callback is the probe's own data: the others come behind it.
TEST(Tracepoints, HaveTheParametersOfTheirCallbacks) {
    const Planned planned("probe " + trace("first") +
                          " { println($number, $thing->number, $flag) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    const auto registers = arch::argument_registers();
    const FunctionInfo& info = *planned.site().info;
    ASSERT_EQ(info.parameters.size(), 3U);
    EXPECT_EQ(info.name, "first");
    for (size_t i = 0; i < 3; i++) {
        EXPECT_EQ(info.parameters[i].location.kind, LocationKind::Register);
        EXPECT_EQ(info.parameters[i].location.reg, registers[i + 1]) << i;
    }
    EXPECT_TRUE(planned.site().forced);
    EXPECT_EQ(variables_of(trace("first")),
              (std::vector<std::string>{"$number:int", "$thing:struct thing *", "$flag:bool"}));
    EXPECT_EQ(variables_of(trace("second")), std::vector<std::string>());
    EXPECT_EQ(said(trace("second"), {}, "println($return)"),
              "tracepoint 'second' has no variable '$return'; no variables are available there");
    // A structure of 24 bytes is on the stack; what follows it is in the next register.
    const Planned whole("probe " + trace("alone") + " { println($after, $whole->words[2]) }");
    ASSERT_TRUE(whole.plan) << whole.errors();
    const auto& parameters = whole.site().info->parameters;
    EXPECT_EQ(parameters.at(0).location.kind, LocationKind::Memory);
    EXPECT_EQ(parameters.at(0).location.reg, arch::stack_pointer());
    EXPECT_EQ(parameters.at(1).location.reg, registers[1]);
}

TEST(Tracepoints, AreReachedByNothingElse) {
    EXPECT_EQ(places_of(trace("first"), forced(Mechanism::Tracepoint)),
              trace("made:first") + " tracepoint\n");
    EXPECT_EQ(said(trace("first"), forced(Mechanism::Kprobe)),
              "\"first\" cannot be probed: a tracepoint calls its handlers directly; omit "
              "--mechanism to let djstap choose");
    EXPECT_EQ(said("kernel.mark(\"other\")", forced(Mechanism::Marker)),
              "\"other\" cannot be probed: a marker calls its handlers directly; omit --mechanism "
              "to let djstap choose");
}

// A kernel's debug symbols are large: they are not opened for points that are not in it.
TEST(Variables, OfPointsOutsideTheKernelDoNotOpenIt) {
    Images images(files().path());
    const test::Analysis analysis("probe timer.s(1) { println(1) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    Diagnostics diagnostics(analysis.sources);
    const auto listed =
        list_probes(*analysis.program->probes.at(0)->points.at(0), {true}, images, diagnostics);
    ASSERT_TRUE(listed && listed->size() == 1) << render_all(diagnostics);
    EXPECT_FALSE(images.opened_kernel());
}

// ---- markers ------------------------------------------------------------------------------------

std::string mark(const std::string& name, const std::string& format = "") {
    return "kernel.mark(\"" + name + "\")" + (format.empty() ? "" : ".format(\"" + format + "\")");
}

TEST(Markers, AreNamedWithTheirFormats) {
    const std::string numbers = mark("full", "%u") + " marker\n",
                      both = mark("full", "%d %s") + " marker\n" + numbers;
    EXPECT_EQ(places_of(mark("full")), both);
    EXPECT_EQ(places_of(mark("f*")), both);
    EXPECT_EQ(places_of(mark("full", "%u")), numbers);
    EXPECT_EQ(places_of(mark("full", "*u")), numbers);
    EXPECT_EQ(places_of(mark("{full,other}", "%[up]")),
              numbers + mark("other", "%p") + " marker\n");
    EXPECT_EQ(places_of(mark("in_extra")),
              "module(\"extra\").mark(\"in_extra\").format(\"%lu\") marker\n");
    EXPECT_EQ(places_of("module(\"extra\").mark(\"*\")"),
              "module(\"extra\").mark(\"in_extra\").format(\"%lu\") marker\n");
    // Each has an address of its own.
    const Planned planned("probe " + mark("full") + " { println(1) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    EXPECT_NE(planned.site(0).address, planned.site(1).address);
    EXPECT_NE(planned.site(0).variant, planned.site(1).variant);
    for (const Site& site : planned.plan->sites)
        EXPECT_TRUE((*planned.plan).images.at(site.image).segments.at(0).contains(site.address));
}

TEST(Markers, ThatAreNotThereAreRefused) {
    EXPECT_TRUE(said(mark("fall")).ends_with("did you mean 'full'?")) << said(mark("fall"));
    EXPECT_TRUE(said(mark("x*")).find("lists the markers of the kernel") != std::string::npos)
        << said(mark("x*"));
    EXPECT_TRUE(said("module(\"extra\").mark(\"x*\")")
                    .starts_with("no marker of module 'extra' of kernel 6.1.0-whole matches"));
    EXPECT_TRUE(said("module(\"extra\").mark(\"x*\")")
                    .ends_with("; markers are put into code by DJSTAP_MARK(), of djstap/marker.h"));
    EXPECT_TRUE(said(mark("lost")).find("a module that has it cannot be read: ") !=
                std::string::npos)
        << said(mark("lost"));
    EXPECT_TRUE(said(mark("full", "%p")).ends_with("; omit .format to accept any"))
        << said(mark("full", "%p"));
    EXPECT_EQ(places_of(mark("fall") + "?"), "");
}

TEST(Markers, HaveAtMostTenArguments) {
    EXPECT_EQ(said(mark("most")), "nothing");
    const std::string why = "\" is not one that a marker can have";
    EXPECT_NE(said(mark("many")).find("%d" + why), std::string::npos) << said(mark("many"));
    EXPECT_NE(said(mark("bad")).find("\"bad\" cannot be probed: its format \"%f" + why),
              std::string::npos)
        << said(mark("bad"));
    EXPECT_NE(said(mark("bad")).find("at most 10 arguments"), std::string::npos);
    // A pattern leaves them out.
    const Planned planned("probe " + mark("{bad,other}") + " { println(1) }");
    ASSERT_TRUE(planned.plan);
    EXPECT_EQ(planned.plan->sites.size(), 1U);
    EXPECT_NE(planned.errors().find("omits the marker 'bad'"), std::string::npos)
        << planned.errors();
}

TEST(Markers, ArgumentsFollowTheDataOfTheProbe) {
    EXPECT_EQ(variables_of(mark("full", "%d %s")),
              (std::vector<std::string>{"$arg1:int", "$arg2:const char *"}));
    EXPECT_EQ(variables_of(mark("full", "%u")), std::vector<std::string>{"$arg1:unsigned int"});
    EXPECT_EQ(variables_of(mark("other")), std::vector<std::string>{"$arg1:void *"});
    const Planned planned("probe " + mark("most") + " { println($arg1, $arg5, $arg6, $arg10) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    const auto& parameters = planned.site().info->parameters;
    ASSERT_EQ(parameters.size(), 10U);
    const auto registers = arch::argument_registers();
    for (size_t i = 0; i < parameters.size(); i++) {
        const Location& location = parameters[i].location;
        if (i + 1 < registers.size()) {
            EXPECT_EQ(location.kind, LocationKind::Register);
            EXPECT_EQ(location.reg, registers[i + 1]) << i;
        } else { // behind the return address
            EXPECT_EQ(location.kind, LocationKind::Memory) << i;
            EXPECT_EQ(location.reg, arch::stack_pointer());
            EXPECT_EQ(location.offset, static_cast<int64_t>(8 * (i + 2 - registers.size()))) << i;
        }
    }
    EXPECT_EQ(said(mark("other"), {}, "println($name, $format, $$parms)"), "nothing");
    EXPECT_EQ(said(mark("other"), {}, "println($nam)"),
              "marker 'other' has no variable '$nam'; did you mean '$name'?");
    EXPECT_EQ(said(mark("other"), {}, "println($frmat)"),
              "marker 'other' has no variable '$frmat'; did you mean '$format'?");
    EXPECT_EQ(said(mark("other"), {}, "println($arg2)"),
              "marker 'other' has no variable '$arg2'; did you mean '$arg1'?");
}

// ---- data ---------------------------------------------------------------------------------------

std::string data(const std::string& what, const std::string& how = ".write") {
    return "kernel.data(" + what + ")" + how;
}

TEST(Data, IsWatchedWhereItIs) {
    const auto watched = [](const std::string& point) {
        const Planned planned("probe " + point + " { println(1) }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        const auto* found = planned.plan
                                ? std::get_if<WatchedData>(&planned.plan->variants.at(0).payload)
                                : nullptr;
        EXPECT_TRUE(found) << point;
        return found ? *found : WatchedData();
    };
    Images images(files().path());
    const uint64_t shared = (*images.kernel())->symbol("shared")->address;
    const WatchedData plain = watched(data("\"shared\""));
    EXPECT_EQ(plain.address, shared);
    EXPECT_EQ(plain.bytes, 1U);
    EXPECT_EQ(plain.how, uint64_t{DJS_BREAKPOINT_AS_LINKED});
    const WatchedData read = watched(data("\"shared\"", ".length(4).rw"));
    EXPECT_EQ(read.bytes, 4U);
    EXPECT_EQ(read.how, uint64_t{DJS_BREAKPOINT_AS_LINKED | DJS_BREAKPOINT_READS});
    const WatchedData number = watched(data("0xffffffff81000008", ".length(8).rw"));
    EXPECT_EQ(number.address, 0xffffffff81000008U);
    EXPECT_EQ(number.bytes, 8U);
    EXPECT_EQ(number.how, uint64_t{DJS_BREAKPOINT_READS});
    EXPECT_EQ(places_of(data("0xffffffff81000008", ".length(2).rw")),
              data("0xffffffff81000008", ".length(2).rw") + " breakpoint\n");
    EXPECT_EQ(places_of(data("\"shared\""), forced(Mechanism::Breakpoint)),
              data("\"shared\"") + " breakpoint\n");
}

TEST(Data, HasALengthOfTheProcessors) {
    for (const char* good : {"1", "2", "4", "8"})
        EXPECT_EQ(said(data("0xffffffff81000000", ".length(" + std::string(good) + ").rw")),
                  "nothing");
    for (const char* bad : {"0", "3", "5", "6", "7", "9", "16", "-1"})
        EXPECT_EQ(said(data("\"shared\"", ".length(" + std::string(bad) + ").write")),
                  "\"shared\" cannot be probed: a breakpoint is on 1, 2, 4 or 8 bytes")
            << bad;
    EXPECT_EQ(said(data("0xffffffff81000004", ".length(8).rw")),
              "\"0xffffffff81000004\" cannot be probed: its address, 0xffffffff81000004, is not a "
              "multiple of 8");
    EXPECT_EQ(said(data("0xffffffff81000004", ".length(4).rw")), "nothing");
}

TEST(Data, ThatCannotBeWatchedIsRefused) {
    EXPECT_EQ(said(data("\"per_cpu_number\"")),
              "\"per_cpu_number\" cannot be probed: each CPU has a variable of its own; "
              "kernel.data(ADDRESS) takes the address of one of them");
    for (const char* low : {"0", "5", "0x7fffffffffffffff"})
        EXPECT_TRUE(said(data(low)).ends_with("it is not an address of the kernel")) << low;
    EXPECT_EQ(said(data("0x8000000000000000")), "nothing");
    EXPECT_EQ(said(data("\"sharde\"")),
              "kernel 6.1.0-whole has no variable 'sharde'; did you mean 'shared'?");
    EXPECT_EQ(places_of(data("\"sharde\"") + "?"), "");
    EXPECT_EQ(said(data("\"shared\""), forced(Mechanism::Kprobe)),
              "\"shared\" cannot be probed: only a breakpoint of the processor notices accesses; "
              "omit --mechanism to let djstap choose");
}

} // namespace
} // namespace djstap::whole
