// SPDX-License-Identifier: GPL-2.0-or-later
#include "fleet/merge.h"

#include <algorithm>
#include <map>

namespace djstap::fleet {

namespace {

// As handlers add: without overflow that is undefined.
int64_t plus(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int64_t minus(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// As djs_statistic_avg(): rounded toward zero. INT64_MIN / -1 would trap.
int64_t average(int64_t sum, int64_t count) {
    return count == -1 ? minus(0, sum) : count ? sum / count : 0;
}

void add_statistic(GlobalElement& into, const GlobalElement& from) {
    auto& to = into.numbers;
    const auto& of = from.numbers;
    if (of[GlobalElement::Count] == 0)
        return;
    const bool first = to[GlobalElement::Count] == 0;
    to[GlobalElement::Min] =
        first ? of[GlobalElement::Min] : std::min(to[GlobalElement::Min], of[GlobalElement::Min]);
    to[GlobalElement::Max] =
        first ? of[GlobalElement::Max] : std::max(to[GlobalElement::Max], of[GlobalElement::Max]);
    to[GlobalElement::Count] = plus(to[GlobalElement::Count], of[GlobalElement::Count]);
    to[GlobalElement::Sum] = plus(to[GlobalElement::Sum], of[GlobalElement::Sum]);
    to[GlobalElement::Average] = average(to[GlobalElement::Sum], to[GlobalElement::Count]);
    into.buckets.resize(std::max(into.buckets.size(), from.buckets.size()));
    for (size_t i = 0; i < from.buckets.size(); i++)
        into.buckets[i] = plus(into.buckets[i], from.buckets[i]);
}

// A host may say anything: what it has not described is left out, and so is a global's second
// value. The others are in the order of their indexes.
void clean(GlobalsFrame& frame, const std::optional<DescriptionFrame>& description) {
    const size_t count = description ? description->globals.size() : 0;
    auto& globals = frame.globals;
    std::erase_if(globals, [&](const GlobalValues& each) { return each.index >= count; });
    std::ranges::stable_sort(globals, {}, &GlobalValues::index);
    const auto rest = std::ranges::unique(globals, {}, &GlobalValues::index);
    globals.erase(rest.begin(), rest.end());
}

// `frame`: a clean one.
const GlobalValues* values_of(const GlobalsFrame& frame, uint32_t index) {
    const auto found = std::ranges::lower_bound(frame.globals, index, {}, &GlobalValues::index);
    return found == frame.globals.end() || found->index != index ? nullptr : &*found;
}

uint64_t lost_records(const djs_counts& counts) {
    return counts.lost_records + counts.oversized;
}

bool same_global(const ModuleMeta::Global& a, const ModuleMeta::Global& b) {
    return a.name == b.name && a.value == b.value && a.keys == b.keys &&
           a.histogram == b.histogram && a.adds_up == b.adds_up && a.initial == b.initial;
}

} // namespace

Merge::Host& Merge::host(const std::string& name) {
    const auto [found, is_new] = index_.emplace(name, hosts_.size());
    if (is_new)
        hosts_.emplace_back().name = name;
    return hosts_[found->second];
}

void Merge::expect(const std::string& name) {
    host(name);
}

void Merge::take(const std::string& name, SnapshotFrame frame) {
    Host& from = host(name);
    if (auto* description = std::get_if<DescriptionFrame>(&frame)) {
        from.former_runs |= from.description.has_value();
        from.was_final = false;
        from.last.reset();
        from.description = std::move(*description);
        for (Host& each : hosts_)
            each.fits.reset();
    } else if (auto* globals = std::get_if<GlobalsFrame>(&frame)) {
        clean(*globals, from.description);
        // The next snapshot has the elements that one lacks.
        from.last = std::move(*globals);
    } else if (auto* printed = std::get_if<PrintedFrame>(&frame)) {
        from.printed.push_back(std::move(*printed));
    } else if (const auto* message = std::get_if<MessageFrame>(&frame)) {
        if (message->is_error)
            from.error = message->text + (message->place.empty() ? "" : " near " + message->place);
    } else {
        const auto& end = std::get<EndFrame>(frame);
        from.was_final = true;
        // The last snapshot itself may have been lost: then an older one is shown as the last.
        if (from.last) {
            from.last->incomplete |= lost_records(end.counts) != lost_records(from.last->counts);
            from.last->counts = end.counts;
        }
    }
}

void Merge::end(const std::string& name, const std::string& why) {
    host(name).ended = why;
}

// The description that all others have to be the same as.
const Merge::Host* Merge::reference() const {
    for (const Host& each : hosts_)
        if (each.description)
            return &each;
    return nullptr;
}

bool Merge::fits(const std::string& name) const {
    const auto found = index_.find(name);
    return found != index_.end() && fits(hosts_[found->second]);
}

bool Merge::fits(const Host& each) const {
    if (!each.fits) {
        const Host* const first = reference();
        each.fits =
            first && each.description &&
            std::ranges::equal(each.description->globals, first->description->globals, same_global);
    }
    return *each.fits;
}

// The histograms of a global have the same buckets on all machines; returns those, by index.
Merge::Shapes Merge::shapes() const {
    Shapes shapes;
    for (const Host& each : hosts_) {
        if (!fits(each) || !each.last)
            continue;
        shapes.resize(each.description->globals.size());
        for (const GlobalValues& values : each.last->globals)
            if (!shapes[values.index])
                shapes[values.index] = values.shape;
    }
    return shapes;
}

bool Merge::has_same_histograms(const Host& each, const Shapes& shapes) {
    return !each.last || std::ranges::all_of(each.last->globals, [&](const GlobalValues& values) {
        return !values.shape ||
               (values.index < shapes.size() && values.shape == shapes[values.index]);
    });
}

MergedGlobal Merge::merged(uint32_t index, const ModuleMeta::Global& description,
                           const std::vector<const Host*>& hosts) {
    MergedGlobal global;
    global.description = description;
    const bool is_statistic = description.value == "statistic";
    std::map<std::string, GlobalElement> sums;
    for (const Host* const from : hosts) {
        const GlobalValues* const values = values_of(*from->last, index);
        if (!values)
            continue;
        if (!is_statistic && !description.adds_up) {
            HostValues& of = global.by_host.emplace_back();
            of.host = from->name;
            of.elements = values->elements;
            std::ranges::sort(of.elements, {}, &GlobalElement::keys);
            continue;
        }
        if (values->shape)
            global.shape = values->shape;
        for (const GlobalElement& element : values->elements) {
            auto [sum, is_new] = sums.try_emplace(element.keys);
            if (is_new) {
                sum->second.keys = element.keys;
                sum->second.has = element.has;
                if (!is_statistic)
                    sum->second.numbers[0] = description.initial;
            }
            if (is_statistic)
                add_statistic(sum->second, element);
            else
                sum->second.numbers[0] =
                    plus(sum->second.numbers[0], minus(element.numbers[0], description.initial));
        }
    }
    for (auto& [keys, element] : sums)
        global.elements.push_back(std::move(element));
    return global;
}

std::vector<MergedGlobal> Merge::globals() const {
    std::vector<MergedGlobal> all;
    const Host* const first = reference();
    if (!first)
        return all;
    const Shapes all_shapes = shapes();
    std::vector<const Host*> merged_ones;
    for (const Host& each : hosts_)
        if (fits(each) && each.last && has_same_histograms(each, all_shapes))
            merged_ones.push_back(&each);
    for (uint32_t i = 0; i < first->description->globals.size(); i++)
        all.push_back(merged(i, first->description->globals[i], merged_ones));
    return all;
}

std::vector<Missing> Merge::missing() const {
    std::vector<Missing> all;
    const Shapes all_shapes = shapes();
    for (const Host& each : hosts_) {
        const auto lacks = [&](const std::string& what) { all.push_back({each.name, what}); };
        const std::string why = !each.error.empty()                  ? ": " + each.error
                                : each.ended && !each.ended->empty() ? ": " + *each.ended
                                                                     : "";
        if (each.description && !fits(each))
            lacks("all of its values are missing: its script has other globals");
        else if (!has_same_histograms(each, all_shapes))
            lacks("all of its values are missing: its script has other histograms");
        else if (!each.last)
            lacks("all of its values are missing" + why);
        else if (each.ended && !each.was_final)
            lacks("what it counted after its last snapshot is missing" + why);
        else if (each.last->incomplete)
            lacks("elements may be missing: records were lost");
        else if (!each.error.empty())
            lacks(each.error);
        else if (each.ended && !each.ended->empty())
            lacks(*each.ended);
        if (each.former_runs)
            lacks("what former runs in its file counted is missing");
        const uint64_t lost = each.last ? lost_records(each.last->counts) : 0;
        if (lost)
            lacks(lost == 1 ? "1 record was lost" : std::to_string(lost) + " records were lost");
    }
    return all;
}

std::vector<std::pair<std::string, PrintedFrame>> Merge::take_printed() {
    std::vector<std::pair<std::string, PrintedFrame>> all;
    for (Host& each : hosts_) {
        for (PrintedFrame& printed : each.printed)
            all.emplace_back(each.name, std::move(printed));
        each.printed.clear();
    }
    std::ranges::stable_sort(all, {},
                             [](const auto& printed) { return printed.second.realtime_ns; });
    return all;
}

} // namespace djstap::fleet
