// SPDX-License-Identifier: GPL-2.0-or-later
// What an object tells readers of itself (docs/json.md has what they make of it), what a script
// needs of the runtime, and what --explain says.
#include "generate.h"
#include "kernel_handlers.h"

#include "include/record.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace djstap {

namespace {

using Json = nlohmann::json;
using Symbols = std::set<std::string>;

class Descriptions : public Generate {
  protected:
    Json meta() {
        const auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return Json::parse(object ? object->meta : "{}");
    }
    Probe* counting_probe() {
        std::vector<StatementPtr> body;
        body.push_back(increment(
            global("n" + std::to_string(plan_.sites.size()), Type::Long, Storage::PerCpu)));
        return probe(std::move(body));
    }
    // Prints a text.
    static StatementPtr print_text(const std::string& text) {
        auto print = std::make_unique<Print>();
        print->type = Type::Void;
        FormatPiece piece;
        piece.literal = text;
        print->format.push_back(piece);
        return evaluate(std::move(print));
    }
    std::vector<std::string> explanation() {
        options_.explain = true;
        const auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return object ? object->explanation : std::vector<std::string>();
    }
    static bool has(const std::vector<std::string>& lines, const std::string& wanted) {
        return std::find(lines.begin(), lines.end(), wanted) != lines.end();
    }
};

TEST_F(Descriptions, NameTheScriptAndItsKernel) {
    options_.script_name = "own.stp";
    kernel_.image.build_id = "0123";
    options_.limits.MAXSKIPPED = 5;
    options_.limits.MAXSPECULATIONS = 6;
    counting_probe();
    const Json found = meta();
    EXPECT_EQ(found["version"], 1);
    EXPECT_EQ(found["name"], "test");
    EXPECT_EQ(found["script"], "own.stp");
    EXPECT_EQ(found["release"], "6.1.0");
    EXPECT_EQ(found["kernel_version"], "#1");
    EXPECT_EQ(found["build_id"], "0123");
    EXPECT_EQ(found["max_skipped"], 5);
    EXPECT_EQ(found["max_speculations"], 6);
    for (const char* absent : {"globals", "takes_input", "lines", "fields", "points"})
        EXPECT_FALSE(found.contains(absent)) << absent;
    options_.lines = true;
    EXPECT_EQ(meta()["lines"], 1);
}

// A pattern may have very many sites.
TEST_F(Descriptions, ListTheFirst200Sites) {
    counting_probe();
    plan_.sites[0].point = "kernel.function(\"f\")";
    plan_.sites[0].function = "f";
    plan_.sites[0].reason = "fentry site";
    for (int i = 1; i < 200; i++) {
        Site site = plan_.sites[0];
        site.address += 0x100 * static_cast<uint64_t>(i);
        site.function = "f" + std::to_string(i);
        plan_.sites.push_back(site);
    }
    Json found = meta();
    EXPECT_EQ(found["sites"], 200);
    ASSERT_EQ(found["probes"].size(), 200u);
    EXPECT_EQ(found["probes"][0], Json({{"point", "kernel.function(\"f\")"},
                                        {"mechanism", "djprobe"},
                                        {"reason", "fentry site"},
                                        {"function", "f"}}));
    EXPECT_EQ(found["probes"][199]["function"], "f199");
    plan_.sites.push_back(plan_.sites[7]);
    found = meta();
    EXPECT_EQ(found["sites"], 201);
    EXPECT_EQ(found["probes"].size(), 200u);
}

// Strings of JSON have only UTF-8: readers take the bytes then.
TEST_F(Descriptions, FormatsMayHaveAnyBytes) {
    Probe* const p = printing_probe("kernel.function(\"f\")");
    p->body->statements.push_back(print_text("caf\xc3\xa9"));
    p->body->statements.push_back(print_text("caf\xe9"));
    const Json found = meta();
    ASSERT_EQ(found["formats"].size(), 3u);
    size_t with_bytes = 0;
    for (const Json& each : found["formats"]) {
        EXPECT_FALSE(each.contains("shows") || each.contains("in_snapshot"));
        if (!each.contains("bytes"))
            continue;
        with_bytes++;
        EXPECT_EQ(each["bytes"], Json(std::vector<int>{'c', 'a', 'f', 0xe9}));
    }
    EXPECT_EQ(with_bytes, 1u);
}

// Readers that print no text are told what a format shows, and which is only for them.
TEST_F(Descriptions, FormatsTellWhatTheyShow) {
    Probe* const p = printing_probe("kernel.function(\"f\")");
    for (const bool in_snapshot : {false, true}) {
        StatementPtr statement = print_number();
        auto& print = program::as<Print>(*program::as<Evaluate>(*statement).expression);
        print.shows = "a";
        print.keys = 1;
        print.in_snapshot = in_snapshot;
        p->body->statements.push_back(std::move(statement));
    }
    const Json formats = meta()["formats"];
    ASSERT_EQ(formats.size(), 3u) << "formats of the same text are not the same";
    for (const Json& each : formats)
        EXPECT_EQ(each["text"], formats[0]["text"]);
    EXPECT_FALSE(formats[0].contains("shows") || formats[0].contains("keys"));
    for (const size_t i : {1, 2}) {
        EXPECT_EQ(formats[i]["shows"], "a");
        EXPECT_EQ(formats[i]["keys"], 1);
    }
    EXPECT_FALSE(formats[0].contains("in_snapshot") || formats[1].contains("in_snapshot"));
    EXPECT_EQ(formats[2]["in_snapshot"], 1);
}

TEST_F(Descriptions, StandardInputIsAFileOfProcfs) {
    counting_probe();
    for (const auto& [point, takes] : {std::pair{"procfs(\"__stdin\").write", true},
                                       {"procfs(\"__stdin\").read", false},
                                       {"procfs(\"other\").write", false}}) {
        plan_.sites[0].point = point;
        EXPECT_EQ(meta().contains("takes_input"), takes) << point;
    }
}

TEST_F(Descriptions, PublishedGlobalsAreDescribed) {
    Global* const number = global("number", Type::Long, Storage::Locked);
    number->is_published = number->adds_up = true;
    number->initial_number = 3;
    number->description = "what it counts";
    Global* const text = global("text", Type::String, Storage::Locked, {Type::Long, Type::String});
    text->is_published = true;
    for (const char* name : {"plain", "log"}) {
        Global* const statistic = global(name, Type::Statistic, Storage::Locked);
        statistic->is_published = true;
        if (name == std::string("log"))
            statistic->statistic.histogram = StatisticNeeds::Histogram::Log;
    }
    global("own", Type::Long, Storage::Locked);
    counting_probe();
    const Json globals = meta()["globals"];
    ASSERT_EQ(globals.size(), 4u);
    EXPECT_EQ(globals[0], Json({{"name", "number"},
                                {"adds_up", 1},
                                {"initial", 3},
                                {"value", "number"},
                                {"keys", 0},
                                {"histogram", 0},
                                {"description", "what it counts"}}));
    EXPECT_EQ(globals[1], Json({{"name", "text"},
                                {"adds_up", 0},
                                {"initial", 0},
                                {"value", "text"},
                                {"keys", 2},
                                {"histogram", 0},
                                {"description", ""}}));
    EXPECT_EQ(globals[2]["value"], "statistic");
    EXPECT_EQ(globals[2]["histogram"], 0);
    EXPECT_EQ(globals[3]["histogram"], 1);
}

// The runtime's parts are named by the operations that attach a mechanism, and by what sets up
// their storage.
TEST_F(Descriptions, TablesNeedTheMechanismsAndTheirStorage) {
    counting_probe();
    program_.globals.clear();
    EXPECT_EQ(symbols_for_tables(program_, plan_), Symbols{"djs_ops_djprobe"});
    plan_.sites[0].mechanism = Mechanism::Kprobe;
    EXPECT_EQ(symbols_for_tables(program_, plan_), Symbols{"djs_ops_kprobe"});
    plan_.sites.clear();
    EXPECT_EQ(symbols_for_tables(program_, plan_), Symbols{});
    global("number", Type::Long, Storage::Locked);
    global("text", Type::String, Storage::Locked);
    EXPECT_EQ(symbols_for_tables(program_, plan_), Symbols{});
    const Symbols storage{"djs_globals_init"};
    global("counter", Type::Long, Storage::PerCpu);
    EXPECT_EQ(symbols_for_tables(program_, plan_), storage);
    program_.globals.clear();
    global("array", Type::Long, Storage::Locked, {Type::Long});
    EXPECT_EQ(symbols_for_tables(program_, plan_), storage);
    program_.globals.clear();
    global("statistic", Type::Statistic, Storage::Locked);
    EXPECT_EQ(symbols_for_tables(program_, plan_), storage);
    program_.globals.clear();
    for (const auto& [intrinsic, symbols] :
         {std::pair{"pid", Symbols{}},
          {"symname", {"djs_symbols_init"}},
          {"umodname", {"djs_ustack_init"}},
          {"usymname", {"djs_symbols_init", "djs_ustack_init"}}}) {
        auto function = std::make_unique<Function>();
        function->name = function->intrinsic = intrinsic;
        program_.functions.clear();
        program_.functions.push_back(std::move(function));
        EXPECT_EQ(symbols_for_tables(program_, plan_), symbols) << intrinsic;
    }
}

TEST_F(Descriptions, CallsNeedTheirFunctions) {
    const auto match = [] {
        auto made = std::make_unique<RegexMatch>();
        made->type = Type::Long;
        auto text = std::make_unique<Text>();
        text->type = Type::String;
        made->operand = std::move(text);
        return made;
    };
    Probe* const p = counting_probe();
    EXPECT_EQ(symbols_for_calls(program_), Symbols{});
    for (const char* name : {"pid", "own"}) {
        auto function = std::make_unique<Function>();
        function->name = name;
        if (name == std::string("pid"))
            function->intrinsic = "pid";
        else
            function->body = std::make_unique<Block>();
        program_.functions.push_back(std::move(function));
    }
    EXPECT_EQ(symbols_for_calls(program_), Symbols{"djs_fn_pid"});
    const Symbols both{"djs_fn_pid", "djs_regex_search"};
    p->body->statements.push_back(evaluate(match()));
    EXPECT_EQ(symbols_for_calls(program_), both);
    p->body->statements.pop_back();
    program_.functions[1]->body->statements.push_back(evaluate(match()));
    EXPECT_EQ(symbols_for_calls(program_), both);
    program_.functions[1]->body->statements.clear();
    p->condition = match();
    EXPECT_EQ(symbols_for_calls(program_), both);
    // Nobody knows what embedded C calls.
    program_.functions[1]->embedded = "THIS->__retvalue = 1;";
    EXPECT_EQ(symbols_for_calls(program_), std::nullopt);
}

TEST_F(Descriptions, ExplainedHandlersAreNamedAndCounted) {
    counting_probe();
    plan_.sites[0].point = "kernel.function(\"f\")";
    counting_probe();
    plan_.sites[1].point = "kernel.function(\"g\")";
    plan_.sites[1].written = "own.alias";
    Site again = plan_.sites[1];
    again.address += 0x100;
    again.written = "another";
    plan_.sites.push_back(again);
    Site kprobe = again;
    kprobe.address += 0x100;
    kprobe.mechanism = Mechanism::Kprobe;
    kprobe.trampoline = no_index;
    kprobe.jump = "a jump is safe here";
    plan_.sites.push_back(kprobe);
    kprobe.address += 0x100;
    kprobe.jump = "no jump: a jump leads into it";
    plan_.sites.push_back(kprobe);
    kprobe.address += 0x100;
    plan_.sites.push_back(kprobe);
    plan_.variants[1].mechanisms |= 1u << static_cast<unsigned>(Mechanism::Kprobe);
    const auto lines = explanation();
    EXPECT_TRUE(has(lines, "kernel.function(\"f\"): 1 site by djprobe")) << lines.front();
    EXPECT_TRUE(has(lines, "own.alias: 2 sites by djprobe, 3 sites by kprobe"));
    EXPECT_TRUE(has(lines,
                    "    its kprobes are breakpoints, which cost five times as much as jumps "
                    "(--mechanism=kprobe-jump): at 1, a jump is safe here; at 2, no jump: a "
                    "jump leads into it"));
    EXPECT_TRUE(has(lines, "    needs nothing: it updates per-CPU counters, each with one "
                           "instruction"));
    EXPECT_TRUE(has(lines, "global n0: a per-CPU counter: no lock, no shared cache line"));
    for (const std::string& line : lines) {
        EXPECT_FALSE(line.starts_with("    locks ")) << line;
        EXPECT_FALSE(line.starts_with("    counts its statements")) << line;
        EXPECT_FALSE(line.starts_with("    runs ")) << line;
        EXPECT_FALSE(line.starts_with("    could do without")) << line;
        EXPECT_FALSE(line.starts_with("symbols: ")) << line;
    }
}

TEST_F(Descriptions, ExplainedHandlersTellWhatTheyHold) {
    Global* const a = global("a", Type::Long, Storage::Locked, {Type::Long});
    Global* const b = global("b", Type::Long, Storage::Locked, {Type::Long});
    Global* const fixed = global("fixed", Type::Long, Storage::Constant);
    fixed->initial_number = 3;
    Probe* const p = element_probe(a);
    p->effects.reads = {b};
    p->effects.loops = true;
    Probe* const alone = element_probe(a);
    plan_.variants[1].kind = HandlerKind::Begin;
    plan_.variants[1].mechanisms = 1u << static_cast<unsigned>(Mechanism::None);
    plan_.sites[1].mechanism = Mechanism::None;
    plan_.sites[1].trampoline = no_index;
    plan_.sites[1].point = "begin";
    plan_.trampolines.pop_back();
    alone->effects.prints = true;
    auto lines = explanation();
    EXPECT_TRUE(has(lines, "    locks a (written), b (read)"));
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [](const auto& line) { return line.starts_with("    locks "); }),
              1); // what runs alone takes none
    EXPECT_TRUE(has(lines, "    counts its statements: it has a loop, recursion or very many "
                           "statements"));
    EXPECT_TRUE(has(lines, "begin: 1 by the session itself"));
    EXPECT_TRUE(has(lines, "    needs nothing: it runs alone"));
    EXPECT_TRUE(has(lines, "global a: shared by all CPUs, protected by a lock"));
    EXPECT_TRUE(has(lines, "global fixed: a constant: nothing writes it"));
}

// What its probes have become may have no place at all.
TEST_F(Descriptions, ExplainedHandlersMayHaveNoSite) {
    counting_probe();
    plan_.trampolines.clear();
    plan_.sites.clear();
    EXPECT_TRUE(has(explanation(), "handler 1: no site"));
}

TEST_F(Descriptions, ExplainedHandlersTellWhereTheyRun) {
    test::KernelScript script;
    script.options.explain = true;
    const auto object = script.compile(
        "global c, s, large[100000]\n"
        "probe timer.s(1) { large[cpu()]++; foreach (k in large- limit 3) println(k) }\n"
        "probe timer.s(2) { c++; s <<< 1 }\n"
        "probe timer.s(3) { println(symname(c)) }\n"
        "probe end { println(c, @count(s)) }");
    ASSERT_TRUE(object);
    const std::vector<std::string>& lines = object->explanation;
    const auto behind = [&lines](const std::string& first) {
        auto at = std::find(lines.begin(), lines.end(), first);
        std::vector<std::string> found;
        while (at != lines.end() && ++at != lines.end() && at->starts_with("    "))
            found.push_back(*at);
        return found;
    };
    const auto walks = behind("timer.s(1): 1 site by timer"),
               counts = behind("timer.s(2): 1 site by timer");
    const std::string in_task = "    runs in a task: it iterates over an array that may be large, "
                                "and releases its locks at intervals",
                      in_session = "    runs only during the session: it can print, fail or exit";
    EXPECT_TRUE(has(walks, in_task));
    EXPECT_TRUE(has(walks, in_session));
    EXPECT_TRUE(has(walks, "    locks large (written)"));
    ASSERT_EQ(counts.size(), 2u);
    EXPECT_EQ(counts[0],
              "    needs nothing: it updates per-CPU counters, each with one instruction");
    EXPECT_TRUE(counts[1].starts_with("    uses at most ") &&
                counts[1].ends_with(" bytes of stack"))
        << counts[1];
    EXPECT_FALSE(has(behind("end: 1 by the session itself"), in_session)) << "it runs alone";
    EXPECT_TRUE(has(lines, "global c: a per-CPU counter: no lock, no shared cache line"));
    EXPECT_TRUE(has(lines, "global s: a per-CPU statistic: no lock, no shared cache line"));
    EXPECT_TRUE(has(lines, "global large: shared by all CPUs, protected by a lock"));
    EXPECT_TRUE(lines.back().starts_with("symbols: looked up once for each address"))
        << lines.back();
}

} // namespace

} // namespace djstap
