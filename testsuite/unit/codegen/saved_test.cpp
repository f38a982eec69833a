// SPDX-License-Identifier: GPL-2.0-or-later
// What a return probe keeps from function entry: a kretprobe has 4096 bytes for it
// (KRETPROBE_MAX_DATA_SIZE).
#include "generate.h"

namespace djstap {
namespace {

class SavedValues : public Generate {
  protected:
    // Adds a return probe that keeps so many numbers and strings.
    void keeping(size_t numbers, size_t texts, Mechanism mechanism = Mechanism::Kretprobe) {
        Probe* const made = probe({});
        for (size_t i = 0; i < numbers; i++) {
            made->entry_values.push_back(number(1));
            made->entry_values.back()->type = Type::Long;
        }
        for (size_t i = 0; i < texts; i++) {
            auto text = std::make_unique<Text>();
            text->type = Type::String;
            text->value = "kept";
            made->entry_values.push_back(std::move(text));
        }
        plan_.trampolines.pop_back();
        plan_.sites.back().trampoline = no_index;
        plan_.sites.back().mechanism = mechanism;
        plan_.variants.back().kind = HandlerKind::Return;
        plan_.variants.back().mechanisms = 1u << static_cast<unsigned>(mechanism);
    }
    // How often the script is refused.
    size_t refusals() {
        Diagnostics diagnostics(sources_);
        const bool compiles =
            djstap::generate(program_, plan_, kernel_, options_, diagnostics).has_value();
        EXPECT_EQ(compiles, diagnostics.error_count() == 0);
        said_ = render_all(diagnostics);
        program_.probes.clear();
        plan_ = {};
        return diagnostics.error_count();
    }
    std::string said_;
};

TEST_F(SavedValues, HaveRoomInAKretprobe) {
    keeping(512, 0);
    EXPECT_EQ(refusals(), 0u) << said_;
    keeping(513, 0);
    EXPECT_EQ(refusals(), 1u);
    EXPECT_NE(said_.find("saves 4104 bytes"), std::string::npos) << said_;
    EXPECT_NE(said_.find("use fewer values"), std::string::npos) << said_;
    EXPECT_EQ(said_.find("MAXSTRINGLEN"), std::string::npos) << said_;
    keeping(448, 1); // a string has 512 bytes
    EXPECT_EQ(refusals(), 0u) << said_;
    keeping(449, 1);
    EXPECT_EQ(refusals(), 1u);
    EXPECT_NE(said_.find("a string takes 512 bytes (MAXSTRINGLEN)"), std::string::npos) << said_;
    options_.limits.MAXSTRINGLEN = 505; // 64 words, too
    keeping(449, 1);
    EXPECT_EQ(refusals(), 1u);
    options_.limits.MAXSTRINGLEN = 504;
    keeping(449, 1);
    EXPECT_EQ(refusals(), 0u) << said_;
    keeping(450, 1);
    EXPECT_EQ(refusals(), 1u);
}

TEST_F(SavedValues, HaveRoomElsewhere) {
    keeping(513, 0, Mechanism::Uretprobe);
    EXPECT_EQ(refusals(), 0u) << said_;
}

// A probe is refused once, however many sites it has, and each other probe, too.
TEST_F(SavedValues, EachProbeIsRefusedOnce) {
    keeping(513, 0);
    plan_.sites.push_back(plan_.sites[0]);
    EXPECT_EQ(refusals(), 1u);
    keeping(513, 0);
    keeping(10, 0);
    keeping(600, 0);
    EXPECT_EQ(refusals(), 2u);
}

} // namespace
} // namespace djstap
