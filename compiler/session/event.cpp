// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/event.h"

#include "include/text.h"

namespace djstap {

const ModuleMeta::Format Event::as_it_is = {"%s", "s"};

std::optional<EventFields> take_fields(const ModuleMeta& meta, std::string_view& arguments) {
    EventFields fields;
    if (arguments.size() < djs_event_field_bytes(meta.fields))
        return std::nullopt;
    if (meta.fields & (DJS_EVENT_PID | DJS_EVENT_TID)) {
        djs_event_task task;
        std::memcpy(&task, arguments.data(), sizeof task);
        arguments.remove_prefix(sizeof task);
        if (meta.fields & DJS_EVENT_PID)
            fields.pid = task.pid;
        if (meta.fields & DJS_EVENT_TID)
            fields.tid = task.tid;
    }
    if (meta.fields & DJS_EVENT_PROBE) {
        uint64_t site;
        std::memcpy(&site, arguments.data(), sizeof site);
        arguments.remove_prefix(sizeof site);
        if (site < meta.points.size() && !meta.points[site].empty())
            fields.probe = meta.points[site];
    }
    fields.cpu = meta.fields & DJS_EVENT_CPU;
    fields.time = meta.fields & DJS_EVENT_TIME;
    return fields;
}

std::string_view Event::printed(std::string& memory) const {
    if (is_text())
        return text();
    const char* const how = format.text.c_str();
    const char* const types = format.types.c_str();
    size_t length =
        djs_format(memory.data(), memory.size(), how, types, arguments.data(), arguments.size());
    if (length + 1 >= memory.size()) { // it may have been cut
        memory.resize(djs_format(nullptr, 0, how, types, arguments.data(), arguments.size()) + 1);
        length = djs_format(memory.data(), memory.size(), how, types, arguments.data(),
                            arguments.size());
    }
    return {memory.data(), length};
}

std::string StackArgument::text() const {
    const size_t length = djs_format(nullptr, 0, "%s", "k", bytes.data(), bytes.size());
    std::string text(length + 1, '\0');
    djs_format(text.data(), text.size(), "%s", "k", bytes.data(), bytes.size());
    text.resize(length);
    return text;
}

std::optional<Argument> Arguments::next() {
    if (types_.empty())
        return std::nullopt;
    const char type = types_.front();
    types_.remove_prefix(1);
    if (type == 's' || type == 'n') {
        const auto text = type == 's' ? take_text(bytes_) : take_name(bytes_);
        return text ? std::optional<Argument>(*text) : std::nullopt;
    }
    if (type == 'k') {
        uint64_t count;
        if (bytes_.size() < sizeof count)
            return std::nullopt;
        std::memcpy(&count, bytes_.data(), sizeof count);
        if (count > bytes_.size() / sizeof count - 1)
            return std::nullopt;
        const StackArgument stack{bytes_.substr(0, (1 + count) * sizeof count)};
        bytes_.remove_prefix(stack.bytes.size());
        return stack;
    }
    if (type != 'h') {
        const auto number = take_number(bytes_);
        return number ? std::optional<Argument>(*number) : std::nullopt;
    }
    HistogramArgument histogram{};
    if (bytes_.size() < sizeof histogram.header)
        return std::nullopt;
    std::memcpy(&histogram.header, bytes_.data(), sizeof histogram.header);
    bytes_.remove_prefix(sizeof histogram.header);
    if (bytes_.size() / sizeof(int64_t) < histogram.header.buckets)
        return std::nullopt;
    histogram.buckets = bytes_.substr(0, histogram.header.buckets * sizeof(int64_t));
    bytes_.remove_prefix(histogram.buckets.size());
    return histogram;
}

} // namespace djstap
