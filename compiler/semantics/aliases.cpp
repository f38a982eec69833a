// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/aliases.h"

#include "diagnostics/foreign_words.h"
#include "diagnostics/suggest.h"
#include "semantics/alias_names.h"

#include <algorithm>

namespace djstap::semantics {

namespace {

// Of all points of a probe, and those of aliases on the way to them; of all probes of a script. An
// alias that names another one twice, and so on, would be expanded for years.
constexpr size_t most_of_probe = 10'000, most_of_script = 100'000;

struct Step {
    AliasState alias;
    std::string name;
};

class Expansion {
  public:
    Expansion(const ast::Probe& probe, const ast::File& file, Names& names,
              const PointShapes& shapes, std::vector<std::unique_ptr<ast::ProbePoint>>& made,
              Diagnostics& diagnostics)
        : probe_(probe), file_(file), names_(names), shapes_(shapes), made_(made),
          diagnostics_(diagnostics) {}

    std::vector<ProbeGroup> run() {
        for (const ast::ProbePoint& point : probe_.points) {
            std::vector<ConditionPart> conditions;
            if (point.condition)
                conditions.push_back({point.condition.get(), &file_});
            const uint32_t first = next_number_;
            expand(point, point.components, point.optional, point.sufficient, point, conditions);
            if (point.sufficient)
                sufficient_.push_back({first, next_number_, UINT32_MAX});
        }
        for (ProbeGroup& group : groups_)
            group.sufficient = sufficient_;
        return std::move(groups_);
    }

  private:
    // `used` is the point as the user wrote it; `point` the one being expanded.
    void expand(const ast::ProbePoint& used, const std::vector<ast::PointComponent>& components,
                bool optional, bool sufficient, const ast::ProbePoint& point,
                const std::vector<ConditionPart>& conditions) {
        if (is_too_long_)
            return;
        if (++expanded_ > most_of_probe || made_.size() > most_of_script) {
            is_too_long_ = true;
            const size_t most = expanded_ > most_of_probe ? most_of_probe : most_of_script;
            diagnostics_.report(DiagnosticKind::TooManyAliases, used.range, {std::to_string(most)});
            return;
        }
        const std::string name = dotted(components);
        std::vector<AliasState> found = names_.aliases(components);
        // Within the definition of timer.profile, timer.profile.tick is not the alias with a
        // suffix.
        std::erase_if(found, [&](const AliasState& alias) {
            return in_chain(alias) &&
                   components_of_name(components, *own_name(alias, components)).value_or(0) <
                       components.size();
        });
        const auto families = families_meant(components, found);
        for (const auto& meant : families)
            add(used, meant, optional, sufficient, conditions, &used);
        if (found.empty()) {
            if (components.empty() || !families.empty())
                return;
            if (!is_family(components.front().name)) {
                if (!optional)
                    unknown(used, point, components);
                return;
            }
            if (const size_t good = beginning_of_alias(components, names_.alias_names(), shapes_)) {
                if (!optional)
                    report_unknown_after(components, good, names_.alias_names(), diagnostics_);
                return;
            }
            return add(used, components, optional, sufficient, conditions);
        }
        for (const AliasState& alias : found) {
            if (in_chain(alias)) {
                diagnostics_.report(DiagnosticKind::AliasLoop, point.range, {name})
                    .note(alias.declaration->range, "the alias is defined here");
                continue;
            }
            const std::vector<ast::PointComponent>* own = own_name(alias, components);
            // The rest of the point after the alias's own name is appended to each point that the
            // alias stands for.
            const size_t consumed =
                components_of_name(components, *own).value_or(components.size());
            std::vector<ast::PointComponent> suffix(
                components.begin() + static_cast<long>(consumed), components.end());
            chain_.push_back({alias, dotted(*own) + (suffix.empty() ? "" : "." + dotted(suffix))});
            const size_t others = sufficient_.size();
            for (const ast::ProbePoint& inner : alias.declaration->points) {
                std::vector<ast::PointComponent> whole = inner.components;
                whole.insert(whole.end(), suffix.begin(), suffix.end());
                std::vector<ConditionPart> inner_conditions = conditions;
                if (inner.condition)
                    inner_conditions.push_back({inner.condition.get(), alias.file});
                const uint32_t first = next_number_;
                expand(used, whole, optional || inner.optional || inner.sufficient,
                       sufficient || inner.sufficient, inner, inner_conditions);
                if (inner.sufficient)
                    sufficient_.push_back({first, next_number_, UINT32_MAX});
            }
            for (size_t i = others; i < sufficient_.size(); ++i)
                sufficient_[i].until = std::min(sufficient_[i].until, next_number_);
            chain_.pop_back();
        }
    }

    // Returns the points of families that components with * in their names match. A name that an
    // alias in `found` has means that alias.
    std::vector<std::vector<ast::PointComponent>>
    families_meant(const std::vector<ast::PointComponent>& components,
                   const std::vector<AliasState>& found) const {
        std::vector<std::vector<ast::PointComponent>> out = shapes_.matching(components);
        std::erase_if(out, [&](const auto& meant) {
            return std::any_of(found.begin(), found.end(), [&](const AliasState& alias) {
                return dotted(*own_name(alias, meant)) == dotted(meant);
            });
        });
        return out;
    }

    bool is_family(const std::string& pattern) const {
        return std::any_of(shapes_.roots().begin(), shapes_.roots().end(),
                           [&](const auto& name) { return matches_component(pattern, name); });
    }

    bool in_chain(const AliasState& alias) const {
        return std::any_of(chain_.begin(), chain_.end(), [&](const Step& step) {
            return step.alias.declaration == alias.declaration;
        });
    }

    // Returns the one name that the components match, for an alias with several names.
    static const std::vector<ast::PointComponent>*
    own_name(const AliasState& alias, const std::vector<ast::PointComponent>& components) {
        for (const auto& name : alias.declaration->names)
            if (components_of_name(components, name))
                return &name;
        return &alias.declaration->names.front();
    }

    void unknown(const ast::ProbePoint& used, const ast::ProbePoint& point,
                 const std::vector<ast::PointComponent>& components) {
        const std::string name = dotted(components);
        std::vector<std::string> candidates = names_.alias_names();
        const auto& roots = shapes_.roots();
        candidates.insert(candidates.end(), shapes_.beginnings().begin(),
                          shapes_.beginnings().end());
        candidates.insert(candidates.end(), roots.begin(), roots.end());
        Diagnostic& diagnostic =
            diagnostics_.report(DiagnosticKind::UnknownProbePoint,
                                components.front().range.to(components.back().range), {name});
        std::string hint = did_you_mean(name, candidates);
        if (hint.empty())
            hint = did_you_mean(components.front().name, roots);
        if (hint.empty())
            hint = hint_for_foreign_probe(components.front().name);
        diagnostic.hint(hint);
        if (&used != &point)
            diagnostic.note(used.range, "required by this probe point");
    }

    void add(const ast::ProbePoint& used, const std::vector<ast::PointComponent>& components,
             bool optional, bool sufficient, const std::vector<ConditionPart>& conditions,
             const ast::ProbePoint* one_of = nullptr) {
        const ast::ProbePoint* point = &used;
        if (!chain_.empty() || &components != &used.components) {
            auto copy = std::make_unique<ast::ProbePoint>();
            copy->range = used.range;
            copy->components = components;
            // As in SystemTap. Some of the aliases that a pattern matches do not fit its end.
            copy->optional =
                optional || sufficient || (!chain_.empty() && has_star(used.components));
            copy->sufficient = sufficient;
            copy->one_of = one_of;
            point = copy.get();
            made_.push_back(std::move(copy));
        }
        const bool is_return =
            std::any_of(components.begin() + 1, components.end(),
                        [](const ast::PointComponent& c) { return c.name == "return"; });
        // The alias bodies wrap the user's own body: the innermost alias runs first and last.
        std::vector<BodyPart> body = {{probe_.body.get(), &file_, true}};
        std::vector<std::string> alias_names;
        for (const Step& step : chain_) {
            alias_names.push_back(step.name);
            const ast::Alias& alias = *step.alias.declaration;
            auto present = [](const std::unique_ptr<ast::Block>& block) {
                return block && !block->statements.empty();
            };
            if (present(alias.body))
                body.insert(alias.append ? body.end() : body.begin(),
                            {alias.body.get(), step.alias.file});
            if (present(alias.epilogue))
                body.push_back({alias.epilogue.get(), step.alias.file});
        }
        ProbeGroup* group = nullptr;
        for (ProbeGroup& candidate : groups_) {
            bool same = candidate.is_return == is_return && candidate.conditions == conditions &&
                        candidate.body.size() == body.size();
            for (size_t i = 0; same && i < body.size(); ++i)
                same = candidate.body[i].block == body[i].block;
            if (same)
                group = &candidate;
        }
        if (!group) {
            groups_.push_back({{}, {}, {}, {}, std::move(body), conditions, is_return});
            group = &groups_.back();
        }
        group->points.push_back(point);
        group->alias_names.push_back(std::move(alias_names));
        group->point_numbers.push_back(next_number_++);
    }

    const ast::Probe& probe_;
    const ast::File& file_;
    Names& names_;
    const PointShapes& shapes_;
    std::vector<std::unique_ptr<ast::ProbePoint>>& made_;
    Diagnostics& diagnostics_;
    std::vector<Step> chain_;
    std::vector<ProbeGroup> groups_;
    std::vector<program::Sufficient> sufficient_;
    uint32_t next_number_ = 0;
    size_t expanded_ = 0;
    bool is_too_long_ = false;
};

} // namespace

std::vector<ProbeGroup> expand(const ast::Probe& probe, const ast::File& file, Names& names,
                               const PointShapes& shapes,
                               std::vector<std::unique_ptr<ast::ProbePoint>>& made,
                               Diagnostics& diagnostics) {
    return Expansion(probe, file, names, shapes, made, diagnostics).run();
}

void put_before(std::vector<ProbeGroup>& groups, const PointShapes& shapes, const BodyPart& part) {
    auto tells_of_task = [&](const ast::ProbePoint& point) {
        return (shapes.traits(point) & PointTellsOfTask) != 0;
    };
    std::vector<ProbeGroup> split;
    for (ProbeGroup& group : groups) {
        ProbeGroup others = group, own = std::move(group);
        for (ProbeGroup* each : {&others, &own}) {
            const bool wanted = each == &own;
            for (size_t i = each->points.size(); i-- > 0;) {
                if (tells_of_task(*each->points[i]) == wanted)
                    continue;
                const auto at = static_cast<ptrdiff_t>(i);
                each->points.erase(each->points.begin() + at);
                each->alias_names.erase(each->alias_names.begin() + at);
                each->point_numbers.erase(each->point_numbers.begin() + at);
            }
        }
        own.body.insert(own.body.begin(), part);
        for (ProbeGroup* each : {&others, &own})
            if (!each->points.empty())
                split.push_back(std::move(*each));
    }
    groups = std::move(split);
}

} // namespace djstap::semantics
