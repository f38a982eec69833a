// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a kit has what a script's object and its tables need. No kernel can be opened here, so
// that a kit that would be extended is told by that.
#include "driver/kit.h"

#include "../regions/program.h"
#include "../surroundings.h"
#include "parsed_options.h"

#include <gtest/gtest.h>

namespace djstap::driver {
namespace {

class KitOfAScript : public testing::Test {
  protected:
    KitOfAScript() {
        generated_.kit.emplace();
        generated_.kit->runtime_symbols = {"djs_a", "djs_b"};
        invocation_.images.refuse({"there is no kernel", ""});
    }
    std::string completed() {
        const Status complete = complete_kit(invocation_, generated_);
        return complete ? "complete" : complete.failure().message;
    }
    // The same with an object of this text of an assembler.
    std::string completed_for(const std::string& text) {
        const std::string source = folder_.file("script.s"), object = folder_.file("script.o");
        EXPECT_TRUE(write_file(source, text));
        EXPECT_TRUE(test::run_tool({"as", "-o", object, source}));
        const auto bytes = read_file(object);
        EXPECT_TRUE(bytes);
        generated_.object.object = bytes ? *bytes : "";
        return completed();
    }

    Invocation invocation_{accept({"-p4", "-e", "probe begin {}"})};
    GeneratedScript generated_;

  private:
    const test::TestFolder folder_;
};

TEST_F(KitOfAScript, IsCompleteIfItHasWhatTheObjectRefersTo) {
    EXPECT_EQ(completed_for("nop\n"), "complete");
    EXPECT_EQ(completed_for("call djs_a\ncall djs_b\ncall vfs_read\n"), "complete");
    EXPECT_EQ(completed_for("call djs_a\ncall djs_c\n"), "there is no kernel");
}

TEST_F(KitOfAScript, HasWhatTheTablesNeed) {
    generated_.script.plan.sites.emplace_back().mechanism = Mechanism::Kprobe;
    EXPECT_EQ(completed_for("call djs_a\n"), "there is no kernel");
    generated_.kit->runtime_symbols = {"djs_a", "djs_b", "djs_ops_kprobe"};
    EXPECT_EQ(completed_for("call djs_a\n"), "complete");
}

TEST_F(KitOfAScript, IsNeverKnownToBeCompleteForEmbeddedCode) {
    generated_.object.c_source = "int own;";
    EXPECT_EQ(completed_for("call djs_a\n"), "there is no kernel") << "it may call anything";
}

TEST_F(KitOfAScript, ADamagedObjectIsTold) {
    generated_.object.object = "x";
    EXPECT_EQ(completed(),
              "the script's object: is not a complete object file: it has no ELF header");
}

} // namespace
} // namespace djstap::driver
