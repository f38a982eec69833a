// SPDX-License-Identifier: GPL-2.0-or-later
// The instances of metrics: the elements of arrays, and the buckets of histograms.
#include "pmda/metrics.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace djstap::pmda {

namespace {

void append_escaped(std::string& out, std::string_view text) {
    constexpr const char* digits = "0123456789abcdef";
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (byte > ' ' && byte != 0x7f && character != '%' && character != ',') {
            out += character;
        } else {
            out += '%';
            out += digits[byte >> 4U];
            out += digits[byte & 0xfU];
        }
    }
}

} // namespace

std::string instance_name(std::string_view keys) {
    std::string name;
    const auto parts = keys_of(keys);
    if (!parts)
        return name;
    for (const ElementKey& key : *parts) {
        if (&key != parts->data())
            name += ',';
        if (const auto* number = std::get_if<int64_t>(&key))
            name += std::to_string(*number);
        else
            append_escaped(name, std::get<std::string_view>(key));
    }
    // A name is never empty.
    return name.empty() ? "%" : name;
}

// PCP's library remembers every instance that there ever was, so that a name that comes back has
// the number that it had. Where far more are remembered than there are, the former ones are
// forgotten: a script whose keys come and go would take memory for ever.
void Metrics::forget_former(const Instances& instances) {
    constexpr int former_kept = 10'000, former_of_each = 10;
    const pmInDom domain = instances.domain;
    if (pmdaCacheOp(domain, PMDA_CACHE_SIZE_INACTIVE) <=
        former_kept + former_of_each * static_cast<int>(instances.active.size()))
        return;
    std::unordered_set<int> active;
    for (const Instance& instance : instances.active)
        active.insert(instance.number);
    // The library walks through active instances only.
    pmdaCacheOp(domain, PMDA_CACHE_ACTIVE);
    pmdaCacheOp(domain, PMDA_CACHE_WALK_REWIND);
    std::vector<std::string> former;
    for (int number; (number = pmdaCacheOp(domain, PMDA_CACHE_WALK_NEXT)) >= 0;) {
        char* name = nullptr;
        if (!active.contains(number) && pmdaCacheLookup(domain, number, &name, nullptr) >= 0)
            former.emplace_back(name);
    }
    for (const std::string& name : former)
        pmdaCacheStore(domain, PMDA_CACHE_CULL, name.c_str(), nullptr);
    pmdaCacheOp(domain, PMDA_CACHE_REORG);
}

// Elements mostly have the same keys in the same order as before: then nothing is looked up.
void Metrics::place_elements(Global& global) {
    if (!global.description.keys)
        return;
    const auto& elements = global.values.elements;
    const bool same = std::ranges::equal(elements, global.keys, {}, &GlobalElement::keys);
    if (same)
        return;
    Instances& instances = global.elements;
    instances.active.clear();
    pmdaCacheOp(instances.domain, PMDA_CACHE_INACTIVE);
    global.keys.clear();
    for (uint32_t i = 0; i < elements.size(); i++) {
        const std::string& keys = elements[i].keys;
        global.keys.push_back(keys);
        const int number =
            pmdaCacheStore(instances.domain, PMDA_CACHE_ADD, instance_name(keys).c_str(), nullptr);
        if (number >= 0)
            instances.active.push_back({number, i, 0});
    }
    forget_former(instances);
}

// Empty buckets have no instances unless they were counted before: an instance stays as long as its
// element.
void Metrics::place_buckets(Global& global) {
    Instances& instances = global.buckets;
    if (!instances.active.empty())
        pmdaCacheOp(instances.domain, PMDA_CACHE_INACTIVE);
    instances.active.clear();
    const auto known = std::exchange(instances.known, {});
    for (uint32_t i = 0; i < global.values.elements.size(); i++) {
        const GlobalElement& element = global.values.elements[i];
        const std::string element_name = instance_name(element.keys);
        for (uint32_t bucket = 0; bucket < element.buckets.size(); bucket++) {
            const std::string key = std::to_string(bucket) + ":" + element.keys;
            if (!element.buckets[bucket] && !known.contains(key))
                continue;
            instances.known.insert(key);
            std::string name = bucket_text(*global.values.shape, bucket);
            if (!element.keys.empty())
                name = element_name + ":" + name;
            const int number =
                pmdaCacheStore(instances.domain, PMDA_CACHE_ADD, name.c_str(), nullptr);
            if (number >= 0)
                instances.active.push_back({number, i, bucket});
        }
    }
    forget_former(instances);
}

} // namespace djstap::pmda
