// SPDX-License-Identifier: GPL-2.0-or-later
// --hosts: which probes run on the hosts, and which where the user is.
//
// Begin, end and timer probes that use nothing but the language and globals can run on the merged
// globals. Globals that both sides use have to be sums: handlers on the hosts only add to them. If
// a probe on the controller also changes such a global, hosts may not read it: what they have is
// taken with each snapshot, so that everything they count is added to the controller's global
// exactly once, and is changed there alone.
#include "semantics/passes.h"
#include "semantics/walk.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_set>

namespace djstap::semantics {

using namespace program;

namespace {

// Intrinsic functions that yield the same on every machine, or tell the time.
constexpr std::array<std::string_view, 41> same_everywhere = {
    "strlen",          "substr",       "stringat",   "isinstr",      "strpos",      "strtol",
    "str_replace",     "text_str",     "text_strn",  "tokenize",     "matched",     "ngroups",
    "errno_str",       "signal_str",   "exit",       "abort",        "error",       "warn",
    "gettimeofday_ns", "ktime_get_ns", "tz_gmtoff",  "tz_name",      "randint",     "speculation",
    "speculate",       "commit",       "discard",    "fp_add",       "fp_sub",      "fp_mul",
    "fp_div",          "fp_rem",       "fp_sqrt",    "fp_eq",        "fp_lt",       "fp_le",
    "fp_to_long",      "fp_to_string", "long_to_fp", "string_to_fp", "fp32_to_fp64"};

std::string title_of_points(const Probe& probe) {
    std::string title;
    for (const ast::ProbePoint* point : probe.points)
        title += (title.empty() ? "" : ", ") + ast::to_string(*point);
    return title;
}

// Finds what keeps a handler on its host, in its body and all callees.
class HostUses {
  public:
    static std::string reason(Probe& probe) {
        HostUses uses;
        uses.body(*probe.body);
        while (uses.reason_.empty() && !uses.pending_.empty()) {
            const Function& function = *uses.pending_.back();
            uses.pending_.pop_back();
            if (!function.embedded.empty())
                return "it calls " + function.name + "(), which is C code";
            if (!function.intrinsic.empty() &&
                std::ranges::find(same_everywhere, function.intrinsic) == same_everywhere.end())
                return "it calls " + function.name + "(), which tells of the machine";
            if (function.body)
                uses.body(*function.body);
            uses.call(function.next_overload);
        }
        return uses.reason_;
    }

  private:
    void call(const Function* function) {
        if (function && seen_.insert(function).second)
            pending_.push_back(function);
    }

    void body(Statement& root) {
        walk_statements(root, [&](Statement& node) {
            if (node.kind == StatementKind::EmbeddedStatement)
                reason_ = "it contains C code";
        });
        walk_expressions(root, [&](Expression& node) { expression(node); });
    }

    void expression(Expression& node) {
        switch (node.kind) {
        case ExpressionKind::Call:
            call(as<Call>(node).function);
            break;
        case ExpressionKind::TargetValue:
        case ExpressionKind::Defined:
        case ExpressionKind::EntryValue:
        case ExpressionKind::Dereference:
        case ExpressionKind::Register:
        case ExpressionKind::StackText:
            reason_ = "it reads the machine's memory";
            break;
        case ExpressionKind::EmbeddedC:
            reason_ = "it contains C code";
            break;
        case ExpressionKind::StatisticRead:
            if (as<StatisticRead>(node).op == ast::StatOp::Variance)
                reason_ = "it uses @variance, which is not merged";
            break;
        default:
            break;
        }
    }

    std::string reason_;
    std::unordered_set<const Function*> seen_;
    std::vector<const Function*> pending_;
};

std::string reason_of_points(const Probe& probe) {
    for (const uint32_t traits : probe.point_traits)
        if (!(traits & PointNeedsNoKernel) || (traits & PointEndsFailed))
            return "it is hit there";
    return probe.condition ? "it has a condition" : "";
}

void add(GlobalUses& to, const GlobalUses& more) {
    for (const auto& [global, use] : more) {
        GlobalUse& sum = to[global];
        sum.read |= use.read;
        sum.written |= use.written;
        sum.added |= use.added;
        sum.deleted |= use.deleted;
        sum.only_lone_updates &= use.only_lone_updates;
    }
}

// Whether the hosts' values of a global have a sum.
bool adds_up(const Global& global, const GlobalUse& on_hosts) {
    return (global.value == Type::Long || global.value == Type::Statistic) &&
           on_hosts.only_lone_updates && !on_hosts.deleted && !global.statistic.variance;
}

class Placement {
  public:
    explicit Placement(Program& program) : program_(program) {
        for (auto& probe : program.probes) {
            Placed& placed = probes_.emplace_back();
            placed.uses = handler_uses(*probe);
            placed.reason = reason_of_points(*probe);
            if (placed.reason.empty())
                placed.reason = HostUses::reason(*probe);
        }
        settle();
        if (on_hosts_.empty() &&
            std::ranges::all_of(probes_, [](const Placed& each) { return each.reason.empty(); })) {
            for (Placed& placed : probes_)
                placed.reason = "the script probes nothing there otherwise";
            sum_up();
        }
    }

    void keep(SemanticsOptions::Side side, std::vector<std::unique_ptr<Probe>>& dropped);

  private:
    struct Placed {
        GlobalUses uses;
        std::string reason; // to run on the hosts; empty: it runs on the controller
    };

    // A probe that returns to the hosts may make further globals no sums.
    void settle() {
        for (bool changed = true; changed;) {
            changed = false;
            sum_up();
            for (Placed& placed : probes_)
                if (placed.reason.empty() && !changed) {
                    placed.reason = reason_of_globals(placed.uses);
                    changed = !placed.reason.empty();
                }
        }
    }

    // In the order of the text, so that both sides give the same reason.
    std::string reason_of_globals(const GlobalUses& uses) const {
        for (const auto& global : program_.globals)
            if (uses.contains(global.get()) && !can_share(*global))
                return "the hosts' values of '" + global->name + "' have no sum";
        return "";
    }

    void sum_up() {
        on_hosts_.clear();
        on_controller_.clear();
        for (const Placed& placed : probes_)
            add(placed.reason.empty() ? on_controller_ : on_hosts_, placed.uses);
    }

    bool can_share(const Global& global) const {
        const auto hosts = on_hosts_.find(&global);
        const auto here = on_controller_.find(&global);
        if (hosts == on_hosts_.end() || here == on_controller_.end())
            return true;
        if (!hosts->second.written && !here->second.written)
            return true; // a constant
        return adds_up(global, hosts->second) && hosts->second.written &&
               !(hosts->second.read && here->second.written);
    }

    bool is_written(const GlobalUses& uses, const Global& global) const {
        const auto use = uses.find(&global);
        return use != uses.end() && use->second.written;
    }

    Program& program_;
    std::vector<Placed> probes_; // as in the program
    GlobalUses on_hosts_, on_controller_;
};

void Placement::keep(SemanticsOptions::Side side, std::vector<std::unique_ptr<Probe>>& dropped) {
    const bool here = side == SemanticsOptions::Side::Controller;
    GlobalUses all = on_hosts_;
    add(all, on_controller_);
    std::erase_if(program_.globals, [&](const std::unique_ptr<Global>& global) {
        const bool by_hosts = is_written(on_hosts_, *global);
        const bool is_used_here = on_controller_.contains(global.get());
        const GlobalUse& use = all[global.get()];
        const bool is_unread = use.written && !use.read;
        const bool has_sum = by_hosts && adds_up(*global, on_hosts_[global.get()]);
        // The controller's global begins with its initial value.
        global->is_taken = by_hosts && is_written(on_controller_, *global);
        if (here) {
            if (is_unread && by_hosts && !is_used_here && !has_sum)
                program_.unread_by_host.push_back(global->name);
            global->is_shared = by_hosts && (is_used_here || (is_unread && has_sum));
            return !global->is_shared && !is_used_here;
        }
        if (global->is_taken)
            global->initial_number = 0;
        return !on_hosts_.contains(global.get());
    });
    std::vector<std::unique_ptr<Probe>> kept;
    for (size_t i = 0; i < probes_.size(); i++) {
        auto& probe = program_.probes[i];
        const std::string& reason = probes_[i].reason;
        program_.placements.push_back(title_of_points(*probe) +
                                      (reason.empty() ? ": runs here, on the merged globals"
                                                      : ": runs on each host: " + reason));
        (reason.empty() == here ? kept : dropped).push_back(std::move(probe));
    }
    program_.probes = std::move(kept);
}

} // namespace

void place_probes(Program& program, SemanticsOptions::Side side,
                  std::vector<std::unique_ptr<Probe>>& dropped) {
    Placement(program).keep(side, dropped);
}

} // namespace djstap::semantics
