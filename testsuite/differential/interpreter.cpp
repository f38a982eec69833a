// SPDX-License-Identifier: GPL-2.0-or-later
#include "walk.h"

#include "semantics/walk.h"

#include <algorithm>

namespace djstap::differential {

using program::Type;

void Interpreter::make_globals() {
    for (const auto& global : program_.globals) {
        Storage& made = globals_[global.get()];
        made.value = global->value == Type::String ? cut(global->initial_text)
                                                   : Value(global->initial_number);
    }
}

void Interpreter::run_probe(const program::Probe& probe) {
    Frame frame;
    frame.charges = charges_of(*probe.body);
    actions_ = probe.points.front()->components[0].name == "timer" ? rules_.max_actions
                                                                   : rules_.max_session_actions;
    for (const program::Local& local : probe.locals)
        frame.locals.push_back(nothing(local.type));
    frame_ = &frame;
    nesting_ = 0;
    match_.reset();
    try {
        if (block(*probe.body) == Flow::On)
            charge(probe.body.get(), Moment::After);
    } catch (const ScriptError& error) {
        outcome_.messages.push_back("ERROR: " + error.message);
        outcome_.status = 1;
        if (++errors_ > rules_.max_errors)
            exit_ = failed_ = true;
    }
}

void Interpreter::run_probes(const char* point) {
    std::vector<std::pair<int64_t, const program::Probe*>> probes;
    for (const auto& probe : program_.probes)
        for (const ast::ProbePoint* each : probe->points)
            if (each->components[0].name == point)
                probes.emplace_back(each->components[0].number, probe.get());
    std::stable_sort(probes.begin(), probes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool failed_before = failed_, begins = std::string(point) == "begin",
               ends = std::string(point) == "end";
    for (const auto& [priority, probe] : probes) {
        // After too many errors in an end probe, no other end probe runs.
        if ((begins && exit_) || (ends && failed_ && !failed_before))
            return;
        run_probe(*probe);
    }
}

// Only one timer: the order of several is undefined.
void Interpreter::run_timer() {
    const program::Probe* timer = nullptr;
    for (const auto& probe : program_.probes)
        if (probe->points.front()->components[0].name == "timer")
            timer = probe.get();
    constexpr int most = 1000;
    for (int i = 0; i < most && timer && !exit_; i++)
        run_probe(*timer);
    if (!exit_)
        throw Unknown("a script that does not end");
}

Outcome Interpreter::run() {
    try {
        make_globals();
        run_probes("begin");
        run_timer();
        // A script without error probes shows what it has after an error.
        if (!failed_ || !program::has_probe_of(program_, PointEndsFailed))
            run_probes("end");
        if (failed_)
            run_probes("error");
    } catch (const Unknown& what) {
        outcome_.refused = what.what();
    }
    return outcome_;
}

Outcome interpret(const program::Program& program, const Rules& rules) {
    return Interpreter(program, rules).run();
}

} // namespace djstap::differential
