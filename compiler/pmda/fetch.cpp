// SPDX-License-Identifier: GPL-2.0-or-later
// The values of metrics, and the results of fetches.
#include "pmda/metrics.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace djstap::pmda {

Metrics::Value Metrics::value_of(const Script& script, Of of) {
    const ScriptStatus& status = script.status;
    const djs_counts& counts = status.counts;
    switch (of) {
    case Of::State:
        return &status.state;
    case Of::Message:
        return &status.message;
    case Of::Owner:
        return &status.owner;
    case Of::Starts:
        return status.starts;
    case Of::Snapshots:
        return status.snapshots;
    case Of::Incomplete:
        return status.incomplete;
    case Of::Lost:
        return counts.lost_records + counts.oversized;
    case Of::Skipped:
        return counts.skipped_busy + counts.skipped_locked + counts.skipped_stack +
               counts.skipped_kretprobe + counts.skipped_kprobe + counts.missed_calls;
    case Of::Errors:
        break;
    }
    return counts.errors;
}

Metrics::Value Metrics::value_of(const Metric& metric, const GlobalElement& element,
                                 uint32_t bucket) {
    switch (metric.part) {
    case Part::Value:
        if (metric.description.type == PM_TYPE_STRING)
            return &element.text;
        return element.numbers[0];
    case Part::Count:
        return element.numbers[GlobalElement::Count];
    case Part::Sum:
        return element.numbers[GlobalElement::Sum];
    case Part::Min:
        return element.numbers[GlobalElement::Min];
    case Part::Max:
        return element.numbers[GlobalElement::Max];
    case Part::Average:
        return element.numbers[GlobalElement::Average];
    case Part::Buckets:
        break;
    }
    return element.buckets[bucket];
}

template <class Take> int Metrics::each_value(const Metric& metric, const Take& take) const {
    if (metric.fact) {
        const FactValue& fact = facts_.at(static_cast<size_t>(*metric.fact));
        if (metric.description.type != PM_TYPE_STRING)
            take(PM_IN_NULL, Value(fact.number));
        else if (!fact.text.empty())
            take(PM_IN_NULL, Value(&fact.text));
        return 0;
    }
    if (metric.info) {
        for (const auto& [number, value] : info_)
            take(number,
                 *metric.info == Info::Value ? Value(&value.text) : Value(uint64_t{value.present}));
        return 0;
    }
    if (metric.of) {
        for (const auto& [name, script] : scripts_)
            if (script->instance >= 0)
                take(script->instance, value_of(*script, *metric.of));
        return 0;
    }
    if (!metric.script->has_values)
        return PM_ERR_VALUE;
    const Global& global = *metric.global;
    const auto& elements = global.values.elements;
    if (metric.description.indom != PM_INDOM_NULL) {
        const Instances& instances =
            metric.part == Part::Buckets ? global.buckets : global.elements;
        for (const Instance& each : instances.active)
            take(each.number, value_of(metric, elements[each.element], each.bucket));
    } else if (!elements.empty()) {
        take(PM_IN_NULL, value_of(metric, elements.front(), 0));
    } else if (metric.part == Part::Count) {
        take(PM_IN_NULL, Value(int64_t{0})); // a statistic without values has counted none
    }
    return 0;
}

namespace {

// Which instances of a domain a client asks for.
class Wanted {
  public:
    Wanted(const pmProfile* profile, pmInDom domain) {
        if (!profile || domain == PM_INDOM_NULL)
            return;
        all_others_ = profile->state == PM_PROFILE_INCLUDE;
        for (int i = 0; i < profile->profile_len; i++) {
            const pmInDomProfile& of = profile->profile[i];
            if (of.indom != domain)
                continue;
            all_others_ = of.state == PM_PROFILE_INCLUDE;
            listed_.assign(of.instances, of.instances + of.instances_len);
            std::ranges::sort(listed_);
        }
    }
    bool has(int instance) const {
        return listed_.empty() ? all_others_
                               : std::ranges::binary_search(listed_, instance) != all_others_;
    }

  private:
    bool all_others_ = true;
    std::vector<int> listed_; // of which the contrary holds
};

constexpr size_t aligned(size_t bytes) {
    return (bytes + alignof(void*) - 1) / alignof(void*) * alignof(void*);
}

size_t bytes_of(const std::variant<int64_t, uint64_t, const std::string*>& value) {
    const auto* text = std::get_if<const std::string*>(&value);
    return PM_VAL_HDR_SIZE + (text ? (*text)->size() + 1 : sizeof(int64_t));
}

} // namespace

// Everything is in one piece of memory, whose size is found first: the values of 100,000 instances
// would be as many pieces otherwise.
pmResult* Metrics::fetch(std::span<const pmID> asked, const pmProfile* profile) {
    struct Set {
        const Metric* metric;
        Wanted wanted;
        int count; // or an error
        size_t bytes;
    };
    std::vector<Set> sets;
    size_t room = aligned(sizeof(pmResult) + asked.size() * sizeof(pmValueSet*));
    for (const pmID id : asked) {
        const auto found = by_id_.find(id);
        const Metric* metric = found == by_id_.end() ? nullptr : found->second;
        Set set{metric, Wanted(profile, metric ? metric->description.indom : PM_INDOM_NULL), 0, 0};
        const int status =
            !metric ? PM_ERR_PMID : each_value(*metric, [&set](int instance, const Value& value) {
                if (!set.wanted.has(instance))
                    return;
                set.count++;
                set.bytes += aligned(bytes_of(value));
            });
        if (status < 0)
            set.count = status;
        room += aligned(sizeof(pmValueSet) +
                        static_cast<size_t>(std::max(set.count, 0)) * sizeof(pmValue)) +
                set.bytes;
        sets.push_back(std::move(set));
    }
    if (result_.size() < room)
        result_.resize(room);
    char* at = result_.data();
    const auto take = [&at](size_t bytes) { return std::exchange(at, at + aligned(bytes)); };
    auto* result =
        reinterpret_cast<pmResult*>(take(sizeof(pmResult) + asked.size() * sizeof(pmValueSet*)));
    result->timestamp = {};
    result->numpmid = static_cast<int>(asked.size());
    for (size_t i = 0; i < sets.size(); i++) {
        const Set& set = sets[i];
        auto* values = reinterpret_cast<pmValueSet*>(take(
            sizeof(pmValueSet) + static_cast<size_t>(std::max(set.count, 0)) * sizeof(pmValue)));
        result->vset[i] = values;
        values->pmid = asked[i];
        values->numval = set.count;
        values->valfmt = PM_VAL_SPTR;
        if (set.count <= 0)
            continue;
        pmValue* next = values->vlist;
        const auto type = static_cast<unsigned>(set.metric->description.type);
        each_value(*set.metric, [&](int instance, const Value& value) {
            if (!set.wanted.has(instance))
                return;
            const size_t bytes = bytes_of(value);
            auto* block = reinterpret_cast<pmValueBlock*>(take(bytes));
            block->vtype = type & 0xffU;
            block->vlen = static_cast<unsigned>(bytes) & 0xffffffU;
            if (const auto* text = std::get_if<const std::string*>(&value))
                std::memcpy(block->vbuf, (*text)->c_str(), (*text)->size() + 1);
            else if (const auto* number = std::get_if<int64_t>(&value))
                std::memcpy(block->vbuf, number, sizeof *number);
            else
                std::memcpy(block->vbuf, &std::get<uint64_t>(value), sizeof(uint64_t));
            next->inst = instance;
            next->value.pval = block;
            next++;
        });
    }
    return result;
}

} // namespace djstap::pmda
