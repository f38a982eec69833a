// djs_script and all it points to: the tables of runtime/include/script.h.
#include "codegen/script_module.h"

#include "include/script.h"

#include <algorithm>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>

namespace djstap::codegen {

llvm::Constant* ScriptModule::array(llvm::Type* type, const std::vector<llvm::Constant*>& elements,
                                    const std::string& name) {
    if (elements.empty())
        return null();
    return constant(llvm::ConstantArray::get(llvm::ArrayType::get(type, elements.size()), elements),
                    name);
}

llvm::Constant* ScriptModule::lock_table(const CompiledHandler& handler) {
    std::vector<llvm::Constant*> uses;
    for (auto [lock, write] : handler.locks)
        uses.push_back(llvm::ConstantStruct::get(types.lock_use,
                                                 {word(static_cast<uint32_t>(lock)), word(write)}));
    return array(types.lock_use, uses, "djs_locks");
}

llvm::Constant* ScriptModule::handler_entry(const CompiledHandler& handler, uint32_t kind,
                                            uint32_t flags, const Variant* variant,
                                            const std::string& written) {
    uint32_t saved = 0, condition = 0;
    if (variant) {
        for (const auto& value : variant->probe->entry_values)
            saved += value->type == program::Type::String ? (string_bytes() + 7) / 8 : 1;
        condition = variant->probe->arms ? condition_number(*variant->probe) + 1 : 0;
    }
    const bool is_session =
        kind == DJS_HANDLER_BEGIN || kind == DJS_HANDLER_END || kind == DJS_HANDLER_ERROR;
    int64_t actions =
        is_session ? options.limits.MAXACTION_INTERRUPTIBLE : options.limits.MAXACTION;
    std::vector<llvm::Constant*> arguments;
    for (size_t i = 0; i < 3; i++)
        arguments.push_back(number(variant ? static_cast<int64_t>(variant->arguments[i]) : 0));
    auto function = [&](llvm::Function* f) { return f ? static_cast<llvm::Constant*>(f) : null(); };
    if (!handler.locks.empty())
        flags |= DJS_HANDLER_IRQS_OFF;
    return llvm::ConstantStruct::get(
        types.handler,
        {function(handler.body), function(handler.entry), function(handler.tracepoint),
         function(handler.by_regs), function(handler.by_ftrace), lock_table(handler),
         word(static_cast<uint32_t>(handler.locks.size())), word(kind), word(flags), word(saved),
         word(static_cast<uint32_t>(actions)),
         word(static_cast<uint32_t>(variant ? variant->priority : 0)),
         number(static_cast<int64_t>(variant ? variant->timer_ns : 0)),
         number(static_cast<int64_t>(variant ? variant->timer_random_ns : 0)),
         llvm::ConstantArray::get(llvm::ArrayType::get(types.i64, 3), arguments), word(condition),
         word(0), // the stack it needs is written into the object: store_stacks()
         written.empty() ? null() : text(written)});
}

void ScriptModule::fill_handlers(const std::vector<CompiledHandler>& handlers) {
    std::vector<llvm::Constant*> elements;
    std::vector<std::string> written(handlers.size());
    for (const Site& site : plan.sites)
        if (written[site.variant].empty())
            written[site.variant] = site.written;
    for (size_t i = 0; i < handlers.size(); i++) {
        const Variant& variant = plan.variants[i];
        uint32_t flags = (handlers[i].checks_state ? DJS_HANDLER_CHECKS_STATE : 0) |
                         (variant.kind == HandlerKind::Return ? DJS_HANDLER_MAY_LINGER : 0) |
                         (contexts.variants[i].task ? DJS_HANDLER_IN_TASK : 0);
        elements.push_back(handler_entry(handlers[i], static_cast<uint32_t>(variant.kind), flags,
                                         &variant, written[i]));
    }
    for (const Condition& condition : conditions)
        elements.push_back(handler_entry(condition.handler, DJS_HANDLER_CONDITION, 0, nullptr, {}));
    handlers_->setInitializer(
        llvm::ConstantArray::get(llvm::ArrayType::get(types.handler, elements.size()), elements));
}

namespace {

// Of a CPU's time; 0: no limit. At most 100, which a handler that never ends reaches.
int64_t overload_percent(const Limits& limits) {
    if (limits.STP_NO_OVERLOAD != 0)
        return 0;
    return std::clamp<int64_t>(limits.STP_OVERLOAD_THRESHOLD / (limits.STP_OVERLOAD_INTERVAL / 100),
                               1, 100);
}

} // namespace

// The number of the anchor in the section that holds the site.
uint32_t ScriptModule::anchor_of(const Site& site) const {
    if (site.module == no_index)
        return no_index;
    uint32_t number = 0;
    for (uint32_t i = 0; i < site.module; i++)
        number += static_cast<uint32_t>(plan.modules[i].anchors.size());
    for (const ModuleAnchor& anchor : plan.modules[site.module].anchors) {
        if (site.address >= anchor.section_begin && site.address < anchor.section_end)
            return number;
        number++;
    }
    diagnostics.report(
        DiagnosticKind::CodegenInternal, {},
        {"a site of module " + plan.modules[site.module].name + " lies in none of its sections"});
    return no_index;
}

llvm::Constant* ScriptModule::anchor_table(uint32_t& count) {
    std::vector<llvm::Constant*> anchors;
    for (const ProbedModule& module : plan.modules)
        for (const ModuleAnchor& anchor : module.anchors)
            anchors.push_back(llvm::ConstantStruct::get(
                types.anchor, {text(module.name), text(anchor.symbol), text(anchor.check_symbol),
                               number(static_cast<int64_t>(anchor.address)),
                               number(static_cast<int64_t>(anchor.check_address))}));
    count = static_cast<uint32_t>(anchors.size());
    return array(types.anchor, anchors, "djs_anchors");
}

void ScriptModule::fill_sites() {
    std::vector<llvm::Constant*> elements;
    auto byte = [&](unsigned value) { return llvm::ConstantInt::get(types.i8, value); };
    for (const Site& site : plan.sites)
        elements.push_back(llvm::ConstantStruct::get(
            types.site,
            {number(static_cast<int64_t>(site.address)), number(static_cast<int64_t>(site.entry)),
             number(static_cast<int64_t>(site.fallback)), word(site.variant), word(site.target),
             word(site.next), word(anchor_of(site)), byte(static_cast<unsigned>(site.mechanism)),
             byte(site.forced), llvm::ConstantInt::get(types.i16, site.maxactive), text(site.point),
             text(site.function), text(site.name)}));
    sites_->setInitializer(
        llvm::ConstantArray::get(llvm::ArrayType::get(types.site, elements.size()), elements));
}

llvm::Constant* ScriptModule::map_shape(const program::Global& global) const {
    auto byte = [&](unsigned value) { return llvm::ConstantInt::get(types.i8, value); };
    auto type_of = [](program::Type type) {
        return type == program::Type::String      ? DJS_STRING
               : type == program::Type::Statistic ? DJS_STATISTIC
                                                  : DJS_LONG;
    };
    std::vector<llvm::Constant*> keys;
    for (size_t i = 0; i < DJS_MAX_KEYS; i++)
        keys.push_back(byte(i < global.keys.size() ? type_of(global.keys[i]) : 0));
    return llvm::ConstantStruct::get(
        types.map_shape,
        {byte(static_cast<unsigned>(global.keys.size())), byte(type_of(global.value)),
         byte(global.wrap), byte(contexts.cleared.count(&global) > 0),
         llvm::ConstantArray::get(llvm::ArrayType::get(types.i8, DJS_MAX_KEYS), keys),
         llvm::ConstantAggregateZero::get(llvm::ArrayType::get(types.i8, 3)),
         word(capacity(global)), word(string_bytes()), statistic_shape_value(global.statistic)});
}

void ScriptModule::emit_tables(const std::vector<CompiledHandler>& handlers,
                               const std::vector<CompiledTarget>& compiled_targets,
                               uint32_t scratch_bytes, const std::string& meta) {
    fill_handlers(handlers);
    fill_sites();

    std::vector<llvm::Constant*> targets, maps, statistics, iterators, format_texts, format_types,
        place_texts;
    for (const CompiledTarget& target : compiled_targets)
        targets.push_back(llvm::ConstantStruct::get(
            types.target, {target.direct, target.dispatch ? target.dispatch : null(),
                           target.aim ? target.aim : null(), word(target.by_address)}));
    for (const program::Global* global : maps_)
        maps.push_back(llvm::ConstantStruct::get(
            types.map_use, {map_shape(*global), storage_.at(global).variable}));
    for (const program::Global* global : percpu_statistics_)
        statistics.push_back(llvm::ConstantStruct::get(
            types.statistic_use,
            {statistic_shape_value(global->statistic, storage_.at(global).inline_adds),
             storage_.at(global).variable}));
    for (const Iterator& iterator : iterators_)
        iterators.push_back(llvm::ConstantStruct::get(
            types.iterator_use,
            {iterator.order, iterator.variable, word(iterator.map), word(iterator.room),
             word(iterator.task_room), word(iterator.in_task)}));
    format_texts.resize(formats_.size());
    format_types.resize(formats_.size());
    for (const auto& [format, index] : formats_) {
        format_texts[index] = text(format.text);
        format_types[index] = text(format.types);
    }
    for (const std::string& place : places_)
        place_texts.push_back(text(place));

    auto* meta_data = llvm::ConstantDataArray::getString(context, meta, true);
    auto* meta_variable = constant(meta_data, "djs_meta");
    meta_variable->setSection(".djstap.meta");

    const std::string build_id = llvm::fromHex(kernel.build_id);
    const Limits& limits = options.limits;
    auto size = [&](const auto& list) { return word(static_cast<uint32_t>(list.size())); };
    auto limit = [&](int64_t value) { return word(static_cast<uint32_t>(value)); };
    uint32_t anchor_count = 0;
    llvm::Constant* anchors = anchor_table(anchor_count);
    llvm::Constant* counters = counters_ ? static_cast<llvm::Constant*>(counters_) : null();
    std::vector<llvm::Constant*> fields{
        word(DJS_ABI_VERSION),
        word(static_cast<uint32_t>(handlers.size() + conditions.size())),
        size(plan.sites),
        size(maps),
        size(statistics),
        size(iterators),
        word(lock_count_),
        size(format_texts),
        handlers_,
        sites_,
        array(types.map_use, maps, "djs_maps"),
        array(types.statistic_use, statistics, "djs_statistics"),
        array(types.iterator_use, iterators, "djs_iterators"),
        array(types.target, targets, "djs_targets"),
        size(targets),
        word(anchor_count),
        anchors,
        word(counter_count_),
        word(scratch_bytes),
        counters,
        array(types.pointer, format_texts, "djs_formats"),
        array(types.pointer, format_types, "djs_format_types"),
        meta_variable,
        word(static_cast<uint32_t>(meta.size())),
        number(static_cast<int64_t>(kernel.anchor)),
        number(static_cast<int64_t>(kernel.direct_table)),
        number(static_cast<int64_t>(kernel.irq_stack)),
        number(static_cast<int64_t>(kernel.build_id_address)),
        constant(llvm::ConstantDataArray::getString(context, build_id, false), "djs_build_id"),
        text(kernel.version),
        text(kernel.release),
        array(types.pointer, place_texts, "djs_places"),
        size(place_texts),
        limit(limits.MAXERRORS),
        limit(limits.MAXSKIPPED),
        limit(limits.MAXTRYLOCK),
        limit(max_nesting()),
        word(string_bytes()),
        limit(limits.MAXBACKTRACE),
        limit(limits.RING_KB * 1024),
        limit(limits.STP_OVERLOAD_INTERVAL / 1000000),
        limit(overload_percent(limits)),
        size(conditions),
        word(kernel.build_id_address ? static_cast<uint32_t>(build_id.size()) : 0),
        condition_states_ ? condition_state(0) : null(),
        elsewhere ? elsewhere : null()};
    auto* script =
        new llvm::GlobalVariable(module, types.script, true, llvm::GlobalValue::ExternalLinkage,
                                 llvm::ConstantStruct::get(types.script, fields), "djs_script");
    script->setDSOLocal(true);
}

} // namespace djstap::codegen
