// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/semantics.h"

#include "diagnostics/suggest.h"
#include "semantics/lower.h"
#include "semantics/passes.h"
#include "semantics/walk.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace djstap {

using namespace semantics;

namespace {

class Analysis {
  public:
    Analysis(ast::File script, Library& library, const SemanticsOptions& options,
             Diagnostics& diagnostics)
        : options_(options), diagnostics_(diagnostics), names_(library, types_, diagnostics),
          lowering_(names_, types_, options, diagnostics),
          errors_before_(diagnostics.error_count()) {
        program_.files.push_back(std::move(script));
    }

    std::optional<program::Program> run() {
        names_.include(program_.files.front());
        lower_all();
        lowering_.finish();
        if (failed())
            return std::nullopt;
        end_overloads();
        take_functions();
        check_changes(program_, diagnostics_);
        if (failed())
            return std::nullopt;
        drop_unused(program_);
        drop_unreached();
        if (!options_.keep_unused)
            merge_copies(program_.probes, names_);
        if (!set_global_types() || failed())
            return std::nullopt;
        take_global_values();
        if (options_.side != SemanticsOptions::Side::Everything) {
            place_probes(program_, options_.side, abandoned_);
            drop_unreached();
        }
        GlobalUses uses = global_uses(program_);
        // Hosts show them in snapshots.
        if (options_.prints_unread && options_.side != SemanticsOptions::Side::Hosts)
            print_unread(program_, uses, names_, options_.points);
        if (options_.times_probes || options_.shown_probes)
            time_probes(program_, uses);
        if (options_.times_probes)
            report_times(program_, options_.points, diagnostics_.sources());
        if (options_.shown_every_ms)
            show_regularly(program_, uses, options_, diagnostics_.sources());
        find_stacks(program_);
        // Probes that the compiler adds read globals, but have no influence on their storage.
        choose_storage(program_, uses);
        find_recursion(program_);
        compute_effects(program_, static_cast<uint64_t>(options_.max_action));
        for (size_t i = 0; i < program_.probes.size(); ++i)
            program_.probes[i]->index = static_cast<uint32_t>(i);
        if (failed())
            return std::nullopt;
        return std::move(program_);
    }

  private:
    bool failed() const { return diagnostics_.error_count() > errors_before_; }

    // Lowers the bodies of all probes, of their callees, and of every function of the script
    // itself. Lowering a body may include library files, which may contain probes.
    void lower_all() {
        const ast::File& script = program_.files.front();
        for (auto& function : names_.all_functions())
            if (function->file == &script) {
                function->queued = true;
                lowering_.queue().push_back(function.get());
            }
        size_t next_file = 0;
        while (next_file < names_.files().size() || !lowering_.queue().empty()) {
            if (next_file < names_.files().size()) {
                const ast::File& file = *names_.files()[next_file++];
                for (const ast::EmbeddedBlock& block : file.embedded)
                    program_.embedded.push_back(&block);
                for (const ast::Probe& probe : file.probes)
                    lower_probe(probe, file);
                continue;
            }
            FunctionState* function = lowering_.queue().back();
            lowering_.queue().pop_back();
            lowering_.function(*function);
        }
    }

    void lower_probe(const ast::Probe& probe, const ast::File& file) {
        std::vector<ProbeGroup> groups =
            expand(probe, file, names_, options_.points, program_.expanded_points, diagnostics_);
        // A library offers alternatives, some of them for other kernels than anybody has tried
        // lately: an alternative with errors of its own is dropped if there is another one.
        std::vector<Diagnostic> left_out;
        size_t kept = 0;
        if (options_.prologue)
            put_before(groups, options_.points,
                       {options_.prologue, &program_.files.front(), false});
        for (ProbeGroup& group : groups) {
            const size_t errors = diagnostics_.error_count(), before = diagnostics_.all().size();
            auto lowered = lowering_.probe(group, probe.range);
            lowered->declaration = declarations_;
            if (groups.size() > 1 && diagnostics_.error_count() > errors && is_librarys(before)) {
                for (Diagnostic& diagnostic : diagnostics_.take_back(before))
                    left_out.push_back(std::move(diagnostic));
                abandoned_.push_back(std::move(lowered));
                continue;
            }
            program_.probes.push_back(std::move(lowered));
            kept++;
        }
        if (kept == 0)
            diagnostics_.restore(std::move(left_out));
        ++declarations_;
    }

    // Returns whether all errors since `first` are in the library.
    bool is_librarys(size_t first) const {
        const auto& all = diagnostics_.all();
        return std::all_of(all.begin() + static_cast<long>(first), all.end(),
                           [&](const Diagnostic& diagnostic) {
                               return info(diagnostic.kind).severity != Severity::Error ||
                                      names_.in_library(diagnostic.range);
                           });
    }

    // An overload that never executes `next` is the last one: those after it are unreachable.
    void end_overloads() {
        for (auto& function : names_.all_functions()) {
            program::Function& node = *function->node;
            bool goes_on = node.embedded.find("STAP_NEXT") != std::string::npos;
            if (node.body)
                program::walk_statements(*node.body, [&](program::Statement& statement) {
                    goes_on |= statement.kind == program::StatementKind::Next;
                });
            if (node.next_overload && !goes_on) {
                hidden_.insert(node.next_overload);
                node.next_overload = nullptr;
            }
        }
    }

    // Returns the functions that a probe reaches.
    std::unordered_set<const program::Function*> reached() {
        std::unordered_set<const program::Function*> reached;
        std::vector<const program::Function*> pending = kept_;
        auto note = [&](program::Expression& node) {
            if (node.kind == program::ExpressionKind::Call)
                pending.push_back(program::as<program::Call>(node).function);
        };
        for (auto& probe : program_.probes) {
            program::walk_expressions(*probe->body, note);
            if (probe->condition)
                program::walk_expressions(*probe->condition, note);
            for (auto& value : probe->entry_values)
                program::walk_expressions(*value, note);
        }
        while (!pending.empty()) {
            const program::Function* function = pending.back();
            pending.pop_back();
            if (!reached.insert(function).second)
                continue;
            if (function->body)
                program::walk_expressions(*function->body, note);
            if (function->next_overload)
                pending.push_back(function->next_overload);
        }
        return reached;
    }

    // Keeps the functions that a probe reaches, in the order of their declaration.
    void take_functions() {
        if (options_.keep_unused) // their callees are kept with them
            for (auto& function : names_.all_functions())
                if (!function->library)
                    kept_.push_back(function->node.get());
        const auto reached = this->reached();
        std::vector<program::Function*> kept;
        for (auto& function : names_.all_functions()) {
            if (reached.count(function->node.get())) {
                kept.push_back(function->node.get());
                program_.functions.push_back(std::move(function->node));
            } else if (!function->library) {
                Diagnostic& unused = diagnostics_.report(DiagnosticKind::UnusedFunction,
                                                         function->declaration->range,
                                                         {function->declaration->name});
                if (hidden_.count(function->node.get()))
                    unused.hint("an earlier overload with the same number of parameters never "
                                "executes 'next'");
                dropped_.push_back(std::move(function->node));
            }
        }
        find_pure_functions(kept, names_);
    }

    // Drops the functions that only unused code called.
    void drop_unreached() {
        const auto reached = this->reached();
        std::erase_if(program_.functions, [&](std::unique_ptr<program::Function>& function) {
            if (reached.count(function.get()))
                return false;
            dropped_.push_back(std::move(function));
            return true;
        });
    }

    void drop_unused(program::Program& program) {
        if (!options_.keep_unused)
            semantics::drop_unused(program, names_, diagnostics_);
        for (auto& probe : program.probes)
            if (probe->body->statements.empty() && !names_.in_library(probe->range) &&
                !is_counter(*probe))
                diagnostics_.report(DiagnosticKind::EmptyProbe, probe->range);
    }

    static bool is_counter(const program::Probe& probe) {
        return std::any_of(probe.point_traits.begin(), probe.point_traits.end(),
                           [](uint32_t traits) { return traits & PointIsCounter; });
    }

    // Sets the types of the remaining globals and drops the others; false after an error.
    bool set_global_types() {
        const GlobalUses uses = global_uses(program_);
        bool complete = true;
        for (auto& state : names_.all_globals()) {
            const auto use = uses.find(state->node.get());
            if (use == uses.end() &&
                !(options_.keep_unused && !state->library && types_.get(state->value))) {
                if (!state->library)
                    diagnostics_.report(DiagnosticKind::UnusedGlobal, state->declaration->range,
                                        {state->declaration->name});
                continue;
            }
            const auto value = types_.get(state->value);
            bool known = value.has_value();
            for (const TypeVar key : state->keys)
                known = known && types_.get(key).has_value();
            if (!known) {
                diagnostics_
                    .report(DiagnosticKind::TypeUnknown, state->declaration->range,
                            {"'" + state->declaration->name + "'" + (value ? "'s keys" : "")})
                    .hint("nothing is ever stored in it");
                complete = false;
                continue;
            }
            state->node->value = *value;
            for (const TypeVar key : state->keys)
                state->node->keys.push_back(*types_.get(key));
            if (state->histogram)
                state->node->statistic = *state->histogram;
            state->node->statistic.variance_shift = state->variance_shift.value_or(0);
            program_.globals.push_back(std::move(state->node));
        }
        return complete;
    }

    program::Global* global_named(const std::string& name) {
        const auto found = std::find_if(program_.globals.begin(), program_.globals.end(),
                                        [&](const auto& global) { return global->name == name; });
        return found == program_.globals.end() ? nullptr : found->get();
    }

    // -G name=value
    void take_global_values() {
        for (const auto& [name, text] : options_.library_values)
            if (program::Global* global = global_named(name))
                set_global(*global, name, text);
        for (const auto& [name, text] : options_.global_values) {
            program::Global* found = global_named(name);
            if (!found) {
                bool declared = false;
                std::vector<std::string> candidates;
                for (auto& state : names_.all_globals()) {
                    declared = declared || state->declaration->name == name;
                    candidates.push_back(state->declaration->name);
                }
                if (!declared) // a global that is declared but unused has its warning already
                    diagnostics_.report(DiagnosticKind::UnknownGlobalOption, {}, {name})
                        .hint(did_you_mean(name, candidates));
                continue;
            }
            set_global(*found, name, text);
        }
    }

    void set_global(program::Global& global, const std::string& name, const std::string& text) {
        if (global.is_array() || global.value == program::Type::Statistic) {
            diagnostics_.report(DiagnosticKind::BadGlobalValue, global.range,
                                {name, text, "only numbers and strings can be set"});
        } else if (global.value == program::Type::String) {
            global.initial_text = text;
        } else {
            char* end = nullptr;
            errno = 0;
            const bool negative = !text.empty() && text[0] == '-';
            const int64_t value = negative ? strtoll(text.c_str(), &end, 0)
                                           : static_cast<int64_t>(strtoull(text.c_str(), &end, 0));
            if (text.empty() || *end || errno)
                diagnostics_.report(DiagnosticKind::BadGlobalValue, global.range,
                                    {name, text, "expected a number"});
            else
                global.initial_number = value;
        }
    }

    const SemanticsOptions& options_;
    Diagnostics& diagnostics_;
    program::Program program_;
    TypeTable types_;
    Names names_;
    Lowering lowering_;
    const size_t errors_before_;
    uint32_t declarations_ = 0;
    std::vector<std::unique_ptr<program::Function>> dropped_;
    std::vector<const program::Function*> kept_; // whether they are called or not
    // after an overload that accepts all calls
    std::unordered_set<const program::Function*> hidden_;
    // nodes of theirs are still referenced
    std::vector<std::unique_ptr<program::Probe>> abandoned_;
};

} // namespace

std::optional<program::Program> analyze(ast::File script, Library& library,
                                        const SemanticsOptions& options, Diagnostics& diagnostics) {
    return Analysis(std::move(script), library, options, diagnostics).run();
}

} // namespace djstap
