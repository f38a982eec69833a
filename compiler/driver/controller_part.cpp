// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/controller_part.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace djstap::driver {

bool ControllerPart::compile(const std::string& release, Writer& output) {
    Options options = invocation_.options;
    options.hosts.clear();
    options.kernel = release;
    options.last_pass = 3;
    options.side = SemanticsOptions::Side::Controller;
    options.user_space = true;
    options.warnings = false; // the part for the hosts has them
    options.output_requests.clear();
    here_ = std::make_unique<Invocation>(std::move(options));
    auto analyzed = analyze_script(*here_);
    if (!analyzed)
        return false;
    unread_by_host_ = analyzed->program.unread_by_host;
    if (invocation_.options.explain)
        for (const std::string& line : analyzed->program.placements)
            fprintf(stderr, "%s\n", line.c_str());
    if (analyzed->program.probes.empty())
        return true;
    script_ = generate_object(*here_, std::move(*analyzed));
    if (!script_)
        return false;
    SessionOptions session;
    session.warnings = invocation_.options.warnings;
    session.outputs.requests = invocation_.options.output_requests;
    const AnalyzedScript& script = script_->script.script;
    auto merged = MergedScript::link(script_->object.object, script_->object.meta,
                                     buffer_bytes(script.settings.limits), script.program.globals,
                                     session, output);
    if (!merged) {
        invocation_.fail(DiagnosticKind::SessionFailed, merged.failure());
        return false;
    }
    merged_ = std::move(*merged);
    return true;
}

// A failure to merge concerns every later snapshot, too.
void ControllerPart::report(const Status& status) {
    if (!status && failures_.insert(status.failure().message).second)
        invocation_.fail(DiagnosticKind::SessionFailed, status.failure());
}

void ControllerPart::begin() {
    has_begun_ = true;
    if (merged_)
        merged_->begin();
}

void ControllerPart::add_taken(const std::vector<std::string>& names, const GlobalsFrame& frame) {
    if (!merged_)
        return;
    for (const auto& global : script_->script.script.program.globals) {
        if (!global->is_shared || !global->is_taken)
            continue;
        for (const GlobalValues& values : frame.globals)
            if (values.index < names.size() && names[values.index] == global->name)
                report(merged_->add(global->name, values.elements));
    }
}

// Globals that are only read here: what all hosts have counted since they began.
void ControllerPart::replace_others(const fleet::Merge& merge) {
    const auto& globals = script_->script.script.program.globals;
    for (const fleet::MergedGlobal& each : merge.globals())
        if (std::ranges::any_of(globals, [&](const auto& global) {
                return global->is_shared && !global->is_taken &&
                       global->name == each.description.name;
            }))
            report(merged_->replace(each.description.name, each.elements));
}

bool ControllerPart::run_timers(const fleet::Merge& merge) {
    if (!merged_ || is_over_)
        return false;
    const bool is_due = merged_->is_due();
    if (is_due) {
        replace_others(merge);
        merged_->turn();
    }
    is_over_ = merged_->exit_requested();
    return is_due;
}

bool ControllerPart::finish(const fleet::Merge& merge) {
    if (!merged_ || !has_begun_)
        return failures_.empty();
    replace_others(merge);
    return merged_->finish().status == 0 && failures_.empty();
}

} // namespace djstap::driver
