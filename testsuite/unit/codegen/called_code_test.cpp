// SPDX-License-Identifier: GPL-2.0-or-later
// What a script's object contains for the kernel to call.
#include "generate.h"

#include <llvm/Object/ObjectFile.h>

namespace djstap {
namespace {

class CalledCode : public Generate {
  protected:
    CalledCode() {
        know_offsets(false);
        kernel_.reference = 0xffffffff81000000;
        std::vector<StatementPtr> body;
        body.push_back(increment(global("n", Type::Long, Storage::PerCpu)));
        probe(std::move(body));
    }

    // Returns the object of the script with its probe of this kind.
    std::string object_of(HandlerKind kind, Mechanism mechanism) {
        plan_.variants[0].kind = kind;
        plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(mechanism);
        plan_.sites[0].mechanism = mechanism;
        const auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return object ? object->object : std::string();
    }
};

constexpr std::tuple<HandlerKind, Mechanism, const char*> probes[] = {
    {HandlerKind::Entry, Mechanism::Djprobe, "djs_direct_0"},
    {HandlerKind::Return, Mechanism::ReturnDjprobe, "djs_direct_0"},
    {HandlerKind::Entry, Mechanism::Tracepoint, "djs_tracepoint_0"}};

// Also where other code precedes LLVM's own landing pad, as in a trampoline with return handlers.
TEST_F(CalledCode, BeginsWithALandingPad) {
    for (const bool pads : {false, true}) {
        kernel_.mitigations.landing_pads = pads;
        for (const auto& [kind, mechanism, function] : probes) {
            auto code = listing(object_of(kind, mechanism), function);
            code.resize(2);
            EXPECT_EQ(code[0].starts_with("endbr64"), pads) << function;
            if (kind == HandlerKind::Return) {
                EXPECT_EQ(code[pads], "mov    %rax,%r10");
            }
        }
    }
}

// The kernel places no probe in this section.
TEST_F(CalledCode, CannotBeProbed) {
    for (const auto& [kind, mechanism, function] : probes) {
        const std::string object = object_of(kind, mechanism);
        auto file =
            llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
        ASSERT_TRUE(static_cast<bool>(file)) << llvm::toString(file.takeError());
        std::string found;
        for (const llvm::object::SymbolRef& symbol : (*file)->symbols())
            if (llvm::cantFail(symbol.getName()) == function)
                found = llvm::cantFail(llvm::cantFail(symbol.getSection())->getName()).str();
        EXPECT_EQ(found, ".kprobes.text") << function;
    }
}

} // namespace
} // namespace djstap
