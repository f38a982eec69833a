// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/output_group.h"

#include <algorithm>
#include <cerrno>

namespace djstap {

void OutputGroup::control(SessionControls& controls) {
    for (const auto& output : outputs_)
        output->control(controls);
}

void OutputGroup::begin(const ModuleMeta& meta, const RecordClock& clock) {
    for (const auto& output : outputs_)
        output->begin(meta, clock);
}

void OutputGroup::print(const Event& event) {
    for (const auto& output : outputs_)
        if (!event.format.in_snapshot || output->wants_snapshots())
            output->print(event);
}

bool OutputGroup::print_stack(const Event& event, std::span<const std::string> lines) {
    for (const auto& output : outputs_) {
        if (output->print_stack(event, lines))
            continue;
        for (const std::string& line : lines)
            output->print(event.with_text(line, text_));
    }
    return true;
}

void OutputGroup::error(std::string_view message, std::string_view place) {
    for (const auto& output : outputs_)
        output->error(message, place);
}

void OutputGroup::warning(std::string_view message) {
    for (const auto& output : outputs_)
        output->warning(message);
}

void OutputGroup::switch_file() {
    for (const auto& each : outputs_)
        each->switch_file();
}

void OutputGroup::probes(const std::vector<AttachedProbe>& probes) {
    for (const auto& output : outputs_)
        output->probes(probes);
}

void OutputGroup::counts(const djs_counts& counts) {
    for (const auto& output : outputs_)
        output->counts(counts);
}

void OutputGroup::end() {
    for (const auto& output : outputs_)
        output->end();
}

bool OutputGroup::wants_all_probes() const {
    return std::ranges::any_of(outputs_,
                               [](const auto& output) { return output->wants_all_probes(); });
}

bool OutputGroup::wants_snapshots() const {
    return std::ranges::any_of(outputs_,
                               [](const auto& output) { return output->wants_snapshots(); });
}

void OutputGroup::flush() {
    for (const auto& output : outputs_)
        output->flush();
}

bool OutputGroup::is_closed() {
    const auto failed = [](const auto& output) {
        return output->is_closed() && output->writer().error() != EPIPE;
    };
    return std::ranges::any_of(outputs_, failed) ||
           std::ranges::all_of(outputs_, [](const auto& output) { return output->is_closed(); });
}

} // namespace djstap
