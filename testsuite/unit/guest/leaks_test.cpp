// SPDX-License-Identifier: GPL-2.0-or-later
// What the guest's agent asks of kmemleak, and what it tells of the answer.
#include "leaks_for_test.h"
#include "support.h"

#include <sstream>

namespace djstap {
namespace {

class Leaks : public testing::Test {
  protected:
    void SetUp() override { test_leaks_begin(log_.c_str()); }
    void TearDown() override { test_leaks_end(); }
    // The lines of the kernel's log if this is the report.
    std::string told_of(const std::string& report) const {
        std::filesystem::remove(log_);
        test_leaks_report = report.c_str();
        leaks_tell();
        test_leaks_report = "";
        std::ostringstream text;
        text << std::ifstream(log_).rdbuf();
        return text.str();
    }
    // As print_unreferenced() in mm/kmemleak.c writes it.
    static std::string object(const std::vector<std::string>& symbols) {
        std::string text = "unreferenced object 0xffff888003a5b000 (size 64):\n"
                           "  comm \"insmod\", pid 77, jiffies 4294937296 (age 6.120s)\n"
                           "  hex dump (first 16 bytes):\n"
                           "    01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10  ................\n"
                           "  backtrace:\n";
        for (const std::string& symbol : symbols)
            text += "    [<00000000c0ffee00>] " + symbol + "\n";
        return text + "    [<00000000c0ffee00>] entry_SYSCALL_64_after_hwframe+0x72/0xdc\n";
    }
    // The object as warnings.
    static std::string warned(const std::string& object) {
        std::istringstream lines(object);
        std::string text;
        for (std::string line; std::getline(lines, line);)
            text += "<4>" + line + "\n";
        return text;
    }

  private:
    TestFolder folder_;
    const std::string log_ = folder_.path + "/kmsg";
};

TEST_F(Leaks, AreNotLookedForWithoutKmemleak) {
    test_leaks_there = 0;
    leaks_forget();
    EXPECT_EQ(told_of(object({"0xffffffffc0201234"})), "");
    EXPECT_STREQ(test_leaks_orders, "");
    // With kmemleak=off it refuses.
    test_leaks_there = 1;
    test_leaks_obeys = 0;
    leaks_forget();
    EXPECT_EQ(test_leaks_open, 0);
    test_leaks_obeys = 1;
    EXPECT_EQ(told_of(object({"0xffffffffc0201234"})), "");
    EXPECT_STREQ(test_leaks_orders, "");
}

// An object is reported when it is five seconds old (jiffies_min_age in mm/kmemleak.c), and if it
// has not changed since the scan before.
TEST_F(Leaks, AreThoseSinceTheyWereForgotten) {
    leaks_forget();
    EXPECT_STREQ(test_leaks_orders, "scan=off clear ");
    test_leaks_orders[0] = 0;
    EXPECT_EQ(told_of(""), "");
    EXPECT_STREQ(test_leaks_orders, "6s scan scan ");
    EXPECT_EQ(test_leaks_open, 1) << "it stays open";
}

TEST_F(Leaks, AreOfCodeOfModules) {
    leaks_forget();
    const auto is_told = [&](const std::vector<std::string>& symbols) {
        const std::string log = told_of(object(symbols));
        EXPECT_TRUE(log.empty() || log == warned(object(symbols))) << log;
        return !log.empty();
    };
    EXPECT_TRUE(is_told({"init+0x10/0x20 [djstap_1]"}));
    EXPECT_TRUE(is_told({"kmalloc_trace+0x2a/0xa0", "init+0x10/0x20 [djstap_1]", "x+0x1/0x2"}));
    // Of one that is not loaded any more; addresses of modules begin at 0xffffffffa0000000.
    EXPECT_TRUE(is_told({"0xffffffffa0000000"}));
    EXPECT_TRUE(is_told({"x+0x1/0x2", "0xffffffffff000000"}));
    EXPECT_FALSE(is_told({"0xffffffff9fffffff"}));
    EXPECT_FALSE(is_told({"0xffffffffg0000000"}));
    EXPECT_FALSE(is_told({"0xfffffffea0000000"}));
    EXPECT_FALSE(is_told({"kmalloc_trace+0x2a/0xa0", "do_one_initcall+0x5b/0x300"}));
    EXPECT_FALSE(is_told({}));
    // The kernel's own.
    EXPECT_FALSE(is_told({"ftrace_add_rec_direct+0x10/0x20", "init+0x10/0x20 [djstap_1]"}));
    EXPECT_TRUE(is_told({"my_ftrace_add_rec_direct+0x10/0x20", "init+0x10/0x20 [djstap_1]"}));
    EXPECT_EQ(test_leaks_open, 1);
}

// Each object counts by itself, wherever it stands.
TEST_F(Leaks, AreToldOneByOne) {
    leaks_forget();
    const std::string kernels = object({"do_one_initcall+0x5b/0x300"}),
                      first = object({"one+0x1/0x2 [djstap_1]"}),
                      second = object({"0xffffffffc0201234", "two+0x1/0x2"}),
                      forgotten = object({"ftrace_add_rec_direct+0x1/0x2", "a+0x1/0x2 [djstap_1]"});
    EXPECT_EQ(told_of(kernels + first + kernels), warned(first));
    EXPECT_EQ(told_of(first + kernels + second), warned(first) + warned(second));
    EXPECT_EQ(told_of(first + forgotten + second + forgotten), warned(first) + warned(second));
    EXPECT_EQ(told_of(kernels + kernels), "");
}

// kmemleak keeps the innermost functions alone, of which the last one may be the module's.
TEST_F(Leaks, AreOfTheLastFunctionAsWell) {
    leaks_forget();
    const std::string kernels = object({"do_one_initcall+0x5b/0x300"});
    for (const char* symbol : {"one+0x1/0x2 [djstap_1]", "0xffffffffc0201234"}) {
        std::string mine = object({symbol});
        mine.resize(mine.rfind("    [<"));
        EXPECT_EQ(told_of(mine), warned(mine));
        EXPECT_EQ(told_of(mine + kernels), warned(mine));
        EXPECT_EQ(told_of(kernels + mine + kernels), warned(mine));
    }
    std::string only = object({});
    only.resize(only.rfind("    [<"));
    EXPECT_EQ(told_of(only + kernels), "");
}

// A megabyte is read of it, in pages.
TEST_F(Leaks, AreFoundInLongReports) {
    leaks_forget();
    const std::string kernels = object({"do_one_initcall+0x5b/0x300"}),
                      mine = object({"one+0x1/0x2 [djstap_1]"});
    std::string report;
    while (report.size() + kernels.size() + mine.size() < 1 << 20)
        report += kernels;
    EXPECT_EQ(told_of(report + mine), warned(mine));
    EXPECT_EQ(told_of(mine + report + report), warned(mine));
    EXPECT_EQ(told_of(report + kernels + kernels + mine), "");
}

} // namespace
} // namespace djstap
