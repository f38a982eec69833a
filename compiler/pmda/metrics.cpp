// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/metrics.h"

#include "include/recorder.h"
#include "pmda/host_info.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace djstap::pmda {

namespace {

constexpr uint32_t clusters = 4096, items = 1024; // of a metric's identifier

// HAVE_BITFIELDS_LTOR differs between machines: set by name.
pmUnits units(int space, int time, int count, unsigned space_scale, unsigned time_scale) {
    pmUnits of{};
    of.dimSpace = space;
    of.dimTime = time;
    of.dimCount = count;
    of.scaleSpace = space_scale;
    of.scaleTime = time_scale;
    return of;
}

struct NamedUnit {
    const char* name;
    pmUnits units;
};

const std::array<NamedUnit, 10>& named_units() {
    static const std::array<NamedUnit, 10> all{{
        {"bytes", units(1, 0, 0, PM_SPACE_BYTE, 0)},
        {"byte", units(1, 0, 0, PM_SPACE_BYTE, 0)},
        {"KB", units(1, 0, 0, PM_SPACE_KBYTE, 0)},
        {"MB", units(1, 0, 0, PM_SPACE_MBYTE, 0)},
        {"GB", units(1, 0, 0, PM_SPACE_GBYTE, 0)},
        {"ns", units(0, 1, 0, 0, PM_TIME_NSEC)},
        {"us", units(0, 1, 0, 0, PM_TIME_USEC)},
        {"ms", units(0, 1, 0, 0, PM_TIME_MSEC)},
        {"s", units(0, 1, 0, 0, PM_TIME_SEC)},
        {"count", units(0, 0, 1, 0, 0)},
    }};
    return all;
}

struct FixedMetric {
    const char* name;
    uint32_t item;
    Fact fact;
    bool counts;
    const char* help;
};

constexpr std::array<FixedMetric, 6> fact_metrics{{
    {"agent.version", 0, Fact::Version, false, "Version of djstap"},
    {"agent.kernel.release", 1, Fact::Release, false, "Release of this machine's kernel"},
    {"agent.kernel.build_id", 2, Fact::BuildId, false, "Build-id of this machine's kernel"},
    {"agent.store", 11, Fact::Store, false,
     "Whether this connection may store scripts\n"
     "Its value is yes, or no with the reason. A client that may stores the text NAME: SCRIPT to "
     "it (pmstore): the script runs from then on, and its globals are the metrics djstap.NAME. "
     "A text without a script removes the one of this name."},
    {"agent.stores", 12, Fact::Stores, true, "Times that a script was stored or removed"},
    {"agent.refusals", 13, Fact::Refusals, true,
     "Times that a client was refused to store a script"},
}};

const pmUnits count_units = units(0, 0, 1, 0, 0);
const pmUnits no_units{};

// A number that is the same in every run for the same name, as far as possible: archives of metrics
// expect their identifiers not to change.
template <class Taken>
std::optional<uint32_t> number_for(std::string_view name, uint32_t first, uint32_t end,
                                   const Taken& taken) {
    const uint32_t room = end - first;
    const auto hash = static_cast<uint32_t>(djs_hash_bytes(name.data(), name.size()) % room);
    for (uint32_t i = 0; i < room; i++) {
        const uint32_t number = first + (hash + i) % room;
        if (!taken(number))
            return number;
    }
    return std::nullopt;
}

} // namespace

Meaning meaning_of(std::string_view description) {
    Meaning meaning;
    const size_t open = description.rfind('['), close = description.rfind(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
        return meaning;
    std::string_view words = description.substr(open + 1, close - open - 1);
    constexpr std::string_view between = ", \t";
    while (true) {
        words.remove_prefix(std::min(words.find_first_not_of(between), words.size()));
        if (words.empty())
            return meaning;
        const auto word = words.substr(0, words.find_first_of(between));
        words.remove_prefix(word.size());
        meaning.is_counter |= word == "counter";
        for (const NamedUnit& unit : named_units())
            if (word == unit.name)
                meaning.units = unit.units;
    }
}

std::string name_component(std::string_view text) {
    std::string name;
    for (const char character : text)
        name += std::isalnum(static_cast<unsigned char>(character)) ? character : '_';
    if (name.empty() || !std::isalpha(static_cast<unsigned char>(name.front())))
        name.insert(0, "x");
    return name;
}

std::vector<std::string> name_components(const std::vector<std::string>& globals) {
    std::vector<std::string> components(globals.size());
    std::set<std::string> used;
    for (const bool as_named : {true, false}) {
        for (size_t i = 0; i < globals.size(); i++) {
            std::string component = name_component(globals[i]);
            if (!components[i].empty() || (as_named && component != globals[i]))
                continue;
            // Only a damaged recording has two globals of one name.
            if (as_named && used.contains(component))
                continue;
            while (!used.insert(component).second)
                component.insert(0, "x");
            components[i] = std::move(component);
        }
    }
    return components;
}

// ---- the scripts --------------------------------------------------------------------------------

Metrics::Metrics(int domain)
    : domain_(domain), script_domain_(domain_of_instances()), info_domain_(domain_of_instances()) {}

void Metrics::add_info(const std::vector<InfoFact>& facts) {
    for (const InfoFact& fact : facts) {
        const int number = pmdaCacheStore(info_domain_, PMDA_CACHE_ADD, fact.name.c_str(), nullptr);
        if (number >= 0)
            info_.emplace(number, InfoValue{fact.present, fact.value});
    }
}

Metrics::~Metrics() {
    if (names_)
        pmdaTreeRelease(names_);
}

ScriptStatus& Metrics::script(const std::string& name) {
    auto& script = scripts_[name];
    if (script)
        return script->status;
    script = std::make_unique<Script>();
    script->name = name_component(name);
    const auto cluster =
        number_for(name, 1, clusters, [&](uint32_t each) { return clusters_.contains(each); });
    script->cluster = cluster.value_or(0);
    if (cluster)
        clusters_[*cluster] = name;
    script->instance =
        pmdaCacheStore(script_domain_, PMDA_CACHE_ADD, script->name.c_str(), nullptr);
    return script->status;
}

void Metrics::describe(const std::string& name, const DescriptionFrame& description) {
    script(name);
    Script& script = *scripts_[name];
    const auto same = [](const ModuleMeta::Global& a, const ModuleMeta::Global& b) {
        return a.name == b.name && a.value == b.value && (a.keys == 0) == (b.keys == 0) &&
               a.histogram == b.histogram && a.description == b.description;
    };
    bool unchanged = script.globals.size() == description.globals.size();
    for (size_t i = 0; unchanged && i < script.globals.size(); i++)
        unchanged = same(script.globals[i]->description, description.globals[i]);
    forget_values(name);
    if (unchanged)
        return;
    auto before = std::exchange(script.globals, {});
    std::vector<std::string> names;
    for (const ModuleMeta::Global& each : description.globals)
        names.push_back(each.name);
    const std::vector<std::string> leaves = name_components(names);
    for (size_t i = 0; i < description.globals.size(); i++) {
        const ModuleMeta::Global& each = description.globals[i];
        auto global = std::make_unique<Global>();
        global->description = each;
        global->leaf = leaves[i];
        // Instances keep their numbers.
        for (auto& old : before) {
            if (!old || old->description.name != each.name)
                continue;
            global->elements = std::move(old->elements);
            global->buckets = std::move(old->buckets);
            old.reset();
        }
        if (global->elements.domain == PM_INDOM_NULL) {
            global->elements.domain = domain_of_instances();
            global->buckets.domain = domain_of_instances();
        }
        script.globals.push_back(std::move(global));
    }
    changed_ = true;
}

void Metrics::show(const std::string& name, GlobalsFrame frame) {
    const auto found = scripts_.find(name);
    if (found == scripts_.end())
        return;
    Script& script = *found->second;
    script.status.snapshots++;
    script.status.incomplete += frame.incomplete;
    script.status.counts = frame.counts;
    script.has_values = true;
    std::set<uint32_t> shown;
    for (GlobalValues& values : frame.globals) {
        if (values.index >= script.globals.size() || !shown.insert(values.index).second)
            continue;
        script.globals[values.index]->values = std::move(values);
    }
    for (uint32_t i = 0; i < script.globals.size(); i++) {
        Global& global = *script.globals[i];
        if (!shown.contains(i))
            global.values = {};
        if (global.description.keys)
            place_elements(global);
        if (global.description.histogram)
            place_buckets(global);
    }
}

void Metrics::forget_values(const std::string& name) {
    const auto found = scripts_.find(name);
    if (found == scripts_.end())
        return;
    found->second->has_values = false;
    for (auto& global : found->second->globals) {
        global->values = {};
        place_elements(*global);
        place_buckets(*global);
    }
}

void Metrics::remove(const std::string& name) {
    const auto found = scripts_.find(name);
    if (found == scripts_.end())
        return;
    forget_values(name);
    Script& script = *found->second;
    pmdaCacheStore(script_domain_, PMDA_CACHE_CULL, script.name.c_str(), nullptr);
    clusters_.erase(script.cluster);
    scripts_.erase(found);
    changed_ = true;
}

// ---- the metrics --------------------------------------------------------------------------------

void Metrics::add_fixed(const char* name, uint32_t item, Metric metric, int type, pmUnits unit,
                        int sem, const char* help) {
    metric.name = std::string("djstap.") + name;
    metric.help = help;
    metric.description.pmid = pmID_build(domain_, 0, item);
    metric.description.type = type;
    metric.description.indom = metric.of     ? script_domain_
                               : metric.info ? info_domain_
                                             : PM_INDOM_NULL;
    metric.description.sem = sem;
    metric.description.units = unit;
    metrics_.push_back(std::move(metric));
}

void Metrics::add(Script& script, const Global& global, Part part, const std::string& suffix) {
    const std::string leaf = global.leaf + suffix;
    const auto number = script.items.contains(leaf)
                            ? std::optional(script.items[leaf])
                            : number_for(leaf, 0, items, [&](uint32_t each) {
                                  return std::ranges::any_of(script.items, [&](const auto& item) {
                                      return item.second == each;
                                  });
                              });
    if (!number || !script.cluster) {
        script.status.message = "it has more metrics than Performance Co-Pilot can name";
        return;
    }
    script.items[leaf] = *number;
    const ModuleMeta::Global& is = global.description;
    const Meaning meaning = meaning_of(is.description);
    Metric metric;
    metric.name = "djstap." + script.name + "." + leaf;
    metric.script = &script;
    metric.global = &global;
    metric.part = part;
    const bool counts = part == Part::Count || part == Part::Buckets;
    const bool adds_up =
        counts || ((part == Part::Value || part == Part::Sum) && meaning.is_counter);
    metric.description.pmid = pmID_build(domain_, script.cluster, *number);
    metric.description.type = is.value == "text" ? PM_TYPE_STRING : PM_TYPE_64;
    metric.description.indom = part == Part::Buckets ? global.buckets.domain
                               : is.keys             ? global.elements.domain
                                                     : PM_INDOM_NULL;
    metric.description.sem = adds_up && is.value != "text" ? PM_SEM_COUNTER : PM_SEM_INSTANT;
    metric.description.units = is.value == "text" ? no_units : counts ? count_units : meaning.units;
    static constexpr std::array<const char*, 7> titles{
        "",
        "Number of values of ",
        "Sum of the values of ",
        "Least value of ",
        "Greatest value of ",
        "Average of the values of ",
        "Values in each bucket of the histogram of "};
    metric.help =
        titles.at(static_cast<size_t>(part)) + ("global " + is.name + " of script " + script.name);
    if (!is.description.empty())
        metric.help = is.description + "\n" + metric.help;
    metrics_.push_back(std::move(metric));
}

void Metrics::rebuild() {
    metrics_.clear();
    by_id_.clear();
    table_.clear();
    for (const FixedMetric& each : fact_metrics) {
        Metric metric;
        metric.fact = each.fact;
        add_fixed(each.name, each.item, metric, each.counts ? PM_TYPE_U64 : PM_TYPE_STRING,
                  each.counts ? count_units : no_units,
                  each.counts ? PM_SEM_COUNTER : PM_SEM_DISCRETE, each.help);
    }
    const auto of_script = [&](const char* name, uint32_t item, Of which, bool text,
                               const char* help) {
        Metric metric;
        metric.of = which;
        add_fixed(name, item, metric, text ? PM_TYPE_STRING : PM_TYPE_U64,
                  text ? no_units : count_units, text ? PM_SEM_INSTANT : PM_SEM_COUNTER, help);
    };
    const auto info = [&](const char* name, uint32_t item, Info which, int type, const char* help) {
        Metric metric;
        metric.info = which;
        add_fixed(name, item, metric, type, no_units, PM_SEM_DISCRETE, help);
    };
    info("agent.info.present", 15, Info::Present, PM_TYPE_U64,
         "Whether this machine has what djstap uses: 1 or 0, as djstap --info tells");
    info("agent.info.value", 16, Info::Value, PM_TYPE_STRING,
         "What this machine has of it, or what is missing, as djstap --info tells");
    of_script("agent.script.state", 3, Of::State, true,
              "State of the script: waiting, running, ended, failed or refused");
    of_script("agent.script.message", 4, Of::Message, true, "Last error or warning of the script");
    of_script("agent.script.owner", 14, Of::Owner, true,
              "Whose script it is: root's, or that of the user who has stored it");
    of_script("agent.script.starts", 5, Of::Starts, false, "Times that the script was started");
    of_script("agent.script.snapshots", 6, Of::Snapshots, false,
              "Snapshots of the script's globals that were taken");
    of_script("agent.script.incomplete", 7, Of::Incomplete, false,
              "Snapshots in which elements may be missing, because records were lost");
    of_script("agent.script.lost", 8, Of::Lost, false, "Records of the script that were lost");
    of_script("agent.script.skipped", 9, Of::Skipped, false,
              "Hits of the script that were skipped");
    of_script("agent.script.errors", 10, Of::Errors, false, "Run-time errors of the script");
    for (auto& [name, script] : scripts_) {
        for (const auto& global : script->globals) {
            if (global->description.value != "statistic") {
                add(*script, *global, Part::Value, "");
                continue;
            }
            add(*script, *global, Part::Count, ".count");
            add(*script, *global, Part::Sum, ".sum");
            add(*script, *global, Part::Min, ".min");
            add(*script, *global, Part::Max, ".max");
            add(*script, *global, Part::Average, ".average");
            if (global->description.histogram)
                add(*script, *global, Part::Buckets, ".histogram");
        }
    }
    if (names_)
        pmdaTreeRelease(names_);
    names_ = nullptr;
    pmdaTreeCreate(&names_);
    for (const Metric& metric : metrics_) {
        if (pmdaTreeInsert(names_, metric.description.pmid, metric.name.c_str()) < 0)
            continue;
        by_id_.emplace(metric.description.pmid, &metric);
        table_.push_back({const_cast<Metric*>(&metric), metric.description});
    }
    pmdaTreeRebuildHash(names_, static_cast<int>(table_.size()));
}

pmID Metrics::id_of(Fact fact) const {
    const auto* const found = std::ranges::find(fact_metrics, fact, &FixedMetric::fact);
    return pmID_build(domain_, 0, found->item);
}

void Metrics::publish(pmdaExt& extension) {
    if (!std::exchange(changed_, false))
        return;
    rebuild();
    pmdaRehash(&extension, table_.data(), static_cast<int>(table_.size()));
    extension.e_flags |= PMDA_EXT_NAMES_CHANGE;
}

std::optional<std::string> Metrics::help(pmID id, bool brief) const {
    const auto found = by_id_.find(id);
    if (found == by_id_.end())
        return std::nullopt;
    const std::string& text = found->second->help;
    return brief ? text.substr(0, text.find('\n')) : text;
}

} // namespace djstap::pmda
