// SPDX-License-Identifier: GPL-2.0-or-later
// A script of timers, compiled from its text and loaded, whose handlers a test executes.
#pragma once
#include "kernel_code.h"
#include "kernel_handlers.h"

namespace djstap {

class LoadedScript : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(code_.is_there());
        script_.kernel.reference = 0xffffffff81000000;
        script_.kernel.mitigations = {false, false, false};
        for (const char* const name :
             {"memset", "djs_gate", "djs_cpu", "__preempt_count", "djs_biases"})
            code_.variable(name, 256);
    }
    void load(const std::string& text) {
        const auto object = script_.compile(text);
        ASSERT_TRUE(object);
        load_object(object->object);
    }
    void load_object(std::string object) {
        object_ = std::move(object);
        code_.load(object_);
    }
    int64_t& number(const std::string& name) { return code_.as<int64_t>("djs_global_" + name); }

    test::KernelScript script_;
    KernelCode code_;
    std::string object_;
};

} // namespace djstap
