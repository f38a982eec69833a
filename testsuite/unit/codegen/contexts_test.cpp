// SPDX-License-Identifier: GPL-2.0-or-later
// Where functions run, and what is done to arrays there.
#include "generate.h"

#include "codegen/script_module.h"

namespace djstap {
namespace {

// What an overload passes on to the next one, its callers do as well.
TEST_F(Generate, OverloadsRunWhereTheirCallersDo) {
    Global* const cleared = global("cleared", Type::Long, Storage::Locked, {Type::Long});
    Global* const kept = global("kept", Type::Long, Storage::Locked, {Type::Long});
    for (const char* name : {"first", "last"}) {
        auto function = std::make_unique<Function>();
        function->name = name;
        function->body = std::make_unique<Block>();
        program_.functions.push_back(std::move(function));
    }
    Function* const first = program_.functions[0].get();
    Function* const last = program_.functions[1].get();
    first->next_overload = last;
    first->body->statements.push_back(increment_element(kept, 1));
    auto clear = std::make_unique<Delete>();
    clear->global = cleared;
    last->body->statements.push_back(std::move(clear));
    auto call = std::make_unique<Call>();
    call->function = first;
    std::vector<StatementPtr> body;
    body.push_back(evaluate(std::move(call)));
    probe(std::move(body));

    llvm::LLVMContext context;
    const codegen::ScriptModule script(context, program_, plan_, kernel_, options_, diagnostics_);
    EXPECT_EQ(script.contexts.cleared, std::set<const Global*>{cleared});
    EXPECT_TRUE(script.contexts.functions.count(first));
    EXPECT_TRUE(script.contexts.functions.count(last));
}

} // namespace
} // namespace djstap
