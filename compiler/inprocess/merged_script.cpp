// SPDX-License-Identifier: GPL-2.0-or-later
#include "inprocess/merged_script.h"

#include "include/map.h"
#include "include/statistic.h"
#include "inprocess/linked_script.h"
#include "inprocess/loaded_script.h"
#include "inprocess/user_session.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace djstap {

namespace {

// Where a shared global is.
struct Place {
    bool is_array = false, is_statistic = false;
    std::vector<program::Type> keys;
    int64_t initial = 0;
    djs_map** map = nullptr;            // an array
    int64_t* number = nullptr;          // a scalar
    djs_statistic* statistic = nullptr; // a scalar
    djs_statistic_shape shape{};        // of statistics
};

djs_statistic_shape shape_of(const program::StatisticNeeds& needs) {
    using Histogram = program::StatisticNeeds::Histogram;
    djs_statistic_shape shape{};
    if (needs.histogram == Histogram::Log) {
        shape.histogram = DJS_HISTOGRAM_LOG;
        shape.buckets = DJS_LOG_BUCKETS;
    } else if (needs.histogram == Histogram::Linear) {
        shape.histogram = DJS_HISTOGRAM_LINEAR;
        shape.buckets = needs.linear_buckets();
    }
    return shape;
}

const OutputKind& kind_of(const SessionOptions& options) {
    return options.outputs.requests.empty() ? text_kind() : *options.outputs.requests.front().kind;
}

class LinkedMerge : public MergedScript {
  public:
    LinkedMerge(ModuleMeta meta, SessionOptions options, Writer& output)
        : meta_(std::move(meta)), options_(std::move(options)),
          messages_(STDERR_FILENO, "the messages"),
          output_(kind_of(options_).make({.writer = output,
                                          .messages = messages_,
                                          .warnings = options_.warnings,
                                          .verbose = false})) {}

    Status load(const std::string& object, uint64_t ring_bytes,
                const std::vector<std::unique_ptr<program::Global>>& globals);
    void begin() override { session_->begin(); }
    bool is_due() const override { return session_->is_due(); }
    void turn() override { session_->turn(); }
    bool exit_requested() const override { return session_->exit_requested(); }
    SessionOutcome finish() override {
        const SessionOutcome outcome = session_->finish();
        commands_.wait();
        output_->end();
        output_->flush();
        return outcome;
    }
    Status add(const std::string& global, const std::vector<GlobalElement>& elements) override;
    Status replace(const std::string& global, const std::vector<GlobalElement>& elements) override;

  private:
    std::optional<Place> place_of(const program::Global& global) const;
    Status add(const std::string& name, const Place& place, const GlobalElement& element) const;
    static void merge(const Place& place, djs_statistic& into, const GlobalElement& element);

    ModuleMeta meta_;
    SessionOptions options_;
    Writer messages_;
    std::unique_ptr<Output> output_;
    SystemCommands commands_;
    RuntimeMemory memory_;
    std::optional<LinkedScript> script_;
    std::optional<UserSession> session_;
    std::optional<LoadedScript> loaded_;
    uint32_t string_bytes_ = 0;                     // MAXSTRINGLEN
    std::unordered_map<std::string, Place> places_; // by name
};

Status LinkedMerge::load(const std::string& object, uint64_t ring_bytes,
                         const std::vector<std::unique_ptr<program::Global>>& globals) {
    if (!memory_.made())
        return Failure{"no memory for the runtime", ""};
    auto script = LinkedScript::link(object);
    if (!script)
        return script.failure();
    script_.emplace(std::move(*script));
    session_.emplace(options_, meta_, *output_, nullptr, commands_,
                     UserSessionParts{.runtime = djs_user_runtime});
    djs_user_options runtime_options{};
    runtime_options.ring_bytes = ring_bytes;
    runtime_options.drain = UserSession::drain;
    runtime_options.data = &*session_;
    loaded_.emplace(script_->script(), runtime_options);
    if (!loaded_->made())
        return Failure{djs_user_complaint(), ""};
    string_bytes_ = script_->script().string_bytes;
    for (const auto& global : globals) {
        if (!global->is_shared)
            continue;
        const auto place = place_of(*global);
        if (!place)
            return Failure{"the merged global '" + global->name + "' is not in the script's object",
                           ""};
        places_.emplace(global->name, *place);
    }
    return Done();
}

std::optional<Place> LinkedMerge::place_of(const program::Global& global) const {
    void* const address = script_->symbol("djs_global_" + global.name);
    if (!address)
        return std::nullopt;
    Place place;
    place.is_array = global.is_array();
    place.is_statistic = global.value == program::Type::Statistic;
    place.keys = global.keys;
    place.initial = global.initial_number;
    place.shape = shape_of(global.statistic);
    if (place.is_array)
        place.map = static_cast<djs_map**>(address);
    else if (place.is_statistic)
        place.statistic = static_cast<djs_statistic*>(address);
    else
        place.number = static_cast<int64_t*>(address);
    return place;
}

void LinkedMerge::merge(const Place& place, djs_statistic& into, const GlobalElement& element) {
    // As the runtime has it: the numbers, and the buckets behind them.
    std::vector<int64_t> memory(sizeof(djs_statistic) / sizeof(int64_t) + place.shape.buckets);
    auto* const from = reinterpret_cast<djs_statistic*>(memory.data());
    from->count = element.numbers[GlobalElement::Count];
    from->sum = element.numbers[GlobalElement::Sum];
    from->min = element.numbers[GlobalElement::Min];
    from->max = element.numbers[GlobalElement::Max];
    const size_t buckets = std::min<size_t>(place.shape.buckets, element.buckets.size());
    std::copy_n(element.buckets.begin(), buckets, from->buckets);
    djs_statistic_merge(&place.shape, &into, from);
}

Status LinkedMerge::add(const std::string& name, const Place& place,
                        const GlobalElement& element) const {
    void* value = place.is_statistic ? static_cast<void*>(place.statistic) : place.number;
    if (place.is_array) {
        const auto parts = keys_of(element.keys);
        std::array<djs_value, DJS_MAX_KEYS> keys{};
        if (!parts || parts->size() != place.keys.size() || parts->size() > keys.size())
            return Failure{"an element of '" + name + "' has other keys", ""};
        std::vector<std::string> texts;
        texts.reserve(parts->size());
        for (size_t i = 0; i < parts->size(); i++) {
            const auto* const number = std::get_if<int64_t>(&(*parts)[i]);
            if ((place.keys[i] == program::Type::Long) != (number != nullptr))
                return Failure{"an element of '" + name + "' has other keys", ""};
            if (number) {
                keys[i].number = *number;
                continue;
            }
            const std::string& text = texts.emplace_back(std::get<std::string_view>((*parts)[i]));
            if (text.size() >= string_bytes_)
                return Failure{"a key of '" + name + "' is longer than MAXSTRINGLEN", ""};
            keys[i].text = text.c_str();
        }
        value = djs_map_insert(*place.map, keys.data());
        if (!value)
            return Failure{"'" + name + "' has no room for the elements of all hosts",
                           "-D MAXMAPENTRIES makes room"};
    }
    if (place.is_statistic) {
        merge(place, *static_cast<djs_statistic*>(value), element);
    } else {
        auto* const number = static_cast<int64_t*>(value);
        *number = static_cast<int64_t>(static_cast<uint64_t>(*number) +
                                       static_cast<uint64_t>(element.numbers[0]));
    }
    return Done();
}

Status LinkedMerge::add(const std::string& global, const std::vector<GlobalElement>& elements) {
    const auto place = places_.find(global);
    if (place == places_.end())
        return Done();
    // One that has no room does not take away what the others have counted.
    Status all = Done();
    for (const GlobalElement& element : elements)
        if (Status added = add(global, place->second, element); !added && all)
            all = std::move(added);
    return all;
}

Status LinkedMerge::replace(const std::string& global, const std::vector<GlobalElement>& elements) {
    const auto found = places_.find(global);
    if (found == places_.end())
        return Done();
    const Place& place = found->second;
    if (place.is_array)
        *place.map = djs_map_clear(*place.map);
    else if (place.is_statistic)
        djs_statistic_empty(&place.shape, place.statistic);
    else
        *place.number = elements.empty() ? place.initial : 0;
    return add(global, elements);
}

} // namespace

Result<std::unique_ptr<MergedScript>>
MergedScript::link(const std::string& object, const std::string& meta, uint64_t ring_bytes,
                   const std::vector<std::unique_ptr<program::Global>>& globals,
                   const SessionOptions& options, Writer& output) {
    auto description = parse_meta(meta);
    if (!description)
        return description.failure();
    auto script = std::make_unique<LinkedMerge>(std::move(*description), options, output);
    if (Status loaded = script->load(object, ring_bytes, globals); !loaded)
        return loaded.failure();
    return std::unique_ptr<MergedScript>(std::move(script));
}

} // namespace djstap
