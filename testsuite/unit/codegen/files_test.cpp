// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers of files in procfs, executed: $value is the text that a reader gets or that a writer
// gives.
#include "loaded_script.h"

#include "include/script.h"
#include "include/text.h"

namespace djstap {
namespace {

class FilesOfProcfs : public LoadedScript {
  public: // for the functions of the kernel
    static inline FilesOfProcfs* test_ = nullptr;
    djs_ctx ctx_ = {};
    std::string log_;

  protected:
    void SetUp() override {
        test_ = this;
        LoadedScript::SetUp();
        if (HasFatalFailure())
            return;
        ctx_.scratch = code_.variable("scratch", 65536);
        code_.function("djs_text_copy", djs_text_copy);
        code_.function(
            "djs_file_set", +[](djs_ctx* ctx, const char* text) {
                EXPECT_EQ(ctx, &test_->ctx_);
                test_->log_ += "set " + std::string(text) + ";";
            });
        code_.function(
            "djs_file_append", +[](djs_ctx* ctx, const char* text) {
                EXPECT_EQ(ctx, &test_->ctx_);
                test_->log_ += "append " + std::string(text) + ";";
            });
        code_.function(
            "djs_file_get", +[](djs_ctx* ctx) -> const char* {
                EXPECT_EQ(ctx, &test_->ctx_);
                test_->log_ += "get;";
                return "given by a writer";
            });
    }
    void run(unsigned handler) {
        using Body = void(djs_ctx*);
        reinterpret_cast<Body*>(code_.at("djs_body_" + std::to_string(handler)))(&ctx_);
        EXPECT_EQ(ctx_.error, nullptr);
    }
};

} // namespace

TEST_F(FilesOfProcfs, AreReadAndWritten) {
    load("global t\n"
         "probe procfs(\"f\").read { $value = \"first\"; $value = t; $value .= \"more\" }\n"
         "probe procfs(\"g\").write { t = $value }\n"
         "probe end { println(t) }");
    run(1);
    EXPECT_EQ(log_, "get;");
    EXPECT_STREQ(code_.at("djs_global_t"), "given by a writer");
    log_.clear();
    run(0);
    EXPECT_EQ(log_.substr(0, log_.find("more")), "set first;set given by a writer;append ");
}

} // namespace djstap
