// SPDX-License-Identifier: GPL-2.0-or-later
// What a script's object tells the runtime of its storage, its texts and its limits.
#include "loaded_tables.h"

#include "include/record.h"

namespace djstap {
namespace {

// Print(…) of one number, with a literal before it.
StatementPtr print_with(const std::string& literal) {
    auto print = std::make_unique<Print>();
    print->type = Type::Void;
    FormatPiece piece;
    piece.literal = literal;
    piece.conversion = 'd';
    print->format.push_back(piece);
    auto number = std::make_unique<Number>();
    number->value = 7;
    print->arguments.push_back(std::move(number));
    auto statement = std::make_unique<Evaluate>();
    statement->expression = std::move(print);
    return statement;
}

TEST_F(Tables, ArraysHaveTheirShapes) {
    Global* const plain = global("plain", Type::Long, Storage::Locked, {Type::Long});
    Global* const many =
        global("many", Type::String, Storage::Locked, {Type::String, Type::Long, Type::Stack});
    many->size = 5;
    many->wrap = true;
    Global* const counted = global("counted", Type::Statistic, Storage::Locked, {Type::String});
    counted->statistic.variance = true;
    counted->statistic.variance_shift = 3;
    counted->statistic.histogram = StatisticNeeds::Histogram::Linear;
    counted->statistic.low = -10;
    counted->statistic.high = 20;
    counted->statistic.width = 5;
    plain_probe();
    auto clear = std::make_unique<Delete>();
    clear->global = plain;
    probe_of(0).body->statements.push_back(std::move(clear));
    probe_of(0).effects.writes = {plain};
    options_.limits.MAXMAPENTRIES = 77;
    options_.limits.MAXSTRINGLEN = 100;
    options_.limits.MAXBACKTRACE = 6;
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    ASSERT_EQ((*found)->map_count, 3u);
    const djs_map_shape& first = (*found)->maps[0].shape;
    EXPECT_EQ(first.key_count, 1u);
    EXPECT_EQ(first.key_types[0], DJS_LONG);
    EXPECT_EQ(first.value_type, DJS_LONG);
    EXPECT_EQ(first.wrap, 0u);
    EXPECT_EQ(first.clears, 1u);
    EXPECT_EQ(first.capacity, 77u);
    EXPECT_EQ(first.string_bytes, 100u);
    EXPECT_EQ(first.stack_words, 7u); // the number, and six addresses
    EXPECT_EQ(first.statistic.bytes, sizeof(djs_statistic));
    EXPECT_EQ(found->name_of((*found)->maps[0].map), "djs_global_plain");
    const djs_map_shape& second = (*found)->maps[1].shape;
    EXPECT_EQ(second.key_count, 3u);
    EXPECT_EQ(second.key_types[0], DJS_STRING);
    EXPECT_EQ(second.key_types[1], DJS_LONG);
    EXPECT_EQ(second.key_types[2], DJS_STACK);
    EXPECT_EQ(second.value_type, DJS_STRING);
    EXPECT_EQ(second.wrap, 1u);
    EXPECT_EQ(second.clears, 0u);
    EXPECT_EQ(second.capacity, 5u);
    const djs_map_shape& third = (*found)->maps[2].shape;
    EXPECT_EQ(third.value_type, DJS_STATISTIC);
    EXPECT_EQ(third.statistic.histogram, DJS_HISTOGRAM_LINEAR);
    EXPECT_EQ(third.statistic.buckets, 9u); // (20 - -10) / 5, one more, below and above
    EXPECT_EQ(third.statistic.low, -10);
    EXPECT_EQ(third.statistic.high, 20);
    EXPECT_EQ(third.statistic.width, 5);
    EXPECT_EQ(third.statistic.variance, 1u);
    EXPECT_EQ(third.statistic.variance_shift, 3);
    EXPECT_EQ(third.statistic.bytes, sizeof(djs_statistic) + 9 * sizeof(uint64_t));
    EXPECT_EQ(third.statistic.inline_adds, 0u);
}

// What is simple enough is added by the handlers themselves.
TEST_F(Tables, StatisticsOfEachCpuHaveTheirShapes) {
    Global* const plain = global("plain", Type::Statistic, Storage::PerCpu);
    Global* const log = global("log", Type::Statistic, Storage::PerCpu);
    log->statistic.histogram = StatisticNeeds::Histogram::Log;
    global("deleted", Type::Statistic, Storage::PerCpu)->statistic.deleted = true;
    global("varies", Type::Statistic, Storage::PerCpu)->statistic.variance = true;
    global("linear", Type::Statistic, Storage::PerCpu)->statistic.histogram =
        StatisticNeeds::Histogram::Linear;
    // Twice 32 KB for each CPU are more than the kernel has at once.
    Global* const large = global("large", Type::Statistic, Storage::PerCpu);
    large->statistic.histogram = StatisticNeeds::Histogram::Linear;
    large->statistic.high = 4000;
    plain_probe();
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    ASSERT_EQ((*found)->statistic_count, 5u);
    for (uint32_t i = 0; i < 5; i++)
        EXPECT_EQ((*found)->statistics[i].shape.inline_adds, i < 2 ? 1u : 0u) << i;
    EXPECT_EQ(found->name_of((*found)->statistics[0].percpu), "djs_global_" + plain->name);
    EXPECT_EQ((*found)->statistics[0].shape.histogram, DJS_HISTOGRAM_NONE);
    EXPECT_EQ((*found)->statistics[1].shape.histogram, DJS_HISTOGRAM_LOG);
    EXPECT_EQ((*found)->statistics[1].shape.buckets, DJS_LOG_BUCKETS);
    EXPECT_EQ((*found)->lock_count, 1u); // that of the large one
}

// A CPU's memory is allocated in pieces of up to 32 KB. A statistic has two copies there, each with
// a word before it.
TEST_F(Tables, StatisticsOfEachCpuFitTheKernelsPieces) {
    constexpr uint64_t most = (32768 / 2 - 8 - sizeof(djs_statistic)) / 8;
    Global* const made = global("made", Type::Statistic, Storage::PerCpu);
    made->statistic.histogram = StatisticNeeds::Histogram::Linear;
    plain_probe();
    for (const uint64_t more : {0, 1}) {
        made->statistic.high = static_cast<int64_t>(most + more) - 3;
        const auto found = tables();
        ASSERT_TRUE(found) << render_all(diagnostics_);
        EXPECT_EQ((*found)->statistic_count, 1 - more);
        EXPECT_EQ((*found)->lock_count, more);
    }
}

class WalkTables : public Tables {
  protected:
    // A handler that walks over an array, sorted by its value.
    Foreach& walk(Global* array, HandlerKind kind, Mechanism mechanism) {
        plain_probe(kind, mechanism);
        Probe& last = *program_.probes.back();
        last.locals.push_back({"k", Type::Long, {}});
        last.effects.loops = last.effects.walks = true;
        last.effects.reads = {array};
        auto made = std::make_unique<Foreach>();
        made->array = array;
        made->keys = {0};
        made->sort_key = 0;
        made->body = std::make_unique<Block>();
        Foreach& result = *made;
        last.body->statements.push_back(std::move(made));
        return result;
    }
};

TEST_F(WalkTables, OrdersAreThoseOfTheScript) {
    Global* const other = global("other", Type::Long, Storage::Locked, {Type::Long});
    Global* const array = global("array", Type::Long, Storage::Locked, {Type::Long});
    walk(other, HandlerKind::End, Mechanism::None).sort_key = -1;
    Foreach& by_key = walk(array, HandlerKind::End, Mechanism::None);
    by_key.sort_key = 1;
    by_key.ascending = false;
    by_key.sort_stat = ast::StatOp::Max;
    by_key.limit = number(10);
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    ASSERT_EQ((*found)->iterator_count, 2u);
    const djs_iterator_use& unsorted = (*found)->iterators[0];
    EXPECT_EQ(unsorted.order->key, -1);
    EXPECT_EQ(unsorted.order->ascending, 1u);
    EXPECT_EQ(unsorted.order->fixed, 0u);
    EXPECT_EQ(unsorted.map, 0u);
    EXPECT_EQ(unsorted.room, 0u);
    EXPECT_EQ(unsorted.task_room, 0u);
    EXPECT_EQ(unsorted.in_task, 0u);
    EXPECT_TRUE(found->name_of(unsorted.iterator).starts_with("djs_iterator"));
    const djs_iterator_use& sorted = (*found)->iterators[1];
    EXPECT_EQ(sorted.order->key, 1);
    EXPECT_EQ(sorted.order->ascending, 0u);
    EXPECT_EQ(sorted.order->stat_op, static_cast<uint32_t>(ast::StatOp::Max));
    EXPECT_EQ(sorted.map, 1u);
    EXPECT_EQ(sorted.room, 10u);
}

// Where nothing else runs, all that is wanted is sorted; elsewhere only as much as takes little
// time, of which up to DJS_SELECTED_AT_ONCE are selected without sorting the others.
TEST_F(WalkTables, RoomForSortingIsWhatIsWantedOrAllowed) {
    struct Expected {
        int64_t size, limit;
        HandlerKind kind;
        Mechanism mechanism;
        uint32_t room, task_room;
    };
    for (const Expected& each : {
             Expected{100000, 0, HandlerKind::End, Mechanism::None, 100000, 0},
             {100000, 3, HandlerKind::End, Mechanism::None, 3, 0},
             {100, 0, HandlerKind::End, Mechanism::None, 100, 0},
             {100, 200, HandlerKind::End, Mechanism::None, 100, 0},
             {100, -5, HandlerKind::End, Mechanism::None, 1, 0},
             {100000, 0, HandlerKind::Entry, Mechanism::Kprobe, 16384, 0},
             {100000, 256, HandlerKind::Entry, Mechanism::Kprobe, 256, 0},
             {100000, 257, HandlerKind::Entry, Mechanism::Kprobe, 16384, 0},
             {1000, 257, HandlerKind::Entry, Mechanism::Kprobe, 1000, 0},
             {100000, 0, HandlerKind::Timer, Mechanism::Timer, 0, 100000},
             {16385, 0, HandlerKind::Timer, Mechanism::Timer, 0, 16385},
             {16384, 0, HandlerKind::Timer, Mechanism::Timer, 16384, 0},
         }) {
        program_ = {};
        plan_ = {};
        Global* const array = global("array", Type::Long, Storage::Locked, {Type::Long});
        array->size = each.size;
        Foreach& made = walk(array, each.kind, each.mechanism);
        if (each.limit)
            made.limit = number(each.limit);
        const auto found = tables();
        ASSERT_TRUE(found) << render_all(diagnostics_);
        ASSERT_EQ((*found)->iterator_count, 1u);
        const djs_iterator_use& use = (*found)->iterators[0];
        const std::string shown = std::to_string(each.size) + " " + std::to_string(each.limit);
        EXPECT_EQ(use.room, each.room) << shown;
        EXPECT_EQ(use.task_room, each.task_room) << shown;
        EXPECT_EQ(use.in_task, each.task_room > 0) << shown;
        EXPECT_EQ((*found)->handlers[0].flags & DJS_HANDLER_IN_TASK,
                  each.task_room > 0 ? DJS_HANDLER_IN_TASK : 0)
            << shown;
        // Sorting changes the array, so that nobody else may read it meanwhile.
        ASSERT_EQ((*found)->handlers[0].lock_count, 1u);
        EXPECT_EQ((*found)->handlers[0].locks[0].write, 1u) << shown;
    }
}

// The types are preceded by those of the fields that each record has.
TEST_F(Tables, FormatsHaveTheTypesOfTheirArguments) {
    plain_probe();
    probe_of(0).effects.prints = true;
    probe_of(0).body->statements.push_back(print_with("b "));
    probe_of(0).body->statements.push_back(print_with("a "));
    for (const auto& [fields, types] :
         {std::pair{0u, "l"}, {DJS_EVENT_PROBE, "fl"}, {DJS_EVENT_PROBE | DJS_EVENT_PID, "ffl"}}) {
        options_.event_fields = fields;
        const auto found = tables();
        ASSERT_TRUE(found) << render_all(diagnostics_);
        ASSERT_EQ((*found)->format_count, 2u);
        // In the order in which they occur.
        EXPECT_STREQ((*found)->formats[0], "b %d");
        EXPECT_STREQ((*found)->formats[1], "a %d");
        EXPECT_STREQ((*found)->format_types[0], types);
        EXPECT_STREQ((*found)->format_types[1], types);
    }
}

TEST_F(Tables, TheScriptHasItsLimits) {
    plain_probe();
    Limits& limits = options_.limits;
    limits.MAXERRORS = 2;
    limits.MAXSKIPPED = 3;
    limits.MAXTRYLOCK = 4;
    limits.MAXNESTING = 5;
    limits.MAXSTRINGLEN = 60;
    limits.MAXBACKTRACE = 7;
    limits.MAXPERFTHREADS = 8;
    limits.RING_KB = 9;
    auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    EXPECT_EQ((*found)->abi_version, static_cast<uint32_t>(DJS_ABI_VERSION));
    EXPECT_EQ((*found)->max_errors, 2u);
    EXPECT_EQ((*found)->max_skipped, 3u);
    EXPECT_EQ((*found)->max_trylock, 4u);
    EXPECT_EQ((*found)->max_nesting, 5u);
    EXPECT_EQ((*found)->string_bytes, 60u);
    EXPECT_EQ((*found)->max_backtrace, 7u);
    EXPECT_EQ((*found)->max_perf_threads, 8u);
    EXPECT_EQ((*found)->ring_bytes, 9u * 1024);
    EXPECT_EQ((*found)->max_symbols, 0u);
    EXPECT_EQ((*found)->user_stacks, 0u);
    EXPECT_EQ((*found)->embedded_bytes, 0u);
    EXPECT_EQ((*found)->locks, nullptr);
    EXPECT_EQ((*found)->counters, nullptr);
    EXPECT_EQ((*found)->counter_count, 0u);
    EXPECT_EQ((*found)->trampoline_count, 0u);
    EXPECT_EQ((*found)->elsewhere, nullptr);
    // The depth of the calls, if that is more than the ten of functions that call themselves.
    limits.MAXNESTING = 0;
    for (const auto& [depth, nesting] : {std::pair{0, 10u}, {10, 10u}, {11, 11u}}) {
        program_.nesting = depth;
        found = tables();
        ASSERT_TRUE(found);
        EXPECT_EQ((*found)->max_nesting, nesting);
    }
}

TEST_F(Tables, TheScriptKnowsItsKernel) {
    plain_probe();
    kernel_.direct_table = 0x101;
    kernel_.fast_clock = 0x102;
    kernel_.irq_stack = 0x103;
    kernel_.loaded_mm = 0x104;
    kernel_.rethook = 0x105;
    kernel_.graph_return = 0x106;
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    EXPECT_EQ((*found)->direct_table, 0x101u);
    EXPECT_EQ((*found)->fast_clock, 0x102u);
    EXPECT_EQ((*found)->irq_stack, 0x103u);
    EXPECT_EQ((*found)->loaded_mm, 0x104u);
    EXPECT_EQ((*found)->rethook, 0x105u);
    EXPECT_EQ((*found)->graph_return, 0x106u);
    EXPECT_STREQ((*found)->kernel_release, "6.1.0");
    EXPECT_STREQ((*found)->kernel_version, "#1");
    EXPECT_EQ(std::string((*found)->meta).size(), (*found)->meta_bytes);
    EXPECT_EQ((*found)->meta[0], '{');
}

// A table of symbols, and stacks of programs, where functions of the script may ask for them.
TEST_F(Tables, SymbolsHaveRoomWhereTheyAreAskedFor) {
    plain_probe();
    options_.limits.MAXSYMBOLS = 300;
    struct Expected {
        const char* intrinsic;
        bool symbols, programs;
    };
    for (const Expected& each : {
             Expected{"pid", false, false},    {"backtrace", false, false},
             {"print_backtrace", true, false}, {"sprint_backtrace", true, false},
             {"print_stack", true, false},     {"print_syms", true, false},
             {"sprint_stack", true, false},    {"sprint_syms", true, false},
             {"symname", true, false},         {"symdata", true, false},
             {"modname", true, false},         {"ubacktrace", false, true},
             {"ustack", false, true},          {"umodname", false, true},
             {"umodaddr", false, true},        {"umodbuildid", false, true},
             {"print_ubacktrace", true, true}, {"sprint_ubacktrace", true, true},
             {"print_usyms", true, true},      {"sprint_usyms", true, true},
             {"usymname", true, true},         {"usymdata", true, true},
             {"print_ustack", true, true},     {"sprint_ustack", true, true},
             {"usymfileline", true, true},     {"usymfile", true, true},
             {"usymline", true, true},         {"print_ubacktrace_fileline", true, true},
         }) {
        program_.functions.clear();
        auto function = std::make_unique<Function>();
        function->name = function->intrinsic = each.intrinsic;
        program_.functions.push_back(std::move(function));
        const auto found = tables();
        ASSERT_TRUE(found) << render_all(diagnostics_);
        EXPECT_EQ((*found)->max_symbols, each.symbols ? 300u : 0u) << each.intrinsic;
        EXPECT_EQ((*found)->user_stacks, each.programs ? 1u : 0u) << each.intrinsic;
    }
}

TEST_F(Tables, TrampolinesAreNamed) {
    know_offsets(false);
    kernel_.reference = 0xffffffff81000000;
    probe({});
    probe({});
    plan_.variants[1].kind = HandlerKind::Return;
    plan_.sites[1].mechanism = Mechanism::ReturnDjprobe;
    plan_.sites[1].next = 0;
    auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    ASSERT_EQ((*found)->trampoline_count, 2u);
    EXPECT_EQ(found->name_of((*found)->trampolines[0].direct), "djs_direct_0");
    EXPECT_EQ(found->name_of((*found)->trampolines[1].direct), "djs_direct_1");
    EXPECT_EQ((*found)->trampolines[1].dispatch, nullptr);
    EXPECT_EQ((*found)->trampolines[1].aim, nullptr);
    EXPECT_EQ((*found)->trampolines[1].by_address, 0u);
    EXPECT_EQ(found->name_of((*found)->elsewhere), "djs_elsewhere");
    EXPECT_EQ((*found)->sites[1].trampoline, 1u);
    EXPECT_EQ((*found)->sites[1].next, 0u);
    plan_.trampolines[1].in_module = true;
    found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    EXPECT_EQ(found->name_of((*found)->trampolines[1].dispatch), "djs_dispatch_1");
    EXPECT_EQ(found->name_of((*found)->trampolines[1].aim), "djs_dispatch_1_aim");
}

} // namespace
} // namespace djstap
