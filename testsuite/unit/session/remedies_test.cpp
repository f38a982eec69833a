// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/remedies.h"

#include <gtest/gtest.h>

namespace djstap {
namespace {

const std::string remedy_begins = "that ended the session: ",
                  only_handler = "--suppress-handler-errors ends only the handler",
                  caught_remedy =
                      "try { … } catch { … } handles a failed access where it happens, " +
                      only_handler,
                  absent_page = "the page may not be in memory, and a handler cannot wait for it: ";

TEST(Remedies, OfLimitsNameTheOption) {
    const auto has = [](const char* error, const char* word) {
        const std::string remedy = remedy_of(error, "a place", false);
        EXPECT_TRUE(remedy.starts_with(remedy_begins)) << error;
        EXPECT_NE(remedy.find(word), std::string::npos) << remedy;
        EXPECT_EQ(remedy, remedy_of(error, "a place", true));
        EXPECT_EQ(remedy_of(error, "", false), "") << "of error(): the script's own words";
    };
    has("MAXACTION exceeded", "-D MAXACTION=N ");
    has("Array overflow, check MAXMAPENTRIES", "-D MAXMAPENTRIES=N, or");
    has("Array overflow, check size limit (10)", "a larger size in the array's declaration");
    has("empty aggregate", "if (@count(…))");
    has("division by 0", "test the divisor first");
}

TEST(Remedies, OfOtherErrorsAreNone) {
    for (const char* other :
         {"MAXACTION exceeded ", "MAXACTION", "Array overflow, check MAXMAPENTRIES2",
          "Array overflow", "empty aggregates", "division by 01", "cannot", "cannot read",
          "could not read 8 bytes", "what the script says", ""})
        EXPECT_EQ(remedy_of(other, "a place", false), "") << other;
}

TEST(Remedies, OfFaultsAreThoseOfMemory) {
    for (const char* place : {"", "a place"}) {
        EXPECT_EQ(remedy_of("cannot read 8 bytes at 0x0", place, false),
                  remedy_begins + caught_remedy);
        EXPECT_EQ(remedy_of("cannot write 8 bytes of user memory at 0x10", place, false),
                  remedy_begins + caught_remedy);
        EXPECT_EQ(remedy_of("cannot read 8 bytes of user memory at 0x10", place, false),
                  remedy_begins + absent_page + caught_remedy);
        EXPECT_EQ(remedy_of("cannot read a string of user memory at 0x10", place, false),
                  remedy_begins + absent_page + "user_string(pointer, \"?\") is \"?\" then, " +
                      only_handler);
        // A handler of a program waits for the page, and an address of the kernel has none.
        EXPECT_EQ(remedy_of("cannot read 8 bytes of user memory at 0x10", place, true),
                  remedy_begins + caught_remedy);
        EXPECT_EQ(remedy_of("cannot read a string of user memory at 0x10", place, true),
                  remedy_begins + caught_remedy);
        EXPECT_EQ(remedy_of("cannot read 8 bytes of user memory at 0xffff, which is a kernel "
                            "address",
                            place, false),
                  remedy_begins + caught_remedy);
    }
}

} // namespace
} // namespace djstap
