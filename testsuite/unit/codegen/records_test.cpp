// SPDX-License-Identifier: GPL-2.0-or-later
// How long records are, by the format of runtime/include/record.h: a header of 16 bytes, the fields
// of the event, then the arguments. A session that keeps no such record refuses the script.
#include "kernel_handlers.h"

#include "include/record.h"

namespace djstap {
namespace {

// A script with a handler that prints.
struct Printing {
    explicit Printing(const std::string& print)
        : analysis("global s, l, t, a, b, k = 3\nprobe timer.s(1) { " + print +
                       " }\nprobe timer.s(2) { s <<< k; l <<< k; t = sprintf(\"%d\", a); "
                       "a = get_cycles(); b = a }\n"
                       "probe begin { if (a + b + strlen(t) + @count(s) + @count(l)) exit() }",
                   {.guru = true}) {}
    // Whether it is refused because of its records, where the longest one has so many bytes.
    bool is_too_long(uint64_t longest, uint32_t fields = 0, bool recorder = false) {
        test::KernelScript script;
        script.options.longest_record = longest;
        script.options.recorder = recorder;
        script.options.event_fields = fields;
        script.options.optimization = 0;
        script.fails = true;
        const size_t before = analysis.count("record-too-long");
        const bool compiles = script.compile(analysis).has_value();
        EXPECT_EQ(analysis.count("record-too-long") - before, !compiles) << analysis.errors();
        return !compiles;
    }
    test::Analysis analysis;
};

} // namespace

TEST(RecordLengths, AreThoseOfTheFormat) {
    struct Case {
        const char* print;
        uint64_t bytes;
    };
    for (const auto& [print, bytes] :
         {// Without a context.
          Case{"println(k)", 24}, Case{"printf(\"%d %d\\n\", k, k)", 32},
          Case{"println(execname())", 32}, Case{"println(pid(), execname(), tid())", 48},
          Case{"println(@kderef(4, k))", 24},
          // With one. What is known of a string is that it has a length.
          Case{"println(k / a)", 24}, Case{"println(k / a, a)", 32}, Case{"println(t)", 24},
          Case{"println(t, t, k / a)", 40}, Case{"println(k / a, execname())", 40},
          Case{"println(backtrace())", 24}, Case{"print(@hist_linear(s, 0, 70, 10))", 16 + 64 + 80},
          Case{"print(@hist_log(l))", 16 + 64 + 8 * 128}}) {
        Printing printing(print);
        EXPECT_FALSE(printing.is_too_long(bytes)) << print;
        EXPECT_TRUE(printing.is_too_long(bytes - 1)) << print;
    }
}

TEST(RecordLengths, HaveTheFieldsOfTheEvent) {
    for (const char* const print : {"println(k)", "println(k / a)"})
        for (const auto& [fields, bytes] : {std::pair{uint32_t{0}, 24u},
                                            {DJS_EVENT_PID, 32u},
                                            {DJS_EVENT_TID, 32u},
                                            {DJS_EVENT_PID | DJS_EVENT_TID, 32u},
                                            {DJS_EVENT_PROBE, 32u},
                                            {DJS_EVENT_PROBE | DJS_EVENT_PID, 40u},
                                            {DJS_EVENT_CPU | DJS_EVENT_TIME, 24u}}) {
            Printing printing(print); // the same error is told once
            EXPECT_FALSE(printing.is_too_long(bytes, fields)) << print << fields;
            EXPECT_TRUE(printing.is_too_long(bytes - 1, fields)) << print << fields;
        }
}

TEST(RecordLengths, AreToldWithWhatKeepsThem) {
    Printing three("println(k, k, k)"), one("println(k / a)");
    EXPECT_TRUE(three.is_too_long(31, 0, true));
    EXPECT_NE(
        three.analysis.errors().find("at least 40 bytes, but the limit of a flight recorder is 31"),
        std::string::npos);
    EXPECT_TRUE(one.is_too_long(23));
    EXPECT_NE(
        one.analysis.errors().find("at least 24 bytes, but the limit of a CPU's buffer is 23"),
        std::string::npos);
    // A text in a variable is no record.
    EXPECT_FALSE(Printing("t = sprintf(\"%d %d\", k / a, a)").is_too_long(16));
}

} // namespace djstap
