// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/linked_runtime.h"

#include <bit>
#include <chrono>
#include <ctime>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstring>
#include <thread>
#include <unistd.h>

// NOLINTNEXTLINE(readability-identifier-naming): embedded.S
extern "C" const char djstap_injected_begin[], djstap_injected_end[];

namespace djstap::injection {

namespace orc = llvm::orc;
namespace jitlink = llvm::jitlink;

namespace {

Failure failure_of(llvm::Error error) {
    return {"the script cannot be linked into the program: " + llvm::toString(std::move(error)),
            ""};
}

bool is_code(orc::MemProt protection) {
    using namespace llvm; // the operators of bit masks
    return (protection & orc::MemProt::Exec) != orc::MemProt::None;
}

// Links in the arena, which is writable until everything is linked.
class ArenaMemory : public jitlink::JITLinkMemoryManager {
  public:
    explicit ArenaMemory(Arena& arena) : arena_(arena) {}
    using JITLinkMemoryManager::allocate;
    using JITLinkMemoryManager::deallocate;

    void allocate(const jitlink::JITLinkDylib*, jitlink::LinkGraph& graph,
                  OnAllocatedFunction allocated) override {
        jitlink::BasicLayout layout(graph);
        for (auto& [group, segment] : layout.segments()) {
            const auto part = arena_.take_code(segment.ContentSize + segment.ZeroFillSize);
            if (!part)
                return allocated(llvm::createStringError("the script is too large"));
            segment.Addr = orc::ExecutorAddr(part->begin);
            segment.WorkingMem = part->as<char>();
            if (is_code(group.getMemProt()))
                code.push_back(*part);
        }
        if (auto error = layout.apply())
            return allocated(std::move(error));
        allocated(std::make_unique<InFlight>());
    }
    // The arena is freed as a whole.
    void deallocate(std::vector<FinalizedAlloc> allocations,
                    OnDeallocatedFunction deallocated) override {
        for (FinalizedAlloc& each : allocations)
            each.release();
        deallocated(llvm::Error::success());
    }

    std::vector<Arena::Part> code;

  private:
    class InFlight : public InFlightAlloc {
      public:
        void abandon(OnAbandonedFunction abandoned) override { abandoned(llvm::Error::success()); }
        void finalize(OnFinalizedFunction finalized) override {
            finalized(FinalizedAlloc(orc::ExecutorAddr(1)));
        }
    };
    Arena& arena_;
};

} // namespace

struct LinkedRuntime::Memory {
    Memory(std::unique_ptr<orc::SelfExecutorProcessControl> control, Arena& arena)
        : manager(arena), session(std::move(control)), layer(session, manager) {}
    ~Memory() { llvm::consumeError(session.endSession()); }

    ArenaMemory manager;
    orc::ExecutionSession session;
    orc::ObjectLinkingLayer layer;
};

Result<LinkedRuntime> LinkedRuntime::link(const std::string& object, Arena& arena) {
    auto control = orc::SelfExecutorProcessControl::Create();
    if (!control)
        return failure_of(control.takeError());
    LinkedRuntime linked(std::make_unique<Memory>(std::move(*control), arena));
    Memory& memory = *linked.memory_;
    memory.session.setErrorReporter(
        [](llvm::Error error) { llvm::consumeError(std::move(error)); });
    orc::JITDylib& runtime = memory.session.createBareJITDylib("runtime");
    orc::JITDylib& script = memory.session.createBareJITDylib("script");
    script.addToLinkOrder(runtime);
    orc::SymbolMap counters;
    counters[memory.session.intern("djs_counters")] = {
        orc::ExecutorAddr(arena.slots().begin + DJS_SLOT_HEADER_BYTES),
        llvm::JITSymbolFlags::Exported};
    if (auto error = runtime.define(orc::absoluteSymbols(std::move(counters))))
        return failure_of(std::move(error));
    orc::SymbolMap slot; // handlers know no other part of what the runtime has of a CPU
    slot[memory.session.intern("djs_cpu")] = {
        orc::ExecutorAddr(arena.slots().begin + DJS_SLOT_SHARED_AT),
        llvm::JITSymbolFlags::Exported};
    if (auto error = script.define(orc::absoluteSymbols(std::move(slot))))
        return failure_of(std::move(error));
    const std::string_view injected(djstap_injected_begin, djstap_injected_end);
    for (const auto& [library, bytes] :
         {std::pair(&runtime, injected), std::pair(&script, std::string_view(object))})
        if (auto error = memory.layer.add(
                *library, llvm::MemoryBuffer::getMemBufferCopy(bytes, library->getName())))
            return failure_of(std::move(error));

    std::optional<Failure> failure;
    auto find = [&](orc::JITDylib& library, const char* name, auto& place) {
        if (failure)
            return;
        auto found = memory.session.lookup({&library}, memory.session.intern(name));
        if (!found) {
            failure = failure_of(found.takeError());
            return;
        }
        place =
            std::bit_cast<std::remove_reference_t<decltype(place)>>(found->getAddress().getValue());
    };
    find(script, "djs_script", linked.script);
    find(runtime, "djs_user_runtime", linked.runtime);
    find(runtime, "djs_injected_init", linked.init);
    find(runtime, "djs_injected_places", linked.set_places);
    find(runtime, "djs_injected_loader", linked.loader);
    find(runtime, "djs_arena_allocate", linked.allocate);
    find(runtime, "djs_injected_gone", linked.gone);
    find(runtime, "djs_injected_settle", linked.settle);
    find(runtime, "djs_injected_unslotted", linked.unslotted);
    find(runtime, "djs_injected_returns", linked.set_returns);
    find(runtime, "djs_injected_unmatched", linked.unmatched);
    find(runtime, "djs_slot_entry", linked.claim);
    find(runtime, "djs_hit_entry", linked.hit);
    if (failure)
        return *failure;
    return linked;
}

djs_arena parts_of(const Arena& arena) {
    djs_arena parts{};
    parts.heap = arena.heap().as<char>();
    parts.heap_bytes = arena.heap().bytes;
    parts.slots = arena.slots().as<char>();
    parts.rings = arena.rings().as<char>();
    parts.processors = sysconf(_SC_NPROCESSORS_CONF);
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    if (localtime_r(&now, &local)) {
        parts.seconds_west = -local.tm_gmtoff;
        strncpy(parts.zone, local.tm_zone ? local.tm_zone : "", sizeof parts.zone - 1);
    }
    return parts;
}

void LinkedRuntime::wait_until_settled(bool is_gone) const {
    using namespace std::chrono_literals;
    constexpr int attempts = 500;
    if (is_gone)
        gone();
    for (int i = 0; i < attempts && settle() > 0; i++)
        std::this_thread::sleep_for(2ms);
}

LinkedRuntime::LinkedRuntime(std::unique_ptr<Memory> memory) : memory_(std::move(memory)) {}
LinkedRuntime::LinkedRuntime(LinkedRuntime&&) noexcept = default;
LinkedRuntime::~LinkedRuntime() = default;

const std::vector<Arena::Part>& LinkedRuntime::code() const {
    return memory_->manager.code;
}

} // namespace djstap::injection
