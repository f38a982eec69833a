// SPDX-License-Identifier: GPL-2.0-or-later
// The functions with which a script's C code reads and writes global variables: STAP_GLOBAL_GET_x,
// STAP_GLOBAL_SET_x. Their handler holds the locks.
#include "codegen/embedded_globals.h"

namespace djstap::codegen {

using Kind = GlobalStorage::Kind;
using program::Type;

namespace {

class Accessor {
  public:
    Accessor(ScriptModule& script, const program::Global& global, SourceRange range)
        : script_(script), global_(global), storage_(script.storage(global)), range_(range),
          builder_(script.context), is_text_(global.value == Type::String) {}

    void get(const std::string& name) {
        begin(name, type_of(global_.value), false);
        llvm::Value* result = is_text_ ? script_.text("") : script_.number(0);
        switch (storage_.kind) {
        case Kind::Constant:
            result = is_text_ ? script_.text(std::string_view(global_.initial_text)
                                                 .substr(0, script_.string_bytes() - 1))
                              : static_cast<llvm::Value*>(script_.number(global_.initial_number));
            break;
        case Kind::Counter: // every CPU's copy begins at 0
            result = builder_.CreateAdd(builder_.CreateCall(script_.runtime("djs_counter_read"),
                                                            {script_.u32(storage_.index)}),
                                        script_.number(global_.initial_number));
            break;
        case Kind::Number:
            result = builder_.CreateLoad(script_.types.i64, storage_.variable);
            break;
        case Kind::Text: // its storage: its lock is held while the code runs
            result = storage_.variable;
            break;
        case Kind::Map:
            result = element_or(result);
            break;
        case Kind::PerCpuStatistic:
        case Kind::Statistic:
            break;
        }
        builder_.CreateRet(result);
    }

    void set(const std::string& name) {
        begin(name, script_.types.void_type, true);
        llvm::Value* value = function_->getArg(function_->arg_size() - 1);
        llvm::Value* at = storage_.variable;
        if (storage_.kind == Kind::Map) {
            at = builder_.CreateCall(script_.runtime("djs_map_insert"), {map(), keys()});
            auto *full = block("full"), *found = block("found");
            builder_.CreateCondBr(builder_.CreateIsNull(at), full, found);
            builder_.SetInsertPoint(full);
            builder_.CreateCall(
                script_.runtime("djs_fail"),
                {function_->getArg(0), script_.text(array_overflow(global_)),
                 script_.u32(script_.place("identifier '" + global_.name + "'", range_))});
            builder_.CreateRetVoid();
            builder_.SetInsertPoint(found);
        }
        if (is_text_)
            builder_.CreateCall(script_.runtime("djs_text_copy"),
                                {at, value, script_.number(script_.string_bytes())});
        else
            builder_.CreateStore(value, at);
        builder_.CreateRetVoid();
    }

  private:
    llvm::Type* type_of(Type type) const {
        return type == Type::String ? static_cast<llvm::Type*>(script_.types.pointer)
                                    : script_.types.i64;
    }

    void begin(const std::string& name, llvm::Type* result, bool with_value) {
        std::vector<llvm::Type*> parameters{script_.types.pointer};
        for (const Type key : global_.keys)
            parameters.push_back(type_of(key));
        if (with_value)
            parameters.push_back(type_of(global_.value));
        function_ =
            llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                   llvm::GlobalValue::ExternalLinkage, name, script_.module);
        function_->setDSOLocal(true);
        builder_.SetInsertPoint(block("entry"));
        script_.set_attributes(function_);
    }

    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(script_.context, name, function_);
    }

    llvm::Value* map() {
        return builder_.CreateLoad(script_.types.pointer, storage_.variable, "map");
    }

    // An array of union djs_value.
    llvm::Value* keys() {
        auto* type = llvm::ArrayType::get(script_.types.i64, global_.keys.size());
        auto* area = builder_.CreateAlloca(type, nullptr, "keys");
        for (unsigned i = 0; i < global_.keys.size(); i++)
            builder_.CreateStore(function_->getArg(i + 1),
                                 builder_.CreateConstGEP2_32(type, area, 0, i));
        return area;
    }

    // `none` for an absent element.
    llvm::Value* element_or(llvm::Value* none) {
        llvm::Value* at = builder_.CreateCall(script_.runtime("djs_map_find"), {map(), keys()});
        auto *absent = block("absent"), *found = block("found");
        builder_.CreateCondBr(builder_.CreateIsNull(at), absent, found);
        builder_.SetInsertPoint(absent);
        builder_.CreateRet(none);
        builder_.SetInsertPoint(found);
        return is_text_ ? at : builder_.CreateLoad(script_.types.i64, at);
    }

    ScriptModule& script_;
    const program::Global& global_;
    const GlobalStorage& storage_;
    SourceRange range_;
    llvm::IRBuilder<> builder_;
    bool is_text_;
    llvm::Function* function_ = nullptr;
};

} // namespace

void emit_accessors(ScriptModule& script) {
    for (const auto& [global, names] : script.embedded().accessors()) {
        if (global->value == Type::Statistic) {
            script.diagnostics
                .report(DiagnosticKind::EmbeddedGlobal, names.range, {global->name, "a statistic"})
                .hint("C code can access numbers, strings and arrays of them");
            continue;
        }
        Accessor accessor(script, *global, names.range);
        if (!names.get.empty())
            accessor.get(names.get);
        if (!names.set.empty())
            accessor.set(names.set);
    }
}

} // namespace djstap::codegen
