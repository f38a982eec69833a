// SPDX-License-Identifier: GPL-2.0-or-later
// What a script's object tells the runtime of its handlers, sites and images
// (runtime/include/contract.def), read as the runtime reads it.
#include "loaded_tables.h"

#include <limits>

namespace djstap {
namespace {

TEST_F(Tables, HandlersHaveTheirKinds) {
    const std::pair<HandlerKind, Mechanism> kinds[] = {
        {HandlerKind::Begin, Mechanism::None},   {HandlerKind::End, Mechanism::None},
        {HandlerKind::Error, Mechanism::None},   {HandlerKind::Timer, Mechanism::Timer},
        {HandlerKind::Entry, Mechanism::Kprobe}, {HandlerKind::Return, Mechanism::Kretprobe}};
    for (const auto& [kind, mechanism] : kinds)
        plain_probe(kind, mechanism);
    options_.limits.MAXACTION = 30;
    options_.limits.MAXACTION_INTERRUPTIBLE = 700;
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    ASSERT_EQ((*found)->handler_count, 6u);
    const uint32_t expected[] = {DJS_HANDLER_BEGIN, DJS_HANDLER_END,   DJS_HANDLER_ERROR,
                                 DJS_HANDLER_TIMER, DJS_HANDLER_ENTRY, DJS_HANDLER_RETURN};
    for (uint32_t i = 0; i < 6; i++) {
        const djs_handler& handler = (*found)->handlers[i];
        EXPECT_EQ(handler.kind, expected[i]);
        EXPECT_EQ(handler.max_actions, i < 3 ? 700u : 30u) << i;
        EXPECT_EQ(handler.flags, i == 5 ? DJS_HANDLER_MAY_LINGER : 0) << i;
        EXPECT_EQ(found->name_of(handler.body), "djs_body_" + std::to_string(i));
        EXPECT_EQ(handler.entry, nullptr);
        EXPECT_EQ(handler.tracepoint, nullptr);
        EXPECT_EQ(handler.locks, nullptr);
        EXPECT_EQ(handler.lock_count, 0u);
        EXPECT_EQ(handler.saved, 0u);
        EXPECT_EQ(handler.condition, 0u);
        EXPECT_EQ(handler.probe, DJS_NO_INDEX);
        EXPECT_EQ(handler.stack, 0u);
        EXPECT_EQ(handler.written, nullptr);
        EXPECT_EQ(handler.program, nullptr);
        EXPECT_EQ((*found)->sites[i].handler, i);
    }
    EXPECT_EQ((*found)->condition_count, 0u);
    EXPECT_EQ((*found)->condition_states, nullptr);
    EXPECT_EQ((*found)->switches, nullptr);
    EXPECT_EQ((*found)->switch_count, 0u);
}

// A probe that the compiler adds may print as much as there is.
TEST_F(Tables, HandlersOfTheCompilerHaveALimitOfTheirOwn) {
    for (int i = 0; i < 3; i++)
        plain_probe(i == 0 ? HandlerKind::End : HandlerKind::Entry,
                    i == 0 ? Mechanism::None : Mechanism::Kprobe);
    probe_of(0).most_statements = 1;
    probe_of(1).most_statements = std::numeric_limits<int32_t>::max();
    probe_of(2).most_statements = int64_t{std::numeric_limits<int32_t>::max()} + 1;
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    EXPECT_EQ((*found)->handlers[0].max_actions, 1u);
    EXPECT_EQ((*found)->handlers[1].max_actions, 0x7fffffffu);
    EXPECT_EQ((*found)->handlers[2].max_actions, 0x7fffffffu);
}

TEST_F(Tables, HandlersTellWhatTheyNeed) {
    plain_probe();
    probe_of(0).effects.prints = true;
    plain_probe();
    probe_of(1).effects.can_fail = true;
    plain_probe();
    probe_of(2).effects.can_exit = true;
    plain_probe().syscall = true;
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    for (uint32_t i = 0; i < 3; i++)
        EXPECT_EQ((*found)->handlers[i].flags, DJS_HANDLER_CHECKS_STATE) << i;
    EXPECT_EQ((*found)->handlers[3].flags, DJS_HANDLER_SYSCALL);
}

TEST_F(Tables, HandlersHoldLocksOfWhatTheyReadAndWrite) {
    Global* const first = global("first", Type::Long, Storage::Locked);
    global("counter", Type::Long, Storage::PerCpu);
    Global* const second = global("second", Type::Long, Storage::Locked, {Type::Long});
    plain_probe();
    probe_of(0).effects.reads = {second, first};
    plain_probe();
    probe_of(1).effects.reads = {first};
    probe_of(1).effects.writes = {second};
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    for (uint32_t i = 0; i < 2; i++) {
        const djs_handler& handler = (*found)->handlers[i];
        EXPECT_EQ(handler.flags, DJS_HANDLER_IRQS_OFF);
        ASSERT_EQ(handler.lock_count, 2u);
        EXPECT_EQ(handler.locks[0].lock, 0u);
        EXPECT_EQ(handler.locks[1].lock, 1u);
        EXPECT_EQ(handler.locks[0].write, 0u);
        EXPECT_EQ(handler.locks[1].write, i);
    }
    EXPECT_EQ((*found)->lock_count, 2u);
    EXPECT_EQ(found->name_of((*found)->locks), "djs_locks");
    EXPECT_EQ((*found)->counter_count, 1u);
    EXPECT_EQ(found->name_of((*found)->counters), "djs_counters");
}

// A string takes as many words as MAXSTRINGLEN has.
TEST_F(Tables, ReturnHandlersSaveWordsAtTheEntry) {
    plain_probe(HandlerKind::Return, Mechanism::Kretprobe);
    for (const auto& [bytes, words] : {std::pair{8, 1}, {9, 2}, {16, 2}, {512, 64}}) {
        options_.limits.MAXSTRINGLEN = bytes;
        auto& values = probe_of(0).entry_values;
        values.clear();
        values.push_back(number(1));
        auto text = std::make_unique<Text>();
        text->type = Type::String;
        values.push_back(std::move(text));
        values.push_back(number(2));
        const auto found = tables();
        ASSERT_TRUE(found) << render_all(diagnostics_);
        EXPECT_EQ((*found)->handlers[0].saved, static_cast<uint32_t>(words + 2)) << bytes;
        EXPECT_EQ(found->name_of((*found)->handlers[0].entry), "djs_entry_0");
    }
}

TEST_F(Tables, HandlersHaveTheParametersOfTheirMechanism) {
    plain_probe(HandlerKind::Timer, Mechanism::Timer).payload = TimerPeriod{1000, 7};
    ProgramPlace place;
    place.process = 12;
    place.program = "/bin/own";
    plain_probe(HandlerKind::Entry, Mechanism::Kprobe).payload = place;
    plan_.sites[1].written = "own.alias";
    Site again = plan_.sites[1];
    again.address += 0x100;
    again.written = "another";
    plan_.sites.push_back(again);
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    const djs_handler& timer = (*found)->handlers[0];
    EXPECT_EQ(timer.arguments[DJS_TIMER_PERIOD_NS], 1000u);
    EXPECT_EQ(timer.arguments[DJS_TIMER_RANDOM_NS], 7u);
    EXPECT_EQ(timer.program, nullptr);
    EXPECT_EQ(timer.written, nullptr);
    const djs_handler& in_program = (*found)->handlers[1];
    EXPECT_EQ(in_program.arguments[DJS_UPROBE_PROCESS], 12u);
    EXPECT_STREQ(in_program.program, "/bin/own");
    EXPECT_STREQ(in_program.written, "own.alias"); // that of its first site
}

TEST_F(Tables, HandlersHaveTheirSwitches) {
    for (int i = 0; i < 3; i++)
        plain_probe();
    probe_of(1).has_switch = true;
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    EXPECT_EQ((*found)->handlers[0].probe, DJS_NO_INDEX);
    EXPECT_EQ((*found)->handlers[1].probe, 1u);
    EXPECT_NE((*found)->switches, nullptr);
    EXPECT_EQ((*found)->switch_count, 3u);
}

// The handlers of conditions follow the others; 0 is no condition.
TEST_F(Tables, ConditionsAreTheLastHandlers) {
    Global* const locked = global("locked", Type::Long, Storage::Locked);
    for (int i = 0; i < 3; i++)
        plain_probe();
    for (const size_t number : {1, 2}) {
        probe_of(number).condition = value_of(locked);
        probe_of(number).arms = true;
    }
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    ASSERT_EQ((*found)->handler_count, 5u);
    EXPECT_EQ((*found)->condition_count, 2u);
    EXPECT_NE((*found)->condition_states, nullptr);
    for (uint32_t i = 0; i < 3; i++)
        EXPECT_EQ((*found)->handlers[i].condition, i);
    for (uint32_t i = 3; i < 5; i++) {
        const djs_handler& handler = (*found)->handlers[i];
        EXPECT_EQ(handler.kind, DJS_HANDLER_CONDITION);
        EXPECT_EQ(handler.flags, DJS_HANDLER_IRQS_OFF);
        EXPECT_EQ(handler.condition, 0u);
        EXPECT_EQ(handler.probe, DJS_NO_INDEX);
        ASSERT_EQ(handler.lock_count, 1u);
        EXPECT_EQ(handler.locks[0].lock, 0u);
        EXPECT_EQ(handler.locks[0].write, 0u);
        EXPECT_EQ(found->name_of(handler.body), "djs_condition_" + std::to_string(i - 3));
    }
}

TEST_F(Tables, SitesAreAsTheyWerePlanned) {
    plain_probe();
    ProbedImage kernel;
    kernel.name = "kernel";
    plan_.images.push_back(kernel);
    Site& site = plan_.sites[0];
    site.mechanism = Mechanism::KprobeJump;
    site.forced = true;
    site.entry = site.address - 16;
    site.fallback = site.address + 5;
    site.fentry = DJS_FENTRY_YES;
    site.code = std::string("\x0f\0\x1f", 3);
    site.maxactive = 9;
    site.image = 0;
    site.point = "kernel.function(\"f@own.c:12\")";
    site.function = "f";
    site.name = "own.alias";
    Site plain;
    plain.address = 0xffffffff81002000;
    plain.mechanism = Mechanism::Kprobe;
    plain.point = plain.name = "kernel.function(\"g\")";
    plan_.sites.push_back(plain);
    options_.limits.KRETACTIVE = 33;
    const auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    ASSERT_EQ((*found)->site_count, 2u);
    const djs_site& first = (*found)->sites[0];
    EXPECT_EQ(first.address, 0xffffffff81001000);
    EXPECT_EQ(first.entry, -16);
    EXPECT_EQ(first.fallback, 5);
    EXPECT_EQ(first.handler, 0u);
    EXPECT_EQ(first.trampoline, DJS_NO_INDEX);
    EXPECT_EQ(first.next, DJS_NO_INDEX);
    EXPECT_EQ(first.segment, 0u);
    EXPECT_EQ(found->text(first.point), "kernel.function(\"\1@\2:\3\")");
    EXPECT_EQ(found->text(first.file), "own.c");
    EXPECT_EQ(first.line, 12u);
    EXPECT_EQ(found->text(first.function), "f");
    EXPECT_EQ(found->text(first.name), "own.alias");
    EXPECT_EQ(first.mechanism, DJS_MECHANISM_KPROBE_JUMP);
    EXPECT_EQ(first.forced, 1u);
    EXPECT_EQ(first.maxactive, 9u);
    EXPECT_EQ(first.code_bytes, 3u);
    EXPECT_EQ(found->bytes(first.code, 3), std::string("\x0f\0\x1f", 3));
    EXPECT_EQ(first.fentry, DJS_FENTRY_YES);
    const djs_site& second = (*found)->sites[1];
    EXPECT_EQ(second.entry, 0);
    EXPECT_EQ(second.fallback, DJS_NO_FALLBACK);
    EXPECT_EQ(second.segment, DJS_NO_INDEX);
    EXPECT_EQ(found->text(second.point), "kernel.function(\"g\")");
    EXPECT_EQ(second.line, DJS_NO_INDEX);
    EXPECT_EQ(second.name, DJS_NO_INDEX);
    EXPECT_EQ(second.function, 0u);
    EXPECT_EQ(second.file, 0u);
    EXPECT_EQ(second.code, 0u);
    EXPECT_EQ(second.code_bytes, 0u);
    EXPECT_EQ(second.forced, 0u);
    EXPECT_EQ(second.maxactive, 33u);
    EXPECT_EQ(second.fentry, DJS_FENTRY_UNKNOWN);
    EXPECT_EQ(found->text(0), "");
    EXPECT_EQ((*found)->site_texts[(*found)->site_text_bytes - 1], '\0');
    EXPECT_GT((*found)->site_text_bytes, second.point);
}

// Distances have 32 bits, of which the smallest number says that there is none.
TEST_F(Tables, DistancesOfASiteAreOfOneImage) {
    plain_probe();
    constexpr int64_t least = std::numeric_limits<int32_t>::min() + 1,
                      most = std::numeric_limits<int32_t>::max();
    const uint64_t here = plan_.sites[0].address;
    for (const int64_t distance : {least, most}) {
        plan_.sites[0].entry = here + static_cast<uint64_t>(distance);
        const auto found = tables();
        ASSERT_TRUE(found) << render_all(diagnostics_);
        EXPECT_EQ((*found)->sites[0].entry, distance);
    }
    plan_.sites[0].point = "kernel.function(\"f\")";
    for (const int64_t distance : {least - 1, least - 2, most + 1}) {
        Diagnostics own(sources_);
        plan_.sites[0].entry = here + static_cast<uint64_t>(distance);
        EXPECT_FALSE(djstap::generate(program_, plan_, kernel_, options_, own)) << distance;
        EXPECT_NE(render_all(own).find("the function of kernel.function(\"f\") is too far away"),
                  std::string::npos)
            << render_all(own);
    }
}

// The build-id is compared where its memory is known when the script is loaded.
TEST_F(Tables, ImagesAndSegmentsAreThoseOfTheSites) {
    plain_probe();
    ProbedImage own;
    own.kind = ImageKind::Module;
    own.name = "own";
    own.build_id = "00ff12";
    own.build_id_address = 0x3010;
    own.segments = {{"code", "check", 0x1000, 0x1020, 0x1000, 0x2000, true, 0x40},
                    {"data", "data", 0x3000, 0x3000, 0x3000, 0x4000, false, 0}};
    plan_.images.push_back(own);
    plan_.sites[0].image = 0;
    plan_.sites[0].address = 0x1004;
    kernel_.image.build_id = "abcd";
    auto found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    ASSERT_EQ((*found)->image_count, 2u);
    EXPECT_STREQ((*found)->images[0].name, "kernel");
    EXPECT_EQ((*found)->images[0].kind, DJS_IMAGE_KERNEL);
    EXPECT_EQ((*found)->images[0].build_id_bytes, 0u); // nobody knows where it is
    EXPECT_STREQ((*found)->images[1].name, "own");
    EXPECT_EQ((*found)->images[1].kind, DJS_IMAGE_MODULE);
    EXPECT_EQ((*found)->images[1].build_id_address, 0x3010u);
    ASSERT_EQ((*found)->images[1].build_id_bytes, 3u);
    EXPECT_EQ(std::memcmp((*found)->images[1].build_id, "\x00\xff\x12", 3), 0);
    ASSERT_EQ((*found)->segment_count, 2u);
    const djs_segment& kernel = (*found)->segments[0];
    EXPECT_STREQ(kernel.symbol, "_printk");
    EXPECT_EQ(kernel.image, 0u);
    const djs_segment& code = (*found)->segments[1];
    EXPECT_STREQ(code.symbol, "code");
    EXPECT_STREQ(code.check_symbol, "check");
    EXPECT_EQ(code.address, 0x1000u);
    EXPECT_EQ(code.check_address, 0x1020u);
    EXPECT_EQ(code.file_distance, 0x40u);
    EXPECT_EQ(code.image, 1u);
    EXPECT_EQ(code.executable, 1u);
    EXPECT_EQ((*found)->sites[0].segment, 1u);

    plan_.images[0].build_id_address = 0x4000; // behind the last segment
    plan_.sites[0].address = 0x3004;
    kernel_.image.build_id_address = 0xffffffff81000100;
    found = tables();
    ASSERT_TRUE(found) << render_all(diagnostics_);
    EXPECT_EQ((*found)->images[1].build_id_bytes, 0u);
    EXPECT_EQ((*found)->images[0].build_id_bytes, 2u);
    EXPECT_EQ((*found)->sites[0].segment, 2u);
    EXPECT_EQ((*found)->segments[2].executable, 0u);

    plan_.sites[0].address = 0x4000;
    plan_.sites[0].point = "module(\"own\").function(\"f\")";
    EXPECT_FALSE(tables());
    EXPECT_NE(
        render_all(diagnostics_).find("module(\"own\").function(\"f\") lies in no segment of own"),
        std::string::npos)
        << render_all(diagnostics_);
}

} // namespace
} // namespace djstap
