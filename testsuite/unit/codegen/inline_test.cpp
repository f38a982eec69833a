// SPDX-License-Identifier: GPL-2.0-or-later
// What a handler does with arrays and memory before it calls anything.
#include "generate.h"

#include "arch/arch.h"

#include <algorithm>
#include <iterator>

namespace djstap {
namespace {

// The first entry in the bucket of literals is compared inline, whatever numbers are among the
// keys.
TEST_F(Generate, ElementsOfLiteralsAndNumbersAreFoundByTheHandler) {
    for (const std::vector<Type>& keys :
         {std::vector{Type::String}, {Type::String, Type::Long}, {Type::Long, Type::String}}) {
        program_.probes.clear();
        plan_ = {};
        Global* a = global("a", Type::Long, Storage::Locked, keys);
        auto place = std::make_unique<GlobalValue>();
        place->global = a;
        place->type = Type::Long;
        for (const Type type : keys) {
            auto text = std::make_unique<Text>();
            text->value = "key";
            text->type = Type::String;
            place->keys.push_back(type == Type::String ? std::move(text) : number(7));
        }
        auto node = std::make_unique<Increment>();
        node->place = std::move(place);
        node->type = Type::Long;
        node->value_used = false;
        std::vector<StatementPtr> body;
        body.push_back(evaluate(std::move(node)));
        Probe* p = probe(std::move(body));
        p->effects.writes = {a};
        p->effects.can_fail = true;
        const auto object = generate();
        ASSERT_TRUE(object) << render_all(diagnostics_);
        const auto code = listing(object->object, "djs_direct_0");
        EXPECT_EQ(std::count_if(code.begin(), code.end(),
                                [](const std::string& line) { return line.starts_with("mul"); }),
                  std::ssize(keys));
    }
}

// Keys of at most eight words are compared there; a literal is as long as a string may be.
TEST_F(Generate, LongLiteralsAreLeftToTheRuntime) {
    Global* const a = global("a", Type::Long, Storage::Locked, {Type::String});
    auto place = std::make_unique<GlobalValue>();
    place->global = a;
    place->type = Type::Long;
    auto text = std::make_unique<Text>();
    text->type = Type::String;
    Text* const key = text.get();
    place->keys.push_back(std::move(text));
    auto node = std::make_unique<Increment>();
    node->place = std::move(place);
    node->type = Type::Long;
    node->value_used = false;
    std::vector<StatementPtr> body;
    body.push_back(evaluate(std::move(node)));
    Probe* const p = probe(std::move(body));
    p->effects.writes = {a};
    p->effects.can_fail = true;
    options_.dump_ir = true;
    const std::string alphabet = "abcdefghijklmnopqrstuvwxyz";
    const std::string all = alphabet + alphabet + alphabet;
    struct Case {
        size_t length;
        int64_t string_bytes;
        ptrdiff_t words; // of text, and the end of it; 0: left to the runtime
    };
    for (const auto& [length, string_bytes, words] :
         {Case{7, 128, 1}, Case{8, 128, 2}, Case{9, 128, 2}, Case{63, 128, 8}, Case{64, 128, 0},
          Case{20, 17, 3}, Case{20, 16, 2}, Case{70, 64, 8}, Case{70, 65, 0}}) {
        key->value = all.substr(0, length);
        options_.limits.MAXSTRINGLEN = string_bytes;
        const auto object = generate();
        ASSERT_TRUE(object) << render_all(diagnostics_);
        const auto code = listing(object->object, "djs_direct_0");
        EXPECT_EQ(std::count_if(code.begin(), code.end(),
                                [](const std::string& line) { return line.starts_with("mul"); }),
                  words)
            << length;
        const auto most = std::min(length, static_cast<size_t>(string_bytes - 1));
        EXPECT_NE(object->ir.find("c\"" + all.substr(0, most) + "\\00"), std::string::npos)
            << length;
    }
}

// A value whose computation reads memory on the way.
TEST_F(Generate, ComputationsReadMemory) {
    know_offsets(false);
    Global* n = global("n", Type::Long, Storage::PerCpu);
    Probe* p = probe({});
    p->effects.can_fail = true;
    Access& access = add_memory(p, n);
    access.base = Access::Base::Computed;
    using Kind = LocationOperation::Kind;
    LocationOperation reg, load, one, add;
    reg.kind = Kind::Register;
    reg.reg = arch::argument_registers()[0];
    load.kind = Kind::Load;
    load.size = 4;
    load.is_signed = true;
    one.kind = Kind::Constant;
    one.number = 1;
    add.kind = Kind::Add;
    access.operations = {reg, load, one, add};
    const auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    const auto code = listing(object->object, "djs_direct_0");
    EXPECT_TRUE(std::any_of(code.begin(), code.end(), [](const std::string& line) {
        return line.starts_with("movslq (%rdi)");
    }));
}

} // namespace
} // namespace djstap
