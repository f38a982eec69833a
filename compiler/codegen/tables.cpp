// SPDX-License-Identifier: GPL-2.0-or-later
// Emits djs_script and everything it points to: the tables of runtime/include/script.h.
#include "codegen/point_shape.h"
#include "codegen/script_module.h"
#include "codegen/stacks.h"

#include "include/script.h"

#include <algorithm>
#include <array>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/MC/StringTableBuilder.h>
#include <llvm/Support/MathExtras.h>

namespace djstap::codegen {

static_assert(static_cast<int>(ImageKind::Kernel) == DJS_IMAGE_KERNEL &&
              static_cast<int>(ImageKind::Module) == DJS_IMAGE_MODULE &&
              static_cast<int>(ImageKind::Program) == DJS_IMAGE_PROGRAM);

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
        uses.push_back(types.make(contract::djs_lock_use{.lock = lock, .write = write}));
    return array(types.djs_lock_use, uses, "djs_lock_uses");
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
    if (variant && variant->probe->most_statements)
        actions = std::min<int64_t>(variant->probe->most_statements, INT32_MAX);
    const MechanismArguments arguments =
        variant ? mechanism_arguments(variant->payload) : MechanismArguments{};
    const std::string of = variant ? mechanism_program(variant->payload) : "";
    auto function = [&](llvm::Function* f) { return f ? static_cast<llvm::Constant*>(f) : null(); };
    if (!handler.locks.empty())
        flags |= DJS_HANDLER_IRQS_OFF;
    return types.make(contract::djs_handler{
        .body = function(handler.body),
        .entry = function(handler.entry),
        .tracepoint = function(handler.tracepoint),
        .by_regs = function(handler.by_regs),
        .by_ftrace = function(handler.by_ftrace),
        .locks = lock_table(handler),
        .lock_count = handler.locks.size(),
        .kind = kind,
        .flags = flags,
        .saved = saved,
        .max_actions = actions,
        .condition = condition,
        .probe = variant && variant->probe->has_switch ? variant->probe->index : no_index,
        .stack = 0, // stored in the object when it is known: store_stacks()
        .arguments = llvm::ConstantDataArray::get(context, llvm::ArrayRef<uint64_t>(arguments)),
        .written = written.empty() ? null() : text(written),
        .program = of.empty() ? null() : text(of)});
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
                         (contexts.variants[i].task ? DJS_HANDLER_IN_TASK : 0) |
                         (variant.syscall ? DJS_HANDLER_SYSCALL : 0);
        elements.push_back(handler_entry(handlers[i], static_cast<uint32_t>(variant.kind), flags,
                                         &variant, written[i]));
    }
    for (const Condition& condition : conditions)
        elements.push_back(handler_entry(condition.handler, DJS_HANDLER_CONDITION, 0, nullptr, {}));
    handlers_->setInitializer(llvm::ConstantArray::get(
        llvm::ArrayType::get(types.djs_handler, elements.size()), elements));
}

namespace {

// Returns a share of a CPU's time; 0: no limit. At most 100, which a handler that never ends
// reaches.
int64_t overload_percent(const Limits& limits) {
    if (limits.STP_NO_OVERLOAD != 0)
        return 0;
    return std::clamp<int64_t>(limits.STP_OVERLOAD_THRESHOLD / (limits.STP_OVERLOAD_INTERVAL / 100),
                               1, 100);
}

} // namespace

uint32_t ScriptModule::segment_of(uint32_t image, uint64_t address, std::string_view what) {
    if (auto number = images_.number_of(image, address))
        return *number;
    diagnostics.report(DiagnosticKind::CodegenInternal, {},
                       {std::string(what) + " lies in no segment of " + plan.images[image].name});
    return no_index;
}

llvm::Constant* ScriptModule::image_table(uint32_t& count) {
    std::vector<llvm::Constant*> elements;
    for (const ProbedImage* image : images_.images()) {
        // What is checked on a running system must be in a segment, whose address is known there.
        const bool has_id = std::any_of(
            image->segments.begin(), image->segments.end(),
            [&](const Segment& segment) { return segment.contains(image->build_id_address); });
        const std::string id =
            has_id && image->build_id_address ? llvm::fromHex(image->build_id) : "";
        elements.push_back(types.make(contract::djs_image{
            .name = text(image->name),
            .kind = static_cast<uint32_t>(image->kind),
            .build_id_bytes = id.size(),
            .build_id_address = image->build_id_address,
            .build_id =
                constant(llvm::ConstantDataArray::getString(context, id, false), "djs_build_id")}));
    }
    count = static_cast<uint32_t>(elements.size());
    return array(types.djs_image, elements, "djs_images");
}

llvm::Constant* ScriptModule::segment_table(uint32_t& count) {
    std::vector<llvm::Constant*> elements;
    const std::vector<const ProbedImage*> images = images_.images();
    for (const auto& [image, segment] : images_.segments())
        elements.push_back(types.make(contract::djs_segment{
            .symbol = text(segment->symbol),
            .check_symbol = text(segment->check_symbol),
            .address = segment->address,
            .check_address = segment->check_address,
            .file_distance = segment->file_distance,
            .image = std::find(images.begin(), images.end(), image) - images.begin(),
            .executable = segment->executable}));
    count = static_cast<uint32_t>(elements.size());
    return array(types.djs_segment, elements, "djs_segments");
}

llvm::Constant* ScriptModule::fill_sites(uint32_t& text_bytes) {
    // An offset takes the place of a pointer, which would need a relocation. The table begins with
    // an empty text.
    llvm::StringTableBuilder texts(llvm::StringTableBuilder::ELF);
    // The builder keeps references to the texts.
    auto offset_of = [&](const std::string& text) { return text.empty() ? 0 : texts.add(text); };
    // Code of one image is within 2 GB.
    auto distance = [&](const Site& site, uint64_t address) {
        const auto bytes = static_cast<int64_t>(address - site.address);
        if (!llvm::isInt<32>(bytes) || bytes == DJS_NO_FALLBACK)
            diagnostics.report(DiagnosticKind::CodegenInternal, {},
                               {"the function of " + site.point + " is too far away"});
        return static_cast<int32_t>(bytes);
    };
    std::vector<llvm::Constant*> elements;
    std::vector<PointShape> points;
    points.reserve(plan.sites.size());
    for (const Site& site : plan.sites) {
        const PointShape& point = points.emplace_back(shape_of_point(site.point, site.function));
        elements.push_back(types.make(contract::djs_site{
            .address = site.address,
            .entry = site.entry ? distance(site, site.entry) : 0,
            .fallback = site.fallback ? distance(site, site.fallback) : DJS_NO_FALLBACK,
            .handler = site.variant,
            .trampoline = site.trampoline,
            .next = site.next,
            .segment = site.image == no_index ? no_index
                                              : segment_of(site.image, site.address, site.point),
            .point = offset_of(point.shape),
            .file = offset_of(point.file),
            .line = point.line,
            .function = offset_of(site.function),
            .name = site.name == site.point ? no_index : offset_of(site.name),
            .mechanism = static_cast<uint8_t>(site.mechanism),
            .forced = site.forced,
            .maxactive = site.maxactive ? site.maxactive : options.limits.KRETACTIVE,
            .code = offset_of(site.code),
            .code_bytes = static_cast<uint16_t>(site.code.size()),
            .fentry = site.fentry}));
    }
    sites_->setInitializer(
        llvm::ConstantArray::get(llvm::ArrayType::get(types.djs_site, elements.size()), elements));
    texts.finalizeInOrder();
    text_bytes = static_cast<uint32_t>(texts.getSize());
    std::string bytes(text_bytes, '\0');
    texts.write(reinterpret_cast<uint8_t*>(bytes.data()));
    return constant(llvm::ConstantDataArray::getString(context, bytes, false), "djs_site_texts");
}

llvm::Constant* ScriptModule::map_shape(const program::Global& global) const {
    auto type_of = [](program::Type type) -> uint8_t {
        return type == program::Type::String      ? DJS_STRING
               : type == program::Type::Stack     ? DJS_STACK
               : type == program::Type::Statistic ? DJS_STATISTIC
                                                  : DJS_LONG;
    };
    static_assert(program::max_keys == DJS_MAX_KEYS);
    std::array<uint8_t, DJS_MAX_KEYS> keys{};
    for (size_t i = 0; i < keys.size() && i < global.keys.size(); i++)
        keys[i] = type_of(global.keys[i]);
    return types.make(
        contract::djs_map_shape{.key_count = global.keys.size(),
                                .value_type = type_of(global.value),
                                .wrap = global.wrap,
                                .clears = contexts.cleared.count(&global) > 0,
                                .key_types = llvm::ConstantDataArray::get(context, keys),
                                .capacity = capacity(global),
                                .string_bytes = string_bytes(),
                                .stack_words = stack_words(),
                                .statistic = statistic_shape_value(global.statistic)});
}

void ScriptModule::emit_tables(const std::vector<CompiledHandler>& handlers,
                               const std::vector<CompiledTrampoline>& compiled_trampolines,
                               uint32_t scratch_bytes, const std::string& meta) {
    fill_handlers(handlers);
    uint32_t site_text_bytes = 0;
    llvm::Constant* site_texts = fill_sites(site_text_bytes);

    std::vector<llvm::Constant*> trampolines, maps, statistics, iterators, format_texts,
        format_types, place_texts;
    for (const CompiledTrampoline& trampoline : compiled_trampolines)
        trampolines.push_back(types.make(
            contract::djs_trampoline{.direct = trampoline.direct,
                                     .dispatch = trampoline.dispatch ? trampoline.dispatch : null(),
                                     .aim = trampoline.aim ? trampoline.aim : null(),
                                     .by_address = trampoline.by_address}));
    for (const program::Global* global : maps_)
        maps.push_back(types.make(contract::djs_map_use{.shape = map_shape(*global),
                                                        .map = storage_.at(global).variable}));
    for (const program::Global* global : percpu_statistics_) {
        const GlobalStorage& storage = storage_.at(global);
        statistics.push_back(types.make(contract::djs_statistic_use{
            .shape = statistic_shape_value(global->statistic, storage.inline_adds),
            .percpu = storage.variable}));
    }
    for (const Iterator& iterator : iterators_)
        iterators.push_back(types.make(contract::djs_iterator_use{.order = iterator.order,
                                                                  .iterator = iterator.variable,
                                                                  .map = iterator.map,
                                                                  .room = iterator.room,
                                                                  .task_room = iterator.task_room,
                                                                  .in_task = iterator.in_task}));
    const std::string fields(djs_event_field_bytes(options.event_fields) / sizeof(uint64_t),
                             DJS_EVENT_FIELD_TYPE);
    format_texts.resize(formats_.size());
    format_types.resize(formats_.size());
    for (const auto& [format, index] : formats_) {
        format_texts[index] = text(format.text);
        format_types[index] = text(fields + format.types);
    }
    for (const std::string& place : places_)
        place_texts.push_back(text(place));

    auto* meta_data = llvm::ConstantDataArray::getString(context, meta, true);
    auto* meta_variable = constant(meta_data, "djs_meta");
    meta_variable->setSection(".djstap.meta");

    const Limits& limits = options.limits;
    uint32_t image_count = 0, segment_count = 0;
    llvm::Constant* images = image_table(image_count);
    llvm::Constant* segments = segment_table(segment_count);
    llvm::Constant* value = types.make(contract::djs_script{
        .abi_version = DJS_ABI_VERSION,
        .handler_count = handlers.size() + conditions.size(),
        .site_count = plan.sites.size(),
        .map_count = maps.size(),
        .statistic_count = statistics.size(),
        .iterator_count = iterators.size(),
        .lock_count = lock_count_,
        .format_count = format_texts.size(),
        .trampoline_count = trampolines.size(),
        .image_count = image_count,
        .segment_count = segment_count,
        .site_text_bytes = site_text_bytes,
        .handlers = handlers_,
        .sites = sites_,
        .site_texts = site_texts,
        .maps = array(types.djs_map_use, maps, "djs_maps"),
        .statistics = array(types.djs_statistic_use, statistics, "djs_statistics"),
        .iterators = array(types.djs_iterator_use, iterators, "djs_iterators"),
        .trampolines = array(types.djs_trampoline, trampolines, "djs_trampolines"),
        .images = images,
        .segments = segments,
        .counters = counters_ ? static_cast<llvm::Constant*>(counters_) : null(),
        .locks = lock_count_ ? lock_memory() : null(),
        .counter_count = counter_count_,
        .scratch_bytes = scratch_bytes,
        .embedded_bytes = embedded_.uses_context() ? DJS_EMBEDDED_BYTES(string_bytes()) : 0,
        .formats = array(types.pointer, format_texts, "djs_formats"),
        .format_types = array(types.pointer, format_types, "djs_format_types"),
        .meta = meta_variable,
        .direct_table = kernel.direct_table,
        .fast_clock = kernel.fast_clock,
        .irq_stack = kernel.irq_stack,
        .loaded_mm = kernel.loaded_mm,
        .rethook = kernel.rethook,
        .graph_return = kernel.graph_return,
        .kernel_version = text(kernel.version),
        .kernel_release = text(kernel.release),
        .places = array(types.pointer, place_texts, "djs_places"),
        .place_count = place_texts.size(),
        .meta_bytes = meta.size(),
        .max_errors = limits.MAXERRORS,
        .max_skipped = limits.MAXSKIPPED,
        .max_trylock = limits.MAXTRYLOCK,
        .max_nesting = max_nesting(),
        .string_bytes = string_bytes(),
        .max_backtrace = limits.MAXBACKTRACE,
        .max_symbols = uses_symbols(program) ? limits.MAXSYMBOLS : 0,
        .user_stacks = uses_programs(program),
        .max_perf_threads = limits.MAXPERFTHREADS,
        .ring_bytes = limits.RING_KB * 1024,
        .overload_ms = limits.STP_OVERLOAD_INTERVAL / 1000000,
        .overload_percent = overload_percent(limits),
        .condition_count = conditions.size(),
        .condition_states = condition_states_ ? condition_state(0) : null(),
        .switches = switches_ ? switches_ : null(),
        .switch_count = switches_ ? switches_->getValueType()->getArrayNumElements() : 0,
        .elsewhere = elsewhere ? elsewhere : null()});
    auto* script = new llvm::GlobalVariable(
        module, types.djs_script, true, llvm::GlobalValue::ExternalLinkage, value, "djs_script");
    script->setDSOLocal(true);
}

} // namespace djstap::codegen
