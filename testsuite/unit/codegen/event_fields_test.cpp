// SPDX-License-Identifier: GPL-2.0-or-later
// The fields of events that a script records on request.
#include "generate.h"

#include "include/record.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace djstap {
namespace {

// The fields of an event cost only what reads and stores them, and nothing where none is requested.
TEST_F(Generate, FieldsOfEventsAreRecordedInline) {
    know_offsets(true);
    printing_probe("kernel.function(\"f\")");
    const auto code_with = [&](uint32_t fields) {
        options_.event_fields = fields;
        auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return object ? listing(object->object, "djs_direct_0") : std::vector<std::string>();
    };
    const auto none = code_with(0), pid = code_with(DJS_EVENT_PID),
               probe = code_with(DJS_EVENT_PROBE),
               all = code_with(DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID);
    EXPECT_EQ(none.size() + 3, pid.size());   // the task, its number, the record's
    EXPECT_EQ(none.size() + 1, probe.size()); // the number of the only site
    EXPECT_EQ(none.size() + 7, all.size());
    EXPECT_EQ(uses(none, "current_task"), uses(none, "0x64("));
    EXPECT_EQ(uses(all, "0x64("), 1u); // tgid
    EXPECT_EQ(uses(all, "0x68("), 1u); // pid
    EXPECT_EQ(uses(all, "call"), uses(none, "call"));
}

TEST_F(Generate, TheDescriptionNamesTheFieldsOfEvents) {
    know_offsets(true);
    printing_probe("kernel.function(\"f\")");
    std::vector<StatementPtr> body;
    body.push_back(increment(global("n", Type::Long, Storage::PerCpu)));
    probe(std::move(body));
    plan_.sites.back().point = "kernel.function(\"silent\")";
    const auto meta_with = [&](uint32_t fields) {
        options_.event_fields = fields;
        auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return nlohmann::json::parse(object ? object->meta : "{}");
    };
    const auto none = meta_with(0), tid = meta_with(DJS_EVENT_TID),
               all = meta_with(DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID);
    EXPECT_EQ(none["version"], 1);
    EXPECT_FALSE(none.contains("fields") || none.contains("points"));
    EXPECT_EQ(tid["version"], 2);
    EXPECT_EQ(tid["fields"], nlohmann::json({"tid"}));
    EXPECT_FALSE(tid.contains("points"));
    EXPECT_EQ(all["fields"], nlohmann::json({"probe", "pid", "tid"}));
    EXPECT_EQ(all["points"], nlohmann::json({"kernel.function(\"f\")", ""}));
}

// Only a handler that knows the site can record it: the trampoline finds it by the address of the
// function, and the mechanisms that have a context pass it.
TEST_F(Generate, OneOfSeveralSitesIsFoundByItsAddress) {
    know_offsets(true);
    printing_probe("kernel.function(\"f\")");
    Site second = plan_.sites[0];
    second.address += 0x100;
    plan_.sites.push_back(second);
    const auto symbols = [&](uint32_t fields) {
        options_.event_fields = fields;
        auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return object ? object->object : "";
    };
    const auto has = [](const std::string& object, const std::string& symbol) {
        return object.find('\0' + symbol + '\0') != std::string::npos;
    };
    const std::string without = symbols(DJS_EVENT_PID), with = symbols(DJS_EVENT_PROBE);
    EXPECT_FALSE(has(without, "djs_find_site"));
    EXPECT_TRUE(has(without, "djs_by_regs_0"));
    EXPECT_TRUE(has(with, "djs_find_site"));
    EXPECT_FALSE(has(with, "djs_by_regs_0"));
    EXPECT_EQ(uses(listing(with, "djs_direct_0"), "djs_slow_site"), 1u);
    EXPECT_FALSE(has(with, "djs_enter"));
}

// Where the handler cannot read the task itself, it gets a context, and calls what tid() calls.
TEST_F(Generate, FieldsThatRequireACallRequireAContext) {
    know_offsets(false);
    printing_probe("kernel.function(\"f\")");
    options_.dump_ir = true;
    for (const uint32_t field : {DJS_EVENT_PID, DJS_EVENT_TID}) {
        options_.event_fields = field | DJS_EVENT_PROBE;
        auto object = generate();
        ASSERT_TRUE(object) << render_all(diagnostics_);
        const bool calls = field == DJS_EVENT_TID;
        EXPECT_EQ(object->ir.find("call ptr @djs_enter") != std::string::npos, calls);
        EXPECT_EQ(object->ir.find("call i64 @djs_fn_tid") != std::string::npos, calls);
        EXPECT_EQ(object->ir.find("@djs_find_site"), std::string::npos);
    }
}

} // namespace
} // namespace djstap
