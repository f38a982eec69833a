// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/script_module.h"

#include "arch/codegen.h"
#include "codegen/first_token.h"

#include "include/script.h"

#include <algorithm>
#include <llvm/IR/Constants.h>

namespace djstap::codegen {

namespace {

// A script's plain counters are allocated from the 8 KB of per-CPU memory that all modules share.
constexpr uint32_t max_counters = 512;

} // namespace

ScriptModule::ScriptModule(llvm::LLVMContext& llvm_context, const program::Program& p,
                           const ProbePlan& sites, const CodegenKernel& k, const CodegenOptions& o,
                           Diagnostics& d)
    : context(llvm_context), module("djstap_script", llvm_context), types(llvm_context), program(p),
      plan(sites), kernel(k), options(o), diagnostics(d), images_(sites, k),
      regex_(module, types, p, d), embedded_(p, d.sources(), string_bytes()) {
    arch::prepare_module(module, kernel.mitigations, kernel.user_space);
    auto table = [&](llvm::Type* element, size_t count, const char* name) {
        auto* variable =
            new llvm::GlobalVariable(module, llvm::ArrayType::get(element, count), true,
                                     llvm::GlobalValue::ExternalLinkage, nullptr, name);
        variable->setDSOLocal(true);
        return variable;
    };
    for (const auto& probe : program.probes)
        if (probe->arms)
            conditions.push_back({probe.get(), {}, nullptr});
    handlers_ = table(types.djs_handler, plan.variants.size() + conditions.size(), handlers_table);
    if (!conditions.empty()) {
        auto* type = llvm::ArrayType::get(types.i32, conditions.size());
        condition_states_ = new llvm::GlobalVariable(
            module, type, false, llvm::GlobalValue::InternalLinkage,
            llvm::ConstantAggregateZero::get(type), "djs_condition_states");
        condition_states_->setDSOLocal(true);
    }
    if (std::any_of(program.probes.begin(), program.probes.end(),
                    [](const auto& probe) { return probe->has_switch; })) {
        auto* type = llvm::ArrayType::get(types.i32, program.probes.size());
        switches_ =
            new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                     llvm::ConstantAggregateZero::get(type), "djs_switches");
        switches_->setDSOLocal(true);
    }
    sites_ = table(types.djs_site, plan.sites.size(), "djs_script_sites");
    only_sites_.resize(plan.variants.size(), no_index);
    only_functions_.resize(plan.variants.size());
    std::vector<bool> has_site(plan.variants.size());
    for (uint32_t i = 0; i < plan.sites.size(); i++) {
        const uint32_t variant = plan.sites[i].variant;
        const std::string& function = plan.sites[i].function;
        only_sites_[variant] = has_site[variant] ? no_index : i;
        const bool differs = has_site[variant] &&
                             (!only_functions_[variant] || *only_functions_[variant] != function);
        only_functions_[variant] = differs || function.empty() ? nullptr : &function;
        has_site[variant] = true;
    }
    place_globals();
    contexts = find_contexts(*this);
}

llvm::Constant* ScriptModule::handler_address(uint32_t variant) {
    return llvm::ConstantExpr::getInBoundsGetElementPtr(
        handlers_->getValueType(), handlers_,
        llvm::ArrayRef<llvm::Constant*>{number(0), number(variant)});
}

llvm::Constant* ScriptModule::site_address(uint32_t site) {
    return llvm::ConstantExpr::getInBoundsGetElementPtr(
        sites_->getValueType(), sites_, llvm::ArrayRef<llvm::Constant*>{number(0), number(site)});
}

llvm::Value* ScriptModule::site_number(llvm::IRBuilder<>& builder, llvm::Value* site) const {
    llvm::Value* distance =
        builder.CreateExactSDiv(builder.CreateSub(builder.CreatePtrToInt(site, types.i64),
                                                  builder.CreatePtrToInt(sites_, types.i64)),
                                number(sizeof(djs_site)));
    return builder.CreateSelect(builder.CreateIsNull(site),
                                number(static_cast<int64_t>(DJS_EVENT_NO_SITE)), distance);
}

uint32_t ScriptModule::condition_number(const program::Probe& probe) const {
    for (uint32_t i = 0; i < conditions.size(); i++)
        if (conditions[i].probe == &probe)
            return i;
    return no_index;
}

llvm::Constant* ScriptModule::switch_of(const program::Probe& probe) {
    return llvm::ConstantExpr::getInBoundsGetElementPtr(
        switches_->getValueType(), switches_,
        llvm::ArrayRef<llvm::Constant*>{number(0), number(probe.index)});
}

llvm::Constant* ScriptModule::condition_state(uint32_t condition) {
    return llvm::ConstantExpr::getInBoundsGetElementPtr(
        condition_states_->getValueType(), condition_states_,
        llvm::ArrayRef<llvm::Constant*>{number(0), number(condition)});
}

std::string ScriptModule::kernel_address(uint64_t address) const {
    auto distance = static_cast<int64_t>(address - kernel.reference);
    return std::string(CodegenKernel::reference_symbol) + (distance < 0 ? "" : "+") +
           std::to_string(distance);
}

llvm::Value* ScriptModule::image_address(llvm::IRBuilder<>& builder, uint32_t image,
                                         uint64_t address, std::string_view what) {
    if (plan.images[image].kind == ImageKind::Kernel) {
        // The kernel may have been relocated as a whole: the symbol tells by how much.
        llvm::Value* here =
            builder.CreatePtrToInt(runtime(CodegenKernel::reference_symbol), types.i64);
        return builder.CreateAdd(here, number(static_cast<int64_t>(address - kernel.reference)));
    }
    // The address of a module is known when it is loaded; until then its variables' addresses are
    // invalid.
    const uint32_t segment = segment_of(image, address, what);
    auto* biases =
        llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal("djs_biases", types.pointer));
    biases->setDSOLocal(true);
    llvm::Value* table = builder.CreateLoad(types.pointer, biases);
    llvm::Value* bias = builder.CreateLoad(
        types.i64, builder.CreateConstInBoundsGEP1_32(types.i64, table, segment), true);
    if (kernel.injected) // the program is there, maybe where it was linked to be
        return builder.CreateAdd(bias, number(static_cast<int64_t>(address)));
    return builder.CreateSelect(builder.CreateICmpEQ(bias, number(0)), number(0),
                                builder.CreateAdd(bias, number(static_cast<int64_t>(address))));
}

llvm::Constant* ScriptModule::code_symbol(const std::string& name) {
    auto* symbol = module.getOrInsertGlobal(name, types.i8);
    llvm::cast<llvm::GlobalVariable>(symbol)->setDSOLocal(true);
    return symbol;
}

bool ScriptModule::is_sorted(const program::Global& global) const {
    const GlobalStorage& storage = storage_.at(&global);
    return storage.kind == GlobalStorage::Kind::Map &&
           std::any_of(iterators_.begin(), iterators_.end(), [&](const Iterator& iterator) {
               return iterator.map == storage.index && iterator.room + iterator.task_room > 0;
           });
}

void ScriptModule::set_attributes(llvm::Function* function) const {
    using llvm::Attribute;
    for (auto attribute : {Attribute::NoUnwind, Attribute::NoRedZone, Attribute::NoImplicitFloat,
                           Attribute::NullPointerIsValid})
        function->addFnAttr(attribute);
    function->addFnAttr("no-jump-tables", "true");
    function->addFnAttr("no-builtins");
    function->addFnAttr("use-soft-float", "true");
    arch::prepare_function(*function, kernel.mitigations);
    if (function->isDeclaration())
        return;
    function->setSection(".kprobes.text");
    if (kernel.call_padding > 0) {
        function->addFnAttr("patchable-function-prefix", std::to_string(kernel.call_padding));
        function->addFnAttr("patchable-function-entry", "0");
        function->setAlignment(llvm::Align(16));
    }
}

llvm::Function* ScriptModule::create_function(llvm::FunctionType* type, const std::string& name) {
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
    function->setDSOLocal(true);
    return function;
}

namespace {

llvm::Type* type_of_letter(const AbiTypes& types, char letter) {
    switch (letter) {
    case 'v':
        return types.void_type;
    case 'i':
        return types.i32;
    case 'l':
        return types.i64;
    default:
        return types.pointer;
    }
}

} // namespace

llvm::Function* ScriptModule::runtime(std::string_view name) {
    if (auto* known = module.getFunction(name))
        return known;
    std::string_view signature = runtime_signature(name);
    std::vector<llvm::Type*> parameters;
    for (char letter : signature.substr(1))
        parameters.push_back(type_of_letter(types, letter));
    auto* type = llvm::FunctionType::get(type_of_letter(types, signature[0]), parameters, false);
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    function->setDSOLocal(!kernel.user_space || kernel.injected);
    set_attributes(function);
    return function;
}

llvm::Function* ScriptModule::intrinsic(const program::Function& function) {
    std::string name = "djs_fn_" + function.intrinsic;
    if (auto* known = module.getFunction(name))
        return known;
    bool yields_text = function.return_type == program::Type::String;
    std::vector<llvm::Type*> parameters{types.pointer};
    if (yields_text)
        parameters.push_back(types.pointer);
    for (uint32_t i = 0; i < function.parameter_count; i++)
        parameters.push_back(function.locals[i].type == program::Type::String
                                 ? static_cast<llvm::Type*>(types.pointer)
                                 : types.i64);
    llvm::Type* result = function.return_type == program::Type::Long ? types.i64 : types.void_type;
    auto* declared = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                            llvm::GlobalValue::ExternalLinkage, name, module);
    declared->setDSOLocal(!kernel.user_space || kernel.injected);
    set_attributes(declared);
    return declared;
}

llvm::Constant* ScriptModule::text(std::string_view value) {
    auto known = texts_.find(value);
    if (known != texts_.end())
        return known->second;
    // Padded with 0 to a multiple of 8, in which units short strings are copied.
    std::string padded(value);
    padded.resize((value.size() + 8) & ~size_t{7});
    auto* data = llvm::ConstantDataArray::getString(context, padded, false);
    llvm::GlobalVariable* result = constant(data, "djs_text");
    result->setAlignment(llvm::Align(8)); // for runtime/text/words.h
    texts_.emplace(value, result);
    return result;
}

llvm::GlobalVariable* ScriptModule::constant(llvm::Constant* value, const std::string& name) {
    auto* variable = new llvm::GlobalVariable(module, value->getType(), true,
                                              llvm::GlobalValue::PrivateLinkage, value, name);
    variable->setDSOLocal(true);
    return variable;
}

// The kernel allocates at most 32 KB of per-CPU memory at once (PCPU_MIN_UNIT_SIZE), and a
// statistic has two copies per CPU (globals/globals.c). A larger one is shared, under its lock.
static bool fits_percpu(const llvm::GlobalVariable& shape) {
    constexpr uint64_t most = 32 << 10;
    const auto* bytes =
        llvm::cast<llvm::ConstantInt>(shape.getInitializer()->getAggregateElement(7u));
    return 2 * (DJS_ALIGN8(bytes->getZExtValue()) + sizeof(uint64_t)) <= most;
}

void ScriptModule::place_globals() {
    bool is_shared = false;
    auto variable = [&](llvm::Type* type, llvm::Constant* initial, const std::string& name) {
        // --hosts: what hosts have is added from outside (inprocess/merged_script.h).
        auto* v = new llvm::GlobalVariable(module, type, false,
                                           is_shared ? llvm::GlobalValue::ExternalLinkage
                                                     : llvm::GlobalValue::InternalLinkage,
                                           initial, "djs_global_" + name);
        v->setDSOLocal(true);
        return v;
    };
    for (const auto& global : program.globals) {
        GlobalStorage storage;
        is_shared = global->is_shared;
        bool percpu = global->storage == program::Storage::PerCpu;
        if (global->value == program::Type::Statistic) {
            storage.shape = statistic_shape(global->statistic);
            percpu = percpu && fits_percpu(*storage.shape);
        }
        if (global->is_array()) {
            storage.kind = GlobalStorage::Kind::Map;
            storage.index = static_cast<uint32_t>(maps_.size());
            maps_.push_back(global.get());
            storage.variable = variable(types.pointer, null(), global->name);
        } else if (global->value == program::Type::Statistic && percpu) {
            storage.kind = GlobalStorage::Kind::PerCpuStatistic;
            storage.index = static_cast<uint32_t>(percpu_statistics_.size());
            percpu_statistics_.push_back(global.get());
            storage.inline_adds =
                !global->statistic.variance && !global->statistic.deleted &&
                global->statistic.histogram != program::StatisticNeeds::Histogram::Linear;
            storage.variable = variable(types.pointer, null(), global->name);
        } else if (global->value == program::Type::Statistic) {
            storage.kind = GlobalStorage::Kind::Statistic;
            djs_statistic_shape shape{};
            shape.buckets = llvm::cast<llvm::ConstantInt>(
                                storage.shape->getInitializer()->getAggregateElement(1u))
                                ->getZExtValue();
            auto* type = llvm::ArrayType::get(types.i64, sizeof(djs_statistic) / 8 + shape.buckets);
            storage.variable = variable(type, llvm::ConstantAggregateZero::get(type), global->name);
        } else if (global->storage == program::Storage::Constant) {
            storage.kind = GlobalStorage::Kind::Constant;
        } else if (global->value == program::Type::String) {
            storage.kind = GlobalStorage::Kind::Text;
            auto* type = llvm::ArrayType::get(types.i8, string_bytes());
            std::string initial = global->initial_text.substr(0, string_bytes() - 1);
            initial.resize(string_bytes());
            storage.variable = variable(
                type, llvm::ConstantDataArray::getString(context, initial, false), global->name);
            storage.variable->setAlignment(llvm::Align(8));
        } else if (percpu) {
            storage.kind = GlobalStorage::Kind::Counter;
            storage.index = counter_count_++;
            if (counter_count_ == max_counters + 1)
                diagnostics
                    .report(DiagnosticKind::TooManyCounters, global->range,
                            {std::to_string(max_counters)})
                    .hint("use one array instead of many counters");
        } else {
            storage.variable = variable(types.i64, number(global->initial_number), global->name);
        }
        bool shared = storage.kind == GlobalStorage::Kind::Map ||
                      storage.kind == GlobalStorage::Kind::Number ||
                      storage.kind == GlobalStorage::Kind::Text ||
                      storage.kind == GlobalStorage::Kind::Statistic;
        if (shared)
            storage.lock = static_cast<int>(lock_count_++);
        storage_.emplace(global.get(), storage);
    }
    if (counter_count_ > 0) {
        auto* type = llvm::ArrayType::get(types.i64, counter_count_);
        if (kernel.user_space) { // the runtime's own memory
            counters_ = new llvm::GlobalVariable(
                module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr, "djs_counters");
            counters_->setDSOLocal(kernel.injected);
            return;
        }
        counters_ =
            new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage,
                                     llvm::ConstantAggregateZero::get(type), "djs_counters");
        counters_->setDSOLocal(true);
        counters_->setSection(".data..percpu");
        counters_->setAlignment(llvm::Align(8));
    }
}

llvm::GlobalVariable* ScriptModule::lock_memory() {
    if (!locks_) {
        auto* type = llvm::ArrayType::get(types.i8, uint64_t{lock_count_} * DJS_LOCK_BYTES);
        locks_ = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::PrivateLinkage,
                                          llvm::ConstantAggregateZero::get(type), "djs_locks");
        locks_->setDSOLocal(true);
        locks_->setAlignment(llvm::Align(DJS_LOCK_BYTES));
    }
    return locks_;
}

llvm::Constant* ScriptModule::lock_address(uint32_t lock) {
    return llvm::ConstantExpr::getInBoundsGetElementPtr(types.i8, lock_memory(),
                                                        number(int64_t{lock} * DJS_LOCK_BYTES));
}

llvm::Constant* ScriptModule::counter_address(uint32_t counter) const {
    return llvm::ConstantExpr::getInBoundsGetElementPtr(
        counters_->getValueType(), counters_,
        llvm::ArrayRef<llvm::Constant*>{number(0), number(counter)});
}

llvm::Constant* ScriptModule::statistic_shape_value(const program::StatisticNeeds& needs,
                                                    bool inline_adds) const {
    using Histogram = program::StatisticNeeds::Histogram;
    uint32_t kind = DJS_HISTOGRAM_NONE, buckets = 0;
    if (needs.histogram == Histogram::Log) {
        kind = DJS_HISTOGRAM_LOG;
        buckets = DJS_LOG_BUCKETS;
    } else if (needs.histogram == Histogram::Linear) {
        kind = DJS_HISTOGRAM_LINEAR;
        buckets = needs.linear_buckets();
    }
    uint32_t bytes = static_cast<uint32_t>(sizeof(djs_statistic)) + buckets * 8;
    return types.make(contract::djs_statistic_shape{.histogram = kind,
                                                    .buckets = buckets,
                                                    .low = needs.low,
                                                    .high = needs.high,
                                                    .width = needs.width,
                                                    .variance = needs.variance,
                                                    .variance_shift = needs.variance_shift,
                                                    .bytes = bytes,
                                                    .inline_adds = inline_adds});
}

llvm::GlobalVariable* ScriptModule::statistic_shape(const program::StatisticNeeds& needs) {
    std::string key = std::to_string(static_cast<int>(needs.histogram)) + "," +
                      std::to_string(needs.low) + "," + std::to_string(needs.high) + "," +
                      std::to_string(needs.width) + "," + std::to_string(needs.variance) + "," +
                      std::to_string(needs.variance_shift);
    auto& shape = shapes_[key];
    if (!shape)
        shape = constant(statistic_shape_value(needs), "djs_shape");
    return shape;
}

uint32_t ScriptModule::format(const Format& format) {
    return formats_.emplace(format, static_cast<uint32_t>(formats_.size())).first->second;
}

std::string array_overflow(const program::Global& array) {
    return array.size ? "Array overflow, check size limit (" + std::to_string(array.size) + ")"
                      : "Array overflow, check MAXMAPENTRIES";
}

bool ScriptModule::can_abort() const {
    return std::any_of(program.functions.begin(), program.functions.end(),
                       [](const auto& each) { return each->intrinsic == "abort"; });
}

uint32_t ScriptModule::place(SourceRange range) {
    return place(first_token(diagnostics.sources(), range), range);
}

uint32_t ScriptModule::place(const std::string& what, SourceRange range) {
    std::string text = what + " at " + diagnostics.sources().where(range);
    auto [entry, added] = place_numbers_.emplace(text, static_cast<uint32_t>(places_.size()));
    if (added)
        places_.push_back(text);
    return entry->second;
}

llvm::GlobalVariable* ScriptModule::iterator(const program::Foreach& foreach, uint32_t fixed,
                                             const RunContexts& run_contexts) {
    auto [known, is_new] = iterator_numbers_.emplace(&foreach, iterators_.size());
    if (is_new) {
        auto* order = constant(
            types.make(contract::djs_map_order{.key = foreach.sort_key,
                                               .ascending = foreach.ascending,
                                               .stat_op = static_cast<uint32_t>(foreach.sort_stat),
                                               .fixed = fixed}),
            "djs_order");
        auto* variable =
            new llvm::GlobalVariable(module, types.pointer, false,
                                     llvm::GlobalValue::InternalLinkage, null(), "djs_iterator");
        variable->setDSOLocal(true);
        iterators_.push_back({order, variable, storage(*foreach.array).index, 0, 0, false});
    }
    Iterator& iterator = iterators_[known->second];
    const uint32_t all = capacity(*foreach.array);
    uint32_t wanted = all;
    if (foreach.limit && foreach.limit->kind == program::ExpressionKind::Number)
        wanted = static_cast<uint32_t>(
            std::clamp<int64_t>(program::as<program::Number>(*foreach.limit).value, 1, all));
    iterator.in_task |= run_contexts.task;
    if (foreach.sort_key >= 0) {
        if (run_contexts.alone)
            iterator.room = wanted;
        if (run_contexts.others) // larger ones are an error
            iterator.room = std::max(iterator.room, wanted <= DJS_SELECTED_AT_ONCE
                                                        ? wanted
                                                        : std::min(all, DJS_SORTED_AT_ONCE));
        if (run_contexts.task)
            iterator.task_room = wanted;
    }
    return iterator.variable;
}

void ScriptModule::unexpected(SourceRange range, const std::string& what) {
    diagnostics.report(DiagnosticKind::CodegenInternal, range, {what});
}

} // namespace djstap::codegen
