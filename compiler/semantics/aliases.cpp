#include "semantics/aliases.h"

#include "diagnostics/suggest.h"

#include <algorithm>

namespace djstap::semantics {

namespace {

// First components that probes/ knows.
const std::vector<std::string>& families() {
    static const std::vector<std::string> names = {
        "begin",   "end",    "error",      "never",   "kernel", "module",
        "process", "timer",  "procfs",     "perf",    "kprobe", "netfilter",
        "java",    "hwbkpt", "debuginfod", "python2", "python3"};
    return names;
}

bool is_family(const std::string& pattern) {
    return std::any_of(families().begin(), families().end(),
                       [&](const std::string& name) { return matches_component(pattern, name); });
}

struct Step {
    AliasState alias;
    std::string name;
};

class Expansion {
  public:
    Expansion(const ast::Probe& probe, const ast::File& file, Names& names,
              std::vector<std::unique_ptr<ast::ProbePoint>>& made, Diagnostics& diagnostics)
        : probe_(probe), file_(file), names_(names), made_(made), diagnostics_(diagnostics) {}

    std::vector<ProbeGroup> run() {
        for (const ast::ProbePoint& point : probe_.points) {
            std::vector<ConditionPart> conditions;
            if (point.condition)
                conditions.push_back({point.condition.get(), &file_});
            expand(point, point.components, point.optional, point.sufficient, point, file_,
                   conditions);
        }
        return std::move(groups_);
    }

  private:
    // `used` is the point as the user wrote it; `point` the one being expanded, written in `scope`.
    void expand(const ast::ProbePoint& used, const std::vector<ast::PointComponent>& components,
                bool optional, bool sufficient, const ast::ProbePoint& point,
                const ast::File& scope, const std::vector<ConditionPart>& conditions) {
        const std::string name = dotted(components);
        std::vector<AliasState> found = names_.aliases(components, scope);
        // Within the definition of timer.profile, timer.profile.tick is not the alias with a
        // suffix.
        std::erase_if(found, [&](const AliasState& alias) {
            return in_chain(alias) && own_name(alias, components)->size() < components.size();
        });
        if (found.empty()) {
            if (components.empty())
                return;
            if (!is_family(components.front().name)) {
                if (!optional)
                    unknown(used, point, components);
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
            // What is left of the point after the alias's own name goes to the end of each point it
            // stands for.
            const size_t consumed = std::min(own->size(), components.size());
            std::vector<ast::PointComponent> suffix(
                components.begin() + static_cast<long>(consumed), components.end());
            if (has_double_star(components))
                suffix.clear();
            chain_.push_back({alias, dotted(*own) + (suffix.empty() ? "" : "." + dotted(suffix))});
            for (const ast::ProbePoint& inner : alias.declaration->points) {
                std::vector<ast::PointComponent> whole = inner.components;
                whole.insert(whole.end(), suffix.begin(), suffix.end());
                std::vector<ConditionPart> inner_conditions = conditions;
                if (inner.condition)
                    inner_conditions.push_back({inner.condition.get(), alias.file});
                expand(used, whole, optional || inner.optional || inner.sufficient,
                       sufficient || inner.sufficient, inner, *alias.file, inner_conditions);
            }
            chain_.pop_back();
        }
    }

    bool in_chain(const AliasState& alias) const {
        return std::any_of(chain_.begin(), chain_.end(), [&](const Step& step) {
            return step.alias.declaration == alias.declaration;
        });
    }

    static bool has_double_star(const std::vector<ast::PointComponent>& components) {
        return std::any_of(components.begin(), components.end(),
                           [](const ast::PointComponent& component) {
                               return component.name.find("**") != std::string::npos;
                           });
    }

    // Of an alias with several names, the one that the components mean.
    static const std::vector<ast::PointComponent>*
    own_name(const AliasState& alias, const std::vector<ast::PointComponent>& components) {
        for (const auto& name : alias.declaration->names) {
            bool same = name.size() <= components.size();
            for (size_t i = 0; same && i < name.size(); ++i)
                same = matches_component(components[i].name, name[i].name);
            if (same)
                return &name;
        }
        return &alias.declaration->names.front();
    }

    void unknown(const ast::ProbePoint& used, const ast::ProbePoint& point,
                 const std::vector<ast::PointComponent>& components) {
        const std::string name = dotted(components);
        std::vector<std::string> candidates = names_.alias_names();
        candidates.push_back("kernel.function");
        candidates.push_back("kernel.statement");
        for (const char* unit : {"s", "ms", "us", "ns", "hz", "jiffies", "profile"})
            candidates.push_back(std::string("timer.") + unit);
        candidates.insert(candidates.end(), families().begin(), families().end());
        Diagnostic& diagnostic =
            diagnostics_.report(DiagnosticKind::UnknownProbePoint,
                                components.front().range.to(components.back().range), {name});
        std::string hint = did_you_mean(name, candidates);
        if (hint.empty())
            hint = did_you_mean(components.front().name, families());
        diagnostic.hint(hint);
        if (&used != &point)
            diagnostic.note(used.range, "it is needed by this probe point");
    }

    void add(const ast::ProbePoint& used, const std::vector<ast::PointComponent>& components,
             bool optional, bool sufficient, const std::vector<ConditionPart>& conditions) {
        const ast::ProbePoint* point = &used;
        if (!chain_.empty()) {
            auto copy = std::make_unique<ast::ProbePoint>();
            copy->range = used.range;
            copy->components = components;
            copy->optional = optional || sufficient; // as SystemTap has it
            copy->sufficient = sufficient;
            point = copy.get();
            made_.push_back(std::move(copy));
        }
        const bool is_return =
            std::any_of(components.begin() + 1, components.end(),
                        [](const ast::PointComponent& c) { return c.name == "return"; });
        // The body wraps from the user's own outwards: the innermost alias runs first and last.
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
            groups_.push_back({{}, {}, {}, std::move(body), conditions, is_return});
            group = &groups_.back();
        }
        group->points.push_back(point);
        group->alias_names.push_back(std::move(alias_names));
        group->point_numbers.push_back(next_number_++);
    }

    const ast::Probe& probe_;
    const ast::File& file_;
    Names& names_;
    std::vector<std::unique_ptr<ast::ProbePoint>>& made_;
    Diagnostics& diagnostics_;
    std::vector<Step> chain_;
    std::vector<ProbeGroup> groups_;
    uint32_t next_number_ = 0;
};

} // namespace

std::vector<ProbeGroup> expand(const ast::Probe& probe, const ast::File& file, Names& names,
                               std::vector<std::unique_ptr<ast::ProbePoint>>& made,
                               Diagnostics& diagnostics) {
    return Expansion(probe, file, names, made, diagnostics).run();
}

} // namespace djstap::semantics
