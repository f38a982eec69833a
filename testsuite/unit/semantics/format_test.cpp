// SPDX-License-Identifier: GPL-2.0-or-later
// Formats of printf, as the C library reads them, and what -t prints by one.
#include "semantics/format.h"

#include "analysis.h"

namespace djstap::test {
namespace {

// The conversions as they are read, with the text around them; or what is wrong.
std::string read(const std::string& format) {
    SourceManager sources;
    Diagnostics diagnostics(sources);
    const uint32_t id = sources.add("input", format);
    const auto pieces = semantics::parse_format(
        format, {id, 0, static_cast<uint32_t>(format.size()), 0}, diagnostics);
    if (!pieces)
        return render_all(diagnostics);
    std::string out;
    for (const program::FormatPiece& piece : *pieces)
        out +=
            "[" + piece.literal + "]" + (piece.conversion ? semantics::conversion_text(piece) : "");
    return out;
}

TEST(Format, EachPart) {
    EXPECT_EQ(read(""), "");
    EXPECT_EQ(read("text"), "[text]");
    EXPECT_EQ(read("a%%b%d%%"), "[a%b]%d[%]");
    for (const char* conversion : {"b", "c", "d", "i", "m", "M", "o", "p", "s", "u", "x", "X"})
        EXPECT_EQ(read("%" + std::string(conversion)), "[]%" + std::string(conversion));
    EXPECT_EQ(read("%-+ #0d"), "[]%-+ #0d");
    EXPECT_EQ(read("%0#5x"), "[]%#05x");
    EXPECT_EQ(read("%+d% d%-5s"), "[]%+d[]% d[]%-5s");
    EXPECT_EQ(read("%5.3d%5.d%.0s%.s"), "[]%5.3d[]%5.0d[]%.0s[]%.0s");
    EXPECT_EQ(read("%*d%.*s%*.*d"), "[]%*d[]%.*s[]%*.*d");
    EXPECT_EQ(read("%ld%lld%hd%hhx%-5lu"), "[]%d[]%d[]%d[]%x[]%-5u");
    EXPECT_EQ(read("%8192d%.8192s"), "[]%8192d[]%.8192s");
}

TEST(Format, WhatIsWrong) {
    for (const char* format : {"%", "a%-", "%5", "%5.", "%.3", "%l", "%*"})
        EXPECT_NE(read(format).find("a percent sign is written %%"), std::string::npos) << format;
    for (const char* format : {"%q", "%5n", "%a", "%-f", "%H", "%.3e", "%lq"}) {
        const std::string text = read(format);
        EXPECT_NE(text.find("the conversions are %d"), std::string::npos) << format;
        EXPECT_NE(text.find(format), std::string::npos) << text;
    }
    for (const char* format : {"%8193d", "%.8193d", "%99999999999999999999d", "%81920d"})
        EXPECT_NE(read(format).find("at most 8192"), std::string::npos) << read(format);
}

// A line for each probe of the script that was hit.
TEST(Timing, ReportsWhatEachProbeTook) {
    const std::string script = "probe begin { println(1) } probe timer.s(5) { println(2) }";
    SemanticsOptions options;
    EXPECT_EQ(Analysis(script, options).dump().find("hits: "), std::string::npos);
    options.times_probes = true;
    const Analysis timed(script, options);
    ASSERT_TRUE(timed.program) << timed.errors();
    const std::string text = timed.dump();
    EXPECT_NE(text.find("----- probe hit report: \\n"), std::string::npos) << text;
    size_t lines = 0;
    for (const char* line :
         {"begin, (input:1:1), hits: %d, cycles: %dmin/%davg/%dmax, from: begin\\n",
          "timer.s(5), (input:1:28), hits: %d, cycles: %dmin/%davg/%dmax, from: timer.s(5)\\n"})
        lines += text.find(line) != std::string::npos;
    EXPECT_EQ(lines, 2U) << text;
    // Each has its statistic, of which it prints the count, the least, the average and the most.
    size_t timings = 0;
    for (const auto& probe : timed.program->probes)
        timings += probe->timing != nullptr;
    EXPECT_EQ(timings, 2U);
    EXPECT_EQ(timed.program->probes.size(), 3U);
}

TEST(Timing, OfAnAliasNamesBoth) {
    SemanticsOptions options;
    options.times_probes = true;
    const Analysis timed("probe own = timer.s(5), timer.s(6) {} probe own { println(1) }", options);
    ASSERT_TRUE(timed.program) << timed.errors();
    EXPECT_NE(timed.dump().find("timer.s(5), timer.s(6), (input:1:39), hits: "), std::string::npos)
        << timed.dump();
    EXPECT_NE(timed.dump().find("from: own, own\\n"), std::string::npos) << timed.dump();
}

} // namespace
} // namespace djstap::test
