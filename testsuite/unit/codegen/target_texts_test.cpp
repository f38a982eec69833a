// SPDX-License-Identifier: GPL-2.0-or-later
// $x$, $$vars and the like: a text of several values, executed, also where some cannot be read.
#include "kernel_code.h"

#include "arch/arch.h"
#include "include/script.h"
#include "include/text.h"

#include <cstring>

namespace djstap {
namespace {

class TargetTexts : public InKernel {
  public: // for the functions of the kernel
    static inline TargetTexts* test_ = nullptr;
    static constexpr uint64_t readable = 30, unreadable = 40;
    djs_ctx ctx_ = {};
    std::string told_;

  protected:
    using Shown = TargetAccess::Shown;

    void SetUp() override {
        InKernel::SetUp();
        test_ = this;
        ctx_.scratch = code_.variable("scratch", 65536);
        code_.function("djs_enter", +[](const void*, const void*) { return &test_->ctx_; });
        code_.function("djs_leave", +[](djs_ctx*) {});
        code_.function("djs_lacks_stack", +[](uint32_t) { return uint32_t{0}; });
        code_.function("djs_format", djs_format);
        code_.function("djs_text_length", djs_text_length);
        code_.function("djs_text_copy", djs_text_copy);
        code_.function(
            "memcpy",
            +[](void* to, const void* from, size_t bytes) { return std::memcpy(to, from, bytes); });
        code_.function(
            "djs_load", +[](djs_ctx* ctx, uint64_t address, uint32_t, uint32_t) -> uint64_t {
                if (address == readable)
                    return 77;
                ctx->error = "read fault";
                return 0;
            });
        code_.function(
            "djs_fn_own", +[](djs_ctx*, const char* text) {
                test_->told_ = text;
                return int64_t{1};
            });
    }
    static FormatPiece piece(const std::string& literal, char conversion = 0,
                             bool alternate = false) {
        FormatPiece made;
        made.literal = literal;
        made.conversion = conversion;
        made.alternate = alternate;
        return made;
    }
    static Access argument(unsigned number) {
        Access access;
        access.base = Access::Base::Register;
        access.reg = arch::argument_registers()[number];
        return access;
    }
    // What the first argument points to.
    static Access pointed_to() {
        Access access = argument(0);
        access.steps = {{AccessStep::Kind::Load, 0, nullptr, 8}};
        return access;
    }
    // The text in a probe of a function that was called with `first` and 12.
    std::string text_of(std::vector<FormatPiece> format, std::vector<Access> parts,
                        std::vector<Shown> shown = {}, uint64_t first = readable) {
        program_ = {};
        plan_ = {};
        more_ = 0;
        told_ = "nothing";
        TargetAccess target;
        target.is_text = true;
        target.format = std::move(format);
        target.parts = std::move(parts);
        target.shown = std::move(shown);
        auto own = std::make_unique<Function>();
        own->name = own->intrinsic = "own";
        own->return_type = Type::Long;
        own->parameter_count = 1;
        own->locals.push_back({"text", Type::String, {}});
        Probe* const made = probe_of(HandlerKind::Entry, 0);
        made->effects.can_fail = made->effects.strings = true;
        auto value = std::make_unique<TargetValue>();
        value->type = Type::String;
        value->pretty = 1;
        plan_.variants.back().accesses[value.get()] = std::move(target);
        auto tell = std::make_unique<Call>();
        tell->function = own.get();
        tell->type = Type::Long;
        tell->arguments.push_back(std::move(value));
        made->body->statements.push_back(
            add(global("n", Type::Long, Storage::PerCpu), std::move(tell)));
        program_.functions.push_back(std::move(own));
        load();
        EXPECT_EQ(call(0, first, 12), first + 12);
        EXPECT_EQ(ctx_.error, nullptr);
        return told_;
    }
};

TEST_F(TargetTexts, AreAllPartsInTheirOrder) {
    EXPECT_EQ(text_of({piece("", 'd')}, {argument(1)}), "12");
    EXPECT_EQ(text_of({piece("x=", 'x', true)}, {argument(0)}), "x=0x1e");
    EXPECT_EQ(text_of({piece("x=", 'x', true), piece(" y=", 'd')}, {argument(0), argument(1)}),
              "x=0x1e y=12");
    EXPECT_EQ(text_of({piece("nothing more")}, {}), "nothing more");
}

TEST_F(TargetTexts, ShowValuesAmongOthers) {
    const FormatPiece first = piece("{.first=", 'd'), second = piece(", .second=", 'd'),
                      end = piece("}");
    EXPECT_EQ(text_of({first, second, end}, {argument(0), argument(1)}, {Shown{0, 3}}),
              "{.first=30, .second=12}");
    EXPECT_EQ(text_of({piece("pair="), first, second, end, piece(" step=", 'd')},
                      {argument(0), argument(1), argument(1)}, {Shown{1, 4}}),
              "pair={.first=30, .second=12} step=12");
    EXPECT_EQ(text_of({first, end, piece(" "), first, end, piece(" "), piece("", 'd')},
                      {argument(1), argument(0), argument(1)}, {Shown{0, 2}, Shown{3, 5}}),
              "{.first=12} {.first=30} 12");
}

// The rest is told nevertheless, and the handler goes on.
TEST_F(TargetTexts, ErrorsStandForValuesThatCannotBeRead) {
    for (const uint64_t address : {readable, unreadable}) {
        const bool fails = address == unreadable;
        EXPECT_EQ(text_of({piece("x=", 'x', true), piece(" y=", 'd')}, {pointed_to(), argument(1)},
                          {}, address),
                  fails ? "x=ERROR y=12" : "x=0x4d y=12");
        const FormatPiece member = piece("{.a=", 'd'), end = piece("}");
        EXPECT_EQ(text_of({member, end}, {pointed_to()}, {Shown{0, 2}}, address),
                  fails ? "ERROR" : "{.a=77}");
        EXPECT_EQ(text_of({piece("p="), member, end, piece(" y=", 'd')},
                          {pointed_to(), argument(1)}, {Shown{1, 3}}, address),
                  fails ? "p=ERROR y=12" : "p={.a=77} y=12");
    }
}

} // namespace
} // namespace djstap
