// SPDX-License-Identifier: GPL-2.0-or-later
#include "inprocess/linked_script.h"

#include "userspace/userspace.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

namespace djstap {

namespace orc = llvm::orc;

namespace {

// Resolves the symbols that the object refers to.
class RuntimeSymbols : public orc::DefinitionGenerator {
  public:
    llvm::Error tryToGenerate(orc::LookupState&, orc::LookupKind, orc::JITDylib& library,
                              orc::JITDylibLookupFlags,
                              const orc::SymbolLookupSet& wanted) override {
        orc::SymbolMap found;
        for (const auto& [name, flags] : wanted)
            if (void* address = djs_user_symbol((*name).str().c_str()))
                found[name] = {orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
        return library.define(orc::absoluteSymbols(std::move(found)));
    }
};

Failure failure_of(llvm::Error error) {
    return {"the script cannot be linked into this process: " + llvm::toString(std::move(error)),
            ""};
}

} // namespace

struct LinkedScript::Memory {
    explicit Memory(std::unique_ptr<orc::SelfExecutorProcessControl> control)
        : session(std::move(control)), layer(session) {}
    ~Memory() { llvm::consumeError(session.endSession()); }

    orc::ExecutionSession session;
    orc::ObjectLinkingLayer layer;
    orc::JITDylib* library = nullptr;
};

Result<LinkedScript> LinkedScript::link(const std::string& object) {
    auto control = orc::SelfExecutorProcessControl::Create();
    if (!control)
        return failure_of(control.takeError());
    auto memory = std::make_unique<Memory>(std::move(*control));
    // The lookup reports errors.
    memory->session.setErrorReporter(
        [](llvm::Error error) { llvm::consumeError(std::move(error)); });
    orc::JITDylib& library = memory->session.createBareJITDylib("script");
    memory->library = &library;
    library.addGenerator(std::make_unique<RuntimeSymbols>());
    if (auto error =
            memory->layer.add(library, llvm::MemoryBuffer::getMemBufferCopy(object, "script")))
        return failure_of(std::move(error));
    auto script = memory->session.lookup({&library}, memory->session.intern("djs_script"));
    if (!script)
        return failure_of(script.takeError());
    const auto* tables = script->getAddress().toPtr<const djs_script*>();
    return LinkedScript(std::move(memory), tables);
}

void* LinkedScript::symbol(const std::string& name) const {
    auto found = memory_->session.lookup({memory_->library}, memory_->session.intern(name));
    if (found)
        return found->getAddress().toPtr<void*>();
    llvm::consumeError(found.takeError());
    return nullptr;
}

LinkedScript::LinkedScript(std::unique_ptr<Memory> memory, const djs_script* script)
    : memory_(std::move(memory)), script_(script) {}
LinkedScript::LinkedScript(LinkedScript&&) noexcept = default;
LinkedScript::~LinkedScript() = default;

} // namespace djstap
