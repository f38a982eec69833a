#include "probes/direct_targets.h"
#include "probes/families.h"
#include "probes/target_values.h"
#include "semantics/walk.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace djstap {

namespace {

using program::ExpressionKind;
using program::StatementKind;

// $value of a procfs probe: semantics types no other variable as a text.
bool is_file_text(const program::TargetValue& node) {
    return node.name == "$value" && node.type == program::Type::String && node.pretty == 0;
}

// Resolves the target values of one body at one candidate. Code that @defined keeps from running is
// not looked at, so that its variables need not exist.
class BodyResolver {
  public:
    BodyResolver(const VariableScope& scope, AccessMap& accesses, DefinedMap& defined,
                 bool skip_bad)
        : scope_(scope), accesses_(accesses), defined_(defined), skip_bad_(skip_bad) {}

    void statement(program::Statement& node) {
        if (node.kind == StatementKind::If) {
            auto& branch = program::as<program::If>(node);
            expression(*branch.condition);
            std::optional<bool> value = constant(*branch.condition);
            if (!value || *value)
                statement(*branch.then_branch);
            if (branch.else_branch && (!value || !*value))
                statement(*branch.else_branch);
            return;
        }
        program::for_each_child(
            node, [this](program::ExpressionPtr& child) { expression(*child); },
            [this](program::StatementPtr& child) { statement(*child); });
    }

    void expression(program::Expression& node) {
        switch (node.kind) {
        case ExpressionKind::Defined:
            defined_[&node] = is_defined(*program::as<program::Defined>(node).operand);
            return;
        case ExpressionKind::Conditional: {
            auto& conditional = program::as<program::Conditional>(node);
            expression(*conditional.condition);
            std::optional<bool> value = constant(*conditional.condition);
            if (!value || *value)
                expression(*conditional.then_value);
            if (!value || !*value)
                expression(*conditional.else_value);
            return;
        }
        case ExpressionKind::Logical: {
            auto& logical = program::as<program::Logical>(node);
            expression(*logical.left);
            std::optional<bool> left = constant(*logical.left);
            if (!left || *left == logical.conjunction)
                expression(*logical.right);
            return;
        }
        case ExpressionKind::TargetValue:
            value(program::as<program::TargetValue>(node));
            break;
        default:
            break;
        }
        program::for_each_child(node,
                                [this](program::ExpressionPtr& child) { expression(*child); });
    }

    const std::vector<AccessError>& errors() const { return errors_; }

  private:
    AccessResult resolve(const program::TargetValue& node) {
        if (is_file_text(node)) {
            TargetAccess text;
            text.value.base = Access::Base::FileText;
            return text;
        }
        if (!scope_.info)
            return AccessError{DiagnosticKind::NoTargetVariables,
                               node.range,
                               node.name,
                               "this probe point",
                               {},
                               {}};
        return resolve_value(node, scope_);
    }

    void value(const program::TargetValue& node) {
        AccessResult result = resolve(node);
        if (auto* error = std::get_if<AccessError>(&result)) {
            if (!skip_bad_)
                errors_.push_back(*error);
            return;
        }
        accesses_[&node] = std::get<TargetAccess>(std::move(result));
    }

    bool is_defined(program::Expression& operand) {
        bool all = true;
        auto check = [&](program::Expression& node) {
            if (node.kind == ExpressionKind::TargetValue &&
                std::holds_alternative<AccessError>(
                    resolve(program::as<program::TargetValue>(node))))
                all = false;
        };
        check(operand);
        program::walk_expressions(operand, check);
        return all;
    }

    // The value of a condition that is known now.
    std::optional<bool> constant(const program::Expression& node) const {
        if (node.kind == ExpressionKind::Defined) {
            auto known = defined_.find(&node);
            return known != defined_.end() ? std::optional(known->second) : std::nullopt;
        }
        if (node.kind == ExpressionKind::Number)
            return program::as<program::Number>(node).value != 0;
        if (node.kind == ExpressionKind::Unary &&
            program::as<program::Unary>(node).op == ast::UnaryOp::Not) {
            auto inner = constant(*program::as<program::Unary>(node).operand);
            return inner ? std::optional(!*inner) : std::nullopt;
        }
        if (node.kind == ExpressionKind::Logical) {
            const auto& logical = program::as<program::Logical>(node);
            auto left = constant(*logical.left);
            if (left && *left != logical.conjunction)
                return left;
            auto right = constant(*logical.right);
            return left && right ? right : std::nullopt;
        }
        return std::nullopt;
    }

    const VariableScope& scope_;
    AccessMap& accesses_;
    DefinedMap& defined_;
    bool skip_bad_;
    std::vector<AccessError> errors_;
};

bool has_target_values(program::Probe& probe) {
    bool found = false;
    auto look = [&](program::Expression& node) {
        found |= node.kind == ExpressionKind::TargetValue &&
                 !is_file_text(program::as<program::TargetValue>(node));
    };
    program::walk_expressions(*probe.body, look);
    for (auto& value : probe.entry_values) {
        look(*value);
        program::walk_expressions(*value, look);
    }
    return found;
}

void report(Diagnostics& diagnostics, const AccessError& error) {
    diagnostics.report(error.kind, error.range, {error.first, error.second, error.third})
        .hint(error.hint);
}

class ProbeResolver {
  public:
    ProbeResolver(const program::Program& program, KernelView& kernel, const ProbeOptions& options,
                  Diagnostics& diagnostics)
        : program_(program), resolver_{kernel, options, diagnostics}, diagnostics_(diagnostics) {}

    std::optional<ProbePlan> run() {
        size_t errors = diagnostics_.error_count();
        for (program::Probe* probe : in_order_of_points())
            resolve_probe(*probe);
        resolve_functions();
        if (diagnostics_.error_count() > errors)
            return std::nullopt;
        choose_direct_targets(plan_);
        return std::move(plan_);
    }

  private:
    // The parts of one `probe` of the text by their first points, so that a sufficient one is known
    // before those that it makes superfluous.
    std::vector<program::Probe*> in_order_of_points() const {
        std::vector<program::Probe*> order;
        for (const auto& probe : program_.probes)
            order.push_back(probe.get());
        auto first = [](const program::Probe* probe) {
            return probe->point_numbers.empty() ? 0 : probe->point_numbers.front();
        };
        for (auto begin = order.begin(); begin != order.end();) {
            auto end = std::find_if(begin, order.end(), [&](const program::Probe* probe) {
                return probe->declaration != (*begin)->declaration;
            });
            std::stable_sort(begin, end, [&](const program::Probe* a, const program::Probe* b) {
                return first(a) < first(b);
            });
            begin = end;
        }
        return order;
    }

    // A library's alias may offer what this point's suffix cannot follow: there is no such point.
    bool is_passed_over(const program::Probe& probe, size_t point) const {
        return probe.points[point]->optional && point < probe.alias_names.size() &&
               !probe.alias_names[point].empty();
    }

    // A point that was found and that is sufficient makes the later ones of its `probe`
    // superfluous.
    bool is_superfluous(const program::Probe& probe, size_t point) const {
        auto known = sufficient_.find(probe.declaration);
        return known != sufficient_.end() && point < probe.point_numbers.size() &&
               probe.point_numbers[point] > known->second;
    }

    void resolve_probe(program::Probe& probe) {
        resolver_.details = has_target_values(probe);
        resolver_.probe = &probe;
        bool any = false, failed = false, optional = false;
        for (size_t i = 0; i < probe.points.size(); i++) {
            const ast::ProbePoint& point = *probe.points[i];
            if (is_superfluous(probe, i)) {
                any = true;
                continue;
            }
            const size_t messages = diagnostics_.all().size();
            const ProbeFamily* family = find_family(point, resolver_);
            if (!family && is_passed_over(probe, i)) {
                diagnostics_.take_back(messages);
                optional = true;
                continue;
            }
            std::vector<Candidate> candidates;
            if (!family || !family->resolve(point, resolver_, candidates)) {
                failed = true;
                continue;
            }
            optional |= point.optional || family->resolve == resolve_never;
            std::string name = i < probe.alias_names.size() && !probe.alias_names[i].empty()
                                   ? probe.alias_names[i].front()
                                   : ast::to_string(point);
            bool placed = !candidates.empty();
            for (Candidate& candidate : candidates) {
                candidate.site.name = name;
                placed = place(probe, candidate, i);
                if (!placed && !point.optional)
                    return; // the same mistake would be found at every site
                if (!placed)
                    break; // what an optional point's body needs is not there: as if it were not
            }
            any |= placed;
            if (point.sufficient && placed && i < probe.point_numbers.size())
                sufficient_[probe.declaration] = probe.point_numbers[i];
        }
        if (!any && !failed && !optional)
            diagnostics_.report(DiagnosticKind::ProbeWithoutSite, probe.range);
    }

    // How many earlier points of the probe have this place, too: its body runs once for each.
    size_t repetition(const program::Probe& probe, const ModuleView* module, const Site& site,
                      size_t point) {
        if (site.address == 0)
            return 0;
        auto& points = points_at_[{probe.index, module, site.address}];
        if (points.empty() || points.back() != point)
            points.push_back(point);
        return points.size() - 1;
    }

    bool place(program::Probe& probe, Candidate& candidate, size_t point) {
        const DebugInfo* info = nullptr;
        if (resolver_.details) {
            info = candidate.module ? candidate.module->info.get()
                                    : need_debuginfo(*probe.points[point], resolver_);
            if (!info)
                return false;
        }
        Variant variant;
        variant.probe = &probe;
        variant.kind = candidate.kind;
        variant.priority = candidate.priority;
        variant.timer_ns = candidate.timer_ns;
        variant.timer_random_ns = candidate.timer_random_ns;
        variant.arguments = candidate.arguments;
        VariableScope scope = make_scope(info, candidate);
        scope.scope_of = [&](const program::Probe* origin) {
            return origin == &probe ? &scope : foreign_scope(origin);
        };
        BodyResolver body(scope, variant.accesses, variant.defined,
                          resolver_.options.skip_bad_variables);
        body.statement(*probe.body);
        if (probe.condition)
            body.expression(*probe.condition);
        for (auto& value : probe.entry_values)
            body.expression(*value);
        if (!probe.points[point]->optional)
            for (const AccessError& error : body.errors())
                report(diagnostics_, error);
        if (!body.errors().empty())
            return false;

        uint32_t number = find_or_add(std::move(variant),
                                      repetition(probe, candidate.module, candidate.site, point));
        plan_.variants[number].mechanisms |= 1u << static_cast<unsigned>(candidate.site.mechanism);
        candidate.site.variant = number;
        if (candidate.function) {
            plan_.functions.push_back(std::move(candidate.function));
            candidate.site.info = plan_.functions.back().get();
        }
        // One site may be matched twice by one pattern (an alias of a symbol): once is enough.
        if (candidate.module)
            candidate.site.module = module_number(*candidate.module);
        if (candidate.site.address != 0 &&
            !seen_.insert({number, candidate.site.module, candidate.site.address}).second)
            return true;
        plan_.sites.push_back(std::move(candidate.site));
        return true;
    }

    uint32_t module_number(const ModuleView& module) {
        auto known = std::find_if(plan_.modules.begin(), plan_.modules.end(),
                                  [&](const auto& each) { return each.name == module.name; });
        if (known == plan_.modules.end()) {
            plan_.modules.push_back({module.name, module.file, module.anchors});
            return static_cast<uint32_t>(plan_.modules.size() - 1);
        }
        return static_cast<uint32_t>(known - plan_.modules.begin());
    }

    // The scope at the first place of another probe, whose values have their types from there; or
    // of functions.
    const VariableScope* foreign_scope(const program::Probe* probe) {
        if (auto known = foreign_.find(probe); known != foreign_.end())
            return known->second ? &known->second->scope : nullptr;
        auto& made = foreign_[probe];
        auto info = resolver_.kernel.debuginfo();
        if (!info)
            return nullptr;
        auto foreign = std::make_unique<Foreign>();
        if (probe) {
            Diagnostics ignored(diagnostics_.sources()); // the probe itself is resolved, too
            Resolver resolver{resolver_.kernel, resolver_.options, ignored, true, true};
            std::vector<Candidate> candidates;
            for (const ast::ProbePoint* point : probe->points) {
                const ProbeFamily* family = find_family(*point, resolver);
                if (family && family->resolve(*point, resolver, candidates) && !candidates.empty())
                    break;
            }
            if (candidates.empty())
                return nullptr;
            foreign->candidate = std::move(candidates.front());
            const ModuleView* module = foreign->candidate.module;
            foreign->scope = make_scope(module ? module->info.get() : *info, foreign->candidate);
        }
        if (!foreign->scope.info)
            foreign->scope.info = *info;
        const VariableScope* own = &foreign->scope;
        foreign->scope.scope_of = [this, own, probe](const program::Probe* origin) {
            return origin == probe ? own : foreign_scope(origin);
        };
        made = std::move(foreign);
        return own;
    }

    uint32_t find_or_add(Variant variant, size_t repetition) {
        std::string key = std::to_string(variant.probe->index) + "/" + std::to_string(repetition) +
                          "/" + std::to_string(static_cast<int>(variant.kind)) + "/" +
                          std::to_string(variant.priority) + "/" +
                          std::to_string(variant.timer_ns) + "/" +
                          std::to_string(variant.timer_random_ns);
        for (const uint64_t argument : variant.arguments)
            key += "," + std::to_string(argument);
        // In the order of the nodes' addresses: stable within a run, which is all that a key needs.
        std::map<const program::Expression*, std::string> parts;
        for (const auto& [node, access] : variant.accesses)
            parts[node] = fingerprint(access);
        for (const auto& [node, value] : variant.defined)
            parts[node] = value ? "1" : "0";
        for (const auto& [node, part] : parts)
            key += "/" + part;
        auto [entry, added] =
            variant_numbers_.emplace(key, static_cast<uint32_t>(plan_.variants.size()));
        if (added)
            plan_.variants.push_back(std::move(variant));
        return entry->second;
    }

    void resolve_functions() {
        for (const auto& function : program_.functions) {
            if (!function->body)
                continue;
            const program::TargetValue* first = nullptr;
            program::walk_expressions(*function->body, [&](program::Expression& node) {
                if (node.kind == ExpressionKind::TargetValue && !first)
                    first = &program::as<program::TargetValue>(node);
            });
            if (!first)
                continue;
            auto info = resolver_.kernel.debuginfo();
            if (!info) {
                diagnostics_
                    .report(DiagnosticKind::NoDebugInfo, first->range, {info.failure().message})
                    .hint(info.failure().hint);
                return;
            }
            VariableScope scope;
            scope.info = *info;
            scope.scope_of = [&](const program::Probe* origin) {
                return origin ? foreign_scope(origin) : &scope;
            };
            BodyResolver body(scope, plan_.function_accesses, plan_.function_defined,
                              resolver_.options.skip_bad_variables);
            body.statement(*function->body);
            for (const AccessError& error : body.errors())
                report(diagnostics_, error);
        }
    }

    const program::Program& program_;
    Resolver resolver_;
    Diagnostics& diagnostics_;
    ProbePlan plan_;
    struct Foreign {
        Candidate candidate;
        VariableScope scope;
    };
    std::map<const program::Probe*, std::unique_ptr<Foreign>> foreign_;
    std::map<std::string, uint32_t> variant_numbers_;
    std::map<uint32_t, uint32_t> sufficient_; // declaration → number of the point that was enough
    std::set<std::tuple<uint32_t, uint32_t, uint64_t>> seen_; // variant, module, address
    // Numbers of the points that a probe's place was found by, under the probe's index, module and
    // address.
    std::map<std::tuple<uint32_t, const ModuleView*, uint64_t>, std::vector<size_t>> points_at_;
};

} // namespace

std::optional<ProbePlan> resolve_probes(const program::Program& program, KernelView& kernel,
                                        const ProbeOptions& options, Diagnostics& diagnostics) {
    return ProbeResolver(program, kernel, options, diagnostics).run();
}

} // namespace djstap
