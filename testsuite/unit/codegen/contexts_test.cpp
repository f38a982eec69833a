// SPDX-License-Identifier: GPL-2.0-or-later
// Where functions run, and what is done to arrays there.
#include "loaded_tables.h"

#include "codegen/script_module.h"

namespace djstap {
namespace {

// What an overload passes on to the next one, its callers do as well.
TEST_F(Generate, OverloadsRunWhereTheirCallersDo) {
    Global* const cleared = global("cleared", Type::Long, Storage::Locked, {Type::Long});
    Global* const kept = global("kept", Type::Long, Storage::Locked, {Type::Long});
    for (const char* name : {"first", "last"}) {
        auto function = std::make_unique<Function>();
        function->name = name;
        function->body = std::make_unique<Block>();
        program_.functions.push_back(std::move(function));
    }
    Function* const first = program_.functions[0].get();
    Function* const last = program_.functions[1].get();
    first->next_overload = last;
    first->body->statements.push_back(increment_element(kept, 1));
    auto clear = std::make_unique<Delete>();
    clear->global = cleared;
    last->body->statements.push_back(std::move(clear));
    auto call = std::make_unique<Call>();
    call->function = first;
    std::vector<StatementPtr> body;
    body.push_back(evaluate(std::move(call)));
    probe(std::move(body));

    llvm::LLVMContext context;
    const codegen::ScriptModule script(context, program_, plan_, kernel_, options_, diagnostics_);
    EXPECT_EQ(script.contexts.cleared, std::set<const Global*>{cleared});
    EXPECT_TRUE(script.contexts.functions.count(first));
    EXPECT_TRUE(script.contexts.functions.count(last));
}

class RunContexts : public Tables {
  protected:
    codegen::Contexts contexts() {
        llvm::LLVMContext context;
        return codegen::ScriptModule(context, program_, plan_, kernel_, options_, diagnostics_)
            .contexts;
    }
    // "alone", "task", "others" or several of them, of the first probe.
    std::string of_first() { return shown(contexts().variants.at(0)); }
    static std::string shown(const codegen::RunContexts& contexts) {
        std::string text;
        for (const auto& [is_so, name] : {std::pair{contexts.alone, "alone"},
                                          {contexts.task, "task"},
                                          {contexts.others, "others"}})
            if (is_so)
                text += (text.empty() ? "" : " ") + std::string(name);
        return text;
    }
    Global* large(const std::string& name = "large") {
        Global* const made = global(name, Type::Long, Storage::Locked, {Type::Long, Type::Long});
        made->size = DJS_SORTED_AT_ONCE + 1;
        return made;
    }
    static StatementPtr walk(const Global* array, int sort_key = -1) {
        auto made = std::make_unique<Foreach>();
        made->array = array;
        made->sort_key = sort_key;
        made->body = std::make_unique<Block>();
        return made;
    }
    // [1, *] or [1, 2]
    static std::vector<ExpressionPtr> keys(bool is_slice) {
        std::vector<ExpressionPtr> made;
        made.push_back(number(1));
        made.push_back(is_slice ? nullptr : number(2));
        return made;
    }
    static StatementPtr erase(const Global* array, std::vector<ExpressionPtr> keys = {}) {
        auto made = std::make_unique<Delete>();
        made->global = array;
        made->keys = std::move(keys);
        return made;
    }
    static ExpressionPtr membership(const Global* array, std::vector<ExpressionPtr> keys) {
        auto made = std::make_unique<Membership>();
        made->array = array;
        made->keys = std::move(keys);
        return made;
    }
    Function* function(const std::string& name) {
        auto made = std::make_unique<Function>();
        made->name = name;
        made->body = std::make_unique<Block>();
        program_.functions.push_back(std::move(made));
        return program_.functions.back().get();
    }
    static StatementPtr call(const Function* function) {
        auto made = std::make_unique<Call>();
        made->function = function;
        return evaluate(std::move(made));
    }
    std::vector<StatementPtr>& body(size_t number = 0) { return probe_of(number).body->statements; }
};

TEST_F(RunContexts, ProbesOfTheSessionRunAlone) {
    plain_probe(HandlerKind::Begin, Mechanism::None);
    plain_probe(HandlerKind::End, Mechanism::None);
    plain_probe(HandlerKind::Error, Mechanism::None);
    plain_probe(HandlerKind::Entry, Mechanism::Kprobe);
    plain_probe(HandlerKind::Return, Mechanism::Kretprobe);
    plain_probe(HandlerKind::Timer, Mechanism::Timer);
    const auto wanted = {"alone", "alone", "alone", "others", "others", "others"};
    auto variants = contexts().variants;
    ASSERT_EQ(variants.size(), wanted.size());
    for (size_t i = 0; i < variants.size(); i++)
        EXPECT_EQ(shown(variants[i]), wanted.begin()[i]) << i;
    // One thread runs all handlers of a process of djstap's, those of a probed program meet.
    kernel_.user_space = true;
    for (const auto& each : contexts().variants)
        EXPECT_EQ(shown(each), "alone");
    kernel_.injected = true;
    variants = contexts().variants;
    for (size_t i = 0; i < variants.size(); i++)
        EXPECT_EQ(shown(variants[i]), wanted.begin()[i]) << i;
}

// What takes long is left to a task, if the mechanism has one.
TEST_F(RunContexts, LargeWalksOfTimersRunInATask) {
    Global* const array = large();
    plain_probe(HandlerKind::Timer, Mechanism::Timer);
    EXPECT_EQ(of_first(), "others");
    body().push_back(walk(array));
    EXPECT_EQ(of_first(), "task");
    array->size--;
    EXPECT_EQ(of_first(), "others");
    array->size = 0; // MAXMAPENTRIES
    EXPECT_EQ(of_first(), "others");
    options_.limits.MAXMAPENTRIES = DJS_SORTED_AT_ONCE + 1;
    EXPECT_EQ(of_first(), "task");
    plan_.variants[0].mechanisms |= 1u << static_cast<unsigned>(Mechanism::Kprobe);
    EXPECT_EQ(of_first(), "others") << "a kprobe has none";
    plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(Mechanism::Procfs);
    EXPECT_EQ(of_first(), "task");
    plan_.variants[0].kind = HandlerKind::End;
    EXPECT_EQ(of_first(), "alone");
    plan_.variants[0].kind = HandlerKind::Timer;
    kernel_.user_space = kernel_.injected = true;
    EXPECT_EQ(of_first(), "others");
}

// A condition is a part of the handler.
TEST_F(RunContexts, ConditionsAreLookedAt) {
    Global* const array = large();
    plain_probe(HandlerKind::Timer, Mechanism::Timer);
    probe_of(0).condition = membership(array, keys(false));
    EXPECT_EQ(of_first(), "others");
    probe_of(0).condition = membership(array, keys(true));
    EXPECT_EQ(of_first(), "task") << "a slice is a walk";
    Function* const clears = function("clears");
    clears->body->statements.push_back(erase(array));
    auto made = std::make_unique<Call>();
    made->function = clears;
    probe_of(0).condition = std::move(made);
    const auto found = contexts();
    EXPECT_EQ(found.cleared, std::set<const Global*>{array});
    EXPECT_EQ(shown(found.variants.at(0)), "others");
    EXPECT_TRUE(found.functions.count(clears));
    probe_of(0).condition = nullptr;
    EXPECT_TRUE(contexts().cleared.empty());
}

TEST_F(RunContexts, FewerTextsThanNumbersAreSortedAtOnce) {
    struct Sorted {
        std::vector<Type> keys;
        Type value;
        int by;
        uint32_t most;
    };
    plain_probe(HandlerKind::Timer, Mechanism::Timer);
    for (const Sorted& each : {
             Sorted{{Type::Long}, Type::String, 0, DJS_TEXTS_SORTED_AT_ONCE},
             {{Type::Long}, Type::String, -1, DJS_SORTED_AT_ONCE},
             {{Type::Long}, Type::String, 1, DJS_SORTED_AT_ONCE},
             {{Type::String}, Type::Long, 1, DJS_TEXTS_SORTED_AT_ONCE},
             {{Type::String}, Type::Long, 0, DJS_SORTED_AT_ONCE},
             {{Type::String}, Type::Long, -1, DJS_SORTED_AT_ONCE},
             {{Type::Long, Type::String}, Type::Long, 2, DJS_TEXTS_SORTED_AT_ONCE},
             {{Type::Long, Type::String}, Type::Long, 1, DJS_SORTED_AT_ONCE},
         }) {
        program_.globals.clear();
        body().clear();
        Global* const array = global("array", each.value, Storage::Locked, each.keys);
        body().push_back(walk(array, each.by));
        array->size = each.most;
        EXPECT_EQ(of_first(), "others") << each.by;
        array->size++;
        EXPECT_EQ(of_first(), "task") << each.by;
    }
}

// A histogram has few buckets.
TEST_F(RunContexts, WalksOverBucketsAreShort) {
    plain_probe(HandlerKind::Timer, Mechanism::Timer);
    Global* const counted = global("counted", Type::Statistic, Storage::Locked);
    counted->statistic.histogram = StatisticNeeds::Histogram::Log;
    auto read = std::make_unique<StatisticRead>();
    read->op = ast::StatOp::HistLog;
    read->place = value_of(counted);
    auto made = std::make_unique<Foreach>();
    made->histogram = std::move(read);
    made->body = std::make_unique<Block>();
    body().push_back(std::move(made));
    EXPECT_EQ(of_first(), "others");
}

TEST_F(RunContexts, SlicesAreWalks) {
    Global* const array = large();
    plain_probe(HandlerKind::Timer, Mechanism::Timer);
    for (const bool is_slice : {false, true}) {
        const std::string wanted = is_slice ? "task" : "others";
        body().clear();
        body().push_back(evaluate(membership(array, keys(is_slice))));
        EXPECT_EQ(of_first(), wanted);
        body().clear();
        body().push_back(erase(array, keys(is_slice)));
        EXPECT_EQ(of_first(), wanted);
        body().clear();
        probe_of(0).condition = membership(array, keys(is_slice));
        EXPECT_EQ(of_first(), wanted);
        probe_of(0).condition = nullptr;
    }
    body().push_back(erase(array));
    EXPECT_EQ(of_first(), "others") << "it is cleared at once";
}

// A task that acts for the interrupted one has neither its registers nor what C code may read. The
// reader of a file of procfs is the task itself.
TEST_F(RunContexts, WhatIsBoundToItsPlaceStaysThere) {
    Global* const array = large();
    plain_probe(HandlerKind::Timer, Mechanism::Timer);
    const auto check = [&](StatementPtr statement, const std::string& wanted, const char* what) {
        body().clear();
        body().push_back(walk(array));
        body().push_back(std::move(statement));
        plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(Mechanism::Timer);
        EXPECT_EQ(of_first(), wanted) << what;
        plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(Mechanism::Procfs);
        EXPECT_EQ(of_first(), "task") << what;
    };
    check(std::make_unique<EmbeddedStatement>(), "others", "%{ %}");
    check(evaluate(std::make_unique<EmbeddedC>()), "others", "%{ %}, a value");
    check(evaluate(std::make_unique<Register>()), "others", "register()");
    auto counter = std::make_unique<TargetValue>();
    counter->base = TargetValue::Base::PerfCounter;
    check(evaluate(std::move(counter)), "others", "@perf");
    auto variable = std::make_unique<TargetValue>();
    variable->base = TargetValue::Base::GlobalVariable;
    check(evaluate(std::move(variable)), "task", "@var");
    Function* const plain = function("plain");
    check(call(plain), "task", "a function");
    plain->place = true;
    check(call(plain), "others", "a function of the place");
    plain->place = false;
    plain->body = nullptr;
    plain->embedded = "THIS->__retvalue = 0;";
    check(call(plain), "others", "C code");
    plain->embedded.clear();
    plain->intrinsic = "pid";
    check(call(plain), "task", "a function of the runtime");
    plain->place = true;
    check(call(plain), "others", "one of the place");
    // Also where another function calls it.
    Function* const outer = function("outer");
    outer->body->statements.push_back(call(plain));
    check(call(outer), "others", "one that is called by another");
}

TEST_F(RunContexts, FunctionsRunWhereverTheirCallersDo) {
    Global* const array = large();
    Function* const inner = function("inner");
    Function* const outer = function("outer");
    Function* const unused = function("unused");
    inner->body->statements.push_back(walk(array));
    outer->body->statements.push_back(call(inner));
    outer->body->statements.push_back(call(outer)); // recursion ends
    plain_probe(HandlerKind::Timer, Mechanism::Timer);
    body(0).push_back(call(outer));
    plain_probe(HandlerKind::End, Mechanism::None);
    body(1).push_back(call(inner));
    plain_probe(HandlerKind::Entry, Mechanism::Kprobe);
    auto found = contexts();
    EXPECT_EQ(shown(found.variants[0]), "task");
    EXPECT_EQ(shown(found.of(*outer)), "task");
    EXPECT_EQ(shown(found.of(*inner)), "alone task");
    EXPECT_EQ(shown(found.of(*unused)), "others");
    body(2).push_back(call(inner));
    found = contexts();
    EXPECT_EQ(shown(found.of(*inner)), "alone task others");
    EXPECT_EQ(shown(found.of(*outer)), "task");
}

// Nobody else looks at an array before and after the probes are armed.
TEST_F(RunContexts, ArraysShrinkWhileOthersReadThem) {
    using Globals = std::set<const Global*>;
    Global* const whole = large("whole");
    Global* const element = large("element");
    Function* const clears = function("clears");
    clears->body->statements.push_back(erase(whole));
    clears->body->statements.push_back(erase(element, keys(false)));
    plain_probe(HandlerKind::End, Mechanism::None);
    body().push_back(erase(whole));
    body().push_back(erase(element, keys(false)));
    body().push_back(call(clears));
    auto found = contexts();
    EXPECT_EQ(found.cleared, Globals{});
    EXPECT_EQ(found.shrinking, Globals{});
    plan_.variants[0].kind = HandlerKind::Entry;
    found = contexts();
    EXPECT_EQ(found.cleared, Globals{whole});
    EXPECT_EQ(found.shrinking, Globals{element});
    body().clear();
    body().push_back(call(clears));
    found = contexts();
    EXPECT_EQ(found.cleared, Globals{whole});
    EXPECT_EQ(found.shrinking, Globals{element});
    body().clear();
    body().push_back(erase(element, keys(true)));
    found = contexts();
    EXPECT_EQ(found.cleared, Globals{});
    EXPECT_EQ(found.shrinking, Globals{element});
}

} // namespace
} // namespace djstap
