// SPDX-License-Identifier: GPL-2.0-or-later
// A script's djs_script, and all that it points to, in this process's memory, as the kernel's
// loader would put it there.
#pragma once
#include "generate.h"

#include "include/script.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>

namespace djstap {

class LoadedTables {
  public:
    explicit LoadedTables(const llvm::Module& module) : layout_(module.getDataLayout()) {
        const llvm::GlobalVariable* variable = module.getNamedGlobal("djs_script");
        if (!variable) {
            ADD_FAILURE() << "no djs_script";
            return;
        }
        script_ = reinterpret_cast<const struct djs_script*>(place(*variable));
    }
    const struct djs_script* operator->() const { return script_; }

    // The name of the function or variable at this address; empty: none is there.
    template <class Type> std::string name_of(Type* address) const {
        const auto found = names_.find(reinterpret_cast<const char*>(address));
        return found == names_.end() ? "" : found->second;
    }
    // A text of a site.
    std::string text(uint32_t offset) const { return script_->site_texts + offset; }
    // The same as text that may contain NUL.
    std::string bytes(uint32_t offset, uint32_t count) const {
        return {script_->site_texts + offset, count};
    }

  private:
    char* place(const llvm::GlobalValue& value) {
        if (const auto known = places_.find(&value); known != places_.end())
            return known->second;
        const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&value);
        const size_t size =
            variable ? layout_.getTypeAllocSize(variable->getValueType()).getFixedValue() : 1;
        // Of words, so that any of the structures may be there.
        memory_.push_back(std::make_unique<uint64_t[]>(size / sizeof(uint64_t) + 1));
        char* const here = reinterpret_cast<char*>(memory_.back().get());
        places_[&value] = here;
        names_[here] = value.getName().str();
        if (variable && variable->hasInitializer())
            store(here, *variable->getInitializer());
        return here;
    }
    void store(char* to, const llvm::Constant& value) {
        if (value.isNullValue())
            return;
        if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&value)) {
            const uint64_t bits = number->getZExtValue();
            std::memcpy(to, &bits, layout_.getTypeStoreSize(value.getType()).getFixedValue());
        } else if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(&value)) {
            std::memcpy(to, data->getRawDataValues().data(), data->getRawDataValues().size());
        } else if (llvm::isa<llvm::ConstantAggregate>(value)) {
            for (unsigned i = 0; i < value.getNumOperands(); i++)
                store(to + offset_of(*value.getType(), i), *value.getAggregateElement(i));
        } else {
            llvm::APInt offset(64, 0);
            const llvm::Value* base =
                value.stripAndAccumulateConstantOffsets(layout_, offset, true);
            const auto* global = llvm::dyn_cast<llvm::GlobalValue>(base);
            ASSERT_TRUE(global);
            char* const address = place(*global) + offset.getSExtValue();
            std::memcpy(to, &address, sizeof address);
        }
    }
    uint64_t offset_of(llvm::Type& type, unsigned element) const {
        if (auto* structure = llvm::dyn_cast<llvm::StructType>(&type))
            return layout_.getStructLayout(structure)->getElementOffset(element);
        return element * layout_.getTypeAllocSize(type.getArrayElementType()).getFixedValue();
    }

    const llvm::DataLayout layout_;
    std::vector<std::unique_ptr<uint64_t[]>> memory_;
    std::map<const llvm::GlobalValue*, char*> places_;
    std::map<const char*, std::string> names_;
    const struct djs_script* script_ = nullptr;
};

class Tables : public Generate {
  protected:
    // The tables of the script; null after an error.
    std::unique_ptr<LoadedTables> tables() {
        std::unique_ptr<LoadedTables> loaded;
        options_.plant = [&loaded](llvm::Module& module) {
            loaded = std::make_unique<LoadedTables>(module);
        };
        const auto object = generate();
        options_.plant = nullptr;
        return object ? std::move(loaded) : nullptr;
    }
    // Adds a probe with an empty body, a kprobe unless the test makes it another one.
    Variant& plain_probe(HandlerKind kind = HandlerKind::Entry,
                         Mechanism mechanism = Mechanism::Kprobe) {
        probe({});
        Variant& variant = plan_.variants.back();
        variant.kind = kind;
        variant.mechanisms = 1u << static_cast<unsigned>(mechanism);
        plan_.sites.back().mechanism = mechanism;
        plan_.sites.back().trampoline = no_index;
        plan_.trampolines.pop_back();
        return variant;
    }
    Probe& probe_of(size_t number) { return *program_.probes[number]; }
};

} // namespace djstap
