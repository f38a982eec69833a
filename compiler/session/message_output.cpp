// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/message_output.h"

#include "diagnostics/plain_text.h"

namespace djstap {

void MessageOutput::error(std::string_view message, std::string_view place) {
    std::string line("ERROR: ");
    line.append(message);
    if (!place.empty())
        line.append(" near ").append(place);
    if (tells_)
        say(line);
}

void MessageOutput::warning(std::string_view message) {
    if (tells_)
        tell(message);
}

void MessageOutput::tell(std::string_view warning) {
    if (warnings_)
        say(std::string("WARNING: ").append(warning));
}

void MessageOutput::tell_missing(const ModuleMeta& meta, uint32_t fields, std::string_view format,
                                 std::string_view consequence) {
    std::string names;
    for (const EventFieldName& field : event_field_names())
        if (fields & ~meta.fields & field.bit)
            names.append(names.empty() ? "" : ", ").append(field.name);
    if (!names.empty())
        tell("the module does not record these fields of events: " + names + "; " +
             std::string(consequence) + ". djstap -p4 --output=" + std::string(format) +
             " makes a module that records them");
}

// The module itself warns about probes that it could not attach.
void MessageOutput::probes(const std::vector<AttachedProbe>& probes) {
    for (const AttachedProbe& probe : probes)
        if (verbose_ && tells_ && (!probe.attached || probe.mechanism != "session"))
            show(probe);
}

void MessageOutput::counts(const djs_counts& counts) {
    for (const std::string& line : describe_counts(counts))
        MessageOutput::warning(line);
}

void MessageOutput::show(const AttachedProbe& probe) {
    std::string line(probe.point.empty() ? std::to_string(probe.sites) + " more" : probe.point);
    line.append(": ").append(probe.attached ? probe.mechanism : "not attached");
    if (!probe.reason.empty())
        line.append(probe.attached && !probe.planned.empty() ? " instead of " + probe.planned : "")
            .append(": ")
            .append(probe.reason);
    say(line);
}

// Texts of programs may be in it.
void MessageOutput::say(const std::string& line) {
    writer_.flush();
    messages_.append(without_controls(line).append("\n"));
    messages_.flush();
}

} // namespace djstap
