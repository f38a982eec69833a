// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/recorder.h"

#include "session/dump_file.h"
#include "session/module_file.h"
#include "session/printer.h"
#include "session/session_output.h"
#include "session/snapshot.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace djstap {

namespace {

void print_snapshot(const Snapshot& snapshot, const ModuleMeta& meta, const RecordClock& clock,
                    Output& output, Symbols symbols, SessionOutcome& outcome) {
    RecordPrinter printer(meta, clock, output, nullptr, std::move(symbols));
    for (const auto& [record, cpu] : snapshot.records()) {
        printer.print(*record, cpu);
        outcome.records++;
    }
    printer.finish();
    if (const uint64_t damaged = printer.damaged() + snapshot.damaged()) {
        output.warning("damage was found in " + std::to_string(damaged) +
                       (damaged == 1 ? " place" : " places") + "; the damaged records are omitted");
        outcome.status = 1;
    }
    outcome.errors = printer.errors();
    if (printer.errors())
        outcome.status = 1;
}

} // namespace

RecorderStart start_recorder(ControlFile& control, const SessionOptions& options, Output& output) {
    RecorderStart start;
    if (const int error = control.start(options.traced_pid, false)) {
        start.outcome.status = 1;
        output.error(std::string("the probes could not be started: ") + std::strerror(error), "");
        return start;
    }
    output.probes(control.probes(output.wants_all_probes()));
    start.ended = control.exit_requested();
    return start;
}

SessionOutcome read_recorder(ControlFile& control, Output& output, bool stop) {
    SessionOutcome outcome;
    if (stop) {
        if (const int error = control.stop()) {
            outcome.status = 1;
            output.error(std::string("the probes could not be stopped: ") + std::strerror(error),
                         "");
        }
    }
    const bool live = control.state() != DJS_STATE_STOPPED;
    RecordClock clock(control.clock());
    clock.add(read_clock());
    print_snapshot(control.snapshot(live), control.meta(), clock, output, control.symbols(),
                   outcome);
    if (const auto counts = control.counts()) {
        outcome.counts = *counts;
        control.report(*counts, output);
    }
    if (control.failed())
        outcome.status = 1;
    return outcome;
}

Result<SessionOutcome> read_dump(const std::string& dump, const SessionOptions& options) {
    const auto module = read_module_file(options.module);
    if (!module)
        return module.failure();
    const auto found = find_rings(dump, module->identity);
    if (!found)
        return found.failure();
    SessionOptions with_inputs = options;
    with_inputs.outputs.inputs.insert(with_inputs.outputs.inputs.end(), {options.module, dump});
    auto opened = SessionOutput::open(with_inputs, false);
    if (!opened)
        return opened.failure();
    if (const Status begun = (*opened)->begin(); !begun)
        return begun.failure();
    Output& output = (*opened)->output();
    RecordClock clock;
    Snapshot snapshot;
    SessionOutcome outcome;
    uint64_t missing = found->missing_symbol_pages;
    for (const DumpedRing& ring : found->rings) {
        missing += ring.missing_pages;
        clock.add(ring.clock);
        if (ring.overwrite)
            snapshot.add_still(ring.page, ring.data.data(), ring.data.size(), ring.cpu);
        else
            snapshot.add_unread(ring.page, ring.data.data(), ring.data.size(), ring.cpu);
    }
    print_snapshot(snapshot, module->meta, clock, output,
                   {found->symbols.data(), found->symbols.size()}, outcome);
    if (missing)
        output.warning("the dump lacks " + std::to_string(missing) + " pages of the buffers");
    if (const Status written = (*opened)->end(); !written)
        return written.failure();
    return outcome;
}

} // namespace djstap
